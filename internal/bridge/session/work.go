package session

import (
	"context"
	"errors"
	"net/url"
	"time"
)

// Causes for which a running turn is cancelled.
var (
	errStopped = errors.New("stopped by a person")
	errLost    = errors.New("the claim was lost")
	errDrain   = errors.New("the bridge is stopping")
)

// work is one claimed item in flight.
type work struct {
	item   Item
	ctx    context.Context
	cancel context.CancelCauseFunc
	done   chan struct{}

	// guarded by Agent.mu
	gen        int64
	delivering bool // the model is done; only the delivery runs
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
		a.wg.Go(func() { a.release(it.ID, it.Generation) })
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
	w := &work{item: it, gen: it.Generation, done: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancelCause(a.life)
	a.work[it.ID] = w
	a.wg.Go(func() {
		defer func() {
			w.cancel(nil)
			a.mu.Lock()
			if a.work[it.ID] == w {
				delete(a.work, it.ID)
			}
			a.mu.Unlock()
			close(w.done)
		}()
		a.run(w)
	})
}

func (a *Agent) generation(w *work) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return w.gen
}

// run waits for the conversation and for a slot, then runs the turn.
func (a *Agent) run(w *work) {
	unlock, err := a.rooms.lock(w.ctx, w.item.ConversationID)
	if err != nil {
		a.abandon(w, err)
		return
	}
	defer unlock()
	select {
	case a.slots <- struct{}{}:
	case <-w.ctx.Done():
		a.abandon(w, context.Cause(w.ctx))
		return
	}
	held := true
	free := func() {
		if held {
			held = false
			<-a.slots
		}
	}
	defer free()
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
		a.log.Warn("turn ended: claim lost", "queue_id", w.item.ID)
	default:
		a.release(w.item.ID, a.generation(w))
	}
}

// release gives a row back without an attempt, so that it is offered again at
// once. If the server cannot be reached the lease does the same later.
func (a *Agent) release(queueID string, generation int64) {
	body := map[string]any{"executor_id": a.executorID(), "generation": generation}
	err := a.api.call(a.life, "POST", "/api/gateway/messages/"+url.PathEscape(queueID)+"/release", body, nil)
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
