package present

import (
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// Usage is what an agent's model calls took.
func Usage(u view.Usage, days int) wire.AgentUsage {
	out := wire.AgentUsage{
		Days: days, Requests: u.Requests, InputTokens: u.Input, OutputTokens: u.Output, CacheReadInputTokens: u.CacheRead, CacheCreationInputTokens: u.CacheWrite,
		StableParts: make([]wire.StablePart, len(u.Parts)),
	}
	if all := u.Input + u.CacheRead + u.CacheWrite; all > 0 {
		out.CacheHitRate = new(float64(u.CacheRead) / float64(all))
	}
	for n, p := range u.Parts {
		out.StableParts[n] = wire.StablePart{Hash: p.Hash, Since: wire.At(p.Since)}
	}
	return out
}
