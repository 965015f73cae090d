package apptest

import "sync"

// Trap springs once when traffic passes a named point.
type Trap struct {
	mu     sync.Mutex
	point  string
	do     func()
	sprung chan struct{}
}

// Set arms the trap: whoever passes the point next runs do first. The channel is
// closed when do has returned.
func (t *Trap) Set(point string, do func()) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.point, t.do, t.sprung = point, do, make(chan struct{})
	return t.sprung
}

// Clear disarms; false when it has sprung already.
func (t *Trap) Clear() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	armed := t.point != ""
	t.point = ""
	return armed
}

// Pass is called by what watches the traffic, before it lets it on.
func (t *Trap) Pass(point string) {
	t.mu.Lock()
	if t.point != point {
		t.mu.Unlock()
		return
	}
	t.point = ""
	do, sprung := t.do, t.sprung
	t.mu.Unlock()
	do()
	close(sprung)
}
