package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/view"
)

// pathID is an id of the path; what is no id names nothing that exists.
func pathID[T id.Parseable[T]](r *http.Request, param string) (T, error) {
	v, err := id.Parse[T](chi.URLParam(r, param))
	if err != nil {
		return v, fault.ErrNotFound
	}
	return v, nil
}

// queryTime reads a cursor of the query; nil when it is absent.
func queryTime(r *http.Request, key string) (*time.Time, error) {
	s := r.URL.Query().Get(key)
	if s == "" {
		return nil, nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return nil, fault.New(fault.Invalid, "invalid", "The cursor is not a time.").With(key, "format", "must be a time as this server prints it, such as 2026-01-31T12:00:00.000000Z")
	}
	return &t, nil
}

// queryMark reads a cursor of two parts: before, a time, and beforeId, which names the
// row among those of that moment and may be absent.
func queryMark[T id.Parseable[T]](r *http.Request) (m view.Mark[T], err error) {
	if m.At, err = queryTime(r, "before"); err != nil || m.At == nil {
		return m, err
	}
	if s := r.URL.Query().Get("beforeId"); s != "" {
		if m.ID, err = id.Parse[T](s); err != nil {
			return m, fault.New(fault.Invalid, "invalid", "The cursor is not an id.").With("beforeId", "format", "not an id")
		}
	}
	return m, nil
}

// onTask is the frame of a change of one task: its id and the body, of at most limit
// bytes, are read, and it is answered as it is then. Calls without a body have any In.
func onTask[In any](limit int64, do func(ctx context.Context, actor access.Actor, t id.Task, in In) (flow.TaskView, error)) httpx.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		tid, err := taskID(r)
		if err != nil {
			return err
		}
		var in In
		if err := httpx.DecodeLimit(w, r, &in, limit); err != nil {
			return err
		}
		v, err := do(r.Context(), httpx.Actor(r.Context()), tid, in)
		if err != nil {
			return err
		}
		return httpx.JSON(w, http.StatusOK, present.Task(v))
	}
}

// runCall is the body of a call of a run that holds a queue row.
type runCall interface {
	Holder() (executor string, generation *int64)
}

// onRun is the frame of such calls: the body and the claim are read, and what do
// gives is answered.
func onRun[In runCall](do func(ctx context.Context, actor access.Actor, c flow.HeldClaim, in In) (any, error)) httpx.HandlerFunc {
	return onClaim(held, do)
}

// onClaim is onRun with a way of its own to the claim.
func onClaim[In runCall](find func(r *http.Request, executor string, generation *int64) (flow.HeldClaim, error), do func(ctx context.Context, actor access.Actor, c flow.HeldClaim, in In) (any, error)) httpx.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		var in In
		if err := httpx.DecodeLimit(w, r, &in, maxMessageBody); err != nil {
			return err
		}
		executor, generation := in.Holder()
		c, err := find(r, executor, generation)
		if err != nil {
			return err
		}
		out, err := do(r.Context(), httpx.Actor(r.Context()), c, in)
		if err != nil {
			return err
		}
		return httpx.JSON(w, http.StatusOK, out)
	}
}
