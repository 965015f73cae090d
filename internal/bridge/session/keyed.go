package session

import (
	"context"
	"sync"
)

// keyed is a set of locks by name whose waiters can give up.
type keyed struct {
	mu    sync.Mutex
	locks map[string]*keyedLock
}

type keyedLock struct {
	ch    chan struct{}
	users int
}

// lock blocks until the name is free or ctx ends; unlock must be called only
// when err is nil.
func (k *keyed) lock(ctx context.Context, name string) (unlock func(), err error) {
	k.mu.Lock()
	if k.locks == nil {
		k.locks = map[string]*keyedLock{}
	}
	l := k.locks[name]
	if l == nil {
		l = &keyedLock{ch: make(chan struct{}, 1)}
		k.locks[name] = l
	}
	l.users++
	k.mu.Unlock()
	leave := func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(k.locks, name)
		}
	}
	select {
	case l.ch <- struct{}{}:
		return func() { <-l.ch; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}
