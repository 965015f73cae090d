package realtime_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/agntchat/agntchat/internal/realtime"
	"github.com/agntchat/agntchat/internal/realtime/phx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ear keeps what it was given, after checking that both forms agree.
type ear struct {
	t testing.TB

	mu      sync.Mutex
	heard   []string
	largest int
	block   chan struct{}
	entered chan struct{}
}

func (e *ear) Deliver(b realtime.Batch) {
	if e.block != nil {
		e.entered <- struct{}{}
		<-e.block
	}
	var wire []byte
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range b.Frames {
		wire = append(wire, f.Wire()...)
		m, err := phx.Decode(f.JSON())
		if err != nil {
			e.t.Errorf("frame %s: %v", f.JSON(), err)
		}
		e.heard = append(e.heard, m.Event)
	}
	if !bytes.Equal(wire, b.Wire) {
		e.t.Error("frames and bytes differ")
	}
	e.largest = max(e.largest, len(b.Frames))
}

func (e *ear) take() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	heard := e.heard
	e.heard = nil
	return heard
}

func broadcast(t testing.TB, b *realtime.Bus, m realtime.Message) {
	t.Helper()
	if m.Topic == "" {
		m.Topic = "t"
	}
	if err := b.Broadcast(m); err != nil {
		t.Fatal(err)
	}
}

func names(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint("e", i)
	}
	return all
}

// TestFanOut compares the three ways of fanning out with what a plain loop would
// do: everybody meant hears everything once, in order.
func TestFanOut(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		members int
		cfg     realtime.Config
	}{
		{"inline", 20, realtime.Config{}},
		{"batch", 200, realtime.Config{}},
		{"batch of few", 3, realtime.Config{InlineBelow: 1}},
		{"parallel", 200, realtime.Config{ParallelFrom: 100}},
		{"back pressure", 50, realtime.Config{MaxPending: 100}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := realtime.NewBus(tc.cfg)
			ears := make([]*ear, tc.members)
			for i := range ears {
				ears[i] = &ear{t: t}
				b.Subscribe("t", ears[i], realtime.Tags{
					Conn: fmt.Sprint("c", i), Participant: fmt.Sprint("p", i%2), Class: realtime.Class([]string{"", "x"}[i%3/2]),
				})
			}
			want := make([][]string, tc.members)
			for n := range 300 {
				m := realtime.Message{Event: fmt.Sprint("e", n), Payload: n}
				switch n % 5 {
				case 1:
					m.ExceptConn = "c1"
				case 2:
					m.ExceptParticipant = "p0"
				case 3:
					m.Class = "x"
				case 4:
					m.AnyClass = true
				}
				broadcast(t, b, m)
				for i := range want {
					class := realtime.Class([]string{"", "x"}[i%3/2])
					if (m.AnyClass || class == m.Class) && m.ExceptConn != fmt.Sprint("c", i) && m.ExceptParticipant != fmt.Sprint("p", i%2) {
						want[i] = append(want[i], m.Event)
					}
				}
			}
			b.Wait()
			for i, e := range ears {
				if got := e.take(); !slices.Equal(got, want[i]) {
					t.Fatalf("subscriber %d heard %d %v\nwant %d %v", i, len(got), got, len(want[i]), want[i])
				}
			}
		})
	}
}

// TestOneOrder: concurrent broadcasters; all subscribers of a topic agree.
func TestOneOrder(t *testing.T) {
	t.Parallel()
	for _, members := range []int{8, 80} {
		b := realtime.NewBus(realtime.Config{})
		ears := make([]*ear, members)
		for i := range ears {
			ears[i] = &ear{t: t}
			b.Subscribe("t", ears[i], realtime.Tags{})
		}
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				for n := range 100 {
					if err := b.Broadcast(realtime.Message{Topic: "t", Event: fmt.Sprint(w, "-", n)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		b.Wait()
		first := ears[0].take()
		if len(first) != 800 {
			t.Fatalf("heard %d", len(first))
		}
		for i, e := range ears[1:] {
			if !slices.Equal(e.take(), first) {
				t.Fatalf("subscriber %d heard another order", i+1)
			}
		}
	}
}

// TestBatching: while a fan-out is under way, frames gather; who joins meanwhile
// hears only what is sent after, who leaves hears no more rounds than the one.
func TestBatching(t *testing.T) {
	t.Parallel()
	b := realtime.NewBus(realtime.Config{InlineBelow: 1})
	slow := &ear{t: t, block: make(chan struct{}), entered: make(chan struct{}, 10)}
	leaver, late := &ear{t: t}, &ear{t: t}
	b.Subscribe("t", slow, realtime.Tags{})
	b.Subscribe("t", leaver, realtime.Tags{})
	broadcast(t, b, realtime.Message{Event: "first"})
	<-slow.entered
	for _, event := range names(50) {
		broadcast(t, b, realtime.Message{Event: event})
	}
	b.Subscribe("t", late, realtime.Tags{})
	broadcast(t, b, realtime.Message{Event: "last"})
	b.Unsubscribe("t", leaver)
	close(slow.block)
	b.Wait()
	if got := slow.take(); !slices.Equal(got, append(append([]string{"first"}, names(50)...), "last")) || slow.largest != 51 {
		t.Fatalf("slow heard %v, largest batch %d", got, slow.largest)
	}
	if got := late.take(); !slices.Equal(got, []string{"last"}) {
		t.Fatalf("late heard %v", got)
	}
	if got := leaver.take(); len(got) > 1 {
		t.Fatalf("leaver heard %v", got)
	}
}

// TestBackPressure: a full topic makes the broadcaster wait for the fan-out, and
// nothing is lost.
func TestBackPressure(t *testing.T) {
	t.Parallel()
	b := realtime.NewBus(realtime.Config{InlineBelow: 1, MaxPending: 1000})
	slow := &ear{t: t, block: make(chan struct{}), entered: make(chan struct{}, 1000)}
	b.Subscribe("t", slow, realtime.Tags{})
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for _, event := range names(100) {
			if err := b.Broadcast(realtime.Message{Topic: "t", Event: event}); err != nil {
				t.Error(err)
			}
		}
	}()
	<-slow.entered
	select {
	case <-sent:
		t.Fatal("the broadcaster did not wait")
	case <-time.After(50 * time.Millisecond):
	}
	close(slow.block)
	<-sent
	b.Wait()
	if got := slow.take(); !slices.Equal(got, names(100)) {
		t.Fatalf("heard %v", got)
	}
}

func TestSubscribeAndLeave(t *testing.T) {
	t.Parallel()
	b := realtime.NewBus(realtime.Config{})
	ears := make([]*ear, 100)
	for i := range ears {
		ears[i] = &ear{t: t}
		b.Subscribe("t", ears[i], realtime.Tags{Class: "old"})
		b.Subscribe("t", ears[i], realtime.Tags{}) // replaces the tags
	}
	if n := b.Count("t"); n != 100 {
		t.Fatalf("%d subscribers", n)
	}
	for i, e := range ears {
		if i%3 != 0 {
			b.Unsubscribe("t", e)
			b.Unsubscribe("t", e)
		}
	}
	b.Unsubscribe("nowhere", ears[0])
	broadcast(t, b, realtime.Message{Event: "e"})
	b.Wait()
	for i, e := range ears {
		if got := len(e.take()); (got == 1) != (i%3 == 0) {
			t.Fatalf("subscriber %d heard %d", i, got)
		}
		b.Unsubscribe("t", e)
	}
	if n := b.Count("t"); n != 0 {
		t.Fatalf("%d subscribers left", n)
	}
}

func TestBroadcastAllEncodesOnce(t *testing.T) {
	t.Parallel()
	b := realtime.NewBus(realtime.Config{})
	a, c := &ear{t: t}, &ear{t: t}
	b.Subscribe("a", a, realtime.Tags{})
	b.Subscribe("c", c, realtime.Tags{})
	payload := &counting{}
	if err := b.BroadcastAll([]string{"a", "b", "c"}, realtime.Message{Event: "e", Payload: payload}); err != nil {
		t.Fatal(err)
	}
	if len(a.take()) != 1 || len(c.take()) != 1 || payload.n != 1 {
		t.Fatalf("encoded %d times", payload.n)
	}
}

type counting struct{ n int }

func (c *counting) MarshalJSON() ([]byte, error) { c.n++; return []byte(`{}`), nil }

func TestBadPayloads(t *testing.T) {
	t.Parallel()
	b := realtime.NewBus(realtime.Config{})
	e := &ear{t: t}
	b.Subscribe("t", e, realtime.Tags{})
	for _, payload := range []any{make(chan int), json.RawMessage(`{`), strings.Repeat("x", realtime.MaxFrame)} {
		if err := b.Broadcast(realtime.Message{Topic: "t", Event: "e", Payload: payload}); err == nil {
			t.Errorf("%T went through", payload)
		}
	}
	err := b.Broadcast(realtime.Message{Topic: "t", Event: "e", Payload: strings.Repeat("x", realtime.MaxFrame-20)})
	if !errors.Is(err, realtime.ErrFrameTooLarge) {
		t.Errorf("%v", err)
	}
	if got := e.take(); len(got) != 0 {
		t.Errorf("heard %v", got)
	}
}

func TestFrameHeaders(t *testing.T) {
	t.Parallel()
	overhead := len(`[null,null,"t","e",""]`)
	for _, tc := range []struct {
		size   int
		header string
	}{
		{125, "\x81\x7d"}, {126, "\x81\x7e\x00\x7e"}, {65535, "\x81\x7e\xff\xff"},
		{65536, "\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00"}, {realtime.MaxFrame - 1, "\x81\x7f\x00\x00\x00\x00\x00\x0f\xff\xff"},
	} {
		f, err := realtime.NewFrame("", "", "t", "e", strings.Repeat("x", tc.size-overhead))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(f.Wire()), tc.header+"[null") || len(f.JSON()) != tc.size || f.Len() != tc.size+len(tc.header) {
			t.Errorf("size %d: header % x, %d bytes of JSON", tc.size, f.Wire()[:10], len(f.JSON()))
		}
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	b := realtime.NewBus(realtime.Config{Registerer: reg})
	b.Subscribe("t", &ear{t: t}, realtime.Tags{})
	b.Subscribe("t", &ear{t: t}, realtime.Tags{})
	broadcast(t, b, realtime.Message{Event: "e"})
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		m := f.GetMetric()[0]
		got[f.GetName()] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	if got["agntchat_realtime_deliveries_total"] != 2 || got["agntchat_realtime_topics"] != 1 || got["agntchat_realtime_broadcasts_total"] != 1 {
		t.Fatalf("%v", got)
	}
}
