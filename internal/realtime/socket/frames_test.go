package socket_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/realtime"
	"github.com/agntchat/agntchat/internal/realtime/phx"
	"github.com/agntchat/agntchat/internal/realtime/phxtest"
	"github.com/agntchat/agntchat/internal/realtime/socket"
)

func TestBadFrames(t *testing.T) {
	t.Parallel()
	h := build(t, &script{}, nil)
	for _, tc := range []struct {
		name string
		send func(c *phxtest.Client)
		want int
	}{
		{"binary", func(c *phxtest.Client) { c.SendBinary([]byte("[]")) }, 1003},
		{"no JSON", func(c *phxtest.Client) { c.SendText("hello") }, 1007},
		{"V1 object", func(c *phxtest.Client) { c.SendText(`{"topic":"t","event":"e","ref":"1","payload":{}}`) }, 1007},
		{"four entries", func(c *phxtest.Client) { c.SendText(`["1","1","t","e"]`) }, 1007},
		{"not UTF-8", func(c *phxtest.Client) { c.SendText("[null,\"1\",\"t\",\"e\",\"\xff\"]") }, 1007},
		{"too big", func(c *phxtest.Client) { c.Send("", "t", "e", strings.Repeat("x", 70<<10)) }, 1009},
		{"large event too big", func(c *phxtest.Client) { c.Send("", "t", "new_message", strings.Repeat("x", 3<<20)) }, 1009},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := h.dial("ann")
			c.Heartbeat()
			tc.send(c)
			if code, _ := c.Closed(); code != tc.want {
				t.Fatalf("closed %d, want %d", code, tc.want)
			}
		})
	}
}

func TestLargeEvents(t *testing.T) {
	t.Parallel()
	s := &script{push: func(_ context.Context, _ *socket.Member, _ string, payload json.RawMessage) (any, error) {
		return len(payload), nil
	}}
	h := build(t, s, nil)
	c := h.dial("ann")
	room := c.Join("r", nil)
	if r := room.Push("new_message", strings.Repeat("x", 500<<10)); string(r.Response) != "512002" {
		t.Fatalf("%+v", r)
	}
	if r := room.Push("other", strings.Repeat("x", 60<<10)); string(r.Response) != "61442" {
		t.Fatalf("%+v", r)
	}
}

func TestOutgoingFrameBound(t *testing.T) {
	t.Parallel()
	members := make(chan *socket.Member, 1)
	s := &script{join: func(_ context.Context, m *socket.Member, _ json.RawMessage) (any, error) {
		members <- m
		return nil, nil
	}}
	h := build(t, s, nil)
	room := h.dial("ann").Join("r", nil)
	m := await(t, members, "member")
	big := strings.Repeat("x", realtime.MaxFrame)
	if err := m.Push("gateway_message", big); !errors.Is(err, realtime.ErrFrameTooLarge) {
		t.Fatalf("push: %v", err)
	}
	if err := h.bus.Broadcast(realtime.Message{Topic: "r", Event: "e", Payload: big}); !errors.Is(err, realtime.ErrFrameTooLarge) {
		t.Fatalf("broadcast: %v", err)
	}
	if err := h.bus.BroadcastAll([]string{"r", "q"}, realtime.Message{Event: "e", Payload: big}); !errors.Is(err, realtime.ErrFrameTooLarge) {
		t.Fatalf("broadcast all: %v", err)
	}
	// The largest that fits arrives whole.
	fits := big[:realtime.MaxFrame-64]
	if err := m.Push("gateway_message", fits); err != nil {
		t.Fatal(err)
	}
	if got := room.Expect("gateway_message"); len(got) != len(fits)+2 {
		t.Fatalf("got %d bytes", len(got))
	}
}

func TestPushRateLimit(t *testing.T) {
	t.Parallel()
	h := build(t, &script{}, func(c *socket.Config) {
		c.Limits.PushRate, c.Limits.PushBurst = 0.001, 5
	})
	c := h.dial("ann")
	room := c.Join("r", nil)
	for i := range 4 {
		if r := room.Push("x", nil); r.Status != "ok" {
			t.Fatalf("push %d: %+v", i, r)
		}
	}
	if r := room.Push("x", nil); r.Reason() != "rate_limited" {
		t.Fatalf("%+v", r)
	}
	c.Heartbeat() // answered even so
	for range 20 {
		room.Send("x", nil)
	}
	if code, _ := c.Closed(); code != 1008 {
		t.Fatalf("closed %d", code)
	}
}

func TestJoinLimits(t *testing.T) {
	t.Parallel()
	h := build(t, &script{}, func(c *socket.Config) {
		c.Limits.JoinRate, c.Limits.JoinBurst, c.Limits.Topics = 0.001, 5, 2
	})
	c := h.dial("ann")
	c.Join("a", nil)
	b := c.Join("b", nil)
	if r := c.TryJoin("c", nil).Reply; r.Reason() != "too many topics" {
		t.Fatalf("%+v", r)
	}
	b.Leave()
	c.Join("c", nil)
	c.Join("c", nil) // replaces: does not count
	if r := c.TryJoin("c", nil).Reply; r.Reason() != "rate_limited" {
		t.Fatalf("%+v", r)
	}
}

func TestBacklog(t *testing.T) {
	t.Parallel()
	release := newGate()
	entered := make(chan struct{}, 10)
	s := &script{push: func(context.Context, *socket.Member, string, json.RawMessage) (any, error) {
		entered <- struct{}{}
		release.wait()
		return nil, nil
	}}
	h := build(t, s, func(c *socket.Config) { c.Limits.Backlog, c.Limits.BacklogSize = 2, 60<<10 })
	c := h.dial("ann")
	room := c.Join("r", nil)
	running := room.Send("x", nil)
	await(t, entered, "handler")
	waiting := []phx.Ref{room.Send("x", nil), room.Send("x", nil)}
	if r := room.Push("x", nil); r.Reason() != "busy" {
		t.Fatalf("%+v", r)
	}
	// The bytes of all topics together are bounded too.
	other := c.Join("q", nil)
	fill := strings.Repeat("x", 60<<10)
	waiting = append(waiting, other.Send("x", fill))
	await(t, entered, "handler")
	waiting = append(waiting, other.Send("x", fill))
	if r := other.Push("x", nil); r.Reason() != "busy" {
		t.Fatalf("%+v", r)
	}
	release.open()
	for _, ref := range append(waiting, running) {
		if r := c.Await(ref); r.Status != "ok" {
			t.Fatalf("%+v", r)
		}
	}
}
