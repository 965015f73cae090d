// Package toolbox is a toolbox for backend tests: it records the calls.
package toolbox

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/agntchat/agntchat/internal/bridge/backend"
)

// Box offers the tools look and end_turn.
type Box struct {
	mu    sync.Mutex
	calls []string
	done  bool
}

// Tools lists look and end_turn.
func (*Box) Tools() []backend.Tool {
	return []backend.Tool{
		{Name: "look", Description: "Looks at something.", Schema: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}},"required":["at"]}`)},
		{Name: "end_turn", Description: "Ends the turn.", Schema: json.RawMessage(`{"type":"object","properties":{"reason":{"type":"string"}}}`)},
	}
}

// Call answers "seen" and remembers the call.
func (b *Box) Call(_ context.Context, name string, args json.RawMessage) backend.ToolResult {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, name+" "+string(args))
	if name == "end_turn" {
		b.done = true
	}
	return backend.ToolResult{Text: `{"seen":true}`}
}

// Done is true after end_turn.
func (b *Box) Done() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.done
}

// Calls are the calls so far, as "name {args}".
func (b *Box) Calls() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.calls...)
}
