package backend

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// maxPending bounds what one run has been told and has not taken up.
const maxPending = 50

// Ears are those of the runs of a backend that calls its model again and again: what is
// said while a run goes on is taken up between two calls. The zero value is usable.
type Ears struct {
	mu   sync.Mutex
	runs map[string]*Ear
}

// Ear is that of one run.
type Ear struct {
	of      *Ears
	pending []telling
	over    chan struct{}
}

type telling struct {
	text  string
	heard chan struct{} // closed when it is taken up
}

// Listen opens the ear of a conversation's run; over closes it, and what it has not
// taken up is not heard.
func (e *Ears) Listen(conversationID string) (ear *Ear, over func()) {
	ear = &Ear{of: e, over: make(chan struct{})}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.runs == nil {
		e.runs = map[string]*Ear{}
	}
	e.runs[conversationID] = ear
	return ear, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.runs[conversationID] == ear {
			delete(e.runs, conversationID)
		}
		close(ear.over)
	}
}

// Tell is that of Listener.
func (e *Ears) Tell(ctx context.Context, conversationID, text string) bool {
	t := telling{text, make(chan struct{})}
	e.mu.Lock()
	ear := e.runs[conversationID]
	full := ear == nil || len(ear.pending) >= maxPending
	if !full {
		ear.pending = append(ear.pending, t)
	}
	e.mu.Unlock()
	if full {
		return false
	}
	select {
	case <-t.heard:
		return true
	case <-ear.over:
	case <-ctx.Done():
	}
	return !ear.takeBack(t)
}

// takeBack says that a text had not been taken up; it never is then.
func (r *Ear) takeBack(t telling) bool {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	n := len(r.pending)
	r.pending = slices.DeleteFunc(r.pending, func(p telling) bool { return p.heard == t.heard })
	return len(r.pending) < n
}

// Take is what has been said since the last call, for the model to read; "" for nothing.
func (r *Ear) Take() string {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	texts := make([]string, len(r.pending))
	for n, p := range r.pending {
		texts[n] = p.text
		close(p.heard)
	}
	r.pending = nil
	return strings.Join(texts, "\n\n")
}
