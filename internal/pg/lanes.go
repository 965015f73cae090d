package pg

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// lanes are named locks that make the order of delivery the order of commit. A
// lane is held from before COMMIT until its events are delivered. They live in
// this process: there is one server (docs/adr/0001).
type lanes struct {
	mu   sync.Mutex
	held map[string]*lane
}

// lane is a lock that can be waited for with a context; refs counts holder and
// waiters, so that an unused lane costs nothing.
type lane struct {
	slot chan struct{}
	refs int
}

// lock takes all named lanes in sorted order, so that two transactions never wait
// for each other. It returns the function that gives them back, or the cause of
// ctx's end with nothing held.
func (l *lanes) lock(ctx context.Context, names map[string]struct{}) (unlock func(), err error) {
	sorted := slices.Sorted(maps.Keys(names))
	taken := make([]*lane, 0, len(sorted))
	unlock = func() {
		for i := len(taken) - 1; i >= 0; i-- {
			<-taken[i].slot
			l.drop(sorted[i], taken[i])
		}
		taken = nil
	}
	for _, name := range sorted {
		one := l.grab(name)
		select {
		case one.slot <- struct{}{}:
			taken = append(taken, one)
		case <-ctx.Done():
			l.drop(name, one)
			unlock()
			return nil, context.Cause(ctx)
		}
	}
	return unlock, nil
}

func (l *lanes) grab(name string) *lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = make(map[string]*lane)
	}
	one := l.held[name]
	if one == nil {
		one = &lane{slot: make(chan struct{}, 1)}
		l.held[name] = one
	}
	one.refs++
	return one
}

func (l *lanes) drop(name string, one *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one.refs--; one.refs == 0 {
		delete(l.held, name)
	}
}
