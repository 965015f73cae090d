package flow

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/view"
)

// answers reports that a person's message is the answer to a question.
func (c *Chat) answers(ctx context.Context, tx *pg.Tx, actor access.Actor, room *locked, d draft) (bool, error) {
	work := room.Type == chat.Task
	if c.Answered == nil || !actor.IsPerson() || d.kind != "" || (!work && d.ParentMessageID == nil) {
		return false, nil
	}
	return c.Answered(ctx, tx, room.ID, work, actor.ID, d.ParentMessageID, d.Content)
}

// workRoomTx makes the room in which a task is worked at (T3): never listed, with
// those who do it and who asked for it. People of the asking room may look in: see
// WatchWork.
func (c *Chat) workRoomTx(ctx context.Context, tx *pg.Tx, asked chat.Room, t id.Task, title string, by id.Participant, members []id.Participant) (id.Conversation, error) {
	meta, err := json.Marshal(map[string]any{"task_id": t, "source_conversation_id": asked.ID})
	if err != nil {
		return id.Conversation{}, err
	}
	room := chat.NewRoom{
		ID: id.New[id.Conversation](), Type: chat.Task, Title: &title, CreatedBy: by, OrganizationID: asked.OrganizationID, Metadata: meta,
		ParentConversationID: asked.ID,
	}
	if _, err := chat.CreateTx(ctx, tx, room); err != nil {
		return id.Conversation{}, err
	}
	_, err = chat.AddMembersTx(ctx, tx, room.ID, chat.Member, members...)
	return room.ID, err
}

// seatTx gives somebody a seat in a room in which they are to work, if they have none.
func (c *Chat) seatTx(ctx context.Context, tx *pg.Tx, conv id.Conversation, who id.Participant) error {
	room, err := c.lock(ctx, tx, access.System(), conv)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(room.seats, func(s view.Seat) bool { return s.ID == who }) {
		return nil
	}
	_, err = c.addTx(ctx, tx, room, who, chat.Member)
	return err
}

// watchTx makes a person an observer of a work room, if they have no seat there.
func (c *Chat) watchTx(ctx context.Context, actor access.Actor, conv id.Conversation) error {
	return c.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		_, err := chat.AddMembersTx(ctx, tx, conv, chat.Observer, actor.ID)
		return err
	})
}

// WatchWork lets a person look into a work room whose asking room they sit in: they
// become an observer of it (desktop contract 3.2). For any other room, and for who
// may not see it, it does nothing.
func (c *Chat) WatchWork(ctx context.Context, actor access.Actor, conv id.Conversation) error {
	if !actor.IsPerson() {
		return nil
	}
	room, err := chat.Get(ctx, c.DB, conv)
	if err != nil || room.Type != chat.Task || room.ParentConversationID.IsZero() {
		return goneIsNil(err)
	}
	return c.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		if role, err := chat.Role(ctx, tx, conv, actor.ID); err != nil || role != "" {
			return err
		}
		// A work room may belong to a sub-task of a work room.
		for up := room.ParentConversationID; !up.IsZero(); {
			role, err := chat.Role(ctx, tx, up, actor.ID)
			if err != nil {
				return err
			}
			if role != "" {
				_, err := chat.AddMembersTx(ctx, tx, conv, chat.Observer, actor.ID)
				return err
			}
			parent, err := chat.Get(ctx, tx, up)
			if fault.KindOf(err) == fault.NotFound && err != nil {
				return nil //nolint:nilerr // the room that it was asked in is gone
			}
			if err != nil {
				return err
			}
			up = parent.ParentConversationID
		}
		return nil
	})
}
