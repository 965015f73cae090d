// Package obs is how the server is watched: structured logs, metrics, and
// whether it is alive and ready. It knows no feature.
package obs

import (
	"context"
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

// AtLeast gives a logger that drops what is below a level: for libraries that are
// chatty at info.
func AtLeast(log *slog.Logger, level slog.Level) *slog.Logger {
	return slog.New(atLeast{log.Handler(), level})
}

type atLeast struct {
	slog.Handler
	level slog.Level
}

func (h atLeast) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= h.level && h.Handler.Enabled(ctx, l)
}

func (h atLeast) WithAttrs(attrs []slog.Attr) slog.Handler {
	return atLeast{h.Handler.WithAttrs(attrs), h.level}
}

func (h atLeast) WithGroup(name string) slog.Handler {
	return atLeast{h.Handler.WithGroup(name), h.level}
}
