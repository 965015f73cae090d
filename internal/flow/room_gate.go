package flow

import (
	"context"
	"sync"

	"github.com/agntchat/agntchat/internal/id"
)

// postsPerRoom is how many posts of one room may hold a database connection at a
// time: one that works under the room's lock, one that is ready to follow.
const postsPerRoom = 2

// roomGate lets few posts of one room through at once, so that a busy room does
// not take all connections waiting for its own lock while other rooms starve. The
// zero value is usable.
type roomGate struct {
	mu    sync.Mutex
	rooms map[id.Conversation]*doorway
}

type doorway struct {
	slots chan struct{}
	refs  int // those inside and those waiting
}

// enter waits for a place and returns the function that gives it back, or the
// cause of ctx's end.
func (g *roomGate) enter(ctx context.Context, c id.Conversation) (leave func(), err error) {
	w := g.grab(c)
	select {
	case w.slots <- struct{}{}:
		return func() {
			<-w.slots
			g.drop(c, w)
		}, nil
	case <-ctx.Done():
		g.drop(c, w)
		return nil, context.Cause(ctx)
	}
}

// crowded says whether others post in the room right now, beside one who asks from
// inside.
func (g *roomGate) crowded(c id.Conversation) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := g.rooms[c]
	return w != nil && w.refs > 1
}

func (g *roomGate) grab(c id.Conversation) *doorway {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.rooms == nil {
		g.rooms = make(map[id.Conversation]*doorway)
	}
	w := g.rooms[c]
	if w == nil {
		w = &doorway{slots: make(chan struct{}, postsPerRoom)}
		g.rooms[c] = w
	}
	w.refs++
	return w
}

func (g *roomGate) drop(c id.Conversation, w *doorway) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.refs--; w.refs == 0 {
		delete(g.rooms, c)
	}
}
