//go:build unix

package socket_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"github.com/agntchat/agntchat/internal/realtime"
	"github.com/agntchat/agntchat/internal/realtime/socket"
)

// The clients of the fan-out benchmarks live in a process of their own, so that
// CPU per delivery is the server's. Two references: "bare" writes to one coder
// connection after the other, "writers" gives each a goroutine and a channel, as
// most servers do. Read the figures as ratios.

const benchBody = 128

// crowd is n raw clients of one topic in a child process.
type crowd struct {
	b     *testing.B
	child *exec.Cmd
	in    io.Closer
	done  chan int // highest number of broadcasts that all members have
	have  int
}

// gather starts the child and waits until all members are there.
func gather(b *testing.B, base string, members, size int, join bool) *crowd {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("SOCKET_BENCH_CROWD=%s %d %d %v", base, members, size, join))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	c := &crowd{b: b, child: cmd, in: in, done: make(chan int, 1)}
	go func() {
		defer close(c.done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			n, _ := strconv.Atoi(lines.Text())
			select { // only the newest counts
			case <-c.done:
			default:
			}
			c.done <- n
		}
	}()
	if n, ok := <-c.done; !ok || n != 0 {
		b.Fatal("the clients did not come")
	}
	return c
}

func (c *crowd) until(n int) {
	for c.have < n {
		select {
		case have, ok := <-c.done:
			if !ok {
				c.b.Fatal("the clients are gone")
			}
			c.have = have
		case <-time.After(20 * time.Second):
			c.b.Fatalf("%d of %d broadcasts arrived", c.have, n)
		}
	}
}

func (c *crowd) close() {
	_ = c.in.Close()
	_ = c.child.Wait()
}

// beCrowd is the child: it says 0 when all have joined, then how many broadcasts
// all have, until its input ends.
func beCrowd(order string) error {
	var base string
	var members, size int
	var join bool
	if _, err := fmt.Sscan(order, &base, &members, &size, &join); err != nil {
		return err
	}
	var got atomic.Int64
	moved := make(chan struct{}, 1)
	round := int64(members) * int64(size)
	for range members {
		nc, err := handshake(base)
		if err != nil {
			return err
		}
		if join {
			if err := joinRaw(nc, "room:1"); err != nil {
				return err
			}
		}
		go func() {
			buf := make([]byte, 16<<10)
			for {
				n, err := nc.Read(buf)
				if err != nil {
					return
				}
				if now := got.Add(int64(n)); now/round != (now-int64(n))/round {
					select {
					case moved <- struct{}{}:
					default:
					}
				}
			}
		}()
	}
	fmt.Println(0)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	for {
		select {
		case <-moved:
			fmt.Println(got.Load() / round)
		case <-ended:
			return nil
		}
	}
}

func handshake(base string) (net.Conn, error) {
	nc, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		return nil, err
	}
	_, err = io.WriteString(nc, "GET /socket/websocket?vsn=2.0.0&token=x HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"+
		"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	if err != nil {
		return nil, err
	}
	var head strings.Builder
	for one := make([]byte, 1); !strings.HasSuffix(head.String(), "\r\n\r\n"); head.Write(one) {
		if _, err := nc.Read(one); err != nil {
			return nil, err
		}
	}
	if !strings.HasPrefix(head.String(), "HTTP/1.1 101") {
		return nil, errors.New(head.String())
	}
	return nc, nil
}

func joinRaw(nc net.Conn, topic string) error {
	join := fmt.Sprintf(`["1","1",%q,"phx_join",{}]`, topic)
	if _, err := nc.Write(maskedFrame(1, []byte(join))); err != nil {
		return err
	}
	want := fmt.Sprintf(`["1","1",%q,"phx_reply",{"status":"ok","response":{}}]`, topic)
	_, err := io.ReadFull(nc, make([]byte, len(want)+2))
	return err
}

func benchHouse(b *testing.B) *house {
	return build(b, &script{left: make(chan string, 100_000)}, func(c *socket.Config) {
		c.Log = slog.New(slog.DiscardHandler)
	})
}

// measure runs b.N broadcasts with window of them in flight.
func measure(b *testing.B, c *crowd, members, window int, send func()) {
	b.Helper()
	var before, after syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	b.ResetTimer()
	for i := range b.N {
		send()
		c.until(i + 2 - window)
	}
	c.until(b.N)
	b.StopTimer()
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	cpu := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
	deliveries := float64(b.N * members)
	b.ReportMetric(deliveries/b.Elapsed().Seconds(), "deliveries/s")
	b.ReportMetric(float64(cpu.Nanoseconds())/1000/deliveries, "server-cpu-µs/delivery")
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
				c := gather(b, h.base, members, frame.Len(), true)
				defer c.close()
				measure(b, c, members, window, func() {
					h.broadcast(realtime.Message{Topic: "room:1", Event: "new_message", Payload: payload})
				})
			})
			b.Run(fmt.Sprintf("bare/members=%d/window=%d", members, window), func(b *testing.B) {
				conns, base := bareServer(b, members)
				c := gather(b, base, members, frame.Len(), false)
				defer c.close()
				var all []*websocket.Conn
				for range members {
					all = append(all, <-conns)
				}
				measure(b, c, members, window, func() {
					for _, ws := range all {
						if err := ws.Write(context.Background(), websocket.MessageText, frame.JSON()); err != nil {
							b.Fatal(err)
						}
					}
				})
			})
			b.Run(fmt.Sprintf("writers/members=%d/window=%d", members, window), func(b *testing.B) {
				conns, base := bareServer(b, members)
				c := gather(b, base, members, frame.Len(), false)
				defer c.close()
				var queues []chan []byte
				var wg sync.WaitGroup
				for range members {
					ws, queue := <-conns, make(chan []byte, 256)
					queues = append(queues, queue)
					wg.Go(func() {
						for p := range queue {
							if ws.Write(context.Background(), websocket.MessageText, p) != nil {
								return
							}
						}
					})
				}
				measure(b, c, members, window, func() {
					for _, queue := range queues {
						queue <- frame.JSON()
					}
				})
				for _, queue := range queues {
					close(queue)
				}
				wg.Wait()
			})
		}
	}
}

func bareServer(b *testing.B, members int) (<-chan *websocket.Conn, string) {
	conns := make(chan *websocket.Conn, members)
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
			nc, err := handshake(h.base)
			if err == nil {
				err = joinRaw(nc, fmt.Sprint("user:", i))
			}
			if err != nil {
				b.Fatal(err)
			}
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

func TestMain(m *testing.M) {
	if order := os.Getenv("SOCKET_BENCH_CROWD"); order != "" {
		if err := beCrowd(order); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"))
}
