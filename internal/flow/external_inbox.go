package flow

import (
	"context"
	"slices"
	"strings"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/external"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/view"
)

// The bounds of one look into an inbox. What does not fit waits for the next.
const (
	inboxMessages = 50
	inboxBytes    = 512 << 10
	inboxTasks    = 20
	maxAcked      = 500
)

// split divides who is woken into those whose executors get the message and those
// who find it in their inbox: external agents, and the agent of a session room.
func (l *locked) split(wake []id.Participant) (run, read []id.Participant) {
	if len(wake) == 0 {
		return nil, nil
	}
	shown := l.SessionAgent()
	for _, p := range wake {
		outside := func(s view.Seat) bool { return s.ID == p && s.Kind == view.SeatExternal }
		if p.String() == shown || slices.ContainsFunc(l.seats, outside) {
			read = append(read, p)
		} else {
			run = append(run, p)
		}
	}
	return run, read
}

// InboxAsk is how an agent looks into its inbox (bridge 8.3). Direct and Limit are
// ours: beside the session's room also all rooms that show no session, and no more
// than the reader can take.
type InboxAsk struct {
	Claim      bool
	SessionKey string
	Direct     bool
	Limit      int // messages in one answer; 0 and more than the most are the most
}

// Inbox is what waits for an agent.
type Inbox struct {
	Messages  []view.InboxMessage // newest first
	Tasks     []view.InboxTask
	Typeable  bool           // the session's tool can be typed into
	SessionOf id.Participant // the agent's owner, whose commands count
}

// Command is what is to be typed into the session for this message, or "": a command
// that the agent's owner wrote in the session's room.
func (in Inbox) Command(m view.InboxMessage) string {
	if m.Type != chat.Session || m.SenderID != in.SessionOf || strings.ContainsAny(m.Content, "\r\n") {
		return ""
	}
	text := strings.TrimSpace(m.Content)
	if word, _, _ := strings.Cut(text, " "); slices.Contains(commands, word) && len(text) <= 200 {
		return text
	}
	return ""
}

// Inbox gives what waits for the calling agent, and with Claim marks it as read in
// the same transaction: of two readers one gets a message.
func (x *External) Inbox(ctx context.Context, actor access.Actor, ask InboxAsk) (Inbox, error) {
	if err := x.enter(actor, x.looks); err != nil {
		return Inbox{}, err
	}
	out := Inbox{SessionOf: actor.OwnerID}
	most := inboxMessages
	if ask.Limit > 0 {
		most = min(ask.Limit, inboxMessages)
	}
	err := x.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		scope := view.InboxScope{Session: ask.SessionKey != "", Direct: ask.Direct}
		var session id.ExternalSession
		if scope.Session {
			s, err := external.Find(ctx, tx, actor.ID, ask.SessionKey)
			if goneIsNil(err) != nil {
				return err
			}
			session, scope.Room, out.Typeable = s.ID, s.ConversationID, s.Live
		} else {
			var err error
			if out.Typeable, err = external.AnyLive(ctx, tx, actor.ID); err != nil {
				return err
			}
		}
		found, err := view.Inbox(ctx, tx, actor.ID, scope, most)
		if err != nil {
			return err
		}
		out.Messages = fitting(found)
		if out.Tasks, err = view.InboxTasks(ctx, tx, actor.ID, scope, inboxTasks); err != nil || !ask.Claim {
			return err
		}
		ids := make([]id.Message, len(out.Messages))
		for i, m := range out.Messages {
			ids[i] = m.MessageID
		}
		taken, err := x.takeTx(ctx, tx, actor, ids, session)
		out.Messages = slices.DeleteFunc(out.Messages, func(m view.InboxMessage) bool { return !taken[m.MessageID] })
		return err
	})
	return out, err
}

// fitting are the newest messages that one answer holds, at least one.
func fitting(ms []view.InboxMessage) []view.InboxMessage {
	size := 0
	for i, m := range ms {
		if size += len(m.Content); size > inboxBytes && i > 0 {
			return ms[:i]
		}
	}
	return ms
}

// AckInbox marks messages of the calling agent's inbox as read and says how many were not.
func (x *External) AckInbox(ctx context.Context, actor access.Actor, ms []id.Message) (n int, err error) {
	if err := x.enter(actor, x.looks); err != nil {
		return 0, err
	}
	if len(ms) > maxAcked {
		return 0, errSessionEvent.With("messageIds", "too_many", "At most 500 messages at once.")
	}
	err = x.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		taken, err := x.takeTx(ctx, tx, actor, ms, id.ExternalSession{})
		n = len(taken)
		return err
	})
	return n, err
}

// takeTx marks messages as read, moves the agent's read marks and tells the rooms.
func (x *External) takeTx(ctx context.Context, tx *pg.Tx, actor access.Actor, ms []id.Message, session id.ExternalSession) (map[id.Message]bool, error) {
	taken, err := external.TakeTx(ctx, tx, actor.ID, ms, session)
	if err != nil {
		return nil, err
	}
	out, rooms := make(map[id.Message]bool, len(taken)), map[id.Conversation][]id.Message{}
	for _, t := range taken {
		out[t.MessageID] = true
		rooms[t.ConversationID] = append(rooms[t.ConversationID], t.MessageID)
	}
	for _, room := range sortedRooms(rooms) {
		list := rooms[room]
		for _, m := range list {
			if _, err := chat.MarkReadTx(ctx, tx, room, actor.ID, m); err != nil {
				return nil, err
			}
		}
		receipts, err := view.Receipts(ctx, tx, room, list)
		if err != nil {
			return nil, err
		}
		for _, r := range receipts {
			if r.AgentID == actor.ID {
				tx.Publish(event.ConversationTopic(room.String()), ReceiptChanged{room, r})
			}
		}
	}
	return out, nil
}

func sortedRooms(rooms map[id.Conversation][]id.Message) []id.Conversation {
	out := make([]id.Conversation, 0, len(rooms))
	for r := range rooms {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b id.Conversation) int { return strings.Compare(a.String(), b.String()) })
	return out
}
