package flow

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/limit"
	"github.com/agntchat/agntchat/internal/memory"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/workspace"
)

// Memories is what is remembered: by a room, by an agent, by the agents of one owner.
// Members of a room know its memory. An agent knows its own and its family's; with its
// tools, and in what it is told, it recalls of them what the person may know for whom
// it works (docs/adr/0019-memory.md).
type Memories struct {
	DB    *pg.DB
	Chat  *Chat
	Tools *Tools // knows on whose behalf an agent works; set by app after the tools exist
	// Rate bounds what one participant writes and searches. Nil is no limit.
	Rate *limit.Buckets
}

// take counts a write or a search of the caller.
func (m *Memories) take(actor access.Actor) error {
	if m.Rate == nil {
		return nil
	}
	if wait, ok := m.Rate.Take(actor.ID.String()); !ok {
		return fault.New(fault.Exhausted, "rate_limited", "Too many memories at once. Try again in a moment.").After(wait)
	}
	return nil
}

// Bounds of pages.
const (
	MemoryPage     = 50
	MostMemories   = 200
	mostForgotten  = 200
	minMemoryQuery = 2 // characters of a person's search
)

// MemorySaved tells the owner what an agent keeps.
type MemorySaved struct {
	Owner  id.Participant
	Agent  access.Actor
	Memory memory.Memory
}

// Topic is the owner's.
func (e MemorySaved) Topic() string { return event.UserTopic(e.Owner.String()) }

// RoomMemoryChanged tells a room its memory.
type RoomMemoryChanged struct {
	inRoom
	Memory  json.RawMessage
	Version int
}

// OfRoom is the memory of a room, for its members.
func (m *Memories) OfRoom(ctx context.Context, actor access.Actor, conv id.Conversation) (memory.Room, error) {
	if _, err := m.Chat.Readable(ctx, m.DB, actor, conv); err != nil {
		return memory.Room{}, err
	}
	return memory.OfRoom(ctx, m.DB, conv)
}

// WriteRoom changes the memory of a room and tells the room: every member that may
// write there merges, and who administers it replaces the whole. Errors are those of
// memory.WriteRoomTx.
func (m *Memories) WriteRoom(ctx context.Context, actor access.Actor, conv id.Conversation, w memory.RoomWrite) (out memory.Room, diff json.RawMessage, err error) {
	w.By = actor.ID
	if err := m.take(actor); err != nil {
		return out, nil, err
	}
	err = m.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		room, err := m.Chat.lock(ctx, tx, actor, conv)
		if err != nil {
			return err
		}
		may := access.PostInRoom
		if w.Replace {
			may = access.ReplaceRoomMemory
		}
		if err := may(actor, facts(room.Room, room.role)); err != nil {
			return err
		}
		if out, diff, err = memory.WriteRoomTx(ctx, tx, conv, w); err != nil || string(diff) == "{}" {
			return err
		}
		tx.Publish(lane(conv), RoomMemoryChanged{inRoom: inRoom{conv}, Memory: out.Memory, Version: out.Version})
		return nil
	})
	return out, diff, err
}

// RoomHistory is how the memory of a room came to be, newest first, below a version
// (0: all); more says that there is an older one.
func (m *Memories) RoomHistory(ctx context.Context, actor access.Actor, conv id.Conversation, before, limit int) (list []memory.RoomChange, more bool, err error) {
	if _, err := m.Chat.Readable(ctx, m.DB, actor, conv); err != nil {
		return nil, false, err
	}
	return memory.RoomHistory(ctx, m.DB, conv, before, limit)
}

// Save keeps a memory of the calling agent under its category and key. at says where
// it works, as its bridge says; what that is worth is found out as for a tool call.
func (m *Memories) Save(ctx context.Context, actor access.Actor, w memory.Write, at ToolCall) (memory.Memory, error) {
	if err := access.RequireAgent(actor); err != nil {
		return memory.Memory{}, err
	}
	if err := m.take(actor); err != nil {
		return memory.Memory{}, err
	}
	c, err := m.Tools.caller(ctx, actor, at)
	if err != nil {
		return memory.Memory{}, err
	}
	return m.save(ctx, c, w)
}

func (m *Memories) save(ctx context.Context, c ToolCaller, w memory.Write) (out memory.Memory, err error) {
	if err := w.Clean(); err != nil {
		return out, err
	}
	err = m.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		if err := m.learned(ctx, tx, c, &w); err != nil {
			return err
		}
		out, err = m.saveTx(ctx, tx, c, w)
		return err
	})
	return out, err
}

// saveTx replaces what stands under the key. In a turn that is not the owner's it only
// replaces what was learned for the same person: a stranger must not rewrite what the
// agent knows of others.
func (m *Memories) saveTx(ctx context.Context, tx *pg.Tx, c ToolCaller, w memory.Write) (memory.Memory, error) {
	mode := memory.Replace
	if c.Person.ID != c.Agent.OwnerID {
		mode = memory.ReplaceOwn
	}
	out, err := memory.SaveTx(ctx, tx, c.Agent.ID, w, mode)
	if err == nil {
		tx.Publish(event.UserTopic(c.Agent.OwnerID.String()), MemorySaved{Owner: c.Agent.OwnerID, Agent: c.Agent, Memory: out})
	}
	return out, err
}

// learned says where a memory comes from. A room that the agent does not sit in is
// none that it can have learned something in.
func (m *Memories) learned(ctx context.Context, q pg.Querier, c ToolCaller, w *memory.Write) error {
	w.CallerID, w.Untrusted, w.SourceMessageID, w.SourceTaskID = c.Person.ID, c.Marked, c.SourceMessage, c.Task
	if !w.SourceConversationID.IsZero() && w.SourceConversationID != c.Room {
		w.SourceMessageID = id.Message{}
		_, err := m.Chat.Readable(ctx, q, c.Agent, w.SourceConversationID)
		return err
	}
	if c.Room.IsZero() {
		return nil
	}
	w.SourceConversationID = c.Room
	if _, err := m.Chat.Readable(ctx, q, c.Agent, c.Room); err != nil {
		w.SourceConversationID = id.Conversation{}
		return goneIsNil(err)
	}
	return nil
}

// saveFamily shares a memory with all agents of the owner, who must be the one for
// whom the agent works: nobody else writes what all of them will know.
func (m *Memories) saveFamily(ctx context.Context, c ToolCaller, org id.Organization, w memory.Write) (out memory.Memory, err error) {
	if c.Person.ID != c.Agent.OwnerID {
		return out, fault.New(fault.Forbidden, "forbidden", "Only for your owner you may write what all agents of your owner share.")
	}
	if err := w.Clean(); err != nil {
		return out, err
	}
	w.WriterID = c.Agent.ID
	err = m.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		if err := m.learned(ctx, tx, c, &w); err != nil {
			return err
		}
		out, err = m.saveFamilyTx(ctx, tx, c.Agent, org, w, true)
		return err
	})
	return out, err
}

func (m *Memories) saveFamilyTx(ctx context.Context, tx *pg.Tx, writer access.Actor, org id.Organization, w memory.Write, replace bool) (memory.Memory, error) {
	out, err := memory.SaveFamilyTx(ctx, tx, writer.OwnerID, org, w, replace)
	if err == nil && writer.IsAgent() {
		tx.Publish(event.UserTopic(writer.OwnerID.String()), MemorySaved{Owner: writer.OwnerID, Agent: writer, Memory: out})
	}
	return out, err
}

// Own are the memories of the calling agent.
func (m *Memories) Own(ctx context.Context, actor access.Actor, f memory.Filter) ([]memory.Memory, int, error) {
	if err := access.RequireAgent(actor); err != nil {
		return nil, 0, err
	}
	return m.list(ctx, actor.ID, f)
}

func (m *Memories) list(ctx context.Context, agent id.Participant, f memory.Filter) ([]memory.Memory, int, error) {
	out, err := memory.List(ctx, m.DB, agent, f)
	if err != nil {
		return nil, 0, err
	}
	n, err := memory.Count(ctx, m.DB, agent, f)
	return out, n, err
}

// recall limits a filter to what the person may know for whom the agent works: its
// owner everything; others what was said in rooms that they are members of; nobody what
// was said in this room.
func recall(c ToolCaller, f memory.Filter) memory.Filter {
	if c.Person.ID == c.Agent.OwnerID {
		return f
	}
	f.Viewer, f.Room = c.Person.ID, c.Room
	if f.Viewer.IsZero() {
		f.Viewer = noViewer
	}
	return f
}

// noViewer sits in no room.
var noViewer = id.New[id.Participant]()

// Family is what the agents of the caller's owner share: for the owner, and for each of
// these agents. A person sees what holds everywhere and, with a workspace, there; an
// agent also what holds in its own.
func (m *Memories) Family(ctx context.Context, actor access.Actor, f memory.Filter) ([]memory.Memory, int, error) {
	if actor.OwnerID.IsZero() {
		return nil, 0, fault.ErrUnauthenticated
	}
	if actor.IsAgent() && f.Workspace.IsZero() {
		f.Workspace = actor.OrganizationID
	}
	out, err := memory.ListFamily(ctx, m.DB, actor.OwnerID, f)
	if err != nil {
		return nil, 0, err
	}
	n, err := memory.CountFamily(ctx, m.DB, actor.OwnerID, f)
	return out, n, err
}

// AddFamily is the owner's own entry. Without force a taken key is memory.ErrExists.
func (m *Memories) AddFamily(ctx context.Context, actor access.Actor, org id.Organization, w memory.Write, force bool) (out memory.Memory, err error) {
	if err := access.RequirePerson(actor); err != nil {
		return out, err
	}
	if err := w.Clean(); err != nil {
		return out, err
	}
	if err := m.take(actor); err != nil {
		return out, err
	}
	w.WriterID = actor.ID
	err = m.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		if !org.IsZero() {
			if _, err := workspace.RoleOf(ctx, tx, org, actor.ID); err != nil {
				return err
			}
		}
		out, err = m.saveFamilyTx(ctx, tx, actor, org, w, force)
		return err
	})
	return out, err
}

// ForgetFamily takes one shared memory away, for the owner.
func (m *Memories) ForgetFamily(ctx context.Context, actor access.Actor, mid id.Memory) error {
	if err := access.RequirePerson(actor); err != nil {
		return err
	}
	return m.forget(ctx, func(ctx context.Context, tx *pg.Tx) (int, error) {
		return memory.DeleteFamilyTx(ctx, tx, actor.ID, []id.Memory{mid})
	})
}

func (m *Memories) forget(ctx context.Context, del func(context.Context, *pg.Tx) (int, error)) error {
	return m.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		n, err := del(ctx, tx)
		if err == nil && n == 0 {
			err = fault.ErrNotFound
		}
		return err
	})
}

// owned is an agent of the caller; for others it does not exist.
func (m *Memories) owned(ctx context.Context, actor access.Actor, agent id.Participant) (view.Agent, error) {
	a, err := view.OneAgent(ctx, m.DB, agent)
	if err != nil {
		return a, err
	}
	return a, access.ManageAgent(actor, access.AgentFacts{ID: a.ID, OwnerID: a.OwnerID})
}

// OfAgent are the memories of an agent, for its owner.
func (m *Memories) OfAgent(ctx context.Context, actor access.Actor, agent id.Participant, f memory.Filter) ([]memory.Memory, int, error) {
	if _, err := m.owned(ctx, actor, agent); err != nil {
		return nil, 0, err
	}
	return m.list(ctx, agent, f)
}

// AddToAgent is what the owner wants an agent to know. Without force a taken key is
// memory.ErrExists.
func (m *Memories) AddToAgent(ctx context.Context, actor access.Actor, agent id.Participant, w memory.Write, force bool) (out memory.Memory, err error) {
	if _, err := m.owned(ctx, actor, agent); err != nil {
		return out, err
	}
	if err := w.Clean(); err != nil {
		return out, err
	}
	if err := m.take(actor); err != nil {
		return out, err
	}
	w.CallerID = actor.ID
	err = m.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		mode := memory.Add
		if force {
			mode = memory.Replace
		}
		out, err = memory.SaveTx(ctx, tx, agent, w, mode)
		return err
	})
	return out, err
}

// EditOfAgent changes a memory of an agent, for its owner.
func (m *Memories) EditOfAgent(ctx context.Context, actor access.Actor, agent id.Participant, mid id.Memory, e memory.Edit) (out memory.Memory, err error) {
	if _, err := m.owned(ctx, actor, agent); err != nil {
		return out, err
	}
	if err := e.Clean(); err != nil {
		return out, err
	}
	err = m.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		out, err = memory.EditTx(ctx, tx, agent, mid, e)
		return err
	})
	return out, err
}

// ForgetOfAgent takes a memory of an agent away, for its owner, and gives what the
// agent is told then.
func (m *Memories) ForgetOfAgent(ctx context.Context, actor access.Actor, agent id.Participant, mid id.Memory) (string, error) {
	if _, err := m.owned(ctx, actor, agent); err != nil {
		return "", err
	}
	err := m.forget(ctx, func(ctx context.Context, tx *pg.Tx) (int, error) {
		return memory.DeleteTx(ctx, tx, agent, []id.Memory{mid})
	})
	if err != nil {
		return "", err
	}
	return m.Prompt(ctx, agent)
}

// MemoryHits are what a person finds in the memories of their agents.
type MemoryHits struct {
	Agents []memory.Memory
	Family []memory.Memory
}

// Search looks through what all agents of a person remember, best match first.
func (m *Memories) Search(ctx context.Context, actor access.Actor, text string) (out MemoryHits, err error) {
	if err := access.RequirePerson(actor); err != nil {
		return out, err
	}
	if text = strings.TrimSpace(text); len([]rune(text)) < minMemoryQuery || len(text) > 500 {
		return out, fault.New(fault.Invalid, "invalid", "Search for 2 to 500 characters.").With("q", "length", "2 to 500 characters")
	}
	if err := m.take(actor); err != nil {
		return out, err
	}
	f := memory.Filter{Text: text, Any: true, Workspaces: true, Limit: MostMemories / 2}
	if out.Agents, err = memory.ListOfOwner(ctx, m.DB, actor.ID, f); err != nil {
		return out, err
	}
	out.Family, err = memory.ListFamily(ctx, m.DB, actor.ID, f)
	return out, err
}

// ForgetMine takes memories of a person's agents away and counts them. What is not
// theirs is left alone and not counted.
func (m *Memories) ForgetMine(ctx context.Context, actor access.Actor, own, family []id.Memory) (n int, err error) {
	if err := access.RequirePerson(actor); err != nil {
		return 0, err
	}
	if len(own)+len(family) > mostForgotten {
		return 0, fault.Newf(fault.Invalid, "invalid", "At most %d at once.", mostForgotten).With("items", "too_many", "too many at once")
	}
	err = m.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		a, err := memory.DeleteOfOwnerTx(ctx, tx, actor.ID, own)
		if err != nil {
			return err
		}
		b, err := memory.DeleteFamilyTx(ctx, tx, actor.ID, family)
		n = a + b
		return err
	})
	return n, err
}
