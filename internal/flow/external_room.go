package flow

import (
	"context"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/external"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/view"
)

// NewSessionRoom is what a room for a session is made of (desktop 4.4). Without a
// SessionKey it waits to be linked.
type NewSessionRoom struct {
	AgentID    id.Participant
	SessionKey string
	Title      *string
	external.Event
}

// mine lets an agent's owner, and the agent itself, manage its sessions; to anybody
// else it looks absent. The rate is shared with what the agent reports.
func (x *External) mine(ctx context.Context, q pg.Querier, actor access.Actor, agent id.Participant) (access.Actor, error) {
	if actor.Kind == access.None {
		return access.Actor{}, fault.ErrUnauthenticated
	}
	if x.Off {
		return access.Actor{}, ErrExternalOff
	}
	who, err := view.AgentIdentityByID(ctx, q, agent)
	if err != nil {
		return access.Actor{}, err
	}
	if actor.ID != who.ID && actor.ID != who.OwnerID {
		return access.Actor{}, fault.ErrNotFound
	}
	if wait, ok := x.events.Take(actor.ID.String()); !ok {
		return access.Actor{}, errTooFast.After(wait)
	}
	return agentActor(who), nil
}

// CreateRoom makes the room of a session, with the agent and its owner as members.
// For a session that is shown somewhere already it gives that room.
func (x *External) CreateRoom(ctx context.Context, actor access.Actor, in NewSessionRoom) (out view.Conversation, created bool, err error) {
	r := SessionReport{SessionKey: or(in.SessionKey, "none"), Event: in.Event}
	r.Kind = external.Heartbeat // only the bounds of the fields are looked at
	if err := r.check(); err != nil {
		return out, false, err
	}
	in.Tool = r.Tool
	title, err := cleanTitle(in.Title)
	if err != nil {
		return out, false, err
	}
	who, err := x.mine(ctx, x.DB, actor, in.AgentID)
	if err != nil {
		return out, false, err
	}
	err = x.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		s := external.Session{AgentID: who.ID, Tool: or(in.Tool, external.OtherTool), Cwd: in.Cwd, Repo: in.Repo, Branch: in.Branch, Hostname: in.Hostname}
		before := s
		if in.SessionKey != "" {
			if before, _, err = external.OpenTx(ctx, tx, who.ID, in.SessionKey, s.Tool); err != nil {
				return err
			}
			s = before
			s.Describe(in.Event)
			if !before.ConversationID.IsZero() {
				if out, err = view.OneConversation(ctx, tx, before.ConversationID, actor.ID); err == nil {
					created = false
					return x.storeTx(ctx, tx, who, before, quietly(s))
				}
				if goneIsNil(err) != nil {
					return err
				}
			}
		}
		if title == nil {
			title = new(roomTitle(s))
		}
		room := chat.NewRoom{ID: id.New[id.Conversation](), Type: chat.Session, Title: title, CreatedBy: who.OwnerID, OrganizationID: who.OrganizationID}
		if _, err := chat.CreateTx(ctx, tx, room); err != nil {
			return err
		}
		if _, err := chat.AddMembersTx(ctx, tx, room.ID, chat.Admin, who.OwnerID); err != nil {
			return err
		}
		if _, err := chat.AddMembersTx(ctx, tx, room.ID, chat.Member, who.ID); err != nil {
			return err
		}
		full, err := view.OneConversation(ctx, tx, room.ID, id.Participant{})
		if err != nil {
			return err
		}
		s.ConversationID = room.ID
		meta := sessionMeta(s, "unlinked")
		if in.SessionKey != "" {
			meta["state"] = s.State
		} else {
			delete(meta, "session_key")
			delete(meta, "last_event_at")
		}
		if err := x.Chat.tellCreated(ctx, tx, full, []id.Participant{who.OwnerID, who.ID}); err != nil {
			return err
		}
		if err := x.patchRoomTx(ctx, tx, room.ID, meta); err != nil {
			return err
		}
		if in.SessionKey != "" {
			before.ConversationID = id.Conversation{}
			if err := x.storeTx(ctx, tx, who, before, quietly(s)); err != nil {
				return err
			}
		}
		created = true
		out, err = view.OneConversation(ctx, tx, room.ID, actor.ID)
		return err
	})
	return out, created, err
}

// quietly keeps a session that has reported nothing yet from being announced: its
// first event does that.
func quietly(s external.Session) external.Session {
	s.Quiet = !s.Announced
	return s
}

// roomTitle names a session after what it works on.
func roomTitle(s external.Session) string {
	t := s.Repo
	if t == "" {
		t = path.Base(strings.ReplaceAll(s.Cwd, `\`, "/"))
	}
	if t == "." || t == "/" {
		t = map[string]string{external.ClaudeCode: "Claude Code", external.Codex: "Codex"}[s.Tool]
	}
	if t == "" {
		t = "Terminal"
	}
	if s.Hostname != "" {
		t += " · " + s.Hostname
	}
	for utf8.RuneCountInString(t) > maxTitle {
		t = t[:len(t)-1]
	}
	return strings.ToValidUTF8(t, "")
}

// Link shows a session in a room in which its agent and its owner sit. A room shows
// one session, and a session is shown in one room.
func (x *External) Link(ctx context.Context, actor access.Actor, conv id.Conversation, agent id.Participant, key, cwd string) (out view.Conversation, err error) {
	r := SessionReport{SessionKey: key, Event: external.Event{Kind: external.Heartbeat, Cwd: cwd}}
	if err := r.check(); err != nil {
		return out, err
	}
	if _, err := x.Chat.Readable(ctx, x.DB, actor, conv); err != nil {
		return out, err
	}
	who, err := x.mine(ctx, x.DB, actor, agent)
	if err != nil {
		return out, err
	}
	err = x.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		if err := x.unlinkTx(ctx, tx, who, conv, key); err != nil {
			return err
		}
		before, _, err := external.OpenTx(ctx, tx, agent, key, external.OtherTool)
		if err != nil {
			return err
		}
		for _, p := range []id.Participant{who.ID, who.OwnerID} {
			role, err := chat.Role(ctx, tx, conv, p)
			if err != nil {
				return err
			}
			if role == "" || role == chat.Observer {
				return fault.New(fault.Invalid, "not_a_member", "The agent and its owner must both be members of this room.").With("agentId", "not_a_member", "is no member")
			}
		}
		room, err := chat.Get(ctx, tx, conv)
		if err != nil {
			return err
		}
		if room.Type == chat.Task {
			return fault.New(fault.Invalid, "wrong_room", "A work room shows no session.")
		}
		now := before
		now.Describe(r.Event)
		now.ConversationID = conv
		if err := x.storeTx(ctx, tx, who, before, quietly(now)); err != nil {
			return err
		}
		out, err = view.OneConversation(ctx, tx, conv, actor.ID)
		return err
	})
	return out, err
}

// Unlink ends the showing of a session in a room and says how many were shown.
func (x *External) Unlink(ctx context.Context, actor access.Actor, conv id.Conversation) (n int, err error) {
	if _, err := x.Chat.Readable(ctx, x.DB, actor, conv); err != nil {
		return 0, err
	}
	if x.Off {
		return 0, ErrExternalOff
	}
	err = x.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		s, err := external.LockOfRoomTx(ctx, tx, conv)
		if err != nil {
			return goneIsNil(err)
		}
		who, err := view.AgentIdentityByID(ctx, tx, s.AgentID)
		if err != nil {
			return err
		}
		if actor.ID != who.ID && actor.ID != who.OwnerID {
			return fault.New(fault.Forbidden, "not_yours", "Only the agent and its owner can unlink its session.")
		}
		n = 1
		return x.unlinkTx(ctx, tx, agentActor(who), conv, "")
	})
	return n, err
}

// unlinkTx takes the session that a room shows out of it, unless it is the one named.
func (x *External) unlinkTx(ctx context.Context, tx *pg.Tx, who access.Actor, conv id.Conversation, but string) error {
	s, err := external.LockOfRoomTx(ctx, tx, conv)
	if err != nil {
		return goneIsNil(err)
	}
	if s.AgentID == who.ID && s.SessionKey == but {
		return nil
	}
	if s.AgentID != who.ID { // the line would be said by another agent: it is only taken out
		other, err := view.AgentIdentityByID(ctx, tx, s.AgentID)
		if err != nil {
			return err
		}
		if other.OwnerID != who.OwnerID {
			return fault.New(fault.Conflict, "room_taken", "This room shows somebody else's session.")
		}
		who = agentActor(other)
	}
	now := s
	now.ConversationID = id.Conversation{}
	return x.storeTx(ctx, tx, who, s, quietly(now))
}
