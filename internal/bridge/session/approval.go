package session

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/agntchat/agntchat/internal/bridge/backend"
)

// takeApproval accepts the decision over a call for which a run of this bridge
// ended. The same claim twice is ignored.
func (a *Agent) takeApproval(ap Approval) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.draining {
		a.wg.Go(func() { a.release(kindApproval, ap.ID, ap.Generation) })
		return
	}
	if old := a.work[ap.ID]; old != nil {
		if ap.Generation > old.gen {
			old.gen = ap.Generation
		}
		return
	}
	lane := ap.ConversationID
	if ap.TaskID != "" {
		lane = taskLane(ap.TaskID)
	}
	a.begin(&work{kind: kindApproval, queueID: ap.ID, conversation: lane, approval: ap, gen: ap.Generation}, a.runApproval)
}

// runApproval resumes the run, posts what it says, and acknowledges. A second
// delivery after a crash posts nothing twice and runs nothing twice: the message has
// the request's key, the call an approval that is good once.
func (a *Agent) runApproval(w *work) {
	free, leave, err := a.place(w)
	if err != nil {
		a.release(kindApproval, w.queueID, a.generation(w))
		return
	}
	defer leave()
	st := a.newStream(w, newStreamID(), nil)
	st.start(a.life, w.approval.ConversationID)
	text, waiting, err := a.resume(w, st.emit)
	st.halt()
	free()
	status := "cancelled"
	switch cause := context.Cause(w.ctx); {
	case errors.Is(cause, errLost):
		return
	case errors.Is(cause, errStopped):
		a.ackApproval(w, "failed", "The run was stopped.")
	case cause != nil:
		a.release(kindApproval, w.queueID, a.generation(w))
	case err != nil:
		a.log.Warn("run not resumed", "approval_id", w.approval.RequestID, "error", err)
		problem := backend.AsError(err).Message
		if e := a.endTask(w, "fail_task", map[string]any{"error": cut(problem, 2000)}); e != nil {
			a.log.Error("the task of a lost run was not ended", "task_id", w.approval.TaskID, "error", e)
		}
		a.ackApproval(w, "failed", problem)
	default:
		if !waiting {
			err = a.say(w, text)
		}
		if err != nil {
			a.log.Error("the answer of a resumed run was refused", "approval_id", w.approval.RequestID, "error", err)
			a.ackApproval(w, "failed", "The answer was refused by the server.")
			break
		}
		if text != "" {
			status = "complete"
		}
		if !waiting && w.approval.TaskID != "" {
			a.endSession(w.approval.TaskID)
		}
		a.ackApproval(w, "resumed", "")
		a.log.Info("run resumed", "approval_id", w.approval.RequestID, "status", w.approval.Status)
	}
	_ = st.send(a.life, streamFrame{Status: status})
}

// resume runs the model from where it stopped. waiting: it stopped at another call. The
// text is empty when it has nothing to say.
func (a *Agent) resume(w *work, emit func(backend.Event)) (text string, waiting bool, err error) {
	ap, p := w.approval, a.currentProfile()
	kept, err := a.keptRun(ap.RunID)
	if err != nil {
		return "", false, backend.Errorf(backend.CodeException, "This bridge does not have the run any more.")
	}
	if kept.Talk {
		a.mu.Lock()
		w.approval.TaskID = "" // people talk in the room of a task: answering them does not end it
		a.mu.Unlock()
	}
	b, err := a.backend(w.ctx, p)
	if err != nil {
		return "", false, err
	}
	r, ok := b.(backend.Resumer)
	if !ok || b.Name() != kept.Backend {
		return "", false, backend.Errorf(backend.CodeException, "The run belongs to another model backend (%s).", kept.Backend)
	}
	limit := a.opt.turnLimit(b.Name(), p)
	ctx, cancel := context.WithTimeoutCause(w.ctx, limit, backend.Errorf(backend.CodeTimeout, "The answer took longer than %s.", limit))
	defer cancel()
	active := kept.Task
	if active == "" { // kept by an older version
		active = ap.TaskID
	}
	box := a.newToolbox(Item{ID: ap.ID, MessageID: kept.Message, ConversationID: ap.ConversationID, ActiveTaskID: active}, p)
	g := a.newGate(w, ap.ConversationID, w.approval.TaskID, kept)
	g.approval = &ap
	session := ap.ConversationID
	if !kept.Talk && kept.Task != "" {
		session = taskLane(kept.Task)
	}
	res, err := r.Resume(ctx, backend.Turn{
		ID: ap.ID, ConversationID: session, System: kept.System, Model: kept.Model, Effort: kept.Effort, MaxTokens: kept.MaxTokens,
		Toolbox: box, Gate: g,
	}, backend.Approval{
		RunID: ap.RunID, CallID: ap.ToolUseID, Tool: ap.ToolName, Input: ap.Input, Allowed: ap.allowed(), Edited: ap.Edited, Text: ap.Text,
	}, emit)
	if err != nil {
		if e, ok := errors.AsType[*backend.Error](context.Cause(ctx)); ok {
			err = e
		}
		g.settle(a.life, false)
		return "", false, err
	}
	g.settle(a.life, res.Waiting)
	if !res.Waiting {
		a.forgetRun(ap.RunID)
	}
	if res.Waiting || box.silent() {
		return "", res.Waiting, nil
	}
	text = box.answer(res.Text)
	if w.approval.TaskID != "" && box.waits() {
		return text, true, a.parkTask(w, text)
	}
	return text, false, nil
}

// parkTask says that the run of a task waits for an answer to its last words.
func (a *Agent) parkTask(w *work, question string) error {
	body := map[string]any{"status": "blocked", "summary": cut(question, 5000)}
	err := a.insist(a.sending, func() error {
		return a.api.call(a.sending, "PATCH", "/api/tasks/"+url.PathEscape(w.approval.TaskID)+"/status", body, nil)
	})
	if isStatus(err, http.StatusConflict, "already_ended") {
		return nil
	}
	return err
}

// say reports a resumed run: the end of its task, or a message of its room when it has
// something to say. It is repeated until the server has taken or refused it.
func (a *Agent) say(w *work, text string) error {
	if w.approval.TaskID != "" {
		return a.endTask(w, "complete_task", map[string]any{"response": clipTo(text, maxResponse), "silent": text == ""})
	}
	if text == "" {
		return nil
	}
	path, body := "/api/conversations/"+url.PathEscape(w.approval.ConversationID)+"/messages", map[string]any{
		"content": clip(text), "contentType": "text", "metadata": map[string]any{"approval_id": w.approval.RequestID},
	}
	header := map[string]string{"Idempotency-Key": "approval:" + w.approval.RequestID}
	return a.insist(a.sending, func() error { return a.api.callHeader(a.sending, "POST", path, header, body, nil) })
}

// endTask ends the task in which a resumed run was, by the tool that a model has for
// it. One that has ended is no fault: the model or an earlier delivery did it.
func (a *Agent) endTask(w *work, tool string, args map[string]any) error {
	if w.approval.TaskID == "" {
		return nil
	}
	args["task_id"] = w.approval.TaskID
	body := map[string]any{"tool_name": tool, "args": args, "context": map[string]any{"task_id": w.approval.TaskID, "conversation_id": w.approval.ConversationID}}
	var out struct {
		OK    bool   `json:"ok"`
		Code  string `json:"code"`
		Error string `json:"error"`
	}
	err := a.insist(a.sending, func() error { return a.api.call(a.sending, "POST", "/api/mcp/call", body, &out) })
	if err == nil && !out.OK && out.Code != "already_ended" && !strings.HasPrefix(out.Error, "[open_subtasks]") {
		return backend.Errorf(backend.CodeException, "%s: %s", tool, out.Error)
	}
	return err
}

// ackApproval says that the decision has arrived and what became of the run.
func (a *Agent) ackApproval(w *work, outcome, problem string) {
	body := map[string]any{"executor_id": a.executorID(), "generation": a.generation(w), "outcome": outcome}
	if problem != "" {
		body["error"] = cut(problem, 500)
	}
	err := a.insist(a.sending, func() error {
		return a.api.call(a.sending, "POST", "/api/gateway/approvals/"+url.PathEscape(w.queueID)+"/ack", body, nil)
	})
	if err != nil && !isLost(err) {
		a.log.Warn("decision not acknowledged", "approval_id", w.approval.RequestID, "error", err)
	}
}

// insist repeats a call until it is answered for good or ctx ends.
func (a *Agent) insist(ctx context.Context, call func() error) error {
	for try := 0; ; try++ {
		err := call()
		if err == nil {
			return nil
		}
		status, isAnswer := errors.AsType[*StatusError](err)
		if isAnswer && (final(status.Status) || status.Status == http.StatusNotFound) || errors.Is(err, ErrKeyRefused) || ctx.Err() != nil {
			return err
		}
		if isAnswer && status.RetryAfter > 0 && !wait(ctx, status.RetryAfter) {
			return err
		}
		if !a.pause(ctx, try) {
			return err
		}
	}
}

// newStream shows a run to the people in the room. claim is nil for a run that is no
// message's turn.
func (a *Agent) newStream(w *work, id string, claim func() claimRef) *stream {
	if claim == nil {
		claim = func() claimRef { return claimRef{} }
	}
	st := &stream{api: a.api, id: id, every: a.opt.Timing.StreamEvery, quiet: a.opt.Timing.StreamQuiet, claim: claim}
	st.onLost = func() { a.lose(claimRef{w.queueID, st.claim().Generation}) }
	return st
}

// cut bounds a text by characters.
func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most])
	}
	return s
}
