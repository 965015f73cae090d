package flow

import (
	"context"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/view"
)

// maxRoomAvatar bounds the address of a picture.
const maxRoomAvatar = 2048

// ConversationChange names what is to change: nil leaves, a pointer to nil clears.
type ConversationChange struct {
	Title                  **string
	AvatarURL              **string
	AgentsAddWithoutAsking *bool
}

// ChangeConversation changes a room; its administrators only.
func (c *Chat) ChangeConversation(ctx context.Context, actor access.Actor, conv id.Conversation, ch ConversationChange) (out view.Conversation, err error) {
	err = c.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		room, err := c.lock(ctx, tx, actor, conv)
		if err != nil {
			return err
		}
		if err := access.AdminRoom(actor, facts(room.Room, room.role)); err != nil {
			return err
		}
		if ch.Title != nil {
			if err := c.retitle(ctx, tx, room, *ch.Title); err != nil {
				return err
			}
		}
		if ch.AvatarURL != nil {
			if err := c.repaint(ctx, tx, room, *ch.AvatarURL); err != nil {
				return err
			}
		}
		if ch.AgentsAddWithoutAsking != nil {
			if err := c.setAgentsAdd(ctx, tx, room, *ch.AgentsAddWithoutAsking); err != nil {
				return err
			}
		}
		out, err = view.OneConversation(ctx, tx, conv, actor.ID)
		return err
	})
	return out, err
}

func (c *Chat) setAgentsAdd(ctx context.Context, tx *pg.Tx, room *locked, yes bool) error {
	if err := chat.SetAgentsAddTx(ctx, tx, room.ID, yes); err != nil {
		return err
	}
	seq, err := record(ctx, tx, room.ID, "conversation_settings_changed", uuid.Nil, map[string]any{
		"conversationId": room.ID, "agentsAddWithoutAsking": yes,
	})
	if err != nil {
		return err
	}
	tx.Publish(lane(room.ID), SettingsChanged{inRoom: inRoom{room.ID}, AgentsAddWithoutAsking: yes, To: room.everybody(id.Participant{}), Seq: seq})
	return nil
}

func (c *Chat) retitle(ctx context.Context, tx *pg.Tx, room *locked, title *string) error {
	t, err := cleanTitle(title)
	if err != nil {
		return err
	}
	if err := chat.SetTitleTx(ctx, tx, room.ID, t); err != nil {
		return err
	}
	seq, err := record(ctx, tx, room.ID, "conversation_title_changed", uuid.Nil, map[string]any{"conversationId": room.ID, "title": t})
	if err != nil {
		return err
	}
	tx.Publish(lane(room.ID), TitleChanged{inRoom: inRoom{room.ID}, Title: t, To: room.everybody(id.Participant{}), Seq: seq})
	return nil
}

func (c *Chat) repaint(ctx context.Context, tx *pg.Tx, room *locked, link *string) error {
	a, err := cleanRoomAvatar(link)
	if err != nil {
		return err
	}
	if err := chat.SetAvatarTx(ctx, tx, room.ID, a); err != nil {
		return err
	}
	seq, err := record(ctx, tx, room.ID, "conversation_avatar_changed", uuid.Nil, map[string]any{"conversationId": room.ID, "avatarUrl": a})
	if err != nil {
		return err
	}
	tx.Publish(lane(room.ID), AvatarChanged{inRoom: inRoom{room.ID}, AvatarURL: a, To: room.everybody(id.Participant{}), Seq: seq})
	return nil
}

// cleanRoomAvatar takes an http(s) address or a path of ours; empty clears.
func cleanRoomAvatar(link *string) (*string, error) {
	if link == nil || strings.TrimSpace(*link) == "" {
		return nil, nil
	}
	s := strings.TrimSpace(*link)
	u, err := url.Parse(s)
	ours := err == nil && u.Scheme == "" && u.Host == "" && strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "//")
	web := err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
	if len(s) > maxRoomAvatar || !clean(s) || (!ours && !web) {
		return nil, errInvalidRoom.With("avatarUrl", "format", "avatarUrl must be a web address of at most 2048 bytes.")
	}
	return &s, nil
}

// DeleteConversation removes a room for everybody. A group is deleted by its
// administrators, a direct room by either of the two. Its huddles go with it.
func (c *Chat) DeleteConversation(ctx context.Context, actor access.Actor, conv id.Conversation) error {
	return c.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		room, err := c.lock(ctx, tx, actor, conv)
		if err != nil {
			return err
		}
		if room.Type == chat.Direct {
			if room.role == chat.Observer || actor.IsAgent() {
				return fault.New(fault.Forbidden, "members_only", "Only a person in this conversation can delete it.")
			}
		} else if err := access.AdminRoom(actor, facts(room.Room, room.role)); err != nil {
			return err
		}
		return c.deleteTx(ctx, tx, room)
	})
}

// SuggestedTitle answers a suggestion to name a room: accept renames it, skip
// changes nothing; either way the person's devices stop asking.
func (c *Chat) SuggestedTitle(ctx context.Context, actor access.Actor, conv id.Conversation, accept bool, title *string) error {
	return c.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		room, err := c.lock(ctx, tx, actor, conv)
		if err != nil {
			return err
		}
		if accept {
			if err := access.AdminRoom(actor, facts(room.Room, room.role)); err != nil {
				return err
			}
			if title == nil || strings.TrimSpace(*title) == "" {
				return errInvalidRoom.With("title", "required", "Enter a title.")
			}
			if err := c.retitle(ctx, tx, room, title); err != nil {
				return err
			}
		}
		tx.Publish(lane(conv), RenameResolved{inRoom: inRoom{conv}, To: room.everybody(id.Participant{})})
		return nil
	})
}
