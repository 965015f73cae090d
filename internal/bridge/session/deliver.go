package session

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

// delivery is how one draft ended.
type delivery int

const (
	accepted delivery = iota // stored by the server
	lost                     // the claim belongs to somebody else; the draft is kept for a while
	refused                  // the server will never take it
	pending                  // not delivered yet; the draft stays in the outbox
)

// mostStale is how often a draft may be refused as outdated; the server does so once
// per claim.
const mostStale = 5

// maxContent is the server's limit for one message, in characters.
const maxContent = 100_000

// sender is what deliver needs beside the draft.
type sender struct {
	gen    func() int64                         // the claim's generation now
	revise func(d draft, newer []Message) draft // called at most once, for a stale draft
	tries  int                                  // 0 means for ever
}

// deliver brings a draft to the server: saved and fsynced first, then sent
// until the server has taken it or refused it for good.
func (a *Agent) deliver(ctx context.Context, d draft, s sender) (delivery, error) {
	unlock, err := a.rows.lock(ctx, d.QueueID)
	if err != nil {
		return pending, err
	}
	defer unlock()
	dirty, revised, downgraded, stale := true, false, false, 0
	for try := 0; ; try++ {
		if g := s.gen(); g != d.Body.Generation {
			d.Body.Generation, dirty = g, true
		}
		if dirty {
			if err := a.outbox.save(d); err != nil {
				a.log.Error("finished turn could not be written to disk", "queue_id", d.QueueID, "error", err)
			}
			dirty = false
		}
		path, body := d.request()
		err := a.api.call(ctx, "POST", path, body, nil)
		status, isAnswer := errors.AsType[*StatusError](err)
		switch {
		case err == nil:
			return accepted, a.outbox.remove(d.QueueID)
		case d.Task != nil && isStatus(err, http.StatusNotFound, ""): // it is over: a tool of the run ended it, or a person
			return accepted, a.outbox.remove(d.QueueID)
		case isLost(err) || isStatus(err, http.StatusNotFound, ""):
			if s.gen() != d.Body.Generation {
				continue
			}
			d.LostAt = time.Now()
			return lost, a.outbox.save(d)
		case isStatus(err, http.StatusConflict, "") && stale < mostStale:
			stale++ // tries that the server never answered do not count
			newer := staleMessages(status.Body)
			if !revised && s.revise != nil && d.Body.Reply != nil {
				d = s.revise(d, newer)
			}
			revised, dirty = true, true
			if d.Body.Reply != nil && len(newer) > 0 {
				d.Body.Reply.LastSeenMessageID = newest(newer)
			}
			continue
		case isAnswer && final(status.Status):
			a.log.Error("the server refused a finished turn", "queue_id", d.QueueID, "status", status.Status, "code", status.Code)
			if downgraded || d.Body.Outcome == outcomeFailed {
				return refused, a.outbox.putAside(d.QueueID)
			}
			// The people must see that there was an answer which could not be shown.
			downgraded, dirty = true, true
			d.Body.Outcome, d.Body.Reply = outcomeFailed, nil
			if d.Task != nil {
				d.Task.Outcome, d.Task.Error = outcomeFailed, &completionErr{Code: "handler_exception", Message: "The result was refused by the server: " + status.Message}
			}
			d.Body.Error = &completionErr{Code: "model_error", Message: "The answer was refused by the server: " + status.Message}
			continue
		case errors.Is(err, ErrKeyRefused):
			return pending, err
		}
		if s.tries > 0 && try+1 >= s.tries {
			return pending, err
		}
		a.log.Warn("finished turn not delivered yet", "queue_id", d.QueueID, "error", err)
		if isAnswer && status.RetryAfter > 0 && !wait(ctx, status.RetryAfter) {
			return pending, err
		}
		if !a.pause(ctx, try) {
			return pending, err
		}
	}
}

// request is the call that delivers a draft.
func (d draft) request() (path string, body any) {
	if d.Task == nil {
		return "/api/gateway/messages/" + url.PathEscape(d.QueueID) + "/complete", d.Body
	}
	t := *d.Task
	t.Generation = d.Body.Generation
	return "/api/gateway/tasks/" + url.PathEscape(d.QueueID) + "/complete", t
}

// final says that repeating the same request cannot help.
func final(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusConflict, http.StatusGone, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

func staleMessages(body []byte) []Message {
	var out struct {
		NewMessages []Message `json:"newMessages"`
	}
	if json.Unmarshal(body, &out) != nil {
		return nil
	}
	return out.NewMessages
}

// newest is the id of the latest message by time, the last one where times are
// missing or equal.
func newest(ms []Message) string {
	best := ms[0]
	for _, m := range ms[1:] {
		if m.InsertedAt >= best.InsertedAt {
			best = m
		}
	}
	return best.ID
}

// finish delivers the result of a turn and closes its stream accordingly.
func (a *Agent) finish(w *work, d draft) {
	result, err := a.deliver(a.sending, d, sender{
		gen:    func() int64 { return a.generation(w) },
		revise: func(d draft, newer []Message) draft { return a.revise(w, d, newer) },
	})
	status := "cancelled"
	switch result {
	case accepted:
		if d.Body.Outcome == outcomeAnswered {
			status = "complete"
		}
		a.log.Info("turn finished", "queue_id", d.QueueID, "outcome", d.Body.Outcome)
	case lost:
		// The stream belongs to whoever holds the claim now.
		a.log.Warn("finished turn kept: its claim was lost", "queue_id", d.QueueID)
		return
	default:
		a.log.Error("finished turn stays in the outbox", "queue_id", d.QueueID, "error", err)
	}
	if result != pending {
		a.closeStream(d, status)
	}
}

func (a *Agent) closeStream(d draft, status string) {
	if d.StreamID == "" {
		return
	}
	st := &stream{api: a.api, id: d.StreamID, path: streamPath(d.ConversationID)}
	_ = st.send(a.life, streamFrame{Status: status})
}

// replay sends what an earlier process finished, under its claim, before this
// process registers: registering gives the old claims back to the queue.
func (a *Agent) replay(ctx context.Context) error {
	drafts, err := a.outbox.list(time.Now(), a.opt.Timing.KeepLost)
	if err != nil {
		return err
	}
	for _, d := range drafts {
		if !d.LostAt.IsZero() {
			continue
		}
		result, err := a.deliver(ctx, d, sender{gen: func() int64 { return d.Body.Generation }, tries: 3})
		if errors.Is(err, ErrKeyRefused) {
			return err
		}
		a.log.Info("finished turn of an earlier run sent", "queue_id", d.QueueID, "accepted", result == accepted)
		if result == accepted {
			a.closeStream(d, "complete")
		}
	}
	return nil
}

// wakeOutbox asks the pump to look now.
func (a *Agent) wakeOutbox() {
	select {
	case a.pump <- struct{}{}:
	default:
	}
}

// pumpOutbox retries drafts that no running turn is responsible for.
func (a *Agent) pumpOutbox(ctx context.Context) {
	t := time.NewTicker(max(a.opt.Timing.BackoffMax, time.Second))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		case <-a.pump:
		}
		drafts, err := a.outbox.list(time.Now(), a.opt.Timing.KeepLost)
		if err != nil {
			a.log.Error("outbox unreadable", slog.Any("error", err))
			continue
		}
		for _, d := range drafts {
			a.mu.Lock()
			busy := a.work[d.QueueID] != nil
			a.mu.Unlock()
			if busy || !d.LostAt.IsZero() {
				continue
			}
			if _, err := a.deliver(ctx, d, sender{gen: func() int64 { return d.Body.Generation }, tries: 1}); err != nil {
				a.log.Warn("finished turn not delivered yet", "queue_id", d.QueueID, "error", err)
			}
		}
	}
}
