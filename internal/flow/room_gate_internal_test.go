package flow

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/agntchat/agntchat/internal/id"
)

func TestP1_ABusyRoomHoldsNobodyElseUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g roomGate
		busy, calm := id.New[id.Conversation](), id.New[id.Conversation]()
		inside := make(chan func(), 10)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				leave, err := g.enter(t.Context(), busy)
				if err != nil {
					t.Error(err)
					return
				}
				inside <- leave
			})
		}
		synctest.Wait()
		if len(inside) != postsPerRoom {
			t.Fatalf("%d inside", len(inside))
		}
		leave, err := g.enter(t.Context(), calm)
		if err != nil {
			t.Fatal(err)
		}
		leave()
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := g.enter(gone, busy); !errors.Is(err, context.Canceled) {
			t.Fatalf("a caller that is gone: %v", err)
		}
		for range 10 {
			(<-inside)()
			synctest.Wait()
		}
		wg.Wait()
		if len(g.rooms) != 0 {
			t.Fatalf("%d rooms are remembered", len(g.rooms))
		}
	})
}
