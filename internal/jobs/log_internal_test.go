package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
)

func TestCalmKeepsRealErrors(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	log := slog.New(calm{slog.NewTextHandler(&b, nil)}).With(slog.String("client", "c"))
	log.Error("insert notification", slog.String("err", "context canceled"))
	log.Error("insert notification", slog.String("err", "timeout: context already done: context canceled"))
	log.Error("fetch", slog.Any("err", fmt.Errorf("fetch: %w", context.Canceled)))
	if b.Len() > 0 {
		t.Fatalf("a stop is no error: %s", b.String())
	}
	log.Error("fetch", slog.Any("err", errors.New("disk full")))
	if !bytes.Contains(b.Bytes(), []byte("disk full")) {
		t.Fatal("a real error was swallowed")
	}
}
