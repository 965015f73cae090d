package session

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/agntchat/agntchat/internal/bridge/backend"
)

// stream shows a running turn to the people in the room: cumulative text, at
// most one frame per interval, frames in order. The closing frame is sent by the
// delivery and names no claim, because the claim is closed by then. Lost frames
// are harmless; a refused claim is reported through onLost.
type stream struct {
	api    *api
	path   string
	id     string
	claim  func() claimRef
	every  time.Duration
	quiet  time.Duration // an unchanged state is repeated this often
	onLost func()

	mu     sync.Mutex
	frame  streamFrame
	text   strings.Builder
	dirty  bool
	notify chan struct{}
	cancel context.CancelFunc
	ending chan struct{}
	once   sync.Once
	done   chan struct{}
}

func (s *stream) start(ctx context.Context, conversationID string) {
	s.path = streamPath(conversationID)
	s.notify = make(chan struct{}, 1)
	s.done, s.ending = make(chan struct{}), make(chan struct{})
	ctx, s.cancel = context.WithCancel(ctx)
	s.frame = streamFrame{Status: "streaming", Phase: "thinking"}
	go s.pump(ctx)
}

func streamPath(conversationID string) string {
	return "/api/conversations/" + url.PathEscape(conversationID) + "/stream"
}

// emit takes over one event of the backend. It never blocks.
func (s *stream) emit(e backend.Event) {
	s.mu.Lock()
	switch e.Kind {
	case backend.Thinking:
		s.set("thinking", e.Detail)
	case backend.Text:
		s.text.WriteString(e.Text)
		s.set("writing", "")
	case backend.ToolCall:
		detail := e.Detail
		if detail == "" {
			detail = backend.Label(e.Tool)
		}
		s.set("tool_call", detail)
	case backend.Reset:
		s.text.Reset()
		s.set("thinking", "")
	}
	s.mu.Unlock()
	select {
	case s.notify <- struct{}{}:
	default:
	}
}

func (s *stream) set(phase, detail string) {
	s.frame.Phase, s.frame.PhaseDetail = phase, detail
	s.dirty = true
}

func (s *stream) pump(ctx context.Context) {
	defer close(s.done)
	quiet := time.NewTimer(s.quiet)
	defer quiet.Stop()
	s.post(ctx, streamFrame{Status: "started", Phase: "thinking"})
	for {
		s.flush(ctx)
		select {
		case <-s.ending:
			return
		case <-time.After(s.every):
		}
		quiet.Reset(s.quiet)
		select {
		case <-s.ending:
			return
		case <-s.notify:
		case <-quiet.C:
			s.mu.Lock()
			s.dirty = true
			s.mu.Unlock()
		}
	}
}

func (s *stream) flush(ctx context.Context) {
	s.mu.Lock()
	if !s.dirty {
		s.mu.Unlock()
		return
	}
	f := s.frame
	f.Content = new(s.text.String())
	s.dirty = false
	s.mu.Unlock()
	s.post(ctx, f)
}

func (s *stream) post(ctx context.Context, f streamFrame) {
	claim := s.claim()
	f.QueueID, f.Generation = claim.ID, claim.Generation
	if err := s.send(ctx, f); isLost(err) && s.claim() == claim {
		s.onLost()
	}
}

func (s *stream) send(ctx context.Context, f streamFrame) error {
	f.StreamID = s.id
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return s.api.call(ctx, "POST", s.path, f, nil)
}

// halt stops the updates without closing the stream. A frame on its way gets a
// moment to arrive, so that it cannot overtake the end of the turn.
func (s *stream) halt() {
	s.once.Do(func() { close(s.ending) })
	select {
	case <-s.done:
	case <-time.After(3 * time.Second):
	}
	s.cancel()
	<-s.done
}
