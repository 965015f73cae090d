package socket

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Drain closes connections in batches, so that they do not all come back in the
// same moment: 10,000 clients take two seconds.
const (
	drainBatch = 500
	drainPause = 100 * time.Millisecond
)

var errDrained = errors.New("socket: server drained")

// Drain refuses new upgrades, closes every connection with 1012 once its
// handlers have answered, and waits until all connections and handlers have
// ended. When ctx ends first, the rest is cut off, the handlers' contexts are
// cancelled, and ctx's error is returned after they have stopped. The server
// cannot be used afterwards.
func (s *Server) Drain(ctx context.Context) error {
	s.mu.Lock()
	s.draining = true
	s.signalEmpty()
	s.mu.Unlock()

	err := s.closeAll(ctx)
	if err == nil {
		select {
		case <-s.empty:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	s.mu.Lock()
	s.cut = true
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	if err == nil {
		select {
		case <-done:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	s.cancel(errDrained)
	for _, c := range s.Conns() {
		c.out.shut()
	}
	<-done
	if err != nil {
		return fmt.Errorf("drain sockets: %w", err)
	}
	return nil
}

func (s *Server) closeAll(ctx context.Context) error {
	for i, c := range s.Conns() {
		if i > 0 && i%drainBatch == 0 {
			pause := drainPause/2 + rand.N(drainPause)
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		c.closeWhenIdle(CodeRestart, "service restart")
	}
	return nil
}
