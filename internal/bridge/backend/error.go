package backend

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Codes of a failed turn; they are the values of error.code in docs/protocol.md
// section 3, each a visible state of its own.
const (
	CodeAuth      = "auth_failure"
	CodeRate      = "rate_limited"
	CodeEmpty     = "empty_response"
	CodeKilled    = "killed"
	CodeTimeout   = "timeout"
	CodeMissing   = "backend_missing"
	CodeModel     = "model_error"
	CodeException = "handler_exception"
)

// Error is a failure of a turn or of a backend's check. Message is for people
// and never contains a secret.
type Error struct {
	Code    string
	Message string
	ResetAt time.Time // CodeRate: when the limit is expected to lift; zero if unknown
	Cause   error
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Cause)
	}
	return e.Code + ": " + e.Message
}

func (e *Error) Unwrap() error { return e.Cause }

// Errorf makes an Error without a cause.
func Errorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// AsError gives every error a code: an *Error is itself, a deadline is a
// timeout, anything else an exception of the handler.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &Error{Code: CodeTimeout, Message: "The answer took longer than the time limit of this agent.", Cause: err}
	}
	return &Error{Code: CodeException, Message: "The bridge could not finish this turn.", Cause: err}
}

// FromStatus maps an HTTP status of a model provider to an Error. detail is
// the provider's own short text; resetAt may be zero.
func FromStatus(provider string, status int, detail string, resetAt time.Time) *Error {
	switch {
	case status == 401 || status == 403:
		return Errorf(CodeAuth, "%s refused the credentials (HTTP %d). %s", provider, status, detail)
	case status == 429 || status == 529:
		e := Errorf(CodeRate, "%s is limiting requests (HTTP %d). %s", provider, status, detail)
		e.ResetAt = resetAt
		return e
	case status == 408 || status == 504:
		return Errorf(CodeTimeout, "%s did not answer in time (HTTP %d). %s", provider, status, detail)
	default:
		return Errorf(CodeModel, "%s answered with an error (HTTP %d). %s", provider, status, detail)
	}
}
