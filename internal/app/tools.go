package app

import (
	"cmp"
	"context"
	"slices"

	"github.com/agntchat/agntchat/internal/blob"
	"github.com/agntchat/agntchat/internal/connection"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/limit"
	"github.com/agntchat/agntchat/internal/outbound"
	"github.com/agntchat/agntchat/internal/secret"
	"github.com/agntchat/agntchat/internal/websearch"
)

// filesDir is where files are kept when nothing else is configured.
const filesDir = "data/files"

// buildTools makes the one table of tools, and files, which some of them share. The
// order is that of every agent's catalogue: add at the end of a group, never in between.
func (a *App) buildTools(ring *secret.Ring) (err error) {
	cfg := a.opts.Config
	a.fileKeys = ring.DeriveAll("file address")
	a.Files = &flow.Files{DB: a.db, Chat: a.Chat, Blobs: blob.Store{Dir: cmp.Or(cfg.FilesDir, filesDir)}, Rate: limit.New(1, 60, 100_000), Quota: cfg.FilesQuotaMiB << 20, Log: a.log}
	fetch := outbound.New(outbound.Config{Trusted: cfg.OutboundTrusted, UserAgent: "agntchat/" + a.opts.Version})
	platform := &flow.PlatformTools{
		DB: a.db, Chat: a.Chat, Gateway: a.Gateway, Identity: a.Identity, Files: a.Files, Fetch: fetch, Robots: outbound.NewRobots(fetch),
	}
	if cfg.BraveAPIKey != "" {
		platform.Search = &websearch.Brave{Client: fetch, Key: cfg.BraveAPIKey, URL: cfg.BraveURL}
	}
	a.Memories = &flow.Memories{DB: a.db, Chat: a.Chat, Rate: limit.New(2, 60, 100_000)}
	a.Chat.Remember = a.Memories.RememberTx
	a.connections = &flow.Connections{DB: a.db, Ring: ring, Fetch: fetch}
	a.Tools, err = flow.NewTools(a.db, a.log, slices.Concat(
		platform.List(), (&flow.TaskTools{Tasks: a.Tasks}).List(), (&flow.CredentialTools{Approvals: a.Approvals, Fetch: fetch}).List(), (&flow.APITools{Connections: a.connections}).List(),
		(&flow.MemoryTools{Memories: a.Memories}).List(), []flow.Tool{flow.RequestMember(a.Approvals)},
	)...)
	if err != nil {
		return err
	}
	a.Tools.Tasks, a.Memories.Tools = a.Tasks, a.Tools
	a.Tools.APIs = func(ctx context.Context, agent id.Participant) (int, error) {
		return connection.CountFor(ctx, a.db, agent)
	}
	return nil
}
