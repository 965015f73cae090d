package socket_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/agntchat/agntchat/internal/realtime"
	"github.com/agntchat/agntchat/internal/realtime/phx"
	"github.com/agntchat/agntchat/internal/realtime/phxtest"
	"github.com/agntchat/agntchat/internal/realtime/socket"
)

// TestChaos lets clients join, leave, push, make handlers panic, be removed, be
// cut and come back, all at once and without waiting for answers. Afterwards each
// membership that began has ended exactly once, and nothing is left.
func TestChaos(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var joins, leaves, wrong atomic.Int64
	var inside sync.Map // *socket.Member in a handler: they never overlap
	enter := func(m *socket.Member) func() {
		if _, busy := inside.LoadOrStore(m, true); busy {
			wrong.Add(1)
		}
		return func() { inside.Delete(m) }
	}
	s := &script{
		join: func(_ context.Context, m *socket.Member, _ json.RawMessage) (any, error) {
			defer enter(m)()
			if rand.IntN(5) == 0 {
				return nil, socket.Reason("unauthorized")
			}
			joins.Add(1)
			return nil, nil
		},
		joined: func(_ context.Context, m *socket.Member) {
			defer enter(m)()
			_ = m.Push("snapshot", nil)
		},
		push: func(_ context.Context, m *socket.Member, event string, _ json.RawMessage) (any, error) {
			defer enter(m)()
			switch event {
			case "panic":
				panic("chaos")
			case "close":
				m.Close()
			case "fail":
				m.Fail()
			}
			return nil, nil
		},
	}
	reg := prometheus.NewRegistry()
	h := build(t, s, func(c *socket.Config) { c.Registerer = reg })
	stop := make(chan struct{})
	var wg, noise sync.WaitGroup
	noise.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				_ = h.bus.Broadcast(realtime.Message{Topic: fmt.Sprint("t", i%4), Event: "noise", Droppable: i%3 == 0, Key: fmt.Sprint(i % 2)})
			}
		}
	})
	noise.Go(func() {
		for range s.left {
			leaves.Add(1)
		}
	})
	for w := range 12 {
		rng := rand.New(rand.NewPCG(seed, uint64(w)))
		wg.Go(func() {
			for range 6 {
				c, _, err := phxtest.TryDial(t, h.base, phxtest.Options{Token: fmt.Sprint("p", w)})
				if err != nil {
					t.Error(err)
					return
				}
				refs := map[string]phx.Ref{}
				for range 40 {
					topic := fmt.Sprint("t", rng.IntN(4))
					switch op := rng.IntN(20); {
					case op < 7:
						refs[topic] = c.Send("", topic, phx.EventJoin, nil)
					case op < 10:
						c.Send(refs[topic], topic, phx.EventLeave, nil)
					case op < 13:
						c.Send(refs[topic], topic, []string{"panic", "close", "fail"}[op-10], nil)
					default:
						c.Send(refs[topic], topic, "echo", nil)
					}
				}
				if rng.IntN(2) == 0 {
					c.Cut()
				} else {
					c.Close()
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	if err := h.server.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(s.left)
	noise.Wait()
	h.bus.Wait()
	if joins.Load() != leaves.Load() || joins.Load() == 0 || wrong.Load() != 0 {
		t.Errorf("%d joins, %d leaves, %d overlapping calls", joins.Load(), leaves.Load(), wrong.Load())
	}
	for i := range 4 {
		if n := h.bus.Count(fmt.Sprint("t", i)); n != 0 {
			t.Errorf("%d subscribers left on t%d", n, i)
		}
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if name := f.GetName(); name == "agntchat_realtime_connections" || name == "agntchat_realtime_joined_topics" {
			if v := f.GetMetric()[0].GetGauge().GetValue(); v != 0 {
				t.Errorf("%s is %v", name, v)
			}
		}
	}
}
