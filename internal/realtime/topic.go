package realtime

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/agntchat/agntchat/internal/realtime/phx"
)

// maxBatch bounds the bytes that one fan-out writes to a subscriber at once, so
// that a burst does not overrun the queue of a reader that keeps up.
const maxBatch = 64 << 10

// Batch is what a subscriber gets in one call: frames of one topic in order,
// and the same frames as bytes. A subscriber may keep the *Frame values but
// neither of the slices.
type Batch struct {
	Frames []*Frame
	Wire   []byte
}

// topic is one topic's subscribers and the frames that wait for them.
type topic struct {
	bus *Bus

	mu      sync.Mutex // held while the broadcaster itself writes: that keeps the order
	room    sync.Cond  // signalled when pending was taken
	subs    []entry
	index   map[Subscriber]int // position in subs; only kept for large topics
	version uint64             // of subs
	next    uint64             // number of frames accepted so far
	pending []outgoing
	bytes   int // of pending
	busy    bool
	more    bool // more than what is pending is about to come

	// Owned by the fan-out goroutine, which exists while busy.
	fan fanOut
}

type entry struct {
	sub  Subscriber
	tags Tags
	from uint64 // first frame number it may see
}

type outgoing struct {
	frame  *Frame
	number uint64
	to     filter
}

type filter struct {
	conn        string
	participant string
	class       Class
	anyClass    bool
}

func (f *filter) admits(t *Tags) bool {
	return (f.anyClass || f.class == t.Class) &&
		(f.conn == "" || f.conn != t.Conn) &&
		(f.participant == "" || f.participant != t.Participant)
}

func newTopic(b *Bus) *topic {
	t := &topic{bus: b}
	t.room.L = &t.mu
	return t
}

func (t *topic) add(s Subscriber, tags Tags) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.version++
	if i := t.find(s); i >= 0 {
		t.subs[i].tags = tags
		return
	}
	t.subs = append(t.subs, entry{sub: s, tags: tags, from: t.next})
	switch {
	case t.index != nil:
		t.index[s] = len(t.subs) - 1
	case len(t.subs) >= t.bus.cfg.InlineBelow:
		t.index = make(map[Subscriber]int, 2*len(t.subs))
		for i := range t.subs {
			t.index[t.subs[i].sub] = i
		}
	}
}

// remove returns how many subscribers are left.
func (t *topic) remove(s Subscriber) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := t.find(s)
	if i < 0 {
		return len(t.subs)
	}
	t.version++
	last := len(t.subs) - 1
	t.subs[i] = t.subs[last]
	t.subs[last] = entry{}
	t.subs = t.subs[:last]
	if t.index != nil {
		delete(t.index, s)
		if i < last {
			t.index[t.subs[i].sub] = i
		}
	}
	if !t.busy {
		t.fan.subs = nil // it would keep those who left alive
	}
	return last
}

func (t *topic) find(s Subscriber) int {
	if t.index != nil {
		if i, ok := t.index[s]; ok {
			return i
		}
		return -1
	}
	return slices.IndexFunc(t.subs, func(e entry) bool { return e.sub == s })
}

// broadcast encodes the frame and writes it, or leaves it to the fan-out.
func (t *topic) broadcast(m Message, raw json.RawMessage) error {
	out, err := newOutgoing(m, raw)
	if err != nil {
		return err
	}
	one := [1]outgoing{out}
	t.send(one[:], m.More)
	return nil
}

func newOutgoing(m Message, raw json.RawMessage) (outgoing, error) {
	f, err := newFrame(phx.Message{Topic: m.Topic, Event: m.Event, Payload: raw})
	if err != nil {
		return outgoing{}, fmt.Errorf("broadcast: %w", err)
	}
	f.Droppable, f.Key = m.Droppable, m.Key
	return outgoing{frame: f, to: filter{
		conn: m.ExceptConn, participant: m.ExceptParticipant, class: m.Class, anyClass: m.AnyClass,
	}}, nil
}

// send writes frames, or leaves them to the fan-out.
func (t *topic) send(out []outgoing, more bool) {
	t.bus.metrics.broadcasts.Add(float64(len(out)))
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.bytes >= t.bus.cfg.MaxPending {
		t.room.Wait()
	}
	for i := range out {
		out[i].number = t.next
		t.next++
	}
	if !t.busy && len(t.subs) < t.bus.cfg.InlineBelow {
		t.writeInline(out)
		return
	}
	for i := range out {
		t.pending = append(t.pending, out[i])
		t.bytes += out[i].frame.Len()
	}
	t.more = more
	if !t.busy {
		t.busy = true
		t.bus.running.Go(t.run)
	}
}

func (t *topic) writeInline(out []outgoing) {
	if len(out) > 1 {
		frames, joint := join(out, nil)
		t.bus.metrics.sent(writeTo(t.subs, out, Batch{Frames: frames, Wire: joint}), len(out))
		return
	}
	frames := [1]*Frame{out[0].frame}
	batch := Batch{Frames: frames[:], Wire: out[0].frame.wire}
	sent := 0
	for i := range t.subs {
		if e := &t.subs[i]; out[0].to.admits(&e.tags) {
			e.sub.Deliver(batch)
			sent++
		}
	}
	t.bus.metrics.sent(sent, 1)
}

// join puts frames one behind the other into buf.
func join(out []outgoing, buf []byte) (frames []*Frame, joint []byte) {
	frames = make([]*Frame, len(out))
	for i := range out {
		frames[i] = out[i].frame
		buf = append(buf, out[i].frame.wire...)
	}
	return frames, buf
}

// fanOut is the state of a topic's goroutine between its rounds.
type fanOut struct {
	subs    []entry // copy, so that joining does not wait for a fan-out
	version uint64
	queue   []outgoing
	joint   []byte
}

// A round costs the same for one frame as for a few: a write per subscriber. When
// fewer than enough wait right after a round, the next one pauses as long as the
// last took, at most longestPause, so that a busy room spends at most half of the
// time on small rounds and leaves the processor to those who fill it. A frame that
// comes when nothing is under way never waits, unless its sender says that others are
// about to follow: these are waited for a step at a time, as long together.
const (
	enough       = 8
	plenty       = 64
	longestPause = 10 * time.Millisecond
	step         = longestPause / 20
)

// run sends what is pending until nothing is. While one round writes, the next
// gathers: under load this turns many frames into one write per subscriber.
func (t *topic) run() {
	var pause, waited time.Duration
	for {
		t.mu.Lock()
		if len(t.pending) == 0 {
			t.busy = false
			if cap(t.fan.joint) > maxBatch/4 {
				t.fan.joint = nil // a quiet room keeps little
			}
			if t.fan.version != t.version {
				t.fan.subs = nil
			}
			t.mu.Unlock()
			return
		}
		if pause > 0 && len(t.pending) < enough {
			t.mu.Unlock()
			time.Sleep(pause) //nolint:forbidigo // the pause is the point: frames gather in it
			pause, waited = 0, pause
			continue
		}
		if t.more && len(t.pending) < plenty && waited < longestPause {
			t.mu.Unlock()
			time.Sleep(step) //nolint:forbidigo // as above
			pause, waited = 0, waited+step
			continue
		}
		began := time.Now()
		t.fan.queue, t.pending = t.pending, t.fan.queue[:0]
		t.bytes = 0
		t.room.Broadcast()
		if t.fan.subs == nil || t.fan.version != t.version {
			clear(t.fan.subs)
			t.fan.subs = append(t.fan.subs[:0], t.subs...)
			t.fan.version = t.version
		}
		t.mu.Unlock()

		for rest := t.fan.queue; len(rest) > 0; {
			n := cut(rest)
			t.round(rest[:n])
			rest = rest[n:]
		}
		pause, waited = min(time.Since(began), longestPause), 0
		clear(t.fan.queue)
		if cap(t.fan.queue) > 4096 {
			t.fan.queue = nil
		}
	}
}

// cut returns how many of the frames make up the next batch, at least one.
func cut(out []outgoing) int {
	size := 0
	for i := range out {
		size += out[i].frame.Len()
		if size > maxBatch && i > 0 {
			return i
		}
	}
	return len(out)
}

// round writes one batch to every subscriber.
func (t *topic) round(out []outgoing) {
	batch := Batch{Frames: []*Frame{out[0].frame}, Wire: out[0].frame.wire}
	if len(out) > 1 {
		batch.Frames, t.fan.joint = join(out, t.fan.joint[:0])
		batch.Wire = t.fan.joint
		if cap(t.fan.joint) > 4*maxBatch {
			t.fan.joint = nil
		}
	}
	subs := t.fan.subs
	if len(subs) < t.bus.cfg.ParallelFrom {
		t.bus.metrics.sent(writeTo(subs, out, batch), len(out))
		return
	}
	var wg sync.WaitGroup
	part := (len(subs) + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0)
	for some := range slices.Chunk(subs, part) {
		wg.Go(func() { t.bus.metrics.sent(writeTo(some, out, batch), len(out)) })
	}
	wg.Wait()
}

// writeTo hands the batch, or the part of it that is meant for him, to each
// subscriber and returns the number of frames handed over.
func writeTo(subs []entry, out []outgoing, batch Batch) (sent int) {
	var some Batch
	for i := range subs {
		e := &subs[i]
		n := 0
		for j := range out {
			if out[j].number >= e.from && out[j].to.admits(&e.tags) {
				n++
			}
		}
		sent += n
		switch n {
		case 0:
		case len(out):
			e.sub.Deliver(batch)
		default:
			some.Frames, some.Wire = some.Frames[:0], some.Wire[:0]
			for j := range out {
				if out[j].number >= e.from && out[j].to.admits(&e.tags) {
					some.Frames = append(some.Frames, out[j].frame)
					some.Wire = append(some.Wire, out[j].frame.wire...)
				}
			}
			e.sub.Deliver(some)
		}
	}
	return sent
}
