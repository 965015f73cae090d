package socket

import (
	"net"
	"time"
)

// wire is the network as the WebSocket library sees it: reads keep the idle
// deadline, writes (control frames only) go through the outbox.
type wire struct {
	net.Conn
	out  *outbox
	idle time.Duration
	set  time.Time // when the read deadline was last moved
}

func (w *wire) Read(p []byte) (int, error) {
	if now := time.Now(); now.Sub(w.set) > w.idle/8 {
		w.set = now
		w.out.alive(now.Add(w.idle))
	}
	return w.Conn.Read(p)
}

func (w *wire) Write(p []byte) (int, error) {
	w.out.control(p)
	return len(p), nil
}

func (w *wire) Close() error {
	w.out.shut()
	return nil
}
