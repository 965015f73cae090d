// Command reference is what the fan-out benchmark compares with: coder/websocket
// without a product around it. What one client of a room sends is written to all
// of that room.
//
//	/loop?room=x     a loop over the room's connections, as the library's examples do
//	/writers?room=x  a goroutine and a channel of 256 per connection, as most servers do
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/coder/websocket"
)

type room struct {
	mu      sync.Mutex
	conns   map[*websocket.Conn]chan []byte
	writers bool
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
		r.set[key] = &room{conns: map[*websocket.Conn]chan []byte{}, writers: path == "/writers"}
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
	rm.mu.Unlock()
	close(queue)
}

func (rm *room) broadcast(p []byte) {
	rm.mu.Lock()
	defer rm.mu.Unlock()
	for ws, queue := range rm.conns {
		if rm.writers {
			queue <- p
			continue
		}
		_ = ws.Write(context.Background(), websocket.MessageText, p) // who is gone is told by its reader
	}
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
	log.Fatal(srv.Serve(l))
}
