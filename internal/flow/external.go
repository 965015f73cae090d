package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/external"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/limit"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/view"
)

// External is the use cases of sessions that people drive in their own command line
// tools (bridge 8, desktop 4.13, docs/external-sessions.md): what they report, the
// rooms that show them, the inbox that they read, and invites.
type External struct {
	DB       *pg.DB
	Chat     *Chat
	Gateway  *Gateway
	Identity *Identity
	Off      bool // AGNTCHAT_EXTERNAL_AGENTS=off
	Log      *slog.Logger

	mu     sync.Mutex     // of refresh: what is read last is told last
	events *limit.Buckets // by agent
	looks  *limit.Buckets // by agent
	claims *limit.Buckets // by address, failures only
}

// NewExternal makes the service. A busy session reports a few events a second; a
// channel polls its inbox every three.
func NewExternal(db *pg.DB, chat *Chat, gateway *Gateway, identity *Identity, off bool, log *slog.Logger) *External {
	return &External{
		DB: db, Chat: chat, Gateway: gateway, Identity: identity, Off: off, Log: log,
		events: limit.New(20, 400, 100_000), looks: limit.New(5, 100, 100_000), claims: limit.New(1.0/6, 20, 100_000),
	}
}

var (
	// ErrExternalOff is the answer everywhere when the feature is off.
	ErrExternalOff = fault.New(fault.NotFound, "external_agents_disabled", "External agents are switched off on this server.")
	errTooFast     = fault.New(fault.Exhausted, "rate_limited", "Too many requests. Try again in a moment.")
)

// enter refuses what the feature, the actor or the rate does not allow.
func (x *External) enter(actor access.Actor, rate *limit.Buckets) error {
	if err := access.RequireAgent(actor); err != nil {
		return err
	}
	if x.Off {
		return ErrExternalOff
	}
	if wait, ok := rate.Take(actor.ID.String()); !ok {
		return errTooFast.After(wait)
	}
	return nil
}

// Start takes over from the database who has a live session.
func (x *External) Start(ctx context.Context) error {
	all, err := external.AllLive(ctx, x.DB)
	if err != nil {
		return err
	}
	for _, l := range all {
		x.Gateway.SetExternal(l.AgentID, true, l.Hostname)
	}
	return nil
}

// SetExternal says whether an agent has a live CLI session, and on which machine:
// such an agent is online without an executor.
func (g *Gateway) SetExternal(agent id.Participant, live bool, host string) {
	g.reg.mu.Lock()
	if live {
		g.reg.external[agent] = host
	} else {
		delete(g.reg.external, agent)
	}
	g.reg.mu.Unlock()
	g.tell.wake(agent)
}

// refresh reads whether an agent has a live session, after a commit.
func (x *External) refresh(ctx context.Context, agent id.Participant) {
	x.mu.Lock()
	defer x.mu.Unlock()
	l, ok, err := external.LiveOf(ctx, x.DB, agent)
	if err != nil {
		x.Log.WarnContext(ctx, "read live sessions failed", slog.Any("error", err), slog.String("agent_id", agent.String()))
		return
	}
	x.Gateway.SetExternal(agent, ok, l.Hostname)
}

// Sweep ends sessions that have been silent for too long, and forgets what is old.
// Doing it twice changes nothing.
func (x *External) Sweep(ctx context.Context) error {
	const page = 200
	for {
		silent, err := external.Silent(ctx, x.DB, page)
		if err != nil {
			return err
		}
		for _, s := range silent {
			if err := x.lose(ctx, s); err != nil {
				return err
			}
		}
		if len(silent) < page {
			break
		}
	}
	return x.DB.InTx(ctx, external.PruneTx)
}

func (x *External) lose(ctx context.Context, sid id.ExternalSession) error {
	var agent id.Participant
	err := x.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		s, err := external.LockTx(ctx, tx, sid)
		if err != nil {
			return goneIsNil(err)
		}
		agent = s.AgentID
		next := s
		if !next.Lose() {
			return nil
		}
		who, err := view.AgentIdentityByID(ctx, tx, s.AgentID)
		if err != nil {
			return err
		}
		return x.storeTx(ctx, tx, agentActor(who), s, next)
	})
	if err == nil && !agent.IsZero() {
		x.refresh(ctx, agent)
	}
	return err
}

// storeTx writes a session that an event changed and tells people: the lines of its
// start and end, the room's metadata, the owner's list of agents.
func (x *External) storeTx(ctx context.Context, tx *pg.Tx, actor access.Actor, before, now external.Session) error {
	line := ""
	switch {
	case now.State != external.Ended && !now.Announced && !now.Quiet:
		line, now.Announced = "external_session_started", true
	case now.State == external.Ended && now.Announced:
		line, now.Announced = "external_session_ended", false
	}
	if err := external.SaveTx(ctx, tx, now); err != nil {
		return err
	}
	if line != "" {
		if err := x.lineTx(ctx, tx, actor, now, line); err != nil {
			return err
		}
	}
	if err := x.showTx(ctx, tx, now, before); err != nil {
		return err
	}
	if line == "" && before.State == now.State && before.ConversationID == now.ConversationID {
		return nil
	}
	a, err := view.OneAgent(ctx, tx, now.AgentID)
	if err != nil {
		return goneIsNil(err)
	}
	tx.Publish(event.UserTopic(a.OwnerID.String()), AgentChanged{AgentUpdated, a})
	return nil
}

// lineTx says in the session's room, else in the direct room of agent and owner,
// that it started or ended (desktop 5.3a).
func (x *External) lineTx(ctx context.Context, tx *pg.Tx, actor access.Actor, s external.Session, kind string) error {
	room := s.ConversationID
	if room.IsZero() {
		direct, _, err := x.Chat.CreateConversationTx(ctx, tx, actor, NewConversation{Type: chat.Direct, MemberIDs: []id.Participant{actor.OwnerID}})
		if err != nil {
			return unsaid(err)
		}
		room = direct.ID
	}
	body := map[string]any{"type": kind, "tool": s.Tool, "cwd": s.Cwd, "repo": s.Repo, "branch": s.Branch, "hostname": s.Hostname}
	if kind == "external_session_ended" {
		if s.EndReason != nil && *s.EndReason == external.ReasonLost {
			body["reason"] = external.ReasonLost
		}
		body["stats"] = map[string]any{"prompts": s.Prompts, "tool_calls": s.ToolCalls, "tools": s.Tools}
		body["duration_seconds"] = int(s.EndedAt.Sub(s.StartedAt).Seconds())
	}
	content, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("say session: %w", err)
	}
	meta, err := json.Marshal(map[string]any{"kind": kind, "session_id": s.ID})
	if err != nil {
		return fmt.Errorf("say session: %w", err)
	}
	_, err = x.Chat.PostTx(ctx, tx, actor, Post{
		ConversationID: room, Content: string(content), ContentType: "status_update", MessageType: new("StatusUpdate"), Metadata: meta, Quiet: true,
	})
	return unsaid(err)
}

// unsaid drops what a room refuses: it is closed or gone, the agent has left it, or
// its owner is. What the session does goes on without it.
func unsaid(err error) error {
	if k := fault.KindOf(err); err != nil && (k == fault.Forbidden || k == fault.NotFound || k == fault.Conflict || k == fault.Invalid) {
		return nil
	}
	return err
}
