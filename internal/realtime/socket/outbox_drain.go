package socket

import (
	"sync"
	"time"

	"github.com/agntchat/agntchat/internal/realtime"
)

// chunks holds the buffers of the drain goroutines; an idle connection has none.
type chunks struct{ pool sync.Pool }

func (c *chunks) get() *[]byte {
	if b, ok := c.pool.Get().(*[]byte); ok {
		return b
	}
	return new(make([]byte, 0, chunk))
}

func (c *chunks) put(b *[]byte) {
	*b = (*b)[:0]
	c.pool.Put(b)
}

// drainSoon starts the goroutine that writes what waits, if there is none.
func (o *outbox) drainSoon() {
	if o.draining || len(o.queue) == 0 || o.state == outDead {
		return
	}
	o.draining = true
	o.spawn(o.drain)
}

// drain writes until the queue is empty. It alone waits for the client.
func (o *outbox) drain() {
	buf := o.metrics.chunks.get()
	defer o.metrics.chunks.put(buf)
	for {
		next := o.take(buf)
		if next == nil {
			return
		}
		_ = o.nc.SetWriteDeadline(time.Now().Add(o.lim.QueueAge))
		_, err := o.nc.Write(next)
		o.wrote(len(next), err)
	}
}

// take removes the next chunk from the queue. Nil ends the drain: the queue is
// empty, or the connection is gone.
func (o *outbox) take(buf *[]byte) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.state == outDead {
		o.draining = false
		return nil
	}
	if len(o.queue) == 0 {
		o.tellMissed()
	}
	if len(o.queue) == 0 {
		o.draining = false
		o.queue = nil
		_ = o.nc.SetWriteDeadline(time.Time{})
		return nil
	}
	if len(o.queue[0].data) >= chunk {
		data := o.queue[0].data
		o.queue[0] = item{}
		o.queue = o.queue[1:]
		return data
	}
	out, n := (*buf)[:0], 0
	for n < len(o.queue) && len(out)+len(o.queue[n].data) <= chunk {
		out = append(out, o.queue[n].data...)
		o.queue[n] = item{}
		n++
	}
	o.queue = o.queue[n:]
	*buf = out
	return out
}

func (o *outbox) wrote(n int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes -= n
	if err != nil && o.state != outDead {
		o.metrics.stalled.Inc()
		o.kill()
	}
}

// tellMissed queues a resync for every topic that lost events: the queue has
// room again.
func (o *outbox) tellMissed() {
	if o.state != outOpen {
		return
	}
	for topic := range o.stale {
		f, err := realtime.NewFrame("", "", topic, EventResync, nil)
		if err != nil {
			continue // a topic name always fits
		}
		o.metrics.resyncs.Inc()
		o.push(item{data: f.Wire(), frame: f, at: time.Now(), keep: true})
	}
	o.stale = nil
}
