package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/external"
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
	var g grounds
	room, err := c.lock(ctx, tx, actor, d.ConversationID, func(b *pg.Batch) { g.read(b, actor, d) })
	if err != nil {
		return Posted{}, c.onlyLooking(ctx, tx, actor, d.ConversationID, err)
	}
	if room.Closed() && room.role != chat.Observer && g.claim != nil && d.final() { // the end of a turn that ran when the huddle was closed
		return Posted{Suppressed: true}, nil
	}
	if err := access.PostInRoom(actor, facts(room.Room, room.role)); err != nil {
		return Posted{}, err
	}
	if first, found, err := c.firstResult(ctx, tx, d, g); err != nil || found {
		return first, err
	}
	if d.ParentMessageID != nil && !g.parent {
		return Posted{}, errInvalidPost.With("parentMessageId", "unknown", "The quoted message is not in this room.")
	}
	refused, err := c.underClaim(ctx, tx, actor, room, d, g)
	if err != nil || refused != nil {
		return deref(refused), err
	}
	if err := c.tidy(ctx, tx, actor, room, &d, g.claim); err != nil {
		return Posted{}, err
	}
	asides, err := c.takeAside(ctx, tx, actor, room, &d, g.claim)
	if err != nil {
		return Posted{}, err
	}
	m, err := c.resolve(ctx, tx, actor, room, &d)
	if err != nil {
		return Posted{}, err
	}
	posted, err := c.store(ctx, tx, actor, room, d, m, g.claim)
	if err != nil {
		return Posted{}, err
	}
	if err := c.sayAside(ctx, tx, actor, asides, g.claim); err != nil {
		return Posted{}, err
	}
	if err := c.settle(ctx, tx, actor, d, g.claim, posted.Message.ID); err != nil {
		return Posted{}, err
	}
	return posted, nil
}

// onlyLooking tells a person who looks into a huddle without a seat that they may not
// write there, and nobody else that it exists.
func (c *Chat) onlyLooking(ctx context.Context, tx *pg.Tx, actor access.Actor, conv id.Conversation, err error) error {
	if fault.KindOf(err) != fault.NotFound || !actor.IsPerson() {
		return err
	}
	role, lookErr := c.Readable(ctx, tx, actor, conv)
	if lookErr != nil {
		return err
	}
	return access.PostInRoom(actor, access.RoomFacts{ID: conv, Role: role})
}

// grounds is what a post is judged by, read under the room's lock in the round trip
// of the lock.
type grounds struct {
	first     id.Message // stored under the same key before; zero when there is none
	firstRoom id.Conversation
	parent    bool        // the quoted message is in this room
	claim     *turn.Claim // the agent's open claim here, locked
	seen      int64       // number of the message that the agent saw last, if known
	seenKnown bool
}

func (g *grounds) read(b *pg.Batch, actor access.Actor, d draft) {
	if d.ClientKey != "" && !actor.ID.IsZero() {
		chat.AddFindByKey(b, actor.ID, d.ClientKey, &g.first, &g.firstRoom)
	}
	if d.ParentMessageID != nil {
		chat.AddSeqOf(b, d.ConversationID, *d.ParentMessageID, new(int64), &g.parent)
	}
	if !actor.IsAgent() {
		return
	}
	turn.AddOpenClaim(b, actor.ID, d.ConversationID, &g.claim)
	if d.LastSeenMessageID != nil {
		chat.AddSeqOf(b, d.ConversationID, *d.LastSeenMessageID, &g.seen, &g.seenKnown)
	}
}

func deref(p *Posted) Posted {
	if p == nil {
		return Posted{}
	}
	return *p
}

// firstResult is the message stored under the same key before.
func (c *Chat) firstResult(ctx context.Context, tx *pg.Tx, d draft, g grounds) (Posted, bool, error) {
	if g.first.IsZero() {
		return Posted{}, false, nil
	}
	if g.firstRoom != d.ConversationID {
		return Posted{}, false, errKeyReused
	}
	m, err := view.OneMessage(ctx, tx, g.first)
	if err != nil && fault.KindOf(err) == fault.NotFound {
		return Posted{}, false, errGone
	}
	return Posted{Message: m, Duplicate: true}, err == nil, err
}

// underClaim looks at the agent's open claim in the room, and says when the message
// is not to be stored: prose after a silent end of turn, or a stale draft.
func (c *Chat) underClaim(ctx context.Context, tx *pg.Tx, actor access.Actor, room *locked, d draft, g grounds) (*Posted, error) {
	if !actor.IsAgent() {
		return nil, nil
	}
	if g.claim != nil && g.claim.Passed() && d.kind == "" && d.streamID != "" {
		return &Posted{Suppressed: true}, nil
	}
	stale, err := staleness(ctx, tx, actor, room, d, g)
	if err != nil || stale == nil {
		return nil, err
	}
	if err := c.refuseStale(ctx, tx, actor, d, g); err != nil {
		return nil, err
	}
	return &Posted{Stale: stale}, nil
}

// refuseStale records the refusal on the claim that the draft belongs to. A draft
// that has not even seen the message of the open claim belongs to an earlier one,
// which was acked or lost meanwhile: the newer message covers what it was to answer.
func (c *Chat) refuseStale(ctx context.Context, tx *pg.Tx, actor access.Actor, d draft, g grounds) error {
	var into id.Message
	if claim := g.claim; claim != nil {
		asked, _, err := chat.SeqOf(ctx, tx, d.ConversationID, claim.MessageID)
		if err != nil {
			return err
		}
		if asked <= g.seen {
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

// called are those a message speaks to: who is mentioned in it, and who is told of it
// as if they were.
func called(mentioned []id.Participant, calls map[id.Participant]string) []id.Participant {
	out := slices.Clone(mentioned)
	for p, category := range calls {
		if category == categoryMentions && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// store writes the message and everything that follows from it in the room.
func (c *Chat) store(ctx context.Context, tx *pg.Tx, actor access.Actor, room *locked, d draft, m resolved, claim *turn.Claim) (Posted, error) {
	meta, err := d.metadata()
	if err != nil {
		return Posted{}, err
	}
	if d.id.IsZero() {
		d.id = id.New[id.Message]()
	}
	n := chat.NewMessage{
		ID: d.id, ConversationID: room.ID, SenderID: actor.ID, SenderKind: senderKind(actor),
		Content: d.Content, ContentType: d.ContentType, MessageType: d.MessageType, ContentStructured: d.ContentStructured,
		Metadata: meta, CorrelationID: d.CorrelationID, Mentions: called(m.ids(), d.Calls), ClientKey: d.ClientKey, TurnGroupID: d.TurnGroupID,
	}
	if d.ParentMessageID != nil {
		n.ParentMessageID = *d.ParentMessageID
	}
	if claim != nil { // bubbles of one turn belong together
		n.TurnGroupID = new(claim.QueueID.String())
	}
	dec := speak.Decide(speakFacts(actor, room, d, m))
	if answered, err := c.answers(ctx, tx, actor, room, d); err != nil {
		return Posted{}, err
	} else if answered {
		dec.Wake = nil // it wakes the run that asked, and nobody else
	}
	if n.Attachments, err = c.attach(ctx, tx, actor, d, n.ID); err != nil {
		return Posted{}, err
	}
	n.Streak = &chat.Streak{Count: dec.Streak, Noticed: dec.Noticed}
	var b pg.Batch
	var placed chat.Placed
	chat.AddInsert(&b, n, &placed)
	run, read := room.split(dec.Wake)
	turn.AddEnqueue(&b, items(room.ID, n.ID, run))
	external.AddDeposit(&b, room.ID, n.ID, read)
	endClaim(&b, d, claim, n.ID)
	if err := pg.Run(ctx, tx, &b); err != nil {
		return Posted{}, err
	}
	msg := asView(n, placed, actor, room)
	c.announce(tx, room, msg, placed.Version, d.Calls, c.endOfStream(actor, d))
	c.announceNotice(tx, room, msg, m)
	if !speak.Hidden(msg.Type()) {
		stirred(tx, room.Room)
	}
	if err := c.wake(ctx, tx, room.ID, msg.ID, run); err != nil {
		return Posted{}, err
	}
	if c.Busy != nil && actor.IsPerson() && len(run) > 0 {
		tx.AfterCommit(func() { c.Busy(room.ID, actor.ID, run) })
	}
	if dec.Notice {
		if err := c.noticeTx(ctx, tx, room, Notice{Code: NoticeStreak, Params: map[string]any{"limit": dec.Limit}}); err != nil {
			return Posted{}, err
		}
	}
	return Posted{Message: msg, Receivers: dec.Wake}, nil
}

// items are the queue rows of a message, one for each agent.
func items(conv id.Conversation, mid id.Message, agents []id.Participant) []turn.NewItem {
	out := make([]turn.NewItem, len(agents))
	for i, a := range agents {
		out[i] = turn.NewItem{AgentID: a, ConversationID: conv, MessageID: mid}
	}
	return out
}

// wake inserts the job that makes sure that agents hear of what is queued for them;
// the call after commit is only faster.
func (c *Chat) wake(ctx context.Context, tx *pg.Tx, conv id.Conversation, mid id.Message, agents []id.Participant) error {
	if len(agents) == 0 {
		return nil
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

// final says that a message of an agent ends the turn it belongs to (decision 14).
func (d *draft) final() bool {
	return d.streamID != "" || d.kind == "EndTurn" || d.kind == "ErrorReport"
}

// endClaim ties a final message to the open claim that it ends.
func endClaim(b *pg.Batch, d draft, claim *turn.Claim, mid id.Message) {
	if claim == nil || !d.final() {
		return
	}
	if reason, silent := silentEnd(d); silent {
		turn.AddMarkPassed(b, claim.QueueID, reason)
		return
	}
	turn.AddMarkAnswered(b, claim.QueueID, mid)
}

// settle ties a final message of an agent that no open claim explains to the turn
// that it ends (decision 15).
func (c *Chat) settle(ctx context.Context, tx *pg.Tx, actor access.Actor, d draft, claim *turn.Claim, mid id.Message) error {
	if !actor.IsAgent() || claim != nil || !d.final() {
		return nil
	}
	outcome := turn.Answered
	if _, silent := silentEnd(d); silent {
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
		InsertedAt: p.At, UpdatedAt: p.At, Attachments: n.Attachments,
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
