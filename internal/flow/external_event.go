package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/external"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// The bounds of an event in characters (bridge 8.2).
const (
	maxSessionKey  = 200
	maxSessionWord = 200
	maxCwd         = 1000
	maxToolName    = 60
	maxEventText   = 10_000
)

// SessionReport is one event of a session (bridge 8.2). EventID is ours: the same
// event sent twice is shown once.
type SessionReport struct {
	SessionKey string
	EventID    string
	Text       string
	external.Event
}

var errSessionEvent = fault.New(fault.Invalid, "invalid", "This event cannot be stored.")

func (r *SessionReport) check() error {
	if !external.Known(r.Kind) {
		return errSessionEvent.With("event", "unknown", "This event is not known.")
	}
	tool, err := cleanTool(r.Tool)
	if err != nil {
		return err
	}
	r.Tool = tool
	for _, f := range []struct {
		name, text string
		most       int
	}{
		{"sessionId", r.SessionKey, maxSessionKey},
		{"eventId", r.EventID, 100},
		{"hostname", r.Hostname, maxSessionWord},
		{"cwd", r.Cwd, maxCwd},
		{"branch", r.Branch, maxSessionWord},
		{"repo", r.Repo, maxSessionWord},
		{"toolName", r.ToolName, maxToolName},
		{"model", r.Model, maxSessionWord},
		{"effort", r.Effort, maxSessionWord},
		{"notificationType", r.BlockedOn, maxSessionWord},
		{"text", r.Text, maxEventText},
	} {
		if utf8.RuneCountInString(f.text) > f.most {
			return errSessionEvent.With(f.name, "too_long", fmt.Sprintf("%s may have at most %d characters.", f.name, f.most))
		}
		if !clean(f.text) {
			return errSessionEvent.With(f.name, "characters", "The text may not hold the character U+0000.")
		}
	}
	if strings.TrimSpace(r.SessionKey) == "" {
		return errSessionEvent.With("sessionId", "required", "Name the session.")
	}
	return nil
}

// cleanTool is a tool of the contract; an empty one says nothing, one that we do not
// know is another.
func cleanTool(s string) (string, error) {
	switch s {
	case "", external.ClaudeCode, external.Codex, external.OtherTool:
		return s, nil
	}
	if len(s) > maxSessionWord {
		return "", errSessionEvent.With("tool", "too_long", "tool may have at most 200 characters.")
	}
	return external.OtherTool, nil
}

// ExternalTool is the tool of an agent of runtime external, as it is stored.
func ExternalTool(s string) (string, error) {
	t, err := cleanTool(s)
	return or(t, external.OtherTool), err
}

// Report stores an event of a session of the calling agent. The first event of an
// unknown session makes it. Prompts and answers are shown in the room that shows the
// session, and wake nobody.
func (x *External) Report(ctx context.Context, actor access.Actor, in SessionReport) error {
	if err := x.enter(actor, x.events); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	changed := false
	err := x.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		before, created, err := external.OpenTx(ctx, tx, actor.ID, in.SessionKey, or(in.Tool, external.OtherTool))
		if err != nil {
			return err
		}
		now := before
		now.Tools = cloneCounts(before.Tools)
		if !now.Apply(in.Event, time.Now()) {
			return nil
		}
		changed = created || before.State != now.State || !before.Announced || before.Hostname != now.Hostname
		if err := x.storeTx(ctx, tx, actor, before, now); err != nil {
			return err
		}
		return x.mirrorTx(ctx, tx, actor, now, in)
	})
	if err == nil && changed {
		x.refresh(ctx, actor.ID)
	}
	return err
}

func or(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

func cloneCounts(m map[string]int) map[string]int {
	out := make(map[string]int, len(m)+1)
	for k, v := range m {
		out[k] = v
	}
	return out
}

// mirrorTx shows what was typed and answered in the terminal. The owner is the
// author of a prompt only where nobody else sits but the owner and the agent: who
// holds an agent's key could otherwise put words into its owner's mouth before
// others (ADR 15).
func (x *External) mirrorTx(ctx context.Context, tx *pg.Tx, actor access.Actor, s external.Session, in SessionReport) error {
	role := ""
	switch in.Kind {
	case external.Prompt:
		role = "prompt"
	case external.AssistantMessage, external.Stop:
		role = "answer"
	}
	if role == "" || strings.TrimSpace(in.Text) == "" || s.ConversationID.IsZero() {
		return nil
	}
	author := actor
	if role == "prompt" {
		seats, err := view.SeatsOf(ctx, tx, s.ConversationID)
		if err != nil {
			return err
		}
		owner := func(p view.Seat) bool { return p.ID == actor.OwnerID && p.Kind == view.SeatPerson }
		if len(seats) == 2 && slices.ContainsFunc(seats, owner) {
			author = access.Actor{Kind: access.Person, ID: actor.OwnerID, OwnerID: actor.OwnerID, OrganizationID: actor.OrganizationID}
		}
	}
	meta, err := json.Marshal(map[string]any{"source": "terminal", "terminal_role": role, "session_id": s.ID})
	if err != nil {
		return fmt.Errorf("show event: %w", err)
	}
	key := ""
	if in.EventID != "" {
		key = "session:" + s.ID.String() + ":" + in.EventID
	}
	_, err = x.Chat.PostTx(ctx, tx, author, Post{ConversationID: s.ConversationID, Content: in.Text, Metadata: meta, ClientKey: key, Quiet: true})
	return unsaid(err)
}

// commands are what people may type into a session from its room (bridge 10.17).
var commands = []string{"/model", "/effort", "/compact", "/clear"}

// showTx keeps metadata.session of the session's room in step (desktop 5.1a), and
// of the room that it has left. A heartbeat alone changes nothing there more often
// than once a minute.
func (x *External) showTx(ctx context.Context, tx *pg.Tx, now, before external.Session) error {
	if left := before.ConversationID; !left.IsZero() && left != now.ConversationID {
		gone := before
		gone.ConversationID = left
		if err := x.patchRoomTx(ctx, tx, left, sessionMeta(gone, "unlinked")); err != nil {
			return err
		}
	}
	if now.ConversationID.IsZero() {
		return nil
	}
	if sameShown(before, now) && now.LastEventAt.Sub(before.LastEventAt) < 50*time.Second {
		return nil
	}
	return x.patchRoomTx(ctx, tx, now.ConversationID, sessionMeta(now, now.State))
}

// sameShown compares what people see of a session, but for its last sign of life.
func sameShown(a, b external.Session) bool {
	return a.ConversationID == b.ConversationID && a.State == b.State && a.Live == b.Live && a.Model == b.Model && a.Effort == b.Effort && a.BlockedOn == b.BlockedOn &&
		a.Cwd == b.Cwd && a.Repo == b.Repo && a.Branch == b.Branch && a.Hostname == b.Hostname && a.Tool == b.Tool
}

// sessionMeta is metadata.session.
func sessionMeta(s external.Session, state string) map[string]any {
	m := map[string]any{
		"agent_id": s.AgentID, "session_key": s.SessionKey, "tool": s.Tool, "state": state, "delivery": "next_turn", "last_event_at": wire.At(s.LastEventAt),
	}
	if s.Live {
		m["delivery"], m["commands"] = "live", commands
	}
	for k, v := range map[string]string{
		"cwd": s.Cwd, "repo": s.Repo, "branch": s.Branch, "hostname": s.Hostname, "model": s.Model, "effort": s.Effort, "blocked_on": s.BlockedOn,
	} {
		if v != "" {
			m[k] = v
		}
	}
	return m
}

func (x *External) patchRoomTx(ctx context.Context, tx *pg.Tx, conv id.Conversation, session map[string]any) error {
	raw, err := json.Marshal(map[string]any{"session": session})
	if err != nil {
		return fmt.Errorf("show session: %w", err)
	}
	room, err := x.Chat.lock(ctx, tx, access.System(), conv)
	if err != nil {
		return goneIsNil(err)
	}
	meta, seq, changed, err := chat.PatchRoomTx(ctx, tx, conv, raw)
	if err != nil || !changed {
		return err
	}
	tx.Publish(lane(conv), RoomMetadataChanged{inRoom: inRoom{conv}, Metadata: meta, To: room.everybody(id.Participant{}), Seq: seq})
	return nil
}
