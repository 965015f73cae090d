package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/speak"
	"github.com/agntchat/agntchat/internal/view"
)

// The notification categories of a message (desktop 3.8).
const (
	categoryMessages = "messages"
	categoryMentions = "mentions"
	categoryAgents   = "agent_activity"
	categoryAssigned = "task_assigned"
	categoryEnded    = "task_completed"
)

// categories are all of a message's, in the order of their events; "" is not for this person.
var categories = []string{"", categoryMentions, categoryAssigned, categoryEnded, categoryMessages, categoryAgents}

// announce records the events of a new message: the row for the room, the moved
// list entry for everybody but the author, and for the author that everything is
// read (decision 21). Hidden rows move no list entry.
func (c *Chat) announce(tx *pg.Tx, room *locked, m view.Message, seq int64, calls map[id.Participant]string, before func()) {
	in := inRoom{room.ID}
	tx.Publish(lane(room.ID), MessagePosted{
		inRoom: in, Message: m, Seq: seq, Before: before, More: func() bool { return c.gate.crowded(room.ID) },
	})
	if speak.Hidden(m.Type()) {
		return
	}
	if room.Type == chat.Task { // it stands in no list
		if m.SenderKind == chat.Human {
			tx.Publish(lane(room.ID), ConversationRead{inRoom: in, Participant: m.SenderID})
		}
		return
	}
	to := make(map[string][]id.Participant, 4)
	for _, s := range room.seats {
		if s.ID == m.SenderID {
			continue
		}
		cat := category(room, m, s, calls)
		to[cat] = append(to[cat], s.ID)
	}
	up := ConversationUpdated{inRoom: in, Message: m}
	for _, cat := range categories {
		if ids := to[cat]; len(ids) > 0 {
			r := Recipients{IDs: ids}
			if cat != "" {
				r.Category = new(cat)
			}
			up.To = append(up.To, r)
		}
	}
	if len(up.To) > 0 {
		tx.Publish(lane(room.ID), up)
	}
	if m.SenderKind == chat.Human {
		tx.Publish(lane(room.ID), ConversationRead{inRoom: in, Participant: m.SenderID})
	}
}

// category is why a recipient would like to be told; "" is not at all.
func category(room *locked, m view.Message, to view.Seat, calls map[id.Participant]string) string {
	call, called := calls[to.ID]
	switch {
	case m.SenderID.IsZero() || to.Kind == view.SeatObserver:
		return ""
	case slices.Contains(m.Mentions, to.ID):
		return categoryMentions
	case called:
		return call
	case m.SenderKind == chat.Agent && room.Type != chat.Direct:
		return categoryAgents
	default:
		return categoryMessages
	}
}

// NoticeTx posts a visible notice of the server into a room, which it locks. It
// wakes nobody and counts as unread for nobody.
func (c *Chat) NoticeTx(ctx context.Context, tx *pg.Tx, conv id.Conversation, n Notice) (view.Message, error) {
	room, err := c.lock(ctx, tx, access.System(), conv)
	if err != nil {
		return view.Message{}, err
	}
	return c.notice(ctx, tx, room, n)
}

func (c *Chat) noticeTx(ctx context.Context, tx *pg.Tx, room *locked, n Notice) error {
	_, err := c.notice(ctx, tx, room, n)
	return err
}

func (c *Chat) notice(ctx context.Context, tx *pg.Tx, room *locked, n Notice) (view.Message, error) {
	text, err := noticeText(n)
	if err != nil {
		return view.Message{}, err
	}
	meta, err := json.Marshal(map[string]any{"code": n.Code, "params": n.Params})
	if err != nil {
		return view.Message{}, fmt.Errorf("encode notice: %w", err)
	}
	row := chat.NewMessage{
		ID: id.New[id.Message](), ConversationID: room.ID, SenderKind: chat.System, Content: text, ContentType: "text",
		MessageType: new(noticeType), Metadata: meta,
	}
	var b pg.Batch
	var placed chat.Placed
	chat.AddInsert(&b, row, &placed)
	if err := pg.Run(ctx, tx, &b); err != nil {
		return view.Message{}, err
	}
	m := asView(row, placed, access.System(), room)
	c.announce(tx, room, m, placed.Version, nil, nil)
	return m, nil
}
