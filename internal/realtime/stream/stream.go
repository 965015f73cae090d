// Package stream keeps the turns in progress: what each agent is writing in each
// room right now (P6). It owns that state, which lives in memory and may be lost,
// and the order in which its frames are sent; it does not decide who may stream
// or what a turn is.
//
// Frames are cumulative. Each goes out with everything known of its stream, so
// that a newer frame may replace an older one in a slow reader's queue. A frame
// is sent and a late joiner is told under the same lock: nobody sees an older
// state after a newer one.
package stream

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/realtime"
	"github.com/agntchat/agntchat/internal/wire"
)

// The statuses of a frame (desktop 5.25).
const (
	Started   = "started"
	Streaming = "streaming"
	Complete  = "complete"
	Cancelled = "cancelled"
)

// The phases of a turn (desktop 5.25). Queued and Waiting are passive: they never
// displace a stream that is at work.
const (
	Thinking  = "thinking"
	ToolCall  = "tool_call"
	Writing   = "writing"
	Analyzing = "analyzing"
	Queued    = "queued"
	Waiting   = "waiting"
)

// Event is the name of the one event of streams.
const Event = "message_streaming"

// Config of Streams. Zero values take the default.
type Config struct {
	// Idle is the silence after which a stream is cancelled. It must stay below
	// the 75 s after which clients forget a stream (desktop 5.25). Default 60 s.
	Idle time.Duration
	// Sweep is how often that is looked for. Default 5 s.
	Sweep time.Duration
	// Linger is how long an ended stream is remembered, so that its late frames
	// do not bring it back. Default 2 min.
	Linger time.Duration
}

// maxEnded bounds the ended streams that one room remembers.
const maxEnded = 256

// Broadcaster sends one event to a topic; the bus of package realtime.
type Broadcaster interface {
	Broadcast(m realtime.Message) error
}

// Streams is the state. It is safe for concurrent use. Run sweeps it.
type Streams struct {
	cfg Config
	bus Broadcaster

	mu    sync.Mutex
	rooms map[string]*room // by conversation id
}

// room is the streams of one conversation. mu is held while its frames are sent.
type room struct {
	mu    sync.Mutex
	live  []*entry // in order of start
	ended map[string]time.Time
	refs  int // guarded by Streams.mu: users of this room right now
}

type entry struct {
	frame wire.MessageStreaming
	at    time.Time
}

func (e *entry) passive() bool { return e.frame.Phase == Queued || e.frame.Phase == Waiting }

// New makes an empty state.
func New(bus Broadcaster, cfg Config) *Streams {
	if cfg.Idle == 0 {
		cfg.Idle = time.Minute
	}
	if cfg.Sweep == 0 {
		cfg.Sweep = 5 * time.Second
	}
	if cfg.Linger == 0 {
		cfg.Linger = 2 * time.Minute
	}
	return &Streams{cfg: cfg, bus: bus, rooms: make(map[string]*room)}
}

// Has reports whether the sender's stream is live in the room.
func (s *Streams) Has(conversation, sender, streamID string) bool {
	r := s.enter(conversation, false)
	if r == nil {
		return false
	}
	defer s.leave(conversation, r)
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.find(streamID)
	return e != nil && e.frame.SenderID == sender
}

// Update takes one frame and sends it. Content nil keeps the text, "" clears it.
// It answers false, and sends nothing, for a frame of a stream that has ended or
// belongs to somebody else, and for a passive one while the sender is at work.
// A new stream that is at work ends the sender's earlier ones.
func (s *Streams) Update(f wire.MessageStreaming) bool {
	r := s.enter(f.ConversationID, true)
	defer s.leave(f.ConversationID, r)
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, over := r.ended[f.StreamID]; over {
		return false
	}
	e := r.find(f.StreamID)
	if e != nil && e.frame.SenderID != f.SenderID {
		return false
	}
	if f.Status == Complete || f.Status == Cancelled {
		if e == nil {
			r.end(f.StreamID)
			s.send(f) // a stream that was swept: clients ignore what they do not show
			return true
		}
		e.merge(f)
		r.drop(e)
		s.send(e.frame)
		return true
	}
	if e == nil {
		e = &entry{frame: wire.MessageStreaming{ConversationID: f.ConversationID, StreamID: f.StreamID, SenderID: f.SenderID}}
		e.merge(f)
		if !s.displace(r, e) {
			return false
		}
		r.live = append(r.live, e)
	} else {
		e.merge(f)
	}
	e.at = time.Now()
	s.send(e.frame)
	return true
}

// End forgets the sender's streams in the room without a frame: the final message
// that was just delivered takes their place. An empty streamID ends all of them.
func (s *Streams) End(conversation, sender, streamID string) {
	r := s.enter(conversation, true)
	defer s.leave(conversation, r)
	r.mu.Lock()
	defer r.mu.Unlock()
	if streamID != "" {
		r.end(streamID)
	}
	for _, e := range r.of(sender) {
		if streamID == "" || e.frame.StreamID == streamID || e.passive() {
			r.drop(e)
		}
	}
}

// Cancel ends the streams of one sender in a room, or of all when sender is
// empty, and tells everybody. It answers how many there were.
func (s *Streams) Cancel(conversation, sender string) int {
	r := s.enter(conversation, false)
	if r == nil {
		return 0
	}
	defer s.leave(conversation, r)
	r.mu.Lock()
	defer r.mu.Unlock()
	victims := r.of(sender)
	for _, e := range victims {
		s.cancel(r, e)
	}
	return len(victims)
}

// Replay gives the live streams of a room, oldest first, to a late joiner. No
// frame of the room is sent until it returns, so tell must not block.
func (s *Streams) Replay(conversation string, tell func(wire.MessageStreaming)) {
	r := s.enter(conversation, false)
	if r == nil {
		return
	}
	defer s.leave(conversation, r)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.live {
		tell(e.frame)
	}
}

// Run sweeps until ctx ends.
func (s *Streams) Run(ctx context.Context) {
	t := time.NewTicker(s.cfg.Sweep)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			s.sweep(time.Now())
		}
	}
}

// sweep cancels what is silent and forgets what ended long ago. A swept stream is
// not remembered as ended: a slow tool may go on afterwards, and is shown again.
func (s *Streams) sweep(now time.Time) {
	for _, c := range s.names() {
		r := s.enter(c, false)
		if r == nil {
			continue
		}
		r.mu.Lock()
		for _, e := range r.of("") {
			if now.Sub(e.at) >= s.cfg.Idle {
				s.cancel(r, e)
				delete(r.ended, e.frame.StreamID)
			}
		}
		for id, at := range r.ended {
			if now.Sub(at) >= s.cfg.Linger {
				delete(r.ended, id)
			}
		}
		r.mu.Unlock()
		s.leave(c, r)
	}
}

func (s *Streams) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]string, 0, len(s.rooms))
	for c := range s.rooms {
		out = append(out, c)
	}
	return out
}

// enter finds or makes a room and keeps it from being forgotten until leave.
func (s *Streams) enter(conversation string, create bool) *room {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rooms[conversation]
	if r == nil {
		if !create {
			return nil
		}
		r = &room{ended: make(map[string]time.Time)}
		s.rooms[conversation] = r
	}
	r.refs++
	return r
}

func (s *Streams) leave(conversation string, r *room) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.refs--; r.refs > 0 {
		return
	}
	r.mu.Lock() // free: nobody uses the room
	defer r.mu.Unlock()
	if len(r.live) == 0 && len(r.ended) == 0 {
		delete(s.rooms, conversation)
	}
}

// displace makes place for a new stream: at work it ends the sender's others,
// passive it replaces another passive one and yields to one at work.
func (s *Streams) displace(r *room, e *entry) bool {
	others := r.of(e.frame.SenderID)
	if e.passive() {
		for _, o := range others {
			if !o.passive() {
				return false
			}
		}
	}
	for _, o := range others {
		s.cancel(r, o)
	}
	return true
}

func (s *Streams) cancel(r *room, e *entry) {
	r.drop(e)
	e.frame.Status, e.frame.Content = Cancelled, nil
	s.send(e.frame)
}

func (s *Streams) send(f wire.MessageStreaming) {
	over := f.Status == Complete || f.Status == Cancelled
	m := realtime.Message{Topic: event.ConversationTopic(f.ConversationID), Event: Event, Payload: f, Droppable: !over, Key: "stream:" + f.StreamID}
	_ = s.bus.Broadcast(m) // too large is impossible below the limit of content; what cannot be sent is not missed
}

func (e *entry) merge(f wire.MessageStreaming) {
	e.frame.Status = f.Status
	if f.SenderName != "" {
		e.frame.SenderName = f.SenderName
	}
	if f.Phase != "" {
		e.frame.Phase = f.Phase
	}
	if e.frame.Phase == "" {
		e.frame.Phase = Thinking
	}
	e.frame.PhaseDetail = f.PhaseDetail
	if f.Content != nil {
		e.frame.Content = f.Content
	}
}

func (r *room) find(streamID string) *entry {
	for _, e := range r.live {
		if e.frame.StreamID == streamID {
			return e
		}
	}
	return nil
}

func (r *room) of(sender string) []*entry {
	var out []*entry
	for _, e := range r.live {
		if sender == "" || e.frame.SenderID == sender {
			out = append(out, e)
		}
	}
	return out
}

func (r *room) drop(e *entry) {
	for i, o := range r.live {
		if o == e {
			r.live = append(r.live[:i], r.live[i+1:]...)
			break
		}
	}
	if !strings.HasPrefix(e.frame.StreamID, "signal:") { // the server may show a signal again
		r.end(e.frame.StreamID)
	}
}

func (r *room) end(streamID string) {
	if len(r.ended) >= maxEnded {
		oldest, at := "", time.Time{}
		for id, t := range r.ended {
			if oldest == "" || t.Before(at) {
				oldest, at = id, t
			}
		}
		delete(r.ended, oldest)
	}
	r.ended[streamID] = time.Now()
}
