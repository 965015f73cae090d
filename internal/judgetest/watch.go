package judgetest

import (
	"context"
	"fmt"
	"sync"
)

// watched is a mutex whose holders can wait for a condition over the guarded
// state. Every unlock through change wakes the waiters.
type watched struct {
	mu   sync.Mutex
	wake chan struct{}
}

// change runs fn under the lock and wakes whoever waits.
func (w *watched) change(fn func()) {
	w.mu.Lock()
	fn()
	if w.wake != nil {
		close(w.wake)
		w.wake = nil
	}
	w.mu.Unlock()
}

// read runs fn under the lock.
func (w *watched) read(fn func()) {
	w.mu.Lock()
	fn()
	w.mu.Unlock()
}

// until blocks until cond, evaluated under the lock, holds or ctx ends.
func (w *watched) until(ctx context.Context, what string, cond func() bool) error {
	for {
		w.mu.Lock()
		if cond() {
			w.mu.Unlock()
			return nil
		}
		if w.wake == nil {
			w.wake = make(chan struct{})
		}
		wake := w.wake
		w.mu.Unlock()
		select {
		case <-wake:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		}
	}
}
