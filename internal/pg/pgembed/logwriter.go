//go:build unix

package pgembed

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
)

const keptLines = 12

// curable are the complaints of a start that another try may end: backends of a
// server that was killed are still ending.
var curable = []string{"pre-existing shared memory block", "is still in use", "\"postmaster.pid\" already exists"}

// logWriter turns Postgres's output into log lines, remembers the last ones for
// errors, and notices a start that is hopeless.
type logWriter struct {
	log      *slog.Logger
	hopeless chan struct{} // closed at the first fatal complaint that is not curable

	mu    sync.Mutex
	part  []byte
	lines []string
	told  bool
	ready bool
}

func newLogWriter(log *slog.Logger) *logWriter {
	return &logWriter{log: log, hopeless: make(chan struct{})}
}

func (w *logWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.part = append(w.part, p...)
	for {
		line, rest, ok := bytes.Cut(w.part, []byte{'\n'})
		if !ok {
			break
		}
		w.line(strings.TrimSpace(string(line)))
		w.part = rest
	}
	if len(w.part) > 8192 { // a line without end
		w.part = nil
	}
	return len(p), nil
}

func (w *logWriter) line(s string) {
	if s == "" {
		return
	}
	if w.lines = append(w.lines, s); len(w.lines) > keptLines {
		w.lines = w.lines[1:]
	}
	level := slog.LevelDebug
	fatal := strings.HasPrefix(s, "FATAL:") || strings.HasPrefix(s, "PANIC:") || !strings.Contains(s, ":  ")
	if strings.Contains(s, "database system is ready") {
		w.ready = true
	}
	if fatal && !w.ready && !strings.Contains(s, "the database system is ") { // that is said to those who connect too early
		level = slog.LevelWarn
		if !w.told && !isCurable(w.lines) {
			w.told = true
			close(w.hopeless)
		}
	}
	w.log.Log(context.Background(), level, "postgres says", slog.String("line", s))
}

func isCurable(lines []string) bool {
	all := strings.Join(lines, "\n")
	for _, c := range curable {
		if strings.Contains(all, c) {
			return true
		}
	}
	return false
}

// last is what Postgres said last, in one line.
func (w *logWriter) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.lines, " | ")
}
