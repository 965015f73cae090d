package socket_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/realtime/phxtest"
	"github.com/agntchat/agntchat/internal/realtime/socket"
)

// TestDrainWaitsForHandlers: a push that was accepted is answered before the
// socket closes with 1012, and Drain returns after it.
func TestDrainWaitsForHandlers(t *testing.T) {
	t.Parallel()
	entered, release := newGate(), newGate()
	s := &script{push: func(context.Context, *socket.Member, string, json.RawMessage) (any, error) {
		entered.open()
		release.wait()
		return "done", nil
	}}
	h := build(t, s, nil)
	busy, idle := h.dial("busy"), h.dial("idle")
	room := busy.Join("r", nil)
	idle.Join("r", nil)
	ref := room.Send("work", nil)
	entered.wait()
	drained := make(chan error, 1)
	go func() { drained <- h.server.Drain(context.Background()) }()
	if code, _ := idle.Closed(); code != 1012 {
		t.Fatalf("closed %d", code)
	}
	if _, status, _ := phxtest.TryDial(t, h.base, phxtest.Options{Token: "late"}); status != 503 {
		t.Fatalf("late upgrade: %d", status)
	}
	release.open()
	if r := busy.Await(ref); string(r.Response) != `"done"` {
		t.Fatalf("%+v", r)
	}
	if code, _ := busy.Closed(); code != 1012 {
		t.Fatalf("closed %d", code)
	}
	if err := await(t, drained, "drain"); err != nil {
		t.Fatal(err)
	}
	if n := h.server.Len() + h.bus.Count("r"); n != 0 {
		t.Fatalf("%d left", n)
	}
}

// TestDrainDeadline: a handler that hangs has its context cancelled and a client
// that does not close is cut off.
func TestDrainDeadline(t *testing.T) {
	t.Parallel()
	entered := newGate()
	s := &script{push: func(ctx context.Context, _ *socket.Member, _ string, _ json.RawMessage) (any, error) {
		entered.open()
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}}
	h := build(t, s, nil)
	c := h.dial("ann")
	c.Join("r", nil).Send("hang", nil)
	entered.wait()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := h.server.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("drain: %v", err)
	}
	h.expectLeft("r disconnected")
}

func TestDrainManyInBatches(t *testing.T) {
	t.Parallel()
	h := build(t, &script{}, nil)
	var clients []*phxtest.Client
	for range 600 {
		c := h.dial("ann")
		c.Join("r", nil)
		clients = append(clients, c)
	}
	if err := h.server.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range clients {
		if code, _ := c.Closed(); code != 1012 {
			t.Fatalf("closed %d", code)
		}
	}
}
