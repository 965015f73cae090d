package session

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"time"
)

// Causes for which a running turn is cancelled.
var (
	errStopped = errors.New("stopped by a person")
	errLost    = errors.New("the claim was lost")
	errDrain   = errors.New("the bridge is stopping")
)

// Kinds of claimed work.
const (
	kindMessage  = "message"
	kindApproval = "approval"
	kindTask     = "task"
)

// work is one claimed item in flight. Its kind says what runs and how it is given
// back; claims, slots, rooms and stops are the same for all.
type work struct {
	kind         string
	queueID      string
	conversation string
	item         Item     // of a message
	approval     Approval // of a decision
	task         TaskItem // of a task

	ctx    context.Context
	cancel context.CancelCauseFunc
	done   chan struct{}

	// guarded by Agent.mu
	gen        int64
	delivering bool   // the model is done; only the delivery runs
	step       string // of a task: what its run does
}

// messageIDs are the messages that the turn answers.
func (it Item) messageIDs() []string {
	ids := []string{it.MessageID}
	for _, m := range it.Merged {
		ids = append(ids, m.MessageID)
	}
	return ids
}

func subset(small, big []string) bool { return draft{MessageIDs: big}.covers(small) }

// take accepts a claimed item. The same claim twice is ignored; the same row
// under a newer claim is taken over by the turn that already runs, if that
// answers the same messages, and otherwise replaces it.
func (a *Agent) take(it Item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.draining {
		a.wg.Go(func() { a.release(kindMessage, it.ID, it.Generation) })
		return
	}
	if old := a.work[it.ID]; old != nil {
		if it.Generation <= old.gen {
			return
		}
		if subset(it.messageIDs(), old.item.messageIDs()) && old.ctx.Err() == nil {
			old.gen = it.Generation
			return
		}
		old.cancel(errLost)
	}
	a.begin(&work{kind: kindMessage, queueID: it.ID, conversation: it.ConversationID, item: it, gen: it.Generation}, a.run)
}

// begin runs a piece of work beside the others. a.mu is held.
func (a *Agent) begin(w *work, run func(*work)) {
	w.done = make(chan struct{})
	w.ctx, w.cancel = context.WithCancelCause(a.life)
	a.work[w.queueID] = w
	a.wg.Go(func() {
		defer func() {
			w.cancel(nil)
			a.mu.Lock()
			if a.work[w.queueID] == w {
				delete(a.work, w.queueID)
			}
			a.mu.Unlock()
			close(w.done)
		}()
		run(w)
	})
}

func (a *Agent) generation(w *work) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return w.gen
}

// place waits for the conversation and for a slot. leave gives both back, free only
// the slot; either may be called more than once.
func (a *Agent) place(w *work) (free, leave func(), err error) {
	unlock, err := a.rooms.lock(w.ctx, w.conversation)
	if err != nil {
		return nil, nil, err
	}
	select {
	case a.slots <- struct{}{}:
	case <-w.ctx.Done():
		unlock()
		return nil, nil, context.Cause(w.ctx)
	}
	free = sync.OnceFunc(func() { <-a.slots })
	return free, sync.OnceFunc(func() { free(); unlock() }), nil
}

// run waits for the conversation and for a slot, then runs the turn.
func (a *Agent) run(w *work) {
	free, leave, err := a.place(w)
	if err != nil {
		a.abandon(w, err)
		return
	}
	defer leave()
	d, ok := a.finishedBefore(w)
	if !ok {
		d, ok = a.turn(w)
	}
	if !ok {
		a.abandon(w, context.Cause(w.ctx))
		return
	}
	a.mu.Lock()
	w.delivering = true
	a.mu.Unlock()
	// Delivery needs no model: with the server away it must not keep other
	// conversations from being answered.
	free()
	a.finish(w, d)
}

// abandon ends a turn that has no result, by the reason it was cancelled for.
func (a *Agent) abandon(w *work, cause error) {
	switch {
	case errors.Is(cause, errStopped):
		d := a.newDraft(w)
		d.Body.Outcome = outcomeStopped
		a.finish(w, d)
	case errors.Is(cause, errLost):
		a.log.Warn("turn ended: claim lost", "queue_id", w.queueID)
	default:
		a.release(w.kind, w.queueID, a.generation(w))
	}
}

// release gives a row back without an attempt, so that it is offered again at
// once. If the server cannot be reached the lease does the same later.
func (a *Agent) release(kind, queueID string, generation int64) {
	body := map[string]any{"executor_id": a.executorID(), "generation": generation}
	err := a.api.call(a.life, "POST", "/api/gateway/"+kind+"s/"+url.PathEscape(queueID)+"/release", body, nil)
	if err != nil && !isLost(err) {
		a.log.Warn("claim not released", "queue_id", queueID, "error", err)
	}
}

// finishedBefore finds a draft of an earlier claim or an earlier process that
// answers exactly what is asked now.
func (a *Agent) finishedBefore(w *work) (draft, bool) {
	d, ok := a.outbox.get(w.item.ID)
	if !ok || !d.covers(w.item.messageIDs()) {
		return draft{}, false
	}
	d.LostAt, d.Body.ExecutorID = time.Time{}, a.executorID()
	a.log.Info("finished turn found in the outbox", "queue_id", w.item.ID)
	return d, true
}
