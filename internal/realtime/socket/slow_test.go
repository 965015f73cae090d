package socket_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/realtime"
	"github.com/agntchat/agntchat/internal/realtime/phxtest"
	"github.com/agntchat/agntchat/internal/realtime/socket"
)

// filler is larger than what the kernel takes for a client that does not read.
var filler = strings.Repeat("x", 32<<10)

const fillers = 100 // 3.2 MB: more than the socket buffers and the queue

// patient keeps a busy machine from passing for a slow reader: only the bound in
// bytes counts.
func patient(c *socket.Config) {
	c.Limits.QueueAge, c.Limits.CloseTimeout = time.Minute, time.Minute
}

func (h *house) flood(topic string, n int) {
	h.t.Helper()
	for i := range n {
		h.broadcast(realtime.Message{Topic: topic, Event: "e", Payload: map[string]any{"n": i, "fill": filler}})
	}
}

// TestSlowReaderIsClosed: a client that does not know resync is closed with 1013
// and may come back; its neighbours get everything, in order.
func TestSlowReaderIsClosed(t *testing.T) {
	t.Parallel()
	h := build(t, &script{smallBuffers: true}, patient)
	slow := h.dialWith(phxtest.Options{Token: "slow", ReadBuffer: 256 << 10})
	quick := h.dial("quick")
	slow.Join("r", nil)
	room := quick.Join("r", nil)
	slow.Pause()
	slow.Send("", "phoenix", "heartbeat", nil) // ends the read that is under way
	for i := range fillers {
		h.broadcast(realtime.Message{Topic: "r", Event: "e", Payload: map[string]any{"n": i, "fill": filler}})
		var got struct{ N int }
		if err := json.Unmarshal(room.Expect("e"), &got); err != nil || got.N != i {
			t.Fatalf("got %d, want %d (%v)", got.N, i, err)
		}
	}
	slow.Resume()
	if code, _ := slow.Closed(); code != 1013 {
		t.Fatalf("closed %d, want 1013", code)
	}
	h.expectLeft("r disconnected")
}

// TestSlowReaderResyncs: docs/protocol.md 7. A client that knows resync keeps its
// socket, gets its replies, hears once per topic that it missed something, and
// every event after that.
func TestSlowReaderResyncs(t *testing.T) {
	t.Parallel()
	h := build(t, &script{smallBuffers: true}, patient)
	c := h.dialWith(phxtest.Options{Token: "slow", ReadBuffer: 256 << 10, Params: params("resync", "1")})
	room, other := c.Join("r", nil), c.Join("q", nil)
	c.Pause()
	c.Send("", "phoenix", "heartbeat", nil)
	h.flood("r", fillers)
	h.broadcast(realtime.Message{Topic: "q", Event: "small"})
	ref := room.Send("echo", "still here")
	c.Resume()
	if r := c.Await(ref); string(r.Response) != `"still here"` {
		t.Fatalf("reply %+v", r)
	}
	// Whether the last events were dropped or sent depends on how much the
	// kernel took; a gap without a resync after it never happens.
	last, resyncs, told, after := -1, 0, false, false
	for !after {
		h.broadcast(realtime.Message{Topic: "r", Event: "after"}) // dropped until the resync is out
		c.Heartbeat()
		for _, m := range room.Pending() {
			switch m.Event {
			case socket.EventResync:
				told = true
				resyncs++
			case "after":
				after = true
			default:
				var got struct{ N int }
				if err := json.Unmarshal(m.Payload, &got); err != nil || got.N != last+1 && (got.N <= last || !told) {
					t.Fatalf("%d after %d, told %v (%v)", got.N, last, told, err)
				}
				last, told = got.N, false
			}
		}
	}
	if resyncs == 0 || last < fillers-1 && !told {
		t.Fatalf("%d resyncs, last event %d, told %v", resyncs, last, told)
	}
	if m := other.Next(); m.Event != "small" && m.Event != socket.EventResync {
		t.Fatalf("got %s", m.Event)
	}
}

// TestPushesAreNeverDropped: what is meant for one connection arrives or the
// connection ends.
func TestPushesAreNeverDropped(t *testing.T) {
	t.Parallel()
	members := make(chan *socket.Member, 1)
	s := &script{smallBuffers: true, join: func(_ context.Context, m *socket.Member, _ json.RawMessage) (any, error) {
		members <- m
		return nil, nil
	}}
	h := build(t, s, patient)
	c := h.dialWith(phxtest.Options{Token: "slow", ReadBuffer: 256 << 10, Params: params("resync", "1")})
	room := c.Join("r", nil)
	m := await(t, members, "member")
	c.Pause()
	c.Send("", "phoenix", "heartbeat", nil)
	accepted := 0
	for i := range fillers {
		if err := m.Push("p", map[string]any{"n": i, "fill": filler}); err != nil {
			break
		}
		accepted++
	}
	if accepted == fillers {
		t.Fatal("the queue has no bound")
	}
	c.Resume()
	if code, _ := c.Closed(); code != 1013 {
		t.Fatalf("closed %d", code)
	}
	for i, m := range room.Pending() {
		var got struct{ N int }
		if err := json.Unmarshal(m.Payload, &got); err != nil || got.N != i {
			t.Fatalf("got %d at %d", got.N, i)
		}
	}
}

// TestStalledReaderIsCutOff: one that takes nothing at all does not hold its
// memory longer than QueueAge.
func TestStalledReaderIsCutOff(t *testing.T) {
	t.Parallel()
	h := build(t, &script{smallBuffers: true}, func(c *socket.Config) { c.Limits.QueueAge = 50 * time.Millisecond })
	c := h.dialWith(phxtest.Options{Token: "slow", ReadBuffer: 256 << 10, Params: params("resync", "1")})
	c.Join("r", nil)
	c.Pause()
	c.Send("", "phoenix", "heartbeat", nil)
	// One burst may end in the kernel's buffers and in a resync that still fits there:
	// events go on until nothing does.
	for range 100 {
		h.flood("r", fillers)
		select {
		case got := <-h.script.left:
			if got != "r disconnected" {
				t.Fatalf("left %q", got)
			}
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Fatal("a reader that takes nothing is still here")
}

// TestDroppableGoFirst: typing and superseded stream frames never push out a
// message, and the newest frame of a key arrives.
func TestDroppableGoFirst(t *testing.T) {
	t.Parallel()
	h := build(t, &script{smallBuffers: true}, func(c *socket.Config) {
		patient(c)
		c.Limits.QueueBytes = 3 << 20
	})
	c := h.dialWith(phxtest.Options{Token: "slow", ReadBuffer: 256 << 10})
	room := c.Join("r", nil)
	c.Pause()
	c.Send("", "phoenix", "heartbeat", nil)
	h.flood("r", 60)
	for i := range 500 {
		h.broadcast(realtime.Message{Topic: "r", Event: "typing", Droppable: true})
		h.broadcast(realtime.Message{Topic: "r", Event: "stream", Key: "s1", Payload: i})
	}
	h.broadcast(realtime.Message{Topic: "r", Event: "end"})
	c.Resume()
	counts := map[string]int{}
	var stream string
	for m := room.Next(); m.Event != "end"; m = room.Next() {
		counts[m.Event]++
		if m.Event == "stream" {
			stream = string(m.Payload)
		}
	}
	if counts["e"] != 60 || counts["typing"] != 0 || counts["stream"] != 1 || stream != "499" {
		t.Fatalf("%v, stream %s", counts, stream)
	}
}

// TestFirstFrameWithTheHandshake: net/http may hold the first bytes of a client
// that does not wait for the answer to its upgrade.
func TestFirstFrameWithTheHandshake(t *testing.T) {
	t.Parallel()
	h := build(t, &script{smallBuffers: true}, nil)
	for i := range 200 {
		join := maskedFrame(0x1, []byte(`["1","1","r","phx_join",{"fill":"`+strings.Repeat("x", i*10)+`"}]`))
		raw := h.dialRaw("fast", 0, join)
		if _, data := raw.next(); string(data) != `["1","1","r","phx_reply",{"status":"ok","response":{}}]` {
			t.Fatalf("%d: got %s", i, data)
		}
	}
}

func TestIdleConnectionEnds(t *testing.T) {
	t.Parallel()
	h := build(t, &script{smallBuffers: true}, func(c *socket.Config) { c.Limits.Idle = 100 * time.Millisecond })
	c := h.dial("ann")
	c.Join("r", nil)
	if code, _ := c.Closed(); code != 1001 {
		t.Fatalf("closed %d, want 1001", code)
	}
	h.expectLeft("r disconnected")
}

// TestOrderUnderLoad: several broadcasters on several topics; every client sees
// each topic in the same order, in inline rooms and in batching ones.
func TestOrderUnderLoad(t *testing.T) {
	t.Parallel()
	for _, members := range []int{5, 50} {
		t.Run(fmt.Sprint(members), func(t *testing.T) {
			t.Parallel()
			h := build(t, &script{smallBuffers: true}, nil)
			var rooms []*phxtest.Channel
			for i := range members {
				rooms = append(rooms, h.dial(fmt.Sprint(i)).Join("r", nil))
			}
			const n = 500
			go func() {
				for i := range n {
					_ = h.bus.Broadcast(realtime.Message{Topic: "r", Event: "e", Payload: i})
				}
			}()
			for _, room := range rooms {
				for i := range n {
					if got := string(room.Next().Payload); got != fmt.Sprint(i) {
						t.Fatalf("got %s, want %d", got, i)
					}
				}
			}
		})
	}
}
