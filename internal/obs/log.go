// Package obs is how the server is watched: structured logs, metrics, and
// whether it is alive and ready. It knows no feature.
package obs

import (
	"io"
	"log/slog"
)

// NewLogger writes text or JSON lines at or above a level.
func NewLogger(w io.Writer, format string, level slog.Level) *slog.Logger {
	opts := &slog.HandlerOptions{Level: level}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}
