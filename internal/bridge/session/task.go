package session

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agntchat/agntchat/internal/bridge/backend"
)

// TaskItem is a claimed task: event gateway_task (contract 2.8).
type TaskItem struct {
	ID       string `json:"id"`
	TaskID   string `json:"taskId"`
	Metadata struct {
		Reason string `json:"reason"`
	} `json:"metadata"`
	Task struct {
		Title          string `json:"title"`
		Description    string `json:"description"`
		ConversationID string `json:"conversationId"`
		Source         string `json:"source"`
		Metadata       struct {
			WorkConversationID string `json:"work_conversation_id"`
			ModelOverride      string `json:"model_override"`
			EffortOverride     string `json:"effort_override"`
			SourceMessageID    string `json:"source_message_id"`
			ExecutionPlan      struct {
				Steps []json.RawMessage `json:"steps"`
			} `json:"execution_plan"`
		} `json:"metadata"`
	} `json:"task"`
	Directives     Directives `json:"directives"`
	RecentMessages []Message  `json:"recentMessages"`
	Generation     int64      `json:"generation"`
	LeaseSeconds   int        `json:"leaseSeconds"`
}

func (it TaskItem) room() string {
	if w := it.Task.Metadata.WorkConversationID; w != "" {
		return w
	}
	return it.Task.ConversationID
}

// taskCompletion is the body of POST /api/gateway/tasks/{id}/complete.
type taskCompletion struct {
	ExecutorID string         `json:"executor_id"`
	Generation int64          `json:"generation"`
	Outcome    string         `json:"outcome"` // done, failed, parked, awaiting_approval
	Response   string         `json:"response,omitempty"`
	Summary    string         `json:"summary,omitempty"`
	Silent     bool           `json:"silent,omitempty"`
	Error      *completionErr `json:"error,omitempty"`
	Usage      *usage         `json:"usage,omitempty"`
	Turn       *turnStats     `json:"turn,omitempty"`
	ToolUses   []toolUse      `json:"tool_uses,omitempty"`
}

// maxResponse is the server's limit for the result of a task, in characters.
const maxResponse = 30_000

// takeTask accepts a claimed task. The same claim twice is ignored; a newer one of
// the same row replaces the run, which the server took for lost.
func (a *Agent) takeTask(it TaskItem) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.draining {
		a.wg.Go(func() { a.release(kindTask, it.ID, it.Generation) })
		return
	}
	if old := a.work[it.ID]; old != nil {
		if it.Generation <= old.gen {
			return
		}
		old.cancel(errLost)
	}
	// A task has a lane of its own: people can talk with the agent in the room meanwhile.
	a.begin(&work{kind: kindTask, queueID: it.ID, conversation: taskLane(it.TaskID), task: it, gen: it.Generation}, a.runTask)
}

func (a *Agent) runTask(w *work) {
	free, leave, err := a.place(w)
	if err != nil {
		a.leaveTask(w, err)
		return
	}
	defer leave()
	d, ok := a.outbox.get(w.queueID)
	if ok && d.Task != nil {
		a.log.Info("finished task found in the outbox", "queue_id", w.queueID)
		d.LostAt, d.Task.ExecutorID = time.Time{}, a.executorID()
	} else if d, ok = a.workTask(w); !ok {
		a.leaveTask(w, context.Cause(w.ctx))
		return
	}
	a.mu.Lock()
	w.delivering = true
	a.mu.Unlock()
	free()
	a.finish(w, d)
	if d.Task.Outcome == "done" {
		a.endSession(w.task.TaskID)
	}
}

// leaveTask ends a run that has no result. What a person stopped is closed by the
// server already.
func (a *Agent) leaveTask(w *work, cause error) {
	switch {
	case errors.Is(cause, errStopped), errors.Is(cause, errLost), errors.Is(cause, errTaken):
		a.log.Info("task left", "task_id", w.task.TaskID, "cause", cause)
	default:
		a.release(kindTask, w.queueID, a.generation(w))
	}
}

// errTaken means that the task is over or is run by somebody else.
var errTaken = errors.New("the task is not ours any more")

func (a *Agent) taskPath(w *work, call string) string {
	return "/api/gateway/tasks/" + url.PathEscape(w.queueID) + "/" + call
}

func (a *Agent) taskCall(w *work) map[string]any {
	return map[string]any{"executor_id": a.executorID(), "generation": a.generation(w)}
}

// workTask accepts and runs a task. ok is false when there is no result; the cause
// stands in the work's context.
func (a *Agent) workTask(w *work) (d draft, ok bool) {
	err := a.insist(w.ctx, func() error { return a.api.call(w.ctx, "POST", a.taskPath(w, "accept"), a.taskCall(w), nil) })
	if err != nil {
		if _, answered := errors.AsType[*StatusError](err); answered {
			w.cancel(errTaken)
		}
		return draft{}, false
	}
	it := w.task
	d = draft{
		Kind: kindTask, QueueID: it.ID, ConversationID: it.room(), MessageIDs: []string{it.TaskID},
		Task: &taskCompletion{ExecutorID: a.executorID(), Generation: a.generation(w)}, Body: completion{Generation: a.generation(w)},
	}
	pr := a.newProgress(w)
	pr.start(w.ctx)
	defer pr.halt()
	began := time.Now()
	run := taskRun{agent: a, w: w, item: it, profile: a.currentProfile(), emit: pr.emit}
	if len(it.Task.Metadata.ExecutionPlan.Steps) > 0 {
		run.plan()
	} else {
		run.once(it.Task.Description)
	}
	if cause := context.Cause(w.ctx); cause != nil && (run.err != nil || errors.Is(cause, errStopped) || errors.Is(cause, errLost)) {
		return draft{}, false
	}
	d.FinishedAt = time.Now()
	d.Task.Turn = &turnStats{
		Model: run.res.Model, Backend: run.backend, DurationMS: time.Since(began).Milliseconds(), ToolCalls: len(run.res.ToolUses), Iterations: run.res.Iterations,
	}
	if run.res.Usage != (backend.Usage{}) {
		d.Task.Usage = &usage{run.res.Usage.Input, run.res.Usage.Output, run.res.Usage.CacheWrite, run.res.Usage.CacheRead}
	}
	for _, t := range run.res.ToolUses {
		d.Task.ToolUses = append(d.Task.ToolUses, toolUse{t})
	}
	a.setHealth(run.err, false)
	run.settle(d.Task)
	d.Body.Outcome = d.Task.Outcome
	return d, true
}

// taskRun is one run of a task: the model once, or once for each step of its plan.
type taskRun struct {
	agent   *Agent
	w       *work
	item    TaskItem
	profile Profile
	emit    func(backend.Event)

	res     backend.Result
	backend string
	text    string
	parked  bool // the model ended its run to wait for an answer
	err     error
}

// once runs the model for the whole task or one step.
func (r *taskRun) once(body string) {
	a, it := r.agent, r.item
	item := Item{
		ID: it.ID, MessageID: it.Task.Metadata.SourceMessageID, ConversationID: it.room(), ActiveTaskID: it.TaskID,
		Directives: it.Directives, RecentMessages: it.RecentMessages,
		Content: strings.TrimSpace("# Task: " + it.Task.Title + "\n\n" + body),
	}
	if it.Task.Metadata.ModelOverride != "" || it.Task.Metadata.EffortOverride != "" {
		item.TurnOverride = &Override{Model: it.Task.Metadata.ModelOverride, Effort: it.Task.Metadata.EffortOverride}
	}
	box := a.newToolbox(item, r.profile)
	box.allow(it.Directives.ToolAllowlist)
	t := a.buildTurn(item, r.profile, box)
	t.ConversationID = taskLane(it.TaskID)
	t.System += it.Directives.Behavioral.TaskSuffix
	g := a.newGate(r.w, it.room(), it.TaskID, keptRun{
		System: t.System, Model: t.Model, Effort: t.Effort, MaxTokens: t.MaxTokens, Message: item.MessageID, Task: it.TaskID,
	})
	t.Gate = g
	res, name, err := a.runModel(r.w.ctx, r.profile, t, r.emit)
	g.settle(a.life, err == nil && res.Waiting)
	uses, u := append(r.res.ToolUses, res.ToolUses...), r.res.Usage.Add(res.Usage)
	res.Iterations += r.res.Iterations
	r.res, r.backend, r.err = res, name, err
	r.res.ToolUses, r.res.Usage = uses, u
	r.text = box.answer(res.Text)
	r.parked = box.waits()
}

// settle decides how the run ends by what the model did. A task that a tool of the
// model has ended is over: the server says so, and nothing is left to report.
func (r *taskRun) settle(c *taskCompletion) {
	switch {
	case r.err != nil:
		e := backend.AsError(r.err)
		r.agent.log.Warn("task failed", "task_id", r.item.TaskID, "code", e.Code, "error", r.err)
		c.Outcome, c.Error = "failed", failure(e)
	case r.res.Waiting:
		c.Outcome = "awaiting_approval"
	case r.parked:
		c.Outcome, c.Summary = "parked", cut(r.text, 5000)
	case r.item.Task.Source == "pulse":
		c.Outcome, c.Silent = "done", true
	default:
		c.Outcome, c.Response = "done", clipTo(r.text, maxResponse)
	}
}

// plan runs a compound task: the server picks the steps (contract 2.8).
func (r *taskRun) plan() {
	a, w := r.agent, r.w
	for range 200 {
		var next struct {
			Status string `json:"status"`
			Step   struct {
				ID     string `json:"id"`
				Title  string `json:"title"`
				Prompt string `json:"prompt"`
			} `json:"step"`
			Summary string `json:"summary"`
		}
		err := a.insist(w.ctx, func() error { return a.api.call(w.ctx, "POST", a.taskPath(w, "claim-step"), a.taskCall(w), &next) })
		switch {
		case err != nil:
			r.err = backend.Errorf(backend.CodeException, "The plan could not be read: %s", err)
			return
		case next.Status != "step":
			if r.text == "" {
				r.text = next.Summary
			}
			return
		}
		r.emit(backend.Event{Kind: backend.Thinking, Detail: next.Step.Title})
		r.once(r.item.Task.Description + "\n\n## This step: " + next.Step.Title + "\n" + next.Step.Prompt)
		body := a.taskCall(w)
		body["step_id"], body["status"], body["result"] = next.Step.ID, "completed", map[string]string{"summary": cut(r.text, 500)}
		if r.err != nil {
			body["status"], body["result"] = "failed", map[string]string{"error": cut(storable(r.err.Error()), 500)}
		}
		if w.ctx.Err() != nil || r.parked || r.res.Waiting {
			return // the step is given again
		}
		if err := a.insist(w.ctx, func() error { return a.api.call(w.ctx, "POST", a.taskPath(w, "step-progress"), body, nil) }); err != nil {
			r.err = backend.Errorf(backend.CodeException, "The step could not be reported: %s", err)
		}
		if r.err != nil {
			return
		}
	}
}

func clipTo(s string, most int) string {
	const note = "\n\n[cut: the result was longer than it may be]"
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-len(note)]) + note
}

// progress shows a run to people: at most one report in progressEvery, one at
// least in progressQuiet as a sign of life.
type progress struct {
	agent *Agent
	w     *work
	began time.Time

	mu     sync.Mutex
	phase  string
	step   string
	dirty  bool
	ending chan struct{}
	done   chan struct{}
	once   sync.Once
}

const (
	progressEvery = 1500 * time.Millisecond
	progressQuiet = 5 * time.Second
)

func (a *Agent) newProgress(w *work) *progress {
	return &progress{agent: a, w: w, began: time.Now(), phase: "thinking", dirty: true, ending: make(chan struct{}), done: make(chan struct{})}
}

// emit takes over one event of the backend. It never blocks.
func (p *progress) emit(e backend.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	phase, step := p.phase, p.step
	switch e.Kind {
	case backend.Thinking, backend.Reset:
		phase, step = "thinking", e.Detail
	case backend.Text:
		phase, step = "writing", ""
	case backend.ToolCall:
		phase, step = "tool_call", e.Detail
		if step == "" {
			step = backend.Label(e.Tool)
		}
	}
	if phase != p.phase || (step != "" && step != p.step) {
		p.phase, p.step, p.dirty = phase, step, true
		p.agent.mu.Lock()
		p.w.step = step
		p.agent.mu.Unlock()
	}
}

func (p *progress) start(ctx context.Context) { go p.pump(ctx) }

func (p *progress) pump(ctx context.Context) {
	defer close(p.done)
	t := time.NewTicker(progressEvery)
	defer t.Stop()
	var last time.Time
	for {
		p.mu.Lock()
		send := p.dirty || time.Since(last) >= progressQuiet
		p.dirty = false
		body := p.agent.taskCall(p.w)
		body["current_step"], body["phase"], body["elapsed_ms"] = p.step, p.phase, time.Since(p.began).Milliseconds()
		p.mu.Unlock()
		if send {
			last = time.Now()
			claim := claimRef{p.w.queueID, p.agent.generation(p.w)}
			err := p.agent.api.call(ctx, "POST", p.agent.taskPath(p.w, "progress"), body, nil)
			if isLost(err) || isStatus(err, http.StatusNotFound, "") {
				p.agent.lose(claim) // over, or somebody else's
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-p.ending:
			return
		case <-t.C:
		}
	}
}

func (p *progress) halt() {
	p.once.Do(func() { close(p.ending) })
	<-p.done
}

// stopTask cancels the run of a task; nothing is reported, for the server has
// closed it already (contract 2.11).
func (a *Agent) stopTask(taskID string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.work {
		if (w.kind == kindTask && w.task.TaskID == taskID && !w.delivering) || (w.kind == kindApproval && w.approval.TaskID == taskID) {
			w.cancel(errStopped)
		}
	}
}

// resumable names the tasks whose result is on this disk and not delivered.
func (a *Agent) resumable() []string {
	out := []string{}
	drafts, err := a.outbox.list(time.Now(), a.opt.Timing.KeepLost)
	if err != nil {
		return out
	}
	for _, d := range drafts {
		if d.Task != nil && len(d.MessageIDs) == 1 && !slices.Contains(out, d.MessageIDs[0]) {
			out = append(out, d.MessageIDs[0])
		}
	}
	return out
}

// Query is a stateless question to the agent's model (contract 2.10).
type Query struct {
	ID           string `json:"id"`
	SystemPrompt string `json:"systemPrompt"`
	UserContent  string `json:"userContent"`
	MaxTokens    int64  `json:"maxTokens"`
}

// answerQuery runs the model once, without tools, history or a slot.
func (a *Agent) answerQuery(q Query) {
	p := a.currentProfile()
	t := backend.Turn{
		ID: q.ID, ConversationID: "query:" + q.ID, System: q.SystemPrompt, Input: []backend.Message{{Text: q.UserContent}},
		Model: p.ModelConfig.ModelID(), MaxTokens: q.MaxTokens, Gate: noGate{},
	}
	if a.opt.Model != "" {
		t.Model = a.opt.Model
	}
	res, _, err := a.runModel(a.sending, p, t, func(backend.Event) {})
	path, body := "/respond", map[string]any{"executor_id": a.executorID(), "text": res.Text, "model": res.Model,
		"usage": usage{res.Usage.Input, res.Usage.Output, res.Usage.CacheWrite, res.Usage.CacheRead}}
	switch {
	case err != nil:
		path, body = "/fail", map[string]any{"executor_id": a.executorID(), "error": cut(backend.AsError(err).Message, 500)}
	case strings.TrimSpace(res.Text) == "":
		path, body = "/fail", map[string]any{"executor_id": a.executorID(), "error": "handler_returned_no_result"}
	}
	if err := a.api.call(a.life, "POST", "/api/gateway/agent-queries/"+url.PathEscape(q.ID)+path, body, nil); err != nil {
		a.log.Warn("agent query not answered", "error", err)
	}
}

// scope answers a request to word a task at once, as the contract's bridge does (2.9).
func (a *Agent) scope(payload json.RawMessage) {
	var q struct {
		ID      string `json:"id"`
		Content string `json:"content"`
	}
	if json.Unmarshal(payload, &q) != nil || q.ID == "" {
		return
	}
	title, _, _ := strings.Cut(strings.TrimSpace(q.Content), "\n")
	a.wg.Go(func() {
		body := map[string]any{"title": cut(title, 80), "description": q.Content}
		if err := a.api.call(a.life, "POST", "/api/gateway/scope-requests/"+url.PathEscape(q.ID)+"/respond", body, nil); err != nil {
			a.log.Warn("scope request not answered", "error", err)
		}
	})
}
