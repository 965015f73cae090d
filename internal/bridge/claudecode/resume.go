package claudecode

import (
	"context"
	"errors"
	"time"

	"github.com/agntchat/agntchat/internal/bridge/backend"
)

// Resume goes on with a session that stopped for an approval: the CLI finds the call
// in it and asks the hook once more. It runs at most once: when the process dies after
// that, the model is told to look before it does anything again.
func (b *Backend) Resume(ctx context.Context, t backend.Turn, a backend.Approval, emit func(backend.Event)) (backend.Result, error) {
	return b.locked(t, func(c *conversation) (backend.Result, error) {
		c.takeUp(a.RunID)
		res, text, err := c.resume(ctx, t, a, emit)
		if err != nil || res.Waiting {
			return res, err
		}
		b.opt.Dir.DropSession(waiting(a.RunID), c.id)
		if text == "" {
			return res, nil
		}
		emit(backend.Event{Kind: backend.Reset})
		return c.converse(ctx, t, emit, func(bool, bool) string { return text })
	})
}

// resume starts the session for its call. text is what the model must be told
// besides, empty when its answer stands.
func (c *conversation) resume(ctx context.Context, t backend.Turn, a backend.Approval, emit func(backend.Event)) (res backend.Result, text string, err error) {
	emit(backend.Event{Kind: backend.Thinking})
	several := c.session.Several
	c.session.Several = false
	r := &run{c: c, turn: t, emit: emit, model: t.Model, resumes: a.CallID}
	_, done, err := r.begin(ctx)
	if err != nil {
		return res, "", err
	}
	defer done()
	err = r.play(ctx, "")
	r.res.Model = r.model
	c.stop(2 * time.Second) // its input is closed
	call := a.Tool + " " + backend.Short(string(a.Input))
	switch {
	case ctx.Err() != nil:
		return r.res, "", context.Cause(ctx)
	case errors.Is(err, errNoSession):
		return r.res, "", r.died
	case errors.Is(err, errDied) && r.ran:
		return r.res, "(Your process was interrupted. The approved call has run: " + call + "\nIts result was:\n" + clip(r.gave) + "\nGo on, and give your answer.)", nil
	case errors.Is(err, errDied):
		return r.res, "(Your process was interrupted after people had decided about this call: " + call +
			"\nIt may have run. Look at its effect before you run anything again. Then go on, and give your answer.)", nil
	case err != nil:
		return r.res, "", err
	case r.ran && several: // the CLI does not show the model the result of one call among several
		return r.res, "(The call that waited for an approval has an outcome now: " + call + "\nIts result was:\n" + clip(r.gave) + "\nGo on, and give your answer.)", nil
	}
	return r.res, "", nil
}

// clip bounds what is repeated to the model.
func clip(s string) string {
	const most = 20_000
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "\n[cut]"
	}
	return s
}
