package app

import (
	"slices"

	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/outbound"
	"github.com/agntchat/agntchat/internal/websearch"
)

// buildTools makes the one table of tools. The order is that of every agent's
// catalogue: add at the end of a group, never in between.
func (a *App) buildTools() (err error) {
	cfg := a.opts.Config
	fetch := outbound.New(outbound.Config{Trusted: cfg.OutboundTrusted, UserAgent: "agntchat/" + a.opts.Version})
	platform := &flow.PlatformTools{DB: a.db, Chat: a.Chat, Gateway: a.Gateway, Fetch: fetch, Robots: outbound.NewRobots(fetch)}
	if cfg.BraveAPIKey != "" {
		platform.Search = &websearch.Brave{Client: fetch, Key: cfg.BraveAPIKey, URL: cfg.BraveURL}
	}
	a.Tools, err = flow.NewTools(a.db, a.log, slices.Concat(
		platform.List(),
	)...)
	return err
}
