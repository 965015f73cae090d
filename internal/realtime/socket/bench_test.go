//go:build unix

package socket_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/agntchat/agntchat/internal/realtime"
	"github.com/agntchat/agntchat/internal/realtime/socket"
)

// The benchmarks run clients and server in one process over loopback: figures
// contain the clients, so read them as ratios. The bare loop is one coder
// connection per member, written one after the other.

const benchBody = 128

// crowd is n raw clients of one topic that count bytes.
type crowd struct {
	conns []net.Conn
	got   atomic.Int64
	moved chan struct{}
	wg    sync.WaitGroup
}

func (c *crowd) add(nc net.Conn) {
	c.conns = append(c.conns, nc)
	c.wg.Go(func() {
		buf := make([]byte, 16<<10)
		for {
			n, err := nc.Read(buf)
			if err != nil {
				return
			}
			c.got.Add(int64(n))
			select {
			case c.moved <- struct{}{}:
			default:
			}
		}
	})
}

// until waits for total bytes.
func (c *crowd) until(b *testing.B, total int64) {
	for c.got.Load() < total {
		select {
		case <-c.moved:
		case <-time.After(10 * time.Second):
			b.Fatalf("got %d of %d bytes", c.got.Load(), total)
		}
	}
}

func (c *crowd) close() {
	for _, nc := range c.conns {
		_ = nc.Close()
	}
	c.wg.Wait()
}

func handshake(b testing.TB, base string) net.Conn {
	b.Helper()
	nc, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		b.Fatal(err)
	}
	_, err = io.WriteString(nc, "GET /socket/websocket?vsn=2.0.0&token=x HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"+
		"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	if err != nil {
		b.Fatal(err)
	}
	var head strings.Builder
	one := make([]byte, 1)
	for !strings.HasSuffix(head.String(), "\r\n\r\n") {
		if _, err := nc.Read(one); err != nil {
			b.Fatalf("%s: %v", head.String(), err)
		}
		head.Write(one)
	}
	if !strings.HasPrefix(head.String(), "HTTP/1.1 101") {
		b.Fatal(head.String())
	}
	return nc
}

func joinRaw(b testing.TB, nc net.Conn, topic string) {
	b.Helper()
	join := fmt.Sprintf(`["1","1",%q,"phx_join",{}]`, topic)
	if _, err := nc.Write(maskedFrame(1, []byte(join))); err != nil {
		b.Fatal(err)
	}
	want := fmt.Sprintf(`["1","1",%q,"phx_reply",{"status":"ok","response":{}}]`, topic)
	if _, err := io.ReadFull(nc, make([]byte, len(want)+2)); err != nil {
		b.Fatal(err)
	}
}

func benchHouse(b *testing.B) *house {
	return build(b, &script{left: make(chan string, 100_000)}, func(c *socket.Config) {
		c.Log = slog.New(slog.DiscardHandler)
	})
}

// measure runs b.N broadcasts with window of them in flight and reports per
// delivery.
func measure(b *testing.B, c *crowd, members, window, size int, send func()) {
	b.Helper()
	var before, after syscall.Rusage
	start := c.got.Load()
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	b.ResetTimer()
	for i := range b.N {
		send()
		if done := i + 1 - window; done > 0 {
			c.until(b, start+int64(done)*int64(members)*int64(size))
		}
	}
	c.until(b, start+int64(b.N)*int64(members)*int64(size))
	b.StopTimer()
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	cpu := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
	deliveries := float64(b.N * members)
	b.ReportMetric(deliveries/b.Elapsed().Seconds(), "deliveries/s")
	b.ReportMetric(float64(cpu.Nanoseconds())/1000/deliveries, "cpu-µs/delivery")
}

func BenchmarkFanOut(b *testing.B) {
	payload := json.RawMessage(`{"content":"` + strings.Repeat("x", benchBody) + `"}`)
	frame, err := realtime.NewFrame("", "", "room:1", "new_message", payload)
	if err != nil {
		b.Fatal(err)
	}
	for _, members := range []int{10, 1000} {
		for _, window := range []int{1, 16} {
			b.Run(fmt.Sprintf("bus/members=%d/window=%d", members, window), func(b *testing.B) {
				h := benchHouse(b)
				c := &crowd{moved: make(chan struct{}, 1)}
				defer c.close()
				for range members {
					nc := handshake(b, h.base)
					joinRaw(b, nc, "room:1")
					c.add(nc)
				}
				measure(b, c, members, window, frame.Len(), func() {
					h.broadcast(realtime.Message{Topic: "room:1", Event: "new_message", Payload: payload})
				})
			})
			b.Run(fmt.Sprintf("bare/members=%d/window=%d", members, window), func(b *testing.B) {
				conns, base := bareServer(b)
				c := &crowd{moved: make(chan struct{}, 1)}
				defer c.close()
				var all []*websocket.Conn
				for range members {
					c.add(handshake(b, base))
					all = append(all, <-conns)
				}
				measure(b, c, members, window, frame.Len(), func() {
					for _, ws := range all {
						if err := ws.Write(context.Background(), websocket.MessageText, frame.JSON()); err != nil {
							b.Fatal(err)
						}
					}
				})
			})
		}
	}
}

func bareServer(b *testing.B) (<-chan *websocket.Conn, string) {
	conns := make(chan *websocket.Conn, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			b.Error(err)
			return
		}
		conns <- ws
		_, _, _ = ws.Read(context.Background())
	}))
	b.Cleanup(srv.Close)
	return conns, srv.URL
}

// BenchmarkIdleConn reports what one joined socket keeps: heap and stacks of the
// server and of the raw client together.
func BenchmarkIdleConn(b *testing.B) {
	h := benchHouse(b)
	const n = 4000
	var before, after runtime.MemStats
	conns := make([]net.Conn, 0, n)
	defer func() {
		for _, nc := range conns {
			_ = nc.Close()
		}
	}()
	for b.Loop() {
		if len(conns) > 0 {
			continue // one round is enough
		}
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range n {
			nc := handshake(b, h.base)
			joinRaw(b, nc, fmt.Sprint("user:", i))
			conns = append(conns, nc)
		}
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&after)
	}
	heap, stack := float64(after.HeapAlloc-before.HeapAlloc)/n, float64(after.StackInuse-before.StackInuse)/n
	b.ReportMetric(heap/1024, "heap-KiB/conn")
	b.ReportMetric(stack/1024, "stack-KiB/conn")
	b.ReportMetric(float64(after.Sys-before.Sys)/n/1024, "sys-KiB/conn")
}

func BenchmarkPushReply(b *testing.B) {
	h := benchHouse(b)
	c := h.dial("ann")
	room := c.Join("r", nil)
	b.ReportAllocs()
	for b.Loop() {
		if r := room.Push("x", nil); r.Status != "ok" {
			b.Fatalf("%+v", r)
		}
	}
}
