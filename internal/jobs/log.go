package jobs

import (
	"context"
	"errors"
	"log/slog"
	"strings"
)

// calm takes the alarm out of what River says while it is being stopped: work that
// was cut off by the cancelled context is not an error, the next start does it.
type calm struct{ slog.Handler }

// Handle lets errors that are only a cancelled context pass as debug lines.
func (h calm) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn && cancelled(r) {
		if !h.Enabled(ctx, slog.LevelDebug) {
			return nil
		}
		r.Level = slog.LevelDebug
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h calm) WithAttrs(attrs []slog.Attr) slog.Handler { return calm{h.Handler.WithAttrs(attrs)} }

// WithGroup implements slog.Handler.
func (h calm) WithGroup(name string) slog.Handler { return calm{h.Handler.WithGroup(name)} }

func cancelled(r slog.Record) bool {
	found := false
	r.Attrs(func(a slog.Attr) bool {
		switch v := a.Value.Any().(type) {
		case error:
			found = errors.Is(v, context.Canceled)
		case string: // River logs the text of its errors
			found = v == context.Canceled.Error() || strings.HasSuffix(v, ": "+context.Canceled.Error())
		}
		return !found
	})
	return found
}
