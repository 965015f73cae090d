// Package presence knows which participants are online on this server.
//
// It owns the rule for flapping: who loses the last connection stays online for
// a grace period. It does not own who may see whom, the events that tell it
// (package channel sends them from OnChange) or what an agent is doing.
//
// Everything is in memory and rebuilt by rejoining clients after a restart.
package presence

import (
	"slices"
	"sync"
	"time"
)

// Change is one participant going online or offline.
type Change struct {
	Participant string
	Online      bool
}

// Config of a Tracker. Zero durations take the default, negative ones mean none.
type Config struct {
	Grace time.Duration // after the last connection ended (5 s)
	// Moment is how long changes gather after some were told (200 ms). A change that
	// comes when it is quiet is told at once; when a thousand come within a second,
	// everybody hears of them a few times and not a thousand times.
	Moment time.Duration
	// OnChange hears of every change, in order, those of one moment together and at
	// most MaxChanges at a time. It runs outside of all locks, never twice at once,
	// and may call the Tracker. Changes that undo each other before it came to them
	// are left out. Nil hears nothing.
	OnChange func([]Change)
}

// MaxChanges is the most that OnChange is told at once.
const MaxChanges = 256

// Tracker counts connections per participant. It is safe for concurrent use and
// its methods never block on OnChange, except Close.
type Tracker struct {
	cfg Config

	mu      sync.Mutex
	who     map[string]*participant
	waiting []string // participants with a change to tell, oldest first
	telling bool     // the goroutine exists
	told    time.Time
	closed  bool
	ended   chan struct{} // closed by Close
	running sync.WaitGroup
}

type participant struct {
	conns   []string    // their keys
	leaving *time.Timer // runs while there are none
	told    bool        // what OnChange was told last
	waiting bool        // is in Tracker.waiting
}

// New makes a tracker.
func New(cfg Config) *Tracker {
	if cfg.Grace == 0 {
		cfg.Grace = 5 * time.Second
	}
	if cfg.Moment == 0 {
		cfg.Moment = 200 * time.Millisecond
	}
	return &Tracker{cfg: cfg, who: make(map[string]*participant), ended: make(chan struct{})}
}

// Connect adds a connection; key is unique per participant (connection and
// topic). The same key again is the same connection.
func (t *Tracker) Connect(name, key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	p := t.who[name]
	if p == nil {
		p = &participant{}
		t.who[name] = p
	}
	if p.leaving != nil {
		p.leaving.Stop()
		p.leaving = nil
	}
	if slices.Contains(p.conns, key) {
		return
	}
	p.conns = append(p.conns, key)
	t.tell(name, p)
}

// Disconnect removes a connection whose end may be an accident: the participant
// goes offline after the grace period, if no other connection comes.
func (t *Tracker) Disconnect(name, key string) { t.remove(name, key, t.cfg.Grace) }

// Leave removes a connection that ended on purpose (signed out, deregistered):
// if it was the last, the participant is offline at once.
func (t *Tracker) Leave(name, key string) { t.remove(name, key, 0) }

func (t *Tracker) remove(name, key string, grace time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.who[name]
	if p == nil || t.closed {
		return
	}
	i := slices.Index(p.conns, key)
	if i < 0 {
		return
	}
	p.conns = slices.Delete(p.conns, i, i+1)
	if len(p.conns) > 0 {
		return
	}
	if grace <= 0 {
		t.tell(name, p)
		return
	}
	t.leaveIn(name, p, grace)
}

func (t *Tracker) leaveIn(name string, p *participant, d time.Duration) {
	var timer *time.Timer
	timer = time.AfterFunc(d, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if p.leaving != timer || t.closed {
			return // came back, or left again, in the meantime
		}
		p.leaving = nil
		t.tell(name, p)
	})
	p.leaving = timer
}

// Online reports whether the participant counts as online.
func (t *Tracker) Online(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.who[name]
	return p != nil && p.online()
}

// All lists everybody who counts as online, in no order.
func (t *Tracker) All() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]string, 0, len(t.who))
	for name, p := range t.who {
		if p.online() {
			all = append(all, name)
		}
	}
	return all
}

// Close stops all timers and waits for OnChange; it is not called afterwards.
func (t *Tracker) Close() {
	t.mu.Lock()
	if !t.closed {
		close(t.ended)
	}
	t.closed = true
	t.waiting = nil
	for _, p := range t.who {
		if p.leaving != nil {
			p.leaving.Stop()
		}
	}
	t.mu.Unlock()
	t.running.Wait()
}

// tell notes that the participant may have changed; the goroutine finds out.
func (t *Tracker) tell(name string, p *participant) {
	if t.cfg.OnChange == nil {
		p.told = p.online()
		t.forget(name, p)
		return
	}
	if p.waiting {
		return
	}
	p.waiting = true
	t.waiting = append(t.waiting, name)
	if !t.telling {
		t.telling = true
		t.running.Go(t.run)
	}
}

// run tells the changes, a moment's at a time, and ends when there are none.
func (t *Tracker) run() {
	for t.momentIsOver() {
		changes := t.next()
		if changes == nil {
			return
		}
		t.cfg.OnChange(changes)
		t.mu.Lock()
		t.told = time.Now()
		t.mu.Unlock()
	}
}

// momentIsOver waits until the last telling is long enough ago; false when the
// tracker was closed.
func (t *Tracker) momentIsOver() bool {
	t.mu.Lock()
	left := t.cfg.Moment - time.Since(t.told)
	many := len(t.waiting) >= MaxChanges || len(t.waiting) == 0
	t.mu.Unlock()
	if left <= 0 || many {
		return true
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-t.ended:
		return false
	}
}

// next takes what is to be told; nil ends the goroutine.
func (t *Tracker) next() (changes []Change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.waiting) > 0 && len(changes) < MaxChanges {
		name := t.waiting[0]
		t.waiting = t.waiting[1:]
		p := t.who[name]
		p.waiting = false
		online := p.online()
		changed := online != p.told
		p.told = online
		if changed {
			changes = append(changes, Change{Participant: name, Online: online})
		}
		t.forget(name, p)
	}
	if changes == nil {
		t.telling, t.waiting = false, nil
	}
	return changes
}

// forget drops the record of somebody who is offline and was said to be.
func (t *Tracker) forget(name string, p *participant) {
	if !p.online() && !p.told && !p.waiting {
		delete(t.who, name)
	}
}

func (p *participant) online() bool { return len(p.conns) > 0 || p.leaving != nil }
