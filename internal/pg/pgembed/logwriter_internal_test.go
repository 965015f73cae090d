//go:build unix

package pgembed

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestAStartThatGoesWellWarnsOfNothing(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := newLogWriter(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo})))
	_, _ = w.Write([]byte("LOG:  starting PostgreSQL\nFATAL:  the database system is starting up\nLOG:  database system is ready to accept connections\n"))
	if out.Len() > 0 {
		t.Errorf("people see: %s", out.String())
	}
	select {
	case <-w.hopeless:
		t.Error("the start is given up")
	default:
	}
}

func TestAStartThatFailsIsToldOf(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := newLogWriter(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo})))
	_, _ = w.Write([]byte("FATAL:  could not create shared memory segment\n"))
	if !strings.Contains(out.String(), "shared memory segment") {
		t.Errorf("people see: %q", out.String())
	}
	select {
	case <-w.hopeless:
	default:
		t.Error("the start is not given up")
	}
}
