// Package httpx is the plumbing of every HTTP edge: one handler form, decoding
// with limits, one mapping of errors, request ids. It knows no feature.
package httpx

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strconv"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/wire"
)

// MaxBody is the default limit of a JSON body in bytes.
const MaxBody = 1 << 20

type ctxKey uint8

const (
	actorKey ctxKey = iota
	requestIDKey
)

// WithActor stores who makes the request; edges read it and pass it on explicitly.
func WithActor(ctx context.Context, a access.Actor) context.Context {
	return context.WithValue(ctx, actorKey, a)
}

// Actor is who makes the request; Kind None when nobody signed in.
func Actor(ctx context.Context) access.Actor {
	a, _ := ctx.Value(actorKey).(access.Actor)
	return a
}

// WithRequestID stores the request's id.
func WithRequestID(ctx context.Context, rid string) context.Context {
	return context.WithValue(ctx, requestIDKey, rid)
}

// RequestID is the id shown to people with an internal error.
func RequestID(ctx context.Context) string {
	s, _ := ctx.Value(requestIDKey).(string)
	return s
}

// HandlerFunc decodes, authorises, calls one thing, encodes; a returned error is mapped once.
type HandlerFunc func(w http.ResponseWriter, r *http.Request) error

// Wrap turns a HandlerFunc into an http.HandlerFunc.
func Wrap(log *slog.Logger, h HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			Error(log, w, r, err)
		}
	}
}

// BodyError is an error that brings its own status and body, for the exceptions
// of the contract (docs/http.md).
type BodyError interface {
	error
	Body() (status int, body any)
}

// Error writes err in the general form. Internal causes are logged, never sent.
func Error(log *slog.Logger, w http.ResponseWriter, r *http.Request, err error) {
	if be, ok := errors.AsType[BodyError](err); ok {
		status, body := be.Body()
		_ = JSON(w, status, body)
		return
	}
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // the client is gone
	}
	f := fault.From(err)
	status := Status(f)
	if status >= http.StatusInternalServerError {
		log.ErrorContext(r.Context(), "request failed", slog.String("code", f.Code), slog.Any("error", err), slog.String("request_id", RequestID(r.Context())))
	}
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.RetryAfter.Seconds()))))
	}
	body := wire.ErrorBody{Error: wire.ErrorDetail{Code: f.Code, Message: f.Message, RequestID: RequestID(r.Context())}}
	for _, c := range f.Fields {
		body.Error.Details = append(body.Error.Details, wire.FieldError{Field: c.Field, Code: c.Code, Message: c.Message})
	}
	_ = JSON(w, status, body)
}

// Status maps a kind to its status, once (architecture 7).
func Status(f *fault.Error) int {
	switch f.Kind {
	case fault.Invalid:
		if f.Code == "bad_json" || f.Code == "bad_request" {
			return http.StatusBadRequest
		}
		if f.Code == "too_large" {
			return http.StatusRequestEntityTooLarge
		}
		return http.StatusUnprocessableEntity
	case fault.Unauthenticated:
		return http.StatusUnauthorized
	case fault.Forbidden:
		return http.StatusForbidden
	case fault.NotFound:
		return http.StatusNotFound
	case fault.Conflict:
		return http.StatusConflict
	case fault.Exhausted:
		return http.StatusTooManyRequests
	case fault.Unavailable:
		return http.StatusServiceUnavailable
	case fault.Internal:
	}
	return http.StatusInternalServerError
}

// JSON writes a body. Every 2xx but 204 has one (desktop 1.2).
func JSON(w http.ResponseWriter, status int, body any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(b)
	return nil
}

// NoContent answers 204.
func NoContent(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// Decode reads a JSON body of at most MaxBody bytes into v. An empty body leaves v as it is
// (clients send the content type always, desktop 1.1). Unknown keys are ignored.
func Decode(w http.ResponseWriter, r *http.Request, v any) error {
	return DecodeLimit(w, r, v, MaxBody)
}

// DecodeLimit is Decode with a limit of its own.
func DecodeLimit(w http.ResponseWriter, r *http.Request, v any, limit int64) error {
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, limit))
	err := dec.Decode(v)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return fault.Newf(fault.Invalid, "too_large", "The body may have at most %d bytes.", tooLarge.Limit)
	}
	if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && te.Field != "" {
		return fault.New(fault.Invalid, "invalid", "A field has the wrong type.").With(te.Field, "type", "must be of type "+te.Type.String())
	}
	if err != nil {
		return fault.New(fault.Invalid, "bad_json", "The body is not valid JSON.").Because(err)
	}
	return nil
}

// Limit reads ?limit= between 1 and limit's bounds, or gives def.
func Limit(r *http.Request, def, most int) int {
	n, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil || n < 1 {
		return def
	}
	return min(n, most)
}
