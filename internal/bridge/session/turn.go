package session

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/bridge/backend"
)

func (a *Agent) newDraft(w *work) draft {
	return draft{
		QueueID: w.item.ID, ConversationID: w.item.ConversationID, MessageIDs: w.item.messageIDs(), FinishedAt: time.Now(),
		Body: completion{ExecutorID: a.executorID(), Generation: a.generation(w)},
	}
}

// turn runs the model for one item. ok is false when the turn was cancelled
// and has no result; the cause stands in the work's context.
func (a *Agent) turn(w *work) (d draft, ok bool) {
	d = a.newDraft(w)
	it := w.item
	if it.Directives.SkipMessage {
		d.Body.Outcome = outcomePassed
		return d, true
	}
	p := a.currentProfile()
	d.StreamID = newStreamID()
	st := a.newStream(w, d.StreamID, func() claimRef { return claimRef{it.ID, a.generation(w)} })
	st.start(a.life, it.ConversationID)
	defer st.halt()

	began := time.Now()
	box := a.newToolbox(it, p)
	t := a.buildTurn(it, p, box)
	a.talkBeside(w, &t)
	g := a.newGate(w, it.ConversationID, "", keptRun{System: t.System, Model: t.Model, Effort: t.Effort, MaxTokens: t.MaxTokens, Talk: true, Message: it.MessageID, Task: it.ActiveTaskID})
	t.Gate = g
	res, name, err := a.runModel(w.ctx, p, t, st.emit)
	g.settle(a.life, err == nil && res.Waiting)
	if cause := context.Cause(w.ctx); cause != nil && (err != nil || errors.Is(cause, errStopped)) {
		if !errors.Is(cause, errLost) {
			st.halt()
			a.closeStream(d, "cancelled")
		}
		return draft{}, false
	}
	d.FinishedAt = time.Now()
	d.Body.Turn = &turnStats{
		Model: res.Model, Backend: name, DurationMS: time.Since(began).Milliseconds(),
		ToolCalls: len(res.ToolUses), Iterations: res.Iterations,
	}
	if res.Usage != (backend.Usage{}) {
		d.Body.Usage = &usage{res.Usage.Input, res.Usage.Output, res.Usage.CacheWrite, res.Usage.CacheRead}
	}
	for _, t := range res.ToolUses {
		d.Body.ToolUses = append(d.Body.ToolUses, toolUse{t})
	}
	a.setHealth(err, false)
	if err == nil && res.Waiting {
		d.Body.Outcome = outcomePassed
		d.Body.Error = &completionErr{Code: "awaiting_approval", Message: "A call waits for an approval."}
		return d, true
	}
	a.settle(&d, it, box, res.Text, err)
	return d, true
}

// settle decides the outcome of a turn from what the model did.
func (a *Agent) settle(d *draft, it Item, box *toolbox, text string, err error) {
	answer := box.answer(text)
	switch {
	case err != nil:
		e := backend.AsError(err)
		a.log.Warn("turn failed", "queue_id", it.ID, "code", e.Code, "error", err)
		d.fail(e)
	case box.silent():
		d.Body.Outcome = outcomePassed
	case answer != "":
		d.Body.Outcome = outcomeAnswered
		d.Body.Reply = &reply{
			Content: clip(answer), ContentType: "text", LastSeenMessageID: lastSeen(it),
			Metadata: map[string]any{
				"stream_id": d.StreamID, "model": d.Body.Turn.Model, "backend": d.Body.Turn.Backend, "tool_calls": d.Body.Turn.ToolCalls,
			},
		}
	case it.Directives.HumanExpectsReply && !box.Done():
		d.fail(backend.Errorf(backend.CodeEmpty, "The model returned no answer."))
	default:
		d.Body.Outcome = outcomePassed
	}
}

func (d *draft) fail(e *backend.Error) {
	d.Body.Outcome = outcomeFailed
	d.Body.Error = failure(e)
}

func failure(e *backend.Error) *completionErr {
	return &completionErr{Code: e.Code, Message: storable(e.Message)}
}

// storable leaves out the one character that no server can store: an answer must not be
// refused for it.
func storable(s string) string { return strings.ReplaceAll(s, "\x00", "") }

func lastSeen(it Item) string {
	if it.LatestSeenMessageID != "" {
		return it.LatestSeenMessageID
	}
	return it.MessageID
}

// clip keeps an answer below the server's limit and says so.
func clip(s string) string {
	const note = "\n\n[cut: the answer was longer than a message may be]"
	if utf8.RuneCountInString(s) <= maxContent {
		return s
	}
	r := []rune(s)
	return string(r[:maxContent-len(note)]) + note
}

func newStreamID() string {
	var b [12]byte
	_, _ = rand.Read(b[:])
	return "agnt-" + hex.EncodeToString(b[:])
}

// runModel runs one turn under its time limit.
func (a *Agent) runModel(ctx context.Context, p Profile, t backend.Turn, emit func(backend.Event)) (backend.Result, string, error) {
	b, err := a.backend(ctx, p)
	if err != nil {
		return backend.Result{}, "", err
	}
	if g, ok := t.Gate.(*gate); ok {
		g.run.Backend = b.Name()
	}
	limit := a.opt.turnLimit(b.Name(), p)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, backend.Errorf(backend.CodeTimeout, "The answer took longer than %s.", limit))
	defer cancel()
	res, err := b.Run(ctx, t, emit)
	if err != nil && ctx.Err() != nil {
		if e, ok := errors.AsType[*backend.Error](context.Cause(ctx)); ok {
			err = e
		}
	}
	return res, b.Name(), err
}

// revise asks the model once more when people wrote while it was working. Any
// failure keeps the first draft: the server accepts it the second time.
func (a *Agent) revise(w *work, d draft, newer []Message) draft {
	var input []backend.Message
	for _, m := range newer {
		if m.SenderID != a.opt.AgentID {
			input = append(input, a.render(m))
		}
	}
	if len(input) == 0 || d.Body.Turn == nil || d.Body.Turn.Backend == backend.Scripted {
		return d
	}
	p := a.currentProfile()
	box := a.newToolbox(w.item, p)
	t := a.buildTurn(w.item, p, box)
	t.Gate = noGate{}
	t.History = append(append(t.History, t.Input...), backend.Message{Assistant: true, Text: d.Body.Reply.Content})
	t.Input = append([]backend.Message{{Text: "(Your reply has not been posted yet: the messages below arrived while you were writing it. " +
		"Write the reply to post now, complete and in full. Repeat it unchanged if it still fits. Do not mention this note.)"}}, input...)
	res, _, err := a.runModel(w.ctx, p, t, func(backend.Event) {})
	if answer := box.answer(res.Text); err == nil && strings.TrimSpace(answer) != "" && !box.silent() {
		d.Body.Reply.Content = clip(answer)
	}
	return d
}
