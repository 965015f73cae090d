package socket

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agntchat/agntchat/internal/realtime"
)

// pipeBox is an outbox over a pipe: nothing is taken until the far end reads, and
// there is no file descriptor, as with TLS.
func pipeBox(t *testing.T, resyncs bool) (*outbox, net.Conn) {
	near, far := net.Pipe()
	lim := Limits{QueueBytes: 4 << 10}.withDefaults()
	var wg sync.WaitGroup
	o := &outbox{nc: near, raw: newRawWriter(near), lim: &lim, metrics: newMetrics(nil), spawn: wg.Go, resyncs: resyncs}
	t.Cleanup(func() {
		o.shut()
		_ = far.Close()
		wg.Wait()
	})
	return o, far
}

func (o *outbox) size() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes
}

func event(t *testing.T, name string, size int, change ...func(*realtime.Frame)) *realtime.Frame {
	t.Helper()
	f, err := realtime.NewFrame("", "", "t", name, strings.Repeat("x", size))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(f)
	}
	return f
}

// text reads everything until the connection ends.
func text(t *testing.T, far net.Conn, o *outbox) string {
	t.Helper()
	o.close(CodeRestart, "end")
	_ = far.SetReadDeadline(time.Now().Add(10 * time.Second))
	var out strings.Builder
	buf := make([]byte, 4096)
	for !strings.HasSuffix(out.String(), "end") {
		n, err := far.Read(buf)
		out.Write(buf[:n])
		if err != nil {
			if errors.Is(err, io.EOF) {
				break
			}
			t.Fatal(err)
		}
	}
	return out.String()
}

// TestPongsAreBounded: a client that pings and does not read makes nothing pile up.
func TestPongsAreBounded(t *testing.T) {
	t.Parallel()
	o, far := pipeBox(t, false)
	pong := append([]byte{0x8a, 125}, strings.Repeat("p", 125)...)
	for range 10_000 {
		o.control(pong)
	}
	if n := o.size(); n > 2<<10 {
		t.Fatalf("%d bytes of pongs wait", n)
	}
	if err := o.sendFrame(event(t, "reply", 10), true); err != nil {
		t.Fatal(err)
	}
	if got := text(t, far, o); !strings.Contains(got, `"reply"`) {
		t.Fatalf("got %q", got)
	}
}

func TestOutboxBounds(t *testing.T) {
	t.Parallel()
	droppable := func(f *realtime.Frame) { f.Droppable = true }
	keyed := func(f *realtime.Frame) { f.Key = "k" }
	for _, tc := range []struct {
		name    string
		resyncs bool
		send    func(o *outbox) error
		want    []string // in this order
		without []string
	}{
		{"droppable frames wait only while there is much room", false, func(o *outbox) error {
			return errors.Join(o.sendFrame(event(t, "one", 2000), false), o.sendFrame(event(t, "typing", 1, droppable), false),
				o.sendFrame(event(t, "two", 1), false))
		}, []string{`"one"`, `"two"`}, []string{"typing"}},
		{"a keyed frame replaces the older one at the end", false, func(o *outbox) error {
			return errors.Join(o.sendFrame(event(t, "first", 1), false), o.sendFrame(event(t, "other", 1), false),
				o.sendFrame(event(t, "old", 1, keyed), false), o.sendFrame(event(t, "between", 1), false),
				o.sendFrame(event(t, "new", 1, keyed), false))
		}, []string{`"first"`, `"other"`, `"between"`, `"new"`}, []string{`"old"`}},
		{"a frame larger than the bound passes when nothing waits", false, func(o *outbox) error {
			return o.sendFrame(event(t, "huge", 100_000), false)
		}, []string{`"huge"`}, nil},
		{"overflow closes those who cannot resync", false, func(o *outbox) error {
			return errors.Join(o.sendFrame(event(t, "first", 3000), false), o.sendFrame(event(t, "second", 3000), false))
		}, []string{"too slow"}, []string{`"second"`, "end"}},
		{"overflow resyncs the others, and replies pass", true, func(o *outbox) error {
			return errors.Join(o.sendFrame(event(t, "first", 3000), false), o.sendFrame(event(t, "second", 3000), false),
				o.sendFrame(event(t, "third", 1), false), o.sendFrame(event(t, "reply", 3000), true))
		}, []string{`"reply"`}, []string{`"second"`, `"third"`}},
		{"even replies have a bound", true, func(o *outbox) error {
			var last error
			for range 4 {
				last = errors.Join(last, o.sendFrame(event(t, "reply", 3000), true))
			}
			return nil
		}, []string{`"reply"`, `"reply"`, "too slow"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			o, far := pipeBox(t, tc.resyncs)
			if err := tc.send(o); err != nil {
				t.Fatal(err)
			}
			if tc.want[len(tc.want)-1] == "too slow" {
				tc.want[len(tc.want)-1] = "reconnect"
			}
			got := drainText(t, far, o)
			rest := got
			for _, part := range tc.want {
				i := strings.Index(rest, part)
				if i < 0 {
					t.Fatalf("no %s in order in %.300q", part, got)
				}
				rest = rest[i+len(part):]
			}
			for _, part := range tc.without {
				if strings.Contains(got, part) {
					t.Fatalf("%s in %.300q", part, got)
				}
			}
		})
	}
}

// drainText reads until the outbox has nothing more, then closes it.
func drainText(t *testing.T, far net.Conn, o *outbox) string {
	t.Helper()
	o.mu.Lock()
	closing := o.state != outOpen
	o.mu.Unlock()
	if !closing {
		return text(t, far, o)
	}
	_ = far.SetReadDeadline(time.Now().Add(10 * time.Second))
	var out strings.Builder
	buf := make([]byte, 4096)
	for !strings.HasSuffix(out.String(), "reconnect") {
		n, err := far.Read(buf)
		out.Write(buf[:n])
		if err != nil {
			t.Fatalf("%v after %.300q", err, out.String())
		}
	}
	return out.String()
}

// TestResyncComesAfterTheQueue: once per topic, then events flow again.
func TestResyncComesAfterTheQueue(t *testing.T) {
	t.Parallel()
	o, far := pipeBox(t, true)
	for range 5 {
		if err := o.sendFrame(event(t, "e", 3000), false); err != nil {
			t.Fatal(err)
		}
	}
	got := make(chan string, 1)
	go func() {
		var out strings.Builder
		buf := make([]byte, 4096)
		for !strings.Contains(out.String(), EventResync) {
			n, err := far.Read(buf)
			out.Write(buf[:n])
			if err != nil {
				break
			}
		}
		got <- out.String()
	}()
	select {
	case s := <-got:
		if strings.Count(s, `"e"`) > 2 || strings.Count(s, `"resync",{}`) != 1 {
			t.Fatalf("got %.200q", s)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("no resync")
	}
	if err := o.sendFrame(event(t, "after", 1), false); err != nil {
		t.Fatal(err)
	}
	if s := text(t, far, o); !strings.Contains(s, `"after"`) {
		t.Fatalf("got %.200q", s)
	}
}

// TestAge: a reader that moves, but so slowly that the oldest frame has waited for
// more than QueueAge, is behind.
func TestAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, far := pipeBox(t, false)
		o.lim.QueueBytes = 1 << 20
		f := event(t, "e", 40<<10) // two do not fit into one chunk
		for range 3 {
			if err := o.sendFrame(f, false); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(9 * time.Second)
		if _, err := io.ReadFull(far, make([]byte, f.Len())); err != nil {
			t.Fatal(err)
		}
		if err := o.sendFrame(event(t, "in time", 1), false); err != nil {
			t.Fatal(err)
		}
		<-time.After(3 * time.Second)
		_ = o.sendFrame(event(t, "late", 1), false)
		if err := o.sendFrame(event(t, "later", 1), true); !errors.Is(err, ErrClosed) {
			t.Fatalf("still open: %v", err)
		}
		if got := drainText(t, far, o); strings.Contains(got, "in time") || strings.Contains(got, "late") {
			t.Fatal("events behind the bound were sent")
		}
	})
}

// TestStall: a reader that takes nothing for QueueAge is cut off.
func TestStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, _ := pipeBox(t, true)
		if err := o.sendFrame(event(t, "e", 10), true); err != nil {
			t.Fatal(err)
		}
		<-time.After(9 * time.Second)
		if err := o.sendFrame(event(t, "e", 10), true); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Second)
		if err := o.sendFrame(event(t, "e", 10), true); !errors.Is(err, ErrClosed) {
			t.Fatalf("still open: %v", err)
		}
	})
}

func TestCloseFrame(t *testing.T) {
	t.Parallel()
	f := closeFrame(CodeRestart, strings.Repeat("é", 100))
	if len(f) != 2+2+122 || int(f[1]) != len(f)-2 || f[2] != 0x03 || f[3] != 0xf4 {
		t.Fatalf("% x", f)
	}
}

func TestBucket(t *testing.T) {
	t.Parallel()
	b, now := newBucket(10, 5), time.Unix(0, 0)
	take := func(n int) (allowed int, flood bool) {
		for range n {
			ok, f := b.take(now)
			if ok {
				allowed++
			}
			flood = f
		}
		return allowed, flood
	}
	if n, flood := take(10); n != 5 || flood {
		t.Fatalf("%d, %v", n, flood)
	}
	now = now.Add(time.Second) // repays the debt of 5 and five more
	if n, _ := take(10); n != 5 {
		t.Fatalf("%d after a second", n)
	}
	if _, flood := take(6); !flood {
		t.Fatal("no flood")
	}
}
