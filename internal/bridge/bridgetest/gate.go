package bridgetest

import (
	"context"
	"sync"

	"github.com/agntchat/agntchat/internal/bridge/backend"
)

// Gate answers as its function says and remembers what it was asked.
type Gate struct {
	Say func(backend.GatedCall) backend.Verdict

	mu    sync.Mutex
	asked []backend.GatedCall
}

// Ask implements backend.Gate.
func (g *Gate) Ask(_ context.Context, c backend.GatedCall) backend.Verdict {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked = append(g.asked, c)
	return g.Say(c)
}

// Calls are the calls it was asked about, in their order.
func (g *Gate) Calls() []backend.GatedCall {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]backend.GatedCall(nil), g.asked...)
}
