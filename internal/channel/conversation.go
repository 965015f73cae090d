package channel

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/memory"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/realtime"
	"github.com/agntchat/agntchat/internal/realtime/phx"
	"github.com/agntchat/agntchat/internal/realtime/socket"
	"github.com/agntchat/agntchat/internal/realtime/stream"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// typingPause is how often one connection may tell that somebody types; clients
// say so at most once per second.
const typingPause = 500 * time.Millisecond

// recentWindow is the size of the first window, as of a REST page (desktop 8.3).
const recentWindow = 30

// roomChannel is one connection in one room.
type roomChannel struct {
	router *Router
	room   id.Conversation
	actor  access.Actor
	typed  time.Time // when typing was told last
}

// Join implements socket.Channel. A refusal costs one statement: clients ask
// again without limit (desktop 3.2).
func (c *roomChannel) Join(ctx context.Context, m *socket.Member, _ json.RawMessage) (any, error) {
	c.actor = actorOf(m)
	_, err := c.router.Chat.Readable(ctx, c.router.DB, c.actor, c.room)
	if fault.KindOf(err) == fault.NotFound && err != nil { // a room of work may be looked into (desktop 3.2)
		if err = c.router.Chat.WatchWork(ctx, c.actor, c.room); err == nil {
			_, err = c.router.Chat.Readable(ctx, c.router.DB, c.actor, c.room)
		}
	}
	if err != nil {
		return nil, joinError(err)
	}
	c.router.Rooms.add(c.room, m, c.actor.ID)
	return nil, nil
}

// Joined pushes the newest window and the turns in progress. Events since the
// join follow; each may be in both. A seat that was lost between Join and the
// registration is seen here.
func (c *roomChannel) Joined(ctx context.Context, m *socket.Member) {
	recent, err := c.recent(ctx)
	if err != nil {
		if fault.KindOf(err) == fault.NotFound {
			m.Close()
			return
		}
		c.router.Log.WarnContext(ctx, "recent messages failed", slog.Any("error", err))
		m.Fail() // the client joins again
		return
	}
	known, err := memory.OfRoom(ctx, c.router.DB, c.room)
	if err != nil {
		c.router.Log.WarnContext(ctx, "memory of a room failed", slog.Any("error", err)) // GET …/memory has it
	}
	if m.Push("recent_messages", recent) != nil {
		return
	}
	if known.Version > 0 {
		what := wire.MemoryUpdated{ConversationID: c.room.String(), Memory: known.Memory, Version: known.Version}
		if m.Push("conversation_memory", what) != nil {
			return
		}
	}
	c.router.Streams.Replay(c.room.String(), func(f wire.MessageStreaming) { _ = m.Push(stream.Event, f) })
}

// recent reads the version before the rows: a change in between is then told
// again, never missed.
func (c *roomChannel) recent(ctx context.Context) (wire.RecentMessages, error) {
	if _, err := c.router.Chat.Readable(ctx, c.router.DB, c.actor, c.room); err != nil {
		return wire.RecentMessages{}, err
	}
	room, err := chat.Get(ctx, c.router.DB, c.room)
	if err != nil {
		return wire.RecentMessages{}, err
	}
	page, err := view.Timeline(ctx, c.router.DB, c.room, nil, recentWindow)
	if err != nil {
		return wire.RecentMessages{}, err
	}
	return fit(wire.RecentMessages{Messages: present.RecentMessages(page), Seq: room.Version})
}

// fit drops the oldest messages until the frame is small enough; the window stays
// contiguous. One message always fits (chat.MaxContent and its fellows).
func fit(w wire.RecentMessages) (wire.RecentMessages, error) {
	const room = 64 << 10 // for topic, refs and what stands around the messages
	size := 0
	for i := len(w.Messages) - 1; i >= 0; i-- {
		raw, err := phx.Marshal(w.Messages[i])
		if err != nil {
			return w, err
		}
		if size += len(raw) + 1; size > realtime.MaxFrame-room && i < len(w.Messages)-1 {
			w.Messages = w.Messages[i+1:]
			break
		}
	}
	return w, nil
}

// Push implements socket.Channel (desktop 3.3, bridge 2.5).
func (c *roomChannel) Push(ctx context.Context, m *socket.Member, event string, payload json.RawMessage) (any, error) {
	switch event {
	case "new_message":
		return c.newMessage(ctx, payload)
	case "delete_message":
		return c.deleteMessage(ctx, payload)
	case "typing":
		if time.Since(c.typed) < typingPause {
			return nil, socket.ErrNoReply
		}
		c.typed = time.Now()
		return nil, c.router.typing(ctx, c.actor, c.room)
	case "mark_conversation_read":
		var in wire.MarkRead
		if len(payload) > 0 && json.Unmarshal(payload, &in) != nil {
			return nil, socket.Reason("bad_request")
		}
		upTo, _ := id.Parse[id.Message](in.UpTo) // stock clients name none: the newest
		return nil, c.router.Chat.MarkRead(ctx, c.actor, c.room, upTo)
	case "add_reaction", "remove_reaction":
		return nil, fault.New(fault.Invalid, "not_available", "Reactions are not available yet.")
	default:
		return nil, socket.ErrUnknownEvent
	}
}

// Leave implements socket.Channel.
func (c *roomChannel) Leave(_ context.Context, m *socket.Member, _ socket.LeaveReason) {
	c.router.Rooms.remove(c.room, m)
}

func (c *roomChannel) newMessage(ctx context.Context, payload json.RawMessage) (any, error) {
	var p wire.MessagePush
	if err := decode(payload, &p); err != nil {
		return nil, err
	}
	uploads, err := present.Uploads(p.Attachments)
	if err != nil {
		return nil, err
	}
	if p.ThreadRootID != nil && *p.ThreadRootID != "" {
		return nil, fault.New(fault.Invalid, "threads_not_available", "Reply threads are not available yet.").
			With("thread_root_id", "not_available", "Reply threads are not available yet.")
	}
	in := flow.Post{
		ConversationID: c.room, Content: p.Content, ContentType: p.ContentType, MessageType: p.MessageType, ContentStructured: p.ContentStructured,
		Metadata: p.Metadata, CorrelationID: p.CorrelationID, Files: uploads,
	}
	if p.ParentMessageID != nil && *p.ParentMessageID != "" {
		parent, err := id.Parse[id.Message](*p.ParentMessageID)
		if err != nil {
			return nil, fault.New(fault.Invalid, "invalid", "The quoted message has no valid id.").With("parent_message_id", "format", err.Error())
		}
		in.ParentMessageID = &parent
	}
	out, err := c.router.Chat.Post(ctx, c.actor, in)
	if err != nil {
		return nil, err
	}
	if out.Suppressed {
		return wire.Suppressed{Suppressed: true}, nil
	}
	return present.Message(out.Message), nil
}

func (c *roomChannel) deleteMessage(ctx context.Context, payload json.RawMessage) (any, error) {
	var p wire.MessageRef
	if err := decode(payload, &p); err != nil {
		return nil, err
	}
	mid, err := id.Parse[id.Message](p.MessageID)
	if err != nil {
		return nil, fault.New(fault.Invalid, "invalid", "message_id is not a message id.").With("message_id", "format", err.Error())
	}
	return nil, c.router.Chat.DeleteMessage(ctx, c.actor, c.room, mid)
}

// decode reads a push; wrong types are told by field.
func decode(payload json.RawMessage, v any) error {
	err := json.Unmarshal(payload, v)
	if err == nil {
		return nil
	}
	f := fault.New(fault.Invalid, "bad_request", "The payload of this event cannot be read.").Because(err)
	if te, ok := err.(*json.UnmarshalTypeError); ok && te.Field != "" { //nolint:errorlint // json returns it bare
		f = f.With(te.Field, "type", "must be of type "+te.Type.String())
	}
	return f
}
