package view

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// Member is a seat with what everybody in the room may know of who sits there.
type Member struct {
	ConversationID id.Conversation
	ParticipantID  id.Participant
	Role           string
	LastReadSeq    int64
	JoinedAt       time.Time
	Kind           string // human | agent
	DisplayName    string
	AvatarURL      *string
	Status         string
	OwnerID        id.Participant // of an agent
	Description    string         // of an agent
	Capabilities   []string       // of an agent
	Runtime        string         // of an agent
	ExternalTool   *string        // of an agent of runtime external
	InsertedAt     time.Time      // of the participant
}

// IsAgent reports an agent.
func (m Member) IsAgent() bool { return m.Kind == chat.Agent }

// Conversation is a room with its members and newest row, as one viewer sees it:
// the counts and the read mark are the viewer's, and stay zero when there is none.
type Conversation struct {
	chat.Room
	Members      []Member
	LastMessage  *Message
	Unread       int
	MentionCount int
	LastReadSeq  int64
	MessageCount int // of a huddle: what is listed of it
}

// Member is the seat of a participant.
func (c Conversation) Member(p id.Participant) (Member, bool) {
	for _, m := range c.Members {
		if m.ParticipantID == p {
			return m, true
		}
	}
	return Member{}, false
}

const memberColumns = `s.conversation_id, s.participant_id, s.role, s.last_read_seq, s.joined_at, p.kind, p.display_name, p.avatar_url, p.status,
	a.owner_id, coalesce(a.description, '') AS description, a.capabilities, coalesce(a.runtime, '') AS runtime, a.external_tool, p.inserted_at`

const roomColumns = `c.id, c.type, c.title, c.avatar_url, c.created_by, c.organization_id, c.parent_conversation_id, c.metadata,
	c.agents_add_without_asking, c.version, c.message_seq, c.last_message_at, c.agent_streak, c.streak_notice, c.inserted_at, c.updated_at, c.deleted_at`

// Of one room by =, for which Postgres keeps a plan; for a list it plans each time.
const roomMembersSQL = `SELECT ` + memberColumns + ` FROM conversation_members s JOIN participants p ON p.id = s.participant_id
	LEFT JOIN agents a ON a.id = s.participant_id WHERE s.conversation_id = $1::uuid ORDER BY s.joined_at, s.participant_id`

const (
	membersSQL = `SELECT ` + memberColumns + ` FROM conversation_members s JOIN participants p ON p.id = s.participant_id
		LEFT JOIN agents a ON a.id = s.participant_id WHERE s.conversation_id = ANY($1::uuid[]) ORDER BY s.joined_at, s.participant_id`

	roomSQL = `SELECT ` + roomColumns + ` FROM conversations c WHERE c.id = $1::uuid AND c.deleted_at IS NULL`

	// Rooms of a workspace the viewer is no member of (somebody else's) are listed in every one of theirs.
	personalRoomsSQL = `SELECT ` + roomColumns + ` FROM conversation_members me JOIN conversations c ON c.id = me.conversation_id
		WHERE me.participant_id = $1::uuid AND c.deleted_at IS NULL AND c.type <> 'task' AND c.parent_conversation_id IS NULL
		AND ($2::uuid IS NULL OR c.organization_id = $2::uuid OR NOT EXISTS (
			SELECT 1 FROM memberships w WHERE w.organization_id = c.organization_id AND w.account_id = $1::uuid))
		AND ($3::timestamptz IS NULL OR c.updated_at < $3::timestamptz)
		ORDER BY c.updated_at DESC, c.id LIMIT $4::integer`

	sideRoomsSQL = `SELECT ` + roomColumns + ` FROM conversation_members me JOIN conversations c ON c.id = me.conversation_id
		WHERE me.participant_id = $1::uuid AND c.deleted_at IS NULL AND c.type <> 'task' AND c.parent_conversation_id IS NOT NULL
		AND ($2::uuid IS NULL OR c.parent_conversation_id = $2::uuid)
		ORDER BY c.updated_at DESC, c.id LIMIT $3::integer`

	huddlesOfSQL = `SELECT ` + roomColumns + ` FROM conversations c
		WHERE c.parent_conversation_id = $1::uuid AND c.deleted_at IS NULL AND c.type <> 'task' ORDER BY c.updated_at DESC, c.id LIMIT $2::integer`

	messageCountsSQL = `SELECT m.conversation_id, count(*)::integer FROM messages m WHERE m.conversation_id = ANY($1::uuid[]) AND m.deleted_at IS NULL
		AND (m.message_type IS NULL OR m.message_type NOT IN ` + hiddenTypes + `) GROUP BY m.conversation_id`
)

// MembersOf are the members of a room in the order in which they came.
func MembersOf(ctx context.Context, q pg.Querier, c id.Conversation) ([]Member, error) {
	return pg.Rows[Member](ctx, q, "list members", roomMembersSQL, c)
}

// OneConversation is a room with everything; fault.ErrNotFound when absent. It
// does not ask whether the viewer is a member: look at Member.
func OneConversation(ctx context.Context, q pg.Querier, c id.Conversation, viewer id.Participant) (Conversation, error) {
	rows, err := q.Query(ctx, roomSQL, c)
	if err != nil {
		return Conversation{}, fmt.Errorf("load conversation: %w", err)
	}
	r, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[chat.Room])
	if errors.Is(err, pgx.ErrNoRows) {
		return Conversation{}, fault.ErrNotFound
	}
	if err != nil {
		return Conversation{}, fmt.Errorf("load conversation: %w", err)
	}
	full, err := fill(ctx, q, []chat.Room{r}, viewer)
	if err != nil {
		return Conversation{}, err
	}
	return full[0], nil
}

// PersonalRooms are the rooms of a participant in a workspace (zero: in all),
// newest first, changed before the given time.
func PersonalRooms(ctx context.Context, q pg.Querier, viewer id.Participant, org id.Organization, before *time.Time, limit int) ([]Conversation, error) {
	return rooms(ctx, q, viewer, personalRoomsSQL, viewer, org, before, limit)
}

// SideRooms are the huddles a participant sits in, below one room or all.
func SideRooms(ctx context.Context, q pg.Querier, viewer id.Participant, parent id.Conversation, limit int) ([]Conversation, error) {
	return rooms(ctx, q, viewer, sideRoomsSQL, viewer, parent, limit)
}

// HuddlesOf are all huddles right below a room, as one of its members sees them.
func HuddlesOf(ctx context.Context, q pg.Querier, viewer id.Participant, parent id.Conversation, limit int) ([]Conversation, error) {
	return rooms(ctx, q, viewer, huddlesOfSQL, parent, limit)
}

func rooms(ctx context.Context, q pg.Querier, viewer id.Participant, sql string, args ...any) ([]Conversation, error) {
	rs, err := pg.Rows[chat.Room](ctx, q, "list conversations", sql, args...)
	if err != nil {
		return nil, err
	}
	return fill(ctx, q, rs, viewer)
}

// fill adds members, newest rows and counts in three statements.
func fill(ctx context.Context, q pg.Querier, rs []chat.Room, viewer id.Participant) ([]Conversation, error) {
	out := make([]Conversation, len(rs))
	if len(rs) == 0 {
		return out, nil
	}
	at := make(map[id.Conversation]int, len(rs))
	ids := make([]id.Conversation, len(rs))
	for i, r := range rs {
		out[i] = Conversation{Room: r, Members: []Member{}}
		at[r.ID], ids[i] = i, r.ID
	}
	members, err := pg.Rows[Member](ctx, q, "list members", membersSQL, id.Strings(ids))
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		c := &out[at[m.ConversationID]]
		c.Members = append(c.Members, m)
		if m.ParticipantID == viewer {
			c.LastReadSeq = m.LastReadSeq
		}
	}
	last, err := LastMessages(ctx, q, ids)
	if err != nil {
		return nil, err
	}
	var counts map[id.Conversation]Unread
	if !viewer.IsZero() {
		if counts, err = UnreadIn(ctx, q, viewer, ids); err != nil {
			return nil, err
		}
	}
	if err := countHuddles(ctx, q, out, at); err != nil {
		return nil, err
	}
	for i := range out {
		if m, ok := last[out[i].ID]; ok {
			out[i].LastMessage = &m
		}
		n := counts[out[i].ID]
		out[i].Unread, out[i].MentionCount = n.Messages, n.Mentions
	}
	return out, nil
}

// countHuddles counts what was said in those of the rooms that are huddles.
func countHuddles(ctx context.Context, q pg.Querier, list []Conversation, at map[id.Conversation]int) error {
	var ids []id.Conversation
	for _, c := range list {
		if c.IsHuddle() {
			ids = append(ids, c.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := q.Query(ctx, messageCountsSQL, id.Strings(ids))
	if err != nil {
		return fmt.Errorf("count messages: %w", err)
	}
	var c id.Conversation
	var n int
	_, err = pgx.ForEachRow(rows, []any{&c, &n}, func() error {
		list[at[c]].MessageCount = n
		return nil
	})
	if err != nil {
		return fmt.Errorf("count messages: %w", err)
	}
	return nil
}

// Seat is a member as a post needs it: rooms may have thousands.
type Seat struct {
	ID   id.Participant
	Kind SeatKind
}

// SeatKind says what a seat is to a message.
type SeatKind byte

// The kinds of seats. An agent that is deactivated or observes is not woken.
const (
	SeatPerson   SeatKind = 'p'
	SeatObserver SeatKind = 'o' // a person
	SeatAgent    SeatKind = 'a'
	SeatAsleep   SeatKind = 'x' // an agent
	SeatExternal SeatKind = 'e' // an agent whose messages wait in its inbox: a person's CLI speaks for it
)

// One row for all: reading a thousand rows one by one costs more than the message.
const seatsSQL = `SELECT coalesce(string_agg(uuid_send(s.participant_id), ''::bytea ORDER BY s.joined_at, s.participant_id), ''::bytea) AS ids,
		coalesce(string_agg(CASE WHEN p.kind = 'human' THEN CASE WHEN s.role = 'observer' THEN 'o' ELSE 'p' END
			WHEN p.status <> 'active' OR s.role = 'observer' THEN 'x'
			WHEN EXISTS (SELECT 1 FROM agents g WHERE g.id = p.id AND g.runtime = 'external') THEN 'e' ELSE 'a' END, '' ORDER BY s.joined_at, s.participant_id), '') AS kinds
	FROM conversation_members s JOIN participants p ON p.id = s.participant_id WHERE s.conversation_id = $1::uuid`

// SeatsOf are the seats of a room in the order in which they were taken.
func SeatsOf(ctx context.Context, q pg.Querier, c id.Conversation) ([]Seat, error) {
	var b pg.Batch
	var out []Seat
	AddSeats(&b, c, &out)
	if err := pg.Run(ctx, q, &b); err != nil {
		return nil, fmt.Errorf("list seats: %w", err)
	}
	return out, nil
}

// AddSeats is SeatsOf in a batch.
func AddSeats(b *pg.Batch, c id.Conversation, into *[]Seat) {
	var ids []byte
	var kinds string
	var found bool
	read := pg.ReadValues(&found, &ids, &kinds)
	b.Add(func(rows pgx.Rows) error {
		if err := read(rows); err != nil {
			return err
		}
		if len(ids) != 16*len(kinds) {
			return fmt.Errorf("%d bytes for %d seats", len(ids), len(kinds))
		}
		*into = make([]Seat, len(kinds))
		for i := range *into {
			(*into)[i] = Seat{ID: id.From[id.Participant](uuid.UUID(ids[16*i : 16*i+16])), Kind: SeatKind(kinds[i])}
		}
		return nil
	}, seatsSQL, c)
}

const oneMemberSQL = `SELECT ` + memberColumns + ` FROM conversation_members s JOIN participants p ON p.id = s.participant_id
	LEFT JOIN agents a ON a.id = s.participant_id WHERE s.conversation_id = $1::uuid AND s.participant_id = $2::uuid`

// MemberOf is one seat with its participant; false when there is none.
func MemberOf(ctx context.Context, q pg.Querier, c id.Conversation, p id.Participant) (m Member, ok bool, err error) {
	var b pg.Batch
	AddMember(&b, c, p, &m, &ok)
	if err := pg.Run(ctx, q, &b); err != nil {
		return Member{}, false, fmt.Errorf("load member: %w", err)
	}
	return m, ok, nil
}

// AddMember is MemberOf in a batch.
func AddMember(b *pg.Batch, c id.Conversation, p id.Participant, into *Member, found *bool) {
	b.Add(pg.ReadOne(into, found), oneMemberSQL, c, p)
}
