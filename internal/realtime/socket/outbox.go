package socket

import (
	"net"
	"slices"
	"sync"
	"time"

	"github.com/agntchat/agntchat/internal/realtime"
)

// EventResync tells a client that it missed events of a topic because it read
// too slowly: it refetches what it shows (docs/protocol.md 7).
const EventResync = "resync"

// chunk is how much the drain goroutine writes at once. A reader that takes less
// than one chunk per QueueAge is cut off.
const chunk = 64 << 10

// outbox is everything that goes to one client. All bytes pass through it, the
// library's pongs and closes too, so that whole frames stay whole.
//
// A frame is written at once when nothing waits. What the kernel does not take
// waits here, and a goroutine drains it. The queue is bounded in bytes and age:
// droppable frames go first, then events (the topics are marked and the client
// is told to resync, if it knows how, else closed with 1013); replies and
// pushes are never dropped, they close the connection at twice the bound.
type outbox struct {
	nc      net.Conn
	lim     *Limits
	metrics *metrics
	// resyncs is true for clients that understand EventResync.
	resyncs bool
	// spawn runs the drain goroutine under the server's eye.
	spawn func(func())

	mu       sync.Mutex
	raw      rawWriter
	queue    []item
	bytes    int // queued and in flight
	draining bool
	state    outState
	stale    map[string]struct{} // topics that lost events since the queue was last empty
}

type outState uint8

const (
	outOpen    outState = iota
	outClosing          // a close frame is queued or sent: nothing follows it
	outDead             // the connection is gone
)

type item struct {
	data  []byte
	frame *realtime.Frame // nil for control frames
	at    time.Time
	keep  bool // must not be dropped: begun, or not an event
}

// send writes or queues the frames. keep protects them from being dropped.
func (o *outbox) send(b realtime.Batch, keep bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.state != outOpen {
		return ErrClosed
	}
	n := 0
	if !o.draining && o.raw != noWriter {
		var err error
		if n, err = o.raw.try(b.Wire); err != nil {
			o.kill()
			return ErrClosed
		}
		if n == len(b.Wire) {
			return nil
		}
	}
	now := time.Now()
	for _, f := range b.Frames {
		switch wire := f.Wire(); {
		case n >= len(wire):
			n -= len(wire)
		case n > 0:
			o.push(item{data: wire[n:], frame: f, at: now, keep: true})
			n = 0
		default:
			o.enqueue(item{data: wire, frame: f, at: now, keep: keep})
		}
	}
	if o.state == outDead {
		return ErrClosed
	}
	o.drainSoon()
	return nil
}

// sendFrame is send for a single frame.
func (o *outbox) sendFrame(f *realtime.Frame, keep bool) error {
	frames := [1]*realtime.Frame{f}
	return o.send(realtime.Batch{Frames: frames[:], Wire: f.Wire()}, keep)
}

// control sends a control frame of the library. Pongs are dropped when the
// client does not read: it may not make us queue without bound by pinging.
func (o *outbox) control(p []byte) {
	const opcodeMask, opcodeClose = 0x0f, 0x08
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.state != outOpen {
		return
	}
	closing := len(p) > 0 && p[0]&opcodeMask == opcodeClose
	if !closing && o.bytes > o.lim.QueueBytes/4 {
		return
	}
	o.write(append([]byte(nil), p...))
	if closing && o.state == outOpen {
		o.state = outClosing
	}
}

// close queues a close frame behind what waits and lets nothing follow.
func (o *outbox) close(code Code, reason string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closeLocked(code, reason, false)
}

// closeLocked is close; with shed, the events that wait are thrown away first.
func (o *outbox) closeLocked(code Code, reason string, shed bool) {
	if o.state != outOpen {
		return
	}
	if code == codeNormal {
		code = CodeGoingAway
	}
	o.metrics.close(code)
	if shed {
		o.shed(false)
	}
	o.write(closeFrame(code, reason))
	if o.state == outOpen {
		o.state = outClosing
	}
	// The reader waits this long for the client's own close frame.
	_ = o.nc.SetReadDeadline(time.Now().Add(o.lim.CloseTimeout))
}

// write sends bytes that are never dropped.
func (o *outbox) write(p []byte) {
	if !o.draining && o.raw != noWriter {
		n, err := o.raw.try(p)
		if err != nil {
			o.kill()
			return
		}
		p = p[n:]
	}
	if len(p) > 0 {
		o.push(item{data: p, at: time.Now(), keep: true})
		o.drainSoon()
	}
}

// enqueue adds an item if the bounds allow it, and does what the bounds ask for
// if they do not.
func (o *outbox) enqueue(it item) {
	f := it.frame
	if o.state != outOpen {
		return
	}
	if f.Key != "" {
		o.replace(f)
	}
	if f.Droppable && !it.keep && o.bytes > o.lim.QueueBytes/4 {
		o.metrics.dropped.WithLabelValues("droppable").Inc()
		return
	}
	if _, stale := o.stale[f.Topic]; stale && !it.keep {
		o.metrics.dropped.WithLabelValues("stale").Inc()
		return
	}
	if !o.over(it, o.lim.QueueBytes) {
		o.push(it)
		return
	}
	if o.resyncs {
		o.shed(true)
		if !it.keep {
			o.miss(f)
			return
		}
	}
	if it.keep && !o.over(it, 2*o.lim.QueueBytes) {
		o.push(it)
		return
	}
	o.metrics.slow.Inc()
	o.closeLocked(CodeTryAgainLater, "too slow, reconnect", true)
}

// over reports whether the item would break a bound. A queue that is empty takes
// a frame of any size.
func (o *outbox) over(it item, limit int) bool {
	if o.bytes == 0 {
		return false
	}
	if o.bytes+len(it.data) > limit {
		return true
	}
	return len(o.queue) > 0 && it.at.Sub(o.queue[0].at) > o.lim.QueueAge
}

func (o *outbox) push(it item) {
	o.queue = append(o.queue, it)
	o.bytes += len(it.data)
}

// replace removes the older frame that f supersedes; f goes to the end, so that
// it does not overtake what it may build on.
func (o *outbox) replace(f *realtime.Frame) {
	for i := len(o.queue) - 1; i >= 0; i-- {
		old := &o.queue[i]
		if old.keep || old.frame.Key != f.Key || old.frame.Topic != f.Topic {
			continue
		}
		o.bytes -= len(old.data)
		o.queue = slices.Delete(o.queue, i, i+1)
		o.metrics.dropped.WithLabelValues("superseded").Inc()
		return
	}
}

// shed throws away the events that wait, and notes their topics with mark.
func (o *outbox) shed(mark bool) {
	kept := o.queue[:0]
	for _, it := range o.queue {
		if it.keep {
			kept = append(kept, it)
			continue
		}
		o.bytes -= len(it.data)
		if mark {
			o.miss(it.frame)
		}
	}
	clear(o.queue[len(kept):])
	o.queue = kept
}

func (o *outbox) miss(f *realtime.Frame) {
	if f.Droppable {
		o.metrics.dropped.WithLabelValues("droppable").Inc()
		return
	}
	o.metrics.dropped.WithLabelValues("overflow").Inc()
	if o.stale == nil {
		o.stale = make(map[string]struct{})
	}
	o.stale[f.Topic] = struct{}{}
}

// kill ends the connection without a word; the reader cleans up.
func (o *outbox) kill() {
	o.state = outDead
	o.queue, o.bytes, o.stale = nil, 0, nil
	_ = o.nc.Close()
}

// shut closes the network connection.
func (o *outbox) shut() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.state != outDead {
		o.kill()
	}
}

// alive moves the read deadline, unless the connection is closing: then it has
// a nearer one.
func (o *outbox) alive(until time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.state == outOpen {
		_ = o.nc.SetReadDeadline(until)
	}
}
