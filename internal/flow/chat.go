package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/google/uuid"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/limit"
	"github.com/agntchat/agntchat/internal/memory"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/realtime/stream"
	"github.com/agntchat/agntchat/internal/turn"
	"github.com/agntchat/agntchat/internal/view"
)

// TurnKeeper is what the chat needs of the gateway: a hint that there is work,
// and the sign of life that a stream frame is. Gateway implements it.
type TurnKeeper interface {
	Touch(ctx context.Context, agent id.Participant, conv id.Conversation, queueID *id.QueueItem, generation *int64) error
	Wake(agents ...id.Participant)
}

// Chat is the use cases of rooms and messages. All fields are required but
// those that say otherwise.
type Chat struct {
	DB      *pg.DB
	Streams *stream.Streams
	// Turns is set by app after the gateway exists, before anything is served.
	Turns TurnKeeper
	// Deliver inserts the River job in the transaction of the message (P2).
	Deliver func(ctx context.Context, tx *pg.Tx, args turn.DeliverArgs) error
	// Forget ends what an agent (zero: every agent) had to answer in a room it no
	// longer sits in; Withdraw what a deleted message had asked for. Either may be nil.
	Forget   func(ctx context.Context, tx *pg.Tx, conv id.Conversation, agent id.Participant) error
	Withdraw func(ctx context.Context, tx *pg.Tx, mid id.Message) error
	// Settle ends what waits to be answered in a room that was closed; a turn that
	// runs goes on. May be nil.
	Settle func(ctx context.Context, tx *pg.Tx, conv id.Conversation) error
	// Answered takes a person's message as the answer to a question of a task's run, if it
	// is one; it is asked about messages in work rooms and about quotes. May be nil.
	Answered func(ctx context.Context, tx *pg.Tx, room id.Conversation, work bool, who id.Participant, quoted *id.Message, text string) (bool, error)
	// Busy hears, after the commit, that a person's message waits for these agents. It must
	// not block. May be nil.
	Busy func(room id.Conversation, who id.Participant, agents []id.Participant)
	// Remember keeps what an agent's words want remembered, and gives the tags that were
	// kept: the others stay in the text. May be nil.
	Remember func(ctx context.Context, tx *pg.Tx, agent access.Actor, at Learned, tags []memory.Tagged) ([]memory.Tagged, error)
	// Posting bounds what one participant may post (decision 5): limit.New(50, 500, 100_000). Nil is no limit.
	Posting *limit.Buckets
	Log     *slog.Logger

	gate roomGate
}

// lane is the one lane of a room (decision 21).
func lane(c id.Conversation) string { return event.ConversationTopic(c.String()) }

// facts is what access decides about.
func facts(r chat.Room, role string) access.RoomFacts {
	return access.RoomFacts{ID: r.ID, Type: r.Type, CreatedBy: r.CreatedBy, Role: role, Closed: r.Closed()}
}

// Readable is the role of an actor in a room they may read; fault.ErrNotFound
// otherwise. People look into the huddles of their rooms (decision 22). It is cheap:
// one statement.
func (c *Chat) Readable(ctx context.Context, q pg.Querier, actor access.Actor, conv id.Conversation) (role string, err error) {
	if actor.Kind == access.Job {
		return chat.Admin, nil
	}
	read := chat.Role
	if actor.IsPerson() {
		read = chat.ReaderRole
	}
	if role, err = read(ctx, q, conv, actor.ID); err != nil {
		return "", err
	}
	return role, access.ReadRoom(actor, access.RoomFacts{ID: conv, Role: role})
}

// locked is a room under its lock, with its seats and the actor's place in it.
type locked struct {
	chat.Room
	seats []view.Seat
	role  string      // of the actor; "" is no member
	self  view.Member // the actor; zero when no member
}

// lock takes the room's lock for a change by the actor, who may at least read it.
// Further reads under the lock go in the same round trip.
func (c *Chat) lock(ctx context.Context, tx *pg.Tx, actor access.Actor, conv id.Conversation, further ...func(*pg.Batch)) (*locked, error) {
	l := &locked{}
	var b pg.Batch
	var there, member bool
	chat.AddLock(&b, conv, &l.Room, &there)
	if !actor.ID.IsZero() {
		view.AddMember(&b, conv, actor.ID, &l.self, &member)
	}
	view.AddSeats(&b, conv, &l.seats)
	for _, add := range further {
		add(&b)
	}
	if err := pg.Run(ctx, tx, &b); err != nil {
		return nil, fmt.Errorf("lock room: %w", err)
	}
	if !there {
		return nil, chat.ErrRoomNotFound
	}
	if member {
		l.role = l.self.Role
	}
	return l, access.ReadRoom(actor, facts(l.Room, l.role))
}

// everybody is the ids of all members but one.
func (l *locked) everybody(but id.Participant) []id.Participant {
	out := make([]id.Participant, 0, len(l.seats))
	for _, s := range l.seats {
		if s.ID != but {
			out = append(out, s.ID)
		}
	}
	return out
}

// record gives a change of the room its seq. payload is what a client that missed
// the event is told; nil when it is read from the subject.
func record(ctx context.Context, tx *pg.Tx, conv id.Conversation, name string, subject uuid.UUID, payload map[string]any) (int64, error) {
	var raw json.RawMessage
	if payload != nil {
		b, err := json.Marshal(payload)
		if err != nil {
			return 0, fmt.Errorf("record %s: %w", name, err)
		}
		raw = b
	}
	return chat.RecordTx(ctx, tx, conv, name, subject, raw)
}

// PatchMetadataTx merges top-level keys into a message's metadata, nil removes a
// key, and tells the room, for what becomes of a message: awaiting_agent,
// not_answered. It does nothing when nothing changes or the message is gone. It
// locks the room: a caller that holds queue rows must have locked it before them.
func (c *Chat) PatchMetadataTx(ctx context.Context, tx *pg.Tx, conv id.Conversation, mid id.Message, set map[string]any) error {
	raw, err := json.Marshal(set)
	if err != nil {
		return fmt.Errorf("patch metadata: %w", err)
	}
	meta, seq, changed, err := chat.PatchMessageTx(ctx, tx, conv, mid, raw)
	if err != nil || !changed {
		return err
	}
	tx.Publish(lane(conv), MessageMetadataChanged{inRoom: inRoom{conv}, MessageID: mid, Metadata: meta, Seq: seq})
	return nil
}
