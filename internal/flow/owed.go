package flow

import "sync"

// owed are claims that could not be given back for lack of a database.
type owed[C any] struct {
	mu   sync.Mutex
	list []C
}

func (o *owed[C]) add(claims ...C) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.list) < 10_000 { // beyond, the leases end by themselves
		o.list = append(o.list, claims...)
	}
}

func (o *owed[C]) take() []C {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := o.list
	o.list = nil
	return out
}
