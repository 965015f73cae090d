package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

const maxHuddleSummary = 4000 // characters

// metaHuddleReport marks the one message that a closed huddle leaves in the room
// above. It names the huddle, and is no answer of a turn that runs there.
const metaHuddleReport = "huddle_report"

// HuddleEnd is how somebody closes a huddle (bridge contract 3.3).
type HuddleEnd struct {
	HuddleID id.Conversation
	Outcome  string // resolved | agreed | blocked | deferred | abandoned
	Summary  string // what came of it, required
	Content  string // what the room above reads; "" is the summary
}

// HuddleClosed is a huddle that is closed. MessageID is the report in the room
// above, zero when there is no such room any more.
type HuddleClosed struct {
	HuddleID  id.Conversation
	SourceID  id.Conversation
	MessageID id.Message
	Huddle    chat.Huddle
}

var (
	errHuddleEnd    = fault.New(fault.Invalid, "invalid", "This huddle cannot be closed like this.")
	errHuddleClosed = fault.New(fault.Conflict, "huddle_closed", "This huddle is closed already.")
	errNoHuddle     = fault.New(fault.Invalid, "not_a_huddle", "This conversation is no huddle.")
)

// outcomes of a huddle, and the state that each ends in.
var outcomes = map[string]string{
	"resolved": chat.HuddleResolved, "agreed": chat.HuddleResolved, "blocked": chat.HuddleResolved, "deferred": chat.HuddleResolved,
	"abandoned": chat.HuddleAbandoned,
}

func (e *HuddleEnd) check() error {
	e.Outcome, e.Summary = strings.TrimSpace(e.Outcome), strings.TrimSpace(e.Summary)
	switch {
	case outcomes[e.Outcome] == "":
		return errHuddleEnd.With("outcome", "unknown", "must be resolved, agreed, blocked, deferred or abandoned")
	case e.Summary == "":
		return errHuddleEnd.With("summary", "required", "Say what came of it.")
	case utf8.RuneCountInString(e.Summary) > maxHuddleSummary || !clean(e.Summary):
		return errHuddleEnd.With("summary", "too_long", fmt.Sprintf("at most %d characters", maxHuddleSummary))
	case utf8.RuneCountInString(e.Content) > chat.MaxContent || !clean(e.Content):
		return errHuddleEnd.With("content", "too_long", fmt.Sprintf("at most %d characters", chat.MaxContent))
	}
	return nil
}

// CloseHuddle ends a huddle, by any participant: it is read-only from then on, one
// message in the room above says what came of it, and its card changes in place (H3).
// What waits there to be answered is not any more; a turn that runs may end, and what
// it still says is not posted. The same end by the same participant gives the first
// result again; another is Conflict huddle_closed.
func (c *Chat) CloseHuddle(ctx context.Context, actor access.Actor, e HuddleEnd) (out HuddleClosed, err error) {
	if err := e.check(); err != nil {
		return out, err
	}
	err = c.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		source, room, h, err := c.lockHuddle(ctx, tx, actor, e.HuddleID)
		if err != nil {
			return err
		}
		out = HuddleClosed{HuddleID: room.ID, SourceID: room.ParentConversationID, Huddle: h}
		if h.Status != chat.HuddleOpen {
			if h.ReportMessageID != nil {
				out.MessageID = *h.ReportMessageID
			}
			if h.ClosedBy == nil || *h.ClosedBy != actor.ID || h.Outcome != e.Outcome || h.Summary != e.Summary {
				return errHuddleClosed
			}
			return nil
		}
		h.Status, h.Outcome, h.Summary = outcomes[e.Outcome], e.Outcome, e.Summary
		h.ClosedBy, h.ClosedAt = &actor.ID, new(time.Now().UTC().Truncate(time.Microsecond))
		if out.MessageID, err = c.reportHuddle(ctx, tx, actor, source, room, h, e); err != nil {
			return err
		}
		if !out.MessageID.IsZero() {
			h.ReportMessageID = &out.MessageID
		}
		out.Huddle = h
		if err := c.changeHuddle(ctx, tx, room, h); err != nil {
			return err
		}
		if err := chat.FreeHuddleKeyTx(ctx, tx, room.ID); err != nil {
			return err
		}
		if c.Settle != nil {
			if err := c.Settle(ctx, tx, room.ID); err != nil {
				return err
			}
		}
		if source == nil {
			return nil
		}
		return c.tellHuddle(ctx, tx, source.ID, room.ID)
	})
	return out, err
}

// SetHuddleGoal says what an open huddle is to come to (bridge contract 3.3).
func (c *Chat) SetHuddleGoal(ctx context.Context, actor access.Actor, conv id.Conversation, goal string) (out chat.Huddle, err error) {
	if goal = strings.TrimSpace(goal); goal == "" || utf8.RuneCountInString(goal) > maxHuddleGoal || !clean(goal) {
		return out, fault.New(fault.Invalid, "invalid", "This is no goal.").With("goal", "length", fmt.Sprintf("1 to %d characters", maxHuddleGoal))
	}
	err = c.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		_, room, h, err := c.lockHuddle(ctx, tx, actor, conv)
		if err != nil {
			return err
		}
		if h.Status != chat.HuddleOpen {
			return errHuddleClosed
		}
		h.Goal, out = goal, h
		out.Goal = goal
		if err := c.changeHuddle(ctx, tx, room, h); err != nil {
			return err
		}
		stirred(tx, room.Room)
		return nil
	})
	return out, err
}

// lockHuddle locks a huddle for a change by one of its participants, and before it the
// room above: nil when that is gone. Who only looks in is told so.
func (c *Chat) lockHuddle(ctx context.Context, tx *pg.Tx, actor access.Actor, conv id.Conversation) (source, room *locked, h chat.Huddle, err error) {
	role, err := c.Readable(ctx, tx, actor, conv)
	if err != nil {
		return nil, nil, h, err
	}
	if err := access.PostInRoom(actor, access.RoomFacts{ID: conv, Role: role}); err != nil {
		return nil, nil, h, err
	}
	one, err := chat.Get(ctx, tx, conv)
	if err != nil {
		return nil, nil, h, err
	}
	if !one.IsHuddle() {
		return nil, nil, h, errNoHuddle
	}
	if source, err = c.lock(ctx, tx, access.System(), one.ParentConversationID); err != nil {
		if err = goneIsNil(err); err != nil {
			return nil, nil, h, err
		}
		source = nil
	}
	if room, err = c.lock(ctx, tx, actor, conv); err != nil {
		return nil, nil, h, err
	}
	h, _ = room.Huddle()
	return source, room, h, access.PostInRoom(actor, access.RoomFacts{ID: conv, Role: room.role})
}

// changeHuddle stores what a huddle says of itself and tells its members.
func (c *Chat) changeHuddle(ctx context.Context, tx *pg.Tx, room *locked, h chat.Huddle) error {
	patch, err := h.Metadata()
	if err != nil {
		return err
	}
	meta, seq, changed, err := chat.PatchRoomTx(ctx, tx, room.ID, patch)
	if err != nil || !changed {
		return err
	}
	tx.Publish(lane(room.ID), RoomMetadataChanged{inRoom: inRoom{room.ID}, Metadata: meta, To: room.everybody(id.Participant{}), Seq: seq})
	return nil
}

// reportHuddle posts what came of a huddle into the room above, once: as who closed
// it, if they write there, else as a line of the server. A room that is gone or
// closed hears nothing: the card says it.
func (c *Chat) reportHuddle(ctx context.Context, tx *pg.Tx, actor access.Actor, source, room *locked, h chat.Huddle, e HuddleEnd) (id.Message, error) {
	if source == nil || source.Closed() {
		return id.Message{}, nil
	}
	text := e.Content
	if strings.TrimSpace(text) == "" {
		text = e.Summary
	}
	role, err := chat.Role(ctx, tx, source.ID, actor.ID)
	if err != nil {
		return id.Message{}, err
	}
	if role != chat.Member && role != chat.Admin {
		m, err := c.notice(ctx, tx, source, Notice{Code: NoticeHuddle, Params: map[string]any{
			"name": actor.DisplayName, "topic": h.Topic, "status": h.Status, "summary": cutText(text, maxHuddleSummary), "huddle_id": room.ID,
		}})
		return m.ID, err
	}
	marks := map[string]any{metaHuddleReport: room.ID, "huddle_status": h.Status, "huddle_outcome": h.Outcome}
	if h.Topic != "" {
		marks["huddle_topic"] = h.Topic
	}
	meta, err := json.Marshal(marks)
	if err != nil {
		return id.Message{}, fmt.Errorf("report of huddle: %w", err)
	}
	p, err := c.PostTx(ctx, tx, actor, Post{ConversationID: source.ID, Content: text, Metadata: meta, Report: true, marked: true, plain: true})
	return p.Message.ID, err
}
