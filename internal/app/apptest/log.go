package apptest

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

// Log keeps what a server logs: warnings are shown when the test fails, an error
// fails it.
type Log struct {
	slog.Handler
	buf *shared
}

type shared struct {
	mu     sync.Mutex
	text   bytes.Buffer
	errors []string
}

const mostLog = 256 << 10

func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.text.Len() < mostLog {
		s.text.Write(b)
	}
	if bytes.Contains(b, []byte("level=ERROR")) {
		s.errors = append(s.errors, strings.TrimSpace(string(b)))
	}
	return len(b), nil
}

// NewLog makes a Log that is judged when the test ends.
func NewLog(t testing.TB, allowErrors bool) *Log {
	buf := &shared{}
	t.Cleanup(func() {
		buf.mu.Lock()
		defer buf.mu.Unlock()
		for n, e := range buf.errors {
			if !allowErrors && n < 20 {
				t.Errorf("the server logged an error: %s", e)
			}
		}
		if t.Failed() && buf.text.Len() > 0 {
			t.Logf("the server's log:\n%s", buf.text.String())
		}
	})
	return &Log{Handler: slog.NewTextHandler(buf, &slog.HandlerOptions{Level: slog.LevelWarn}), buf: buf}
}

// Text is what was logged so far.
func (l *Log) Text() string {
	l.buf.mu.Lock()
	defer l.buf.mu.Unlock()
	return l.buf.text.String()
}

// Enabled implements slog.Handler.
func (l *Log) Enabled(ctx context.Context, v slog.Level) bool { return l.Handler.Enabled(ctx, v) }
