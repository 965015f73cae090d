// Command reference is what the fan-out benchmark compares with: coder/websocket
// without a product around it. What one client of a room sends is written to all
// of that room.
//
//	/loop?room=x     a loop over the room's connections, as the library's examples do
//	/writers?room=x  a goroutine and a channel of 256 per connection, as most servers do
//	/floor?room=x    no library at all: one write(2) of a finished frame per connection,
//	                 and nothing else; less than this no server can do that sends each
//	                 message to each connection when it comes
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/coder/websocket"
)

type room struct {
	mu      sync.Mutex
	conns   map[*websocket.Conn]chan []byte
	fds     map[*websocket.Conn]uintptr // only of the floor
	writers bool
	floor   bool
}

type rooms struct {
	mu  sync.Mutex
	set map[string]*room
}

func (r *rooms) of(path, name string) *room {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := path + " " + name
	if r.set[key] == nil {
		r.set[key] = &room{conns: map[*websocket.Conn]chan []byte{}, fds: map[*websocket.Conn]uintptr{}, writers: path == "/writers", floor: path == "/floor"}
	}
	return r.set[key]
}

func (r *rooms) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	ws, err := websocket.Accept(w, q, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return
	}
	defer ws.CloseNow()
	rm := r.of(q.URL.Path, q.URL.Query().Get("room"))
	queue := make(chan []byte, 256)
	rm.mu.Lock()
	rm.conns[ws] = queue
	if rm.floor {
		rm.fds[ws] = descriptor(q)
	}
	rm.mu.Unlock()
	if rm.writers {
		go func() {
			for p := range queue {
				if ws.Write(context.Background(), websocket.MessageText, p) != nil {
					return
				}
			}
		}()
	}
	for {
		_, p, err := ws.Read(context.Background())
		if err != nil {
			break
		}
		rm.broadcast(p)
	}
	rm.mu.Lock()
	delete(rm.conns, ws)
	delete(rm.fds, ws)
	rm.mu.Unlock()
	close(queue)
}

func (rm *room) broadcast(p []byte) {
	rm.mu.Lock()
	defer rm.mu.Unlock()
	if rm.floor {
		rm.write(frame(p))
		return
	}
	for ws, queue := range rm.conns {
		if rm.writers {
			queue <- p
			continue
		}
		_ = ws.Write(context.Background(), websocket.MessageText, p) // who is gone is told by its reader
	}
}

// write sends finished bytes to everybody. A connection that does not take them all
// at once is left out: readers of this line keep up.
func (rm *room) write(wire []byte) {
	for _, fd := range rm.fds {
		_, _, _ = syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(unsafe.SliceData(wire))), uintptr(len(wire)))
	}
}

// frame is p as an unmasked text frame (RFC 6455, 5.2), shorter than 64 KiB.
func frame(p []byte) []byte {
	wire := []byte{0x81}
	if len(p) < 126 {
		wire = append(wire, byte(len(p)))
	} else {
		wire = binary.BigEndian.AppendUint16(append(wire, 126), uint16(len(p)))
	}
	return append(wire, p...)
}

type connKey struct{}

// descriptor is that of the connection under a request.
func descriptor(q *http.Request) (fd uintptr) {
	nc, _ := q.Context().Value(connKey{}).(*net.TCPConn)
	raw, err := nc.SyscallConn()
	if err == nil {
		err = raw.Control(func(d uintptr) { fd = d })
	}
	if err != nil {
		log.Fatal(err)
	}
	return fd
}

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(l.Addr())
	go func() { // ends with its parent
		_, _ = os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	}()
	srv := &http.Server{Handler: &rooms{set: map[string]*room{}}, ReadHeaderTimeout: 10 * time.Second}
	srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) }
	log.Fatal(srv.Serve(l))
}
