package relay

import (
	"net/http"
	"sync"
	"time"

	wire "github.com/agntchat/agntchat/internal/wire/letter"
)

const (
	eventsPath = "events"
	streamLife = time.Hour        // then the caller signs anew
	heartbeat  = 25 * time.Second // keeps proxies from closing a quiet stream
	hintPause  = time.Second      // two hints to one stream are at least this far apart
	hintWrite  = 10 * time.Second // a reader that takes nothing for so long is gone
)

// hints wakes the streams of an address. It lives in this process's memory: a
// client whose hint was lost polls.
type hints struct {
	most, perAddress, perSender int

	mu        sync.Mutex
	closed    chan struct{}
	isClosed  bool
	bySender  map[string]map[*stream]struct{}
	byAddress map[string]int
	open      int
}

// stream is one open event stream; wake holds at most one hint, for they are all the same.
type stream struct{ wake chan struct{} }

func newHints(most, perAddress, perSender int) *hints {
	return &hints{
		most: most, perAddress: perAddress, perSender: perSender, closed: make(chan struct{}),
		bySender: make(map[string]map[*stream]struct{}), byAddress: make(map[string]int),
	}
}

// notify wakes the streams of a letter address. It never blocks.
func (h *hints) notify(sender string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.bySender[sender] {
		select {
		case s.wake <- struct{}{}:
		default: // it has a hint already
		}
	}
}

// add opens a stream, or reports that a limit is reached. leave ends it. An empty
// network address is not counted.
func (h *hints) add(sender, address string) (s *stream, leave func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	over := func(n, most int) bool { return most > 0 && n >= most }
	if h.isClosed || over(h.open, h.most) || (address != "" && over(h.byAddress[address], h.perAddress)) || over(len(h.bySender[sender]), h.perSender) {
		return nil, nil, false
	}
	s = &stream{wake: make(chan struct{}, 1)}
	s.wake <- struct{}{} // letters may have come before
	if h.bySender[sender] == nil {
		h.bySender[sender] = make(map[*stream]struct{})
	}
	h.bySender[sender][s] = struct{}{}
	h.byAddress[address]++
	h.open++
	return s, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if delete(h.bySender[sender], s); len(h.bySender[sender]) == 0 {
			delete(h.bySender, sender)
		}
		if h.byAddress[address]--; h.byAddress[address] == 0 {
			delete(h.byAddress, address)
		}
		h.open--
	}, true
}

func (h *hints) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.isClosed {
		h.isClosed = true
		close(h.closed)
	}
}

// events is the push hint (letters.md 8.3): a stream of Server-Sent Events without
// content, one at the start and one when a letter has come, never closer than a
// second. Whoever gets one asks for its letters as usual.
func (r *Relay) events(w http.ResponseWriter, q *request) error {
	origin := r.address(q.http)
	if r.local(q.http) {
		origin = "" // not counted
	}
	s, leave, ok := r.hints.add(q.auth.Fingerprint, origin)
	if !ok {
		return &refusalError{http.StatusTooManyRequests, "too many event streams; poll instead", time.Minute}
	}
	defer leave()
	if err := r.office.Touch(q.http.Context(), q.call()); err != nil {
		return err
	}
	r.metrics.streams.Inc()
	defer r.metrics.streams.Dec()
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the request is read: a quiet client is fine
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	write := func(text string) bool {
		_ = control.SetWriteDeadline(time.Now().Add(hintWrite))
		if _, err := w.Write([]byte(text)); err != nil {
			return false
		}
		return control.Flush() == nil
	}
	end := time.NewTimer(streamLife)
	defer end.Stop()
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	var wake <-chan struct{} // nil while the pause lasts
	for {
		select {
		case <-pause.C:
			wake = s.wake
			continue
		case <-wake:
			if !write("event: " + wire.EventName + "\ndata: {}\n\n") {
				return nil
			}
			wake = nil
			pause.Reset(hintPause)
		case <-beat.C:
			if !write(": still here\n\n") {
				return nil
			}
		case <-end.C:
			return nil
		case <-r.hints.closed:
			return nil
		case <-q.http.Context().Done():
			return nil
		}
	}
}
