package claudecode

import (
	"context"
	"log/slog"
)

// ear is how a running exchange takes what is said meanwhile.
type ear struct {
	in   chan telling
	done chan struct{} // closed when the exchange is over
}

// telling is one text for a running exchange.
type telling struct {
	text  string
	heard chan bool // of room for one
}

// Tell implements backend.Listener: a line on standard input while the CLI runs
// becomes part of its present turn.
func (b *Backend) Tell(ctx context.Context, conversationID, text string) bool {
	b.mu.Lock()
	c := b.convs[conversationID]
	b.mu.Unlock()
	if c == nil {
		return false
	}
	e := c.ear.Load()
	if e == nil {
		return false
	}
	t := telling{text, make(chan bool, 1)}
	select {
	case e.in <- t:
	case <-e.done:
		return false
	case <-ctx.Done():
		return false
	}
	select {
	case ok := <-t.heard:
		return ok
	case <-e.done:
		return false
	case <-ctx.Done():
		return false
	}
}

// listen opens the ear of an exchange; over closes it.
func (r *run) listen() (e *ear, over func()) {
	e = &ear{in: make(chan telling), done: make(chan struct{})}
	if r.resumes != "" {
		return e, func() {} // its process reads nothing
	}
	r.c.ear.Store(e)
	return e, func() {
		r.c.ear.Store(nil)
		close(e.done)
	}
}

// tell passes a text on to the CLI, which echoes it when it takes it up.
func (r *run) tell(t telling) {
	r.told = append(r.told, t)
	p := r.c.p
	go func() {
		if err := p.Send(newUserLine(t.text)); err != nil {
			r.c.b.opt.Log.Debug("claude does not listen", slog.Any("error", err))
		}
	}()
}

// echoed notes that the CLI has taken up a line: first ours, then what was said.
func (r *run) echoed() {
	if !r.echo {
		r.echo = true
		r.heard()
		return
	}
	if len(r.told) > 0 {
		r.told[0].heard <- true
		r.told = r.told[1:]
	}
}
