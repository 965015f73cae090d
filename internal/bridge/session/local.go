package session

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/agntchat/agntchat/internal/bridge/backend"
)

// Local is a tool that runs on this machine, beside those of the server's
// catalogue, whose names win. Call runs under Timing.Tool; turn names the turn
// whose model calls, and is the same when the turn runs again after a crash.
type Local struct {
	backend.Tool
	Others bool // it shows text of others: the server is told before, and marks the turn
	Call   func(ctx context.Context, turn string, args json.RawMessage) backend.ToolResult
}

// addLocal puts the tools of this machine behind those of the server.
func (b *toolbox) addLocal(list []Local) {
	for _, l := range list {
		if _, taken := b.defs[l.Name]; !taken {
			b.local = append(b.local, l)
			b.tools = append(b.tools, l.Tool)
		}
	}
}

// callLocal runs a tool of this machine; ok is false when there is none of that name.
func (b *toolbox) callLocal(ctx context.Context, name string, args json.RawMessage) (r backend.ToolResult, ok bool) {
	i := slices.IndexFunc(b.local, func(l Local) bool { return l.Name == name })
	if i < 0 {
		return r, false
	}
	l := b.local[i]
	in := map[string]any{}
	if len(args) > 0 && json.Unmarshal(args, &in) != nil {
		return toolError("The arguments are not a JSON object."), true
	}
	if missing := missingArgs(l.Schema, in); missing != "" {
		return toolError("Missing argument: " + missing), true
	}
	ctx, cancel := context.WithTimeout(ctx, b.agent.opt.Timing.Tool)
	defer cancel()
	if l.Others {
		note := map[string]any{"tool_name": name, "context": b.context()}
		if err := b.agent.api.call(ctx, "POST", "/api/agents/me/local-tool-calls", note, nil); err != nil {
			return toolError("The server could not be told that this turn reads text of others: " + err.Error() + " Try again later."), true
		}
	}
	return l.Call(ctx, b.item.ID, args), true
}
