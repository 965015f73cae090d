// Package fault is the error model: what kind of failure, a stable code, a
// sentence for people, and fields for forms. Edges map a kind to a status once;
// a cause is logged, never sent (architecture 7).
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Kind says what an edge should do with the error.
type Kind uint8

// The kinds. Internal is what every error without a kind is.
const (
	Internal Kind = iota
	Invalid
	Unauthenticated
	Forbidden
	NotFound
	Conflict
	Exhausted
	Unavailable
)

var kindNames = [...]string{"internal", "invalid", "unauthenticated", "forbidden", "not_found", "conflict", "exhausted", "unavailable"}

// String gives the kind's stable name.
func (k Kind) String() string { return kindNames[k] }

// Field is one complaint about one input field.
type Field struct {
	Field   string
	Code    string
	Message string
}

// Error is a failure that may be shown.
type Error struct {
	Kind       Kind
	Code       string // stable snake_case
	Message    string // one sentence for people
	Fields     []Field
	RetryAfter time.Duration // for Exhausted and Unavailable
	cause      error
}

// New makes an error that may be shown as it is.
func New(kind Kind, code, message string) *Error {
	return &Error{Kind: kind, Code: code, Message: message}
}

// Newf is New with a formatted message.
func Newf(kind Kind, code, format string, args ...any) *Error {
	return New(kind, code, fmt.Sprintf(format, args...))
}

// Error gives code and message, and the cause for logs.
func (e *Error) Error() string {
	if e.cause != nil {
		return e.Code + ": " + e.Message + ": " + e.cause.Error()
	}
	return e.Code + ": " + e.Message
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.cause }

// Is matches another fault of the same code, so that sentinel faults work with errors.Is.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Kind == e.Kind
}

// Because returns a copy that carries a cause for the log.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// With returns a copy with one more field complaint.
func (e *Error) With(field, code, message string) *Error {
	c := *e
	c.Fields = append(append([]Field(nil), e.Fields...), Field{Field: field, Code: code, Message: message})
	return &c
}

// After returns a copy that tells when to try again.
func (e *Error) After(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

// From finds the fault in err, or wraps err as Internal.
func From(err error) *Error {
	if f, ok := errors.AsType[*Error](err); ok {
		return f
	}
	return &Error{Kind: Internal, Code: "internal", Message: "Something went wrong on our side.", cause: err}
}

// KindOf is the kind of err; Internal when it has none.
func KindOf(err error) Kind { return From(err).Kind }

// Is reports whether err carries a fault with this code.
func Is(err error, code string) bool {
	f, ok := errors.AsType[*Error](err)
	return ok && f.Code == code
}

// ErrNotFound is the one answer for absent and for hidden things.
var ErrNotFound = New(NotFound, "not_found", "This does not exist, or you may not see it.")

// ErrForbidden is the answer where existence is known.
var ErrForbidden = New(Forbidden, "forbidden", "You may not do this.")

// ErrUnauthenticated is the answer to a dead or missing session.
var ErrUnauthenticated = New(Unauthenticated, "unauthenticated", "Sign in again.")
