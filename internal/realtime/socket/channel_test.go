package socket_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/realtime"
	"github.com/agntchat/agntchat/internal/realtime/phx"
	"github.com/agntchat/agntchat/internal/realtime/phxtest"
	"github.com/agntchat/agntchat/internal/realtime/socket"
)

func TestJoinPushLeave(t *testing.T) {
	t.Parallel()
	s := &script{join: func(_ context.Context, m *socket.Member, params json.RawMessage) (any, error) {
		return map[string]any{"you": m.Conn().Session().Participant, "params": params}, nil
	}}
	h := build(t, s, nil)
	c := h.dial("ann")
	room := c.Join("room:1", map[string]int{"n": 1})
	if got := string(room.Reply.Response); got != `{"params":{"n":1},"you":"ann"}` {
		t.Fatalf("join reply %s", got)
	}
	if r := room.Push("echo", map[string]int{"x": 2}); r.Status != "ok" || string(r.Response) != `{"x":2}` {
		t.Fatalf("push reply %+v", r)
	}
	if got := h.server.Conns()[0].Topics(); !slices.Equal(got, []string{"room:1"}) {
		t.Fatalf("topics %v", got)
	}
	if r := room.Leave(); r.Status != "ok" {
		t.Fatalf("leave reply %+v", r)
	}
	if m := room.Next(); m.Event != phx.EventClose || m.JoinRef != room.JoinRef {
		t.Fatalf("after leave: %+v", m)
	}
	h.expectLeft("room:1 left")
	if r := room.Push("echo", nil); r.Reason() != "unmatched topic" {
		t.Fatalf("push after leave: %+v", r)
	}
	if r := room.Leave(); r.Status != "ok" {
		t.Fatalf("second leave: %+v", r)
	}
	if n := h.bus.Count("room:1"); n != 0 {
		t.Fatalf("%d subscribers left", n)
	}
}

func TestErrorReplies(t *testing.T) {
	t.Parallel()
	s := &script{
		join: func(_ context.Context, m *socket.Member, _ json.RawMessage) (any, error) {
			switch m.Topic() {
			case "room:closed":
				return nil, socket.Reason("unauthorized")
			case "room:broken":
				return nil, fmt.Errorf("secret detail")
			}
			return nil, nil
		},
		push: func(_ context.Context, _ *socket.Member, event string, _ json.RawMessage) (any, error) {
			switch event {
			case "refuse":
				return nil, &socket.ReplyError{Response: map[string]string{"reason": "invalid", "field": "content"}}
			case "unencodable":
				return make(chan int), nil
			case "huge":
				return strings.Repeat("x", realtime.MaxFrame), nil
			case "typing":
				return nil, socket.ErrNoReply
			case "fine":
				return nil, nil
			}
			return nil, socket.ErrUnknownEvent
		},
	}
	h := build(t, s, nil)
	c := h.dial("ann")
	for topic, want := range map[string]string{
		"room:closed": "unauthorized", "room:broken": "internal", "nowhere:1": "unmatched topic", "phoenix": "unmatched topic",
	} {
		if got := c.TryJoin(topic, nil).Reply; got.Status != "error" || got.Reason() != want {
			t.Errorf("join %s: %+v, want %s", topic, got, want)
		}
	}
	if n := h.bus.Count("room:closed"); n != 0 {
		t.Errorf("a refused join left %d subscribers", n)
	}
	room := c.Join("room:1", nil)
	for event, want := range map[string]string{
		"refuse": `{"field":"content","reason":"invalid"}`, "what": `{"reason":"unmatched event"}`,
		"unencodable": `{"reason":"internal"}`, "huge": `{"reason":"internal"}`,
	} {
		if got := room.Push(event, nil); got.Status != "error" || string(got.Response) != want {
			t.Errorf("push %s: %+v, want %s", event, got, want)
		}
	}
	typing := room.Send("typing", nil)
	if r := room.Push("fine", nil); r.Status != "ok" || string(r.Response) != "{}" {
		t.Errorf("fine: %+v", r)
	}
	_ = typing // its reply would have come before: phxtest would hold it
}

// TestDuplicateJoin: desktop contract 9.11. The old membership ends with phx_close
// to its own join_ref, and pushes after it go to the new one.
func TestDuplicateJoin(t *testing.T) {
	t.Parallel()
	h := build(t, &script{}, nil)
	c := h.dial("ann")
	first := c.Join("room:1", nil)
	second := c.Join("room:1", nil)
	if m := first.Next(); m.Event != phx.EventClose || m.JoinRef != first.JoinRef {
		t.Fatalf("got %+v", m)
	}
	h.expectLeft("room:1 replaced")
	h.broadcast(realtime.Message{Topic: "room:1", Event: "hello"})
	second.Expect("hello")
	c.Heartbeat()
	if rest := second.Pending(); len(rest) != 0 {
		t.Fatalf("also got %+v", rest)
	}
	if r := second.Push("echo", nil); r.Status != "ok" {
		t.Fatalf("push: %+v", r)
	}
	// A late leave of the old membership does not end the new one.
	if r := first.Leave(); r.Status != "ok" {
		t.Fatalf("late leave: %+v", r)
	}
	if r := second.Push("echo", nil); r.Status != "ok" {
		t.Fatalf("push after late leave: %+v", r)
	}
}

// TestSnapshotOrder: reply, then what Joined pushes, then broadcasts, also those
// that were sent while Joined was running.
func TestSnapshotOrder(t *testing.T) {
	t.Parallel()
	entered, release := newGate(), newGate()
	s := &script{joined: func(_ context.Context, m *socket.Member) {
		entered.open()
		release.wait()
		if err := m.Push("snapshot", nil); err != nil {
			t.Error(err)
		}
	}}
	h := build(t, s, nil)
	c := h.dial("ann")
	room := c.Join("room:1", nil)
	entered.wait()
	for i := range 3 {
		h.broadcast(realtime.Message{Topic: "room:1", Event: fmt.Sprint("e", i)})
	}
	c.Heartbeat()
	if early := room.Pending(); len(early) != 0 {
		t.Fatalf("before the snapshot: %+v", early)
	}
	release.open()
	for _, want := range []string{"snapshot", "e0", "e1", "e2"} {
		if got := room.Next().Event; got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
}

// TestSlowHandlerBlocksNobody: other topics, heartbeats and pings go on, and the
// pushes of the slow topic run in order.
func TestSlowHandlerBlocksNobody(t *testing.T) {
	t.Parallel()
	release := newGate()
	order := make(chan string, 10)
	s := &script{push: func(_ context.Context, m *socket.Member, event string, _ json.RawMessage) (any, error) {
		if m.Topic() == "room:slow" {
			release.wait()
			order <- event
		}
		return nil, nil
	}}
	h := build(t, s, nil)
	c := h.dial("ann")
	slow, quick := c.Join("room:slow", nil), c.Join("room:quick", nil)
	var refs []phx.Ref
	for i := range 5 {
		refs = append(refs, slow.Send(fmt.Sprint(i), nil))
	}
	for range 3 {
		quick.Push("now", nil)
		c.Heartbeat()
		c.Ping()
	}
	release.open()
	for i, ref := range refs {
		c.Await(ref)
		if got := await(t, order, "a handler"); got != fmt.Sprint(i) {
			t.Fatalf("ran %s at %d", got, i)
		}
	}
}

// TestPushesSurviveDisconnect: what the server has received is carried out.
func TestPushesSurviveDisconnect(t *testing.T) {
	t.Parallel()
	release := newGate()
	done := make(chan string, 10)
	s := &script{push: func(ctx context.Context, _ *socket.Member, event string, _ json.RawMessage) (any, error) {
		release.wait()
		if ctx.Err() != nil {
			t.Error("context ended with the connection")
		}
		done <- event
		return nil, nil
	}}
	h := build(t, s, nil)
	c := h.dial("ann")
	room := c.Join("room:1", nil)
	for i := range 3 {
		room.Send(fmt.Sprint(i), nil)
	}
	c.Heartbeat()
	c.Cut()
	release.open()
	for i := range 3 {
		if got := await(t, done, "a push"); got != fmt.Sprint(i) {
			t.Fatalf("ran %s at %d", got, i)
		}
	}
	h.expectLeft("room:1 disconnected")
}

func TestPanicFailsTheChannelOnly(t *testing.T) {
	t.Parallel()
	s := &script{push: func(_ context.Context, _ *socket.Member, event string, _ json.RawMessage) (any, error) {
		if event == "boom" {
			panic("boom")
		}
		return nil, nil
	}}
	h := build(t, s, nil)
	c := h.dial("ann")
	a, b := c.Join("room:a", nil), c.Join("room:b", nil)
	a.Send("boom", nil)
	if m := a.Next(); m.Event != phx.EventError || m.JoinRef != a.JoinRef {
		t.Fatalf("got %+v", m)
	}
	h.expectLeft("room:a crashed")
	b.Push("fine", nil)
	c.Join("room:a", nil).Push("fine", nil)
}

func TestServerSideEnd(t *testing.T) {
	t.Parallel()
	members := make(chan *socket.Member, 4)
	s := &script{join: func(_ context.Context, m *socket.Member, _ json.RawMessage) (any, error) {
		members <- m
		return nil, nil
	}}
	h := build(t, s, nil)
	c := h.dial("ann")
	a, b := c.Join("room:a", nil), c.Join("room:b", nil)
	ma, mb := await(t, members, "member"), await(t, members, "member")
	ma.Close()
	mb.Fail()
	mb.Fail()
	if m := a.Next(); m.Event != phx.EventClose {
		t.Fatalf("got %+v", m)
	}
	if m := b.Next(); m.Event != phx.EventError {
		t.Fatalf("got %+v", m)
	}
	for range 2 {
		await(t, h.script.left, "leave")
	}
	if err := ma.Push("late", nil); err == nil {
		t.Fatal("push to a closed member went through")
	}
	h.broadcast(realtime.Message{Topic: "room:a", Event: "late"})
	c.Heartbeat()
	if rest := a.Pending(); len(rest) != 0 {
		t.Fatalf("after the end: %+v", rest)
	}
}

// TestClasses: decision 22. An agent's topic joined with an executor gets gateway
// events only.
func TestClasses(t *testing.T) {
	t.Parallel()
	s := &script{join: func(_ context.Context, m *socket.Member, params json.RawMessage) (any, error) {
		if string(params) != "{}" {
			m.SetClass("gateway")
		}
		return nil, nil
	}}
	h := build(t, s, nil)
	person := h.dial("agent").Join("user:a", nil)
	bridge := h.dial("agent").Join("user:a", map[string]string{"executor_id": "x"})
	h.broadcast(realtime.Message{Topic: "user:a", Event: "conversation_updated"})
	h.broadcast(realtime.Message{Topic: "user:a", Event: "gateway_command", Class: "gateway"})
	h.broadcast(realtime.Message{Topic: "user:a", Event: "both", AnyClass: true})
	for ch, want := range map[*phxtest.Channel]string{person: "conversation_updated", bridge: "gateway_command"} {
		for _, event := range []string{want, "both"} {
			if got := ch.Next().Event; got != event {
				t.Errorf("got %s, want %s", got, event)
			}
		}
	}
}

func TestExceptions(t *testing.T) {
	t.Parallel()
	h := build(t, &script{}, nil)
	ann1, ann2, bob := h.dial("ann"), h.dial("ann"), h.dial("bob")
	rooms := []*phxtest.Channel{ann1.Join("r", nil), ann2.Join("r", nil), bob.Join("r", nil)}
	var first string
	for _, c := range h.server.Conns() {
		if c.Session().Participant == "ann" {
			first = c.ID()
		}
	}
	h.broadcast(realtime.Message{Topic: "r", Event: "others", ExceptParticipant: "ann"})
	h.broadcast(realtime.Message{Topic: "r", Event: "not one", ExceptConn: first})
	h.broadcast(realtime.Message{Topic: "r", Event: "all"})
	counts := map[string]int{}
	for _, room := range rooms {
		for {
			event := room.Next().Event
			counts[event]++
			if event == "all" {
				break
			}
		}
	}
	if counts["others"] != 1 || counts["not one"] != 2 || counts["all"] != 3 {
		t.Fatalf("%v", counts)
	}
}

func TestHandlerTimeout(t *testing.T) {
	t.Parallel()
	s := &script{push: func(ctx context.Context, _ *socket.Member, _ string, _ json.RawMessage) (any, error) {
		<-ctx.Done()
		return nil, socket.Reason("unavailable")
	}}
	h := build(t, s, func(c *socket.Config) { c.Limits.HandlerTimeout = 20 * time.Millisecond })
	if r := h.dial("ann").Join("r", nil).Push("x", nil); r.Reason() != "unavailable" {
		t.Fatalf("%+v", r)
	}
}
