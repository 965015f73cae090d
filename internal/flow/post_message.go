package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/speak"
	"github.com/agntchat/agntchat/internal/turn"
	"github.com/agntchat/agntchat/internal/view"
)

// Post stores one message (P1): the one way in, whoever writes. It takes its own
// transaction. Beside the errors of PostTx it answers Exhausted when the writer
// posts too fast, and *StaleError for a draft that is outdated.
func (c *Chat) Post(ctx context.Context, actor access.Actor, in Post) (Posted, error) {
	if in.Notice == nil {
		if _, err := check(actor, in); err != nil { // before a transaction is begun
			return Posted{}, err
		}
	}
	if c.Posting != nil && actor.Kind != access.Job {
		if wait, ok := c.Posting.Take(actor.ID.String()); !ok {
			return Posted{}, fault.New(fault.Exhausted, "rate_limited", "You are posting too fast. Try again in a moment.").After(wait)
		}
	}
	leave, err := c.gate.enter(ctx, in.ConversationID)
	if err != nil {
		return Posted{}, errRoomBusy.Because(err)
	}
	defer leave()
	var out Posted
	err = c.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) (err error) {
		out, err = c.PostTx(ctx, tx, actor, in)
		return err
	})
	if pg.IsUnique(err, "messages_client_key") { // the same key in two rooms at once
		err = errKeyReused
	}
	if err != nil {
		return Posted{}, err
	}
	if out.Stale != nil {
		return Posted{}, out.Stale
	}
	return out, nil
}

var (
	errKeyReused = fault.New(fault.Conflict, "key_reused", "This client nonce or idempotency key was used for a message in another room.")
	errRoomBusy  = fault.New(fault.Unavailable, "room_busy", "This room is very busy. Try again in a moment.").After(2 * time.Second)
	errGone      = fault.New(fault.Conflict, "deleted", "This message was sent before and has been deleted since.")
)

// PostTx is Post inside a transaction: validate, resolve mentions, store, advance
// the writer's read mark, decide who is woken, queue one row for each, insert the
// delivery job, record the events. It locks the room first, then the agent's open
// claim; a caller that holds queue rows must have locked the room before them
// (chat.LockTx).
//
// A Post with a ClientKey that this sender used before gives the first result
// again. Errors: Invalid for bad input, NotFound for a room the actor may not
// see, Forbidden where they may only read. See Posted for what is no error.
func (c *Chat) PostTx(ctx context.Context, tx *pg.Tx, actor access.Actor, in Post) (Posted, error) {
	if in.Notice != nil && actor.Kind == access.Job {
		m, err := c.NoticeTx(ctx, tx, in.ConversationID, *in.Notice)
		return Posted{Message: m}, err
	}
	d, err := check(actor, in)
	if err != nil {
		return Posted{}, err
	}
	room, err := c.lock(ctx, tx, actor, d.ConversationID)
	if err != nil {
		return Posted{}, err
	}
	if err := access.PostInRoom(actor, facts(room.Room, room.role)); err != nil {
		return Posted{}, err
	}
	if first, found, err := c.firstResult(ctx, tx, actor, d); err != nil || found {
		return first, err
	}
	if err := knownParent(ctx, tx, d); err != nil {
		return Posted{}, err
	}
	claim, refused, err := c.underClaim(ctx, tx, actor, d)
	if err != nil || refused != nil {
		return deref(refused), err
	}
	m, err := c.resolve(ctx, tx, actor, room, &d)
	if err != nil {
		return Posted{}, err
	}
	posted, err := c.store(ctx, tx, actor, room, d, m, claim)
	if err != nil {
		return Posted{}, err
	}
	if err := c.settle(ctx, tx, actor, d, claim, posted.Message.ID); err != nil {
		return Posted{}, err
	}
	return posted, nil
}

func deref(p *Posted) Posted {
	if p == nil {
		return Posted{}
	}
	return *p
}

// firstResult is the message stored under the same key before.
func (c *Chat) firstResult(ctx context.Context, tx *pg.Tx, actor access.Actor, d draft) (Posted, bool, error) {
	if d.ClientKey == "" || actor.ID.IsZero() {
		return Posted{}, false, nil
	}
	mid, conv, err := chat.FindByKey(ctx, tx, actor.ID, d.ClientKey)
	if err != nil || mid.IsZero() {
		return Posted{}, false, err
	}
	if conv != d.ConversationID {
		return Posted{}, false, errKeyReused
	}
	m, err := view.OneMessage(ctx, tx, mid)
	if err != nil && fault.KindOf(err) == fault.NotFound {
		return Posted{}, false, errGone
	}
	return Posted{Message: m, Duplicate: true}, err == nil, err
}

func knownParent(ctx context.Context, tx *pg.Tx, d draft) error {
	if d.ParentMessageID == nil {
		return nil
	}
	ok, err := chat.InRoom(ctx, tx, d.ConversationID, *d.ParentMessageID)
	if err == nil && !ok {
		return errInvalidPost.With("parentMessageId", "unknown", "The quoted message is not in this room.")
	}
	return err
}

// underClaim finds the agent's open claim in the room, and says when the message
// is not to be stored: prose after a silent end of turn, or a stale draft.
func (c *Chat) underClaim(ctx context.Context, tx *pg.Tx, actor access.Actor, d draft) (*turn.Claim, *Posted, error) {
	if !actor.IsAgent() {
		return nil, nil, nil
	}
	claim, err := turn.OpenClaimTx(ctx, tx, actor.ID, d.ConversationID)
	if err != nil {
		return nil, nil, err
	}
	if claim != nil && claim.Passed() && d.kind == "" && d.streamID != "" {
		return claim, &Posted{Suppressed: true}, nil
	}
	stale, err := staleness(ctx, tx, actor, d, claim)
	if err != nil || stale == nil {
		return claim, nil, err
	}
	if err := c.refuseStale(ctx, tx, actor, d, claim); err != nil {
		return nil, nil, err
	}
	return claim, &Posted{Stale: stale}, nil
}

// refuseStale records the refusal on the claim that the draft belongs to. A draft
// that has not even seen the message of the open claim belongs to an earlier one,
// which was acked or lost meanwhile: the newer message covers what it was to answer.
func (c *Chat) refuseStale(ctx context.Context, tx *pg.Tx, actor access.Actor, d draft, claim *turn.Claim) error {
	var into id.Message
	if claim != nil {
		seen, _, err := chat.SeqOf(ctx, tx, d.ConversationID, *d.LastSeenMessageID)
		if err != nil {
			return err
		}
		asked, _, err := chat.SeqOf(ctx, tx, d.ConversationID, claim.MessageID)
		if err != nil {
			return err
		}
		if asked <= seen {
			return turn.MarkStaleRefusedTx(ctx, tx, claim.QueueID)
		}
		into = claim.MessageID
	}
	covered, err := turn.SettleStaleTx(ctx, tx, actor.ID, d.ConversationID, into)
	if err != nil {
		return err
	}
	for _, m := range covered {
		if err := c.PatchMetadataTx(ctx, tx, d.ConversationID, m, map[string]any{"not_answered": nil}); err != nil {
			return err
		}
	}
	return nil
}

// store writes the message and everything that follows from it in the room.
func (c *Chat) store(ctx context.Context, tx *pg.Tx, actor access.Actor, room *locked, d draft, m resolved, claim *turn.Claim) (Posted, error) {
	meta, err := d.metadata()
	if err != nil {
		return Posted{}, err
	}
	n := chat.NewMessage{
		ID: id.New[id.Message](), ConversationID: room.ID, SenderID: actor.ID, SenderKind: senderKind(actor),
		Content: d.Content, ContentType: d.ContentType, MessageType: d.MessageType, ContentStructured: d.ContentStructured,
		Metadata: meta, CorrelationID: d.CorrelationID, Mentions: m.ids(), ClientKey: d.ClientKey,
	}
	if d.ParentMessageID != nil {
		n.ParentMessageID = *d.ParentMessageID
	}
	if claim != nil { // bubbles of one turn belong together
		n.TurnGroupID = new(claim.QueueID.String())
	}
	placed, err := chat.InsertTx(ctx, tx, n)
	if err != nil {
		return Posted{}, err
	}
	msg := asView(n, placed, actor, room)
	c.announce(tx, room, msg, placed.Version, c.endOfStream(actor, d))
	c.announceNotice(tx, room, msg, m)

	dec := speak.Decide(speakFacts(actor, room, d, m))
	if dec.Streak != room.AgentStreak || dec.Noticed != room.StreakNotice {
		if err := chat.SetStreakTx(ctx, tx, room.ID, dec.Streak, dec.Noticed); err != nil {
			return Posted{}, err
		}
	}
	if err := c.wake(ctx, tx, room.ID, msg.ID, dec.Wake); err != nil {
		return Posted{}, err
	}
	if dec.Notice {
		if err := c.noticeTx(ctx, tx, room, Notice{Code: NoticeStreak, Params: map[string]any{"limit": dec.Limit}}); err != nil {
			return Posted{}, err
		}
	}
	return Posted{Message: msg, Receivers: dec.Wake}, nil
}

// wake queues one row per agent and the job that makes sure they hear of it; the
// call after commit is only faster.
func (c *Chat) wake(ctx context.Context, tx *pg.Tx, conv id.Conversation, mid id.Message, agents []id.Participant) error {
	if len(agents) == 0 {
		return nil
	}
	items := make([]turn.NewItem, len(agents))
	for i, a := range agents {
		items[i] = turn.NewItem{AgentID: a, ConversationID: conv, MessageID: mid}
	}
	if _, err := turn.EnqueueTx(ctx, tx, items); err != nil {
		return err
	}
	if err := c.Deliver(ctx, tx, turn.DeliverArgs{ConversationID: conv, MessageID: mid}); err != nil {
		return fmt.Errorf("insert delivery job: %w", err)
	}
	tx.AfterCommit(func() { c.Turns.Wake(agents...) })
	return nil
}

// endOfStream ends the stream whose place an agent's message takes.
func (c *Chat) endOfStream(actor access.Actor, d draft) func() {
	if !actor.IsAgent() || d.streamID == "" {
		return nil
	}
	return func() { c.Streams.End(d.ConversationID.String(), actor.ID.String(), d.streamID) }
}

// settle ties a final message of an agent to the turn it ends (decisions 14, 15).
func (c *Chat) settle(ctx context.Context, tx *pg.Tx, actor access.Actor, d draft, claim *turn.Claim, mid id.Message) error {
	if !actor.IsAgent() {
		return nil
	}
	reason, silent := silentEnd(d)
	switch {
	case d.streamID == "" && d.kind != "EndTurn" && d.kind != "ErrorReport":
		return nil
	case claim != nil && silent:
		return turn.MarkPassedTx(ctx, tx, claim.QueueID, reason)
	case claim != nil:
		return turn.MarkAnsweredTx(ctx, tx, claim.QueueID, mid)
	}
	outcome := turn.Answered
	if silent {
		outcome = turn.Passed
	}
	if d.kind == "ErrorReport" { // a stock bridge acks first, then reports
		outcome = turn.Failed
	}
	done, err := turn.SettleTx(ctx, tx, actor.ID, d.ConversationID, mid, outcome)
	if err != nil {
		return err
	}
	for _, answered := range done {
		if err := c.PatchMetadataTx(ctx, tx, d.ConversationID, answered, map[string]any{"not_answered": nil}); err != nil {
			return err
		}
	}
	return nil
}

// silentEnd reads the reason of an EndTurn: an unknown or missing one is silent
// (bridge 5.6).
func silentEnd(d draft) (reason string, silent bool) {
	if d.kind != "EndTurn" {
		return "", false
	}
	var body map[string]any
	_ = json.Unmarshal([]byte(d.Content), &body) // prose instead of JSON has no reason
	reason, _ = body["reason"].(string)
	switch reason {
	case "task_complete", "awaiting_input", "blocked":
		return reason, false
	case "":
		return "no_action_needed", true
	}
	return reason, true
}

func senderKind(a access.Actor) string {
	switch a.Kind {
	case access.Person:
		return chat.Human
	case access.Agent:
		return chat.Agent
	default:
		return chat.System
	}
}

// asView is the message as a reader of the tables would see it, without reading.
func asView(n chat.NewMessage, p chat.Placed, actor access.Actor, room *locked) view.Message {
	m := view.Message{
		ID: n.ID, ConversationID: n.ConversationID, Seq: p.MessageSeq, SenderID: n.SenderID, SenderKind: n.SenderKind, SenderName: actor.DisplayName,
		Content: n.Content, ContentType: n.ContentType, MessageType: n.MessageType, ContentStructured: n.ContentStructured, Metadata: n.Metadata,
		ParentMessageID: n.ParentMessageID, CorrelationID: n.CorrelationID, TurnGroupID: n.TurnGroupID, Mentions: n.Mentions,
		InsertedAt: p.At, UpdatedAt: p.At,
	}
	if s := room.self; s.ParticipantID == n.SenderID {
		m.SenderName, m.SenderAvatarURL = s.DisplayName, s.AvatarURL
	}
	if n.SenderID.IsZero() {
		m.SenderName = ""
	}
	return m
}

// IsStale finds the refusal of a stale draft in err.
func IsStale(err error) (*StaleError, bool) { return errors.AsType[*StaleError](err) }
