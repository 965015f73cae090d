// Package wire holds every JSON shape of REST, socket and bridge, a file per
// feature: types only, no behaviour. It is the only place, beside jsonb columns
// and provider protocols, with json tags. Names and shapes are those of
// the desktop contract and the bridge contract; what we add is in docs/protocol.md.
package wire

import (
	"encoding/json"
	"time"
)

// Time prints in UTC with six digits and Z, always: cursors and string comparison depend on it.
type Time struct{ time.Time }

// TimeLayout is the one format of a timestamp on the wire.
const TimeLayout = "2006-01-02T15:04:05.000000Z"

// MarshalText gives the constant-precision form.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.UTC().Format(TimeLayout)), nil }

// MarshalJSON gives the constant-precision form as a JSON string.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(`"` + t.UTC().Format(TimeLayout) + `"`), nil
}

// UnmarshalJSON reads RFC 3339.
func (t *Time) UnmarshalJSON(b []byte) error { return t.Time.UnmarshalJSON(b) }

// At wraps a time.
func At(t time.Time) Time { return Time{t} }

// AtOrNil wraps a time that may be missing.
func AtOrNil(t *time.Time) *Time {
	if t == nil {
		return nil
	}
	return &Time{*t}
}

// Map is people's own JSON object: never renamed, never reordered by us.
type Map = json.RawMessage

// ErrorBody is the general error form.
type ErrorBody struct {
	Error ErrorDetail `json:"error"`
}

// ErrorDetail is the machine-readable part of an error.
type ErrorDetail struct {
	Code      string       `json:"code"`
	Message   string       `json:"message"`
	Details   []FieldError `json:"details,omitempty"`
	RequestID string       `json:"requestId,omitempty"`
}

// FieldError is one complaint about one field.
type FieldError struct {
	Field   string `json:"field"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// OK is the body of answers that carry nothing: every 2xx has a JSON body.
type OK struct {
	OK bool `json:"ok"`
}
