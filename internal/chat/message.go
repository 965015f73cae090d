package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// The limits of a message (decision 5).
const (
	MaxContent    = 100_000   // characters
	MaxMetadata   = 64 << 10  // bytes
	MaxStructured = 128 << 10 // bytes
	MaxClientKey  = 200
)

// The kinds of senders, as stored.
const (
	Human  = "human"
	Agent  = "agent"
	System = "system"
)

// ErrMessageNotFound is the answer for a message that is absent or deleted.
var ErrMessageNotFound = fault.ErrNotFound

// errData is for values that no column takes, such as a number of a million digits.
var errData = fault.New(fault.Invalid, "invalid", "This message holds a value that cannot be stored.")

// NewMessage is what InsertTx stores. Sender is zero for system lines.
type NewMessage struct {
	ID                id.Message
	ConversationID    id.Conversation
	SenderID          id.Participant
	SenderKind        string
	Content           string
	ContentType       string
	MessageType       *string
	ContentStructured json.RawMessage
	Metadata          json.RawMessage
	ParentMessageID   id.Message
	CorrelationID     *string
	TurnGroupID       *string
	Mentions          []id.Participant
	ClientKey         string
}

// Placed is what the room gave a message.
type Placed struct {
	Version    int64
	MessageSeq int64
	At         time.Time
}

// InsertTx stores a message, moves the sender's read mark behind it and records
// the change, all in one statement. The room must be locked by LockTx. The
// message gets the next dense number and a time later than every other in the
// room.
func InsertTx(ctx context.Context, tx *pg.Tx, n NewMessage) (Placed, error) {
	var p Placed
	var key *string
	if n.ClientKey != "" {
		key = &n.ClientKey
	}
	err := tx.QueryRow(ctx, sqlInsertMessage, n.ID, n.ConversationID, n.SenderID, n.SenderKind, n.Content, n.ContentType, n.MessageType,
		nullJSON(n.ContentStructured), objectJSON(n.Metadata), n.ParentMessageID, n.CorrelationID, n.TurnGroupID, id.Strings(n.Mentions), key).
		Scan(&p.Version, &p.MessageSeq, &p.At)
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && strings.HasPrefix(e.Code, "22") {
		return Placed{}, errData.Because(err)
	}
	if err != nil {
		return Placed{}, fmt.Errorf("insert message: %w", err)
	}
	return p, nil
}

// FindByKey is the message that the sender stored under this key, in whatever
// room; zero when there is none.
func FindByKey(ctx context.Context, q pg.Querier, sender id.Participant, key string) (m id.Message, c id.Conversation, err error) {
	err = q.QueryRow(ctx, sqlFindByKey, sender, key).Scan(&m, &c)
	if pg.IsNotFound(err) {
		return id.Message{}, id.Conversation{}, nil
	}
	if err != nil {
		return id.Message{}, id.Conversation{}, fmt.Errorf("find message by key: %w", err)
	}
	return m, c, nil
}

// Brief is what decisions about one message need.
type Brief struct {
	ID             id.Message
	ConversationID id.Conversation
	SenderID       id.Participant
	SenderKind     string
	Seq            int64
	InsertedAt     time.Time
}

// GetBrief is a message that is not deleted, or ErrMessageNotFound.
func GetBrief(ctx context.Context, q pg.Querier, m id.Message) (Brief, error) {
	rows, err := q.Query(ctx, sqlBrief, m)
	if err != nil {
		return Brief{}, fmt.Errorf("load message: %w", err)
	}
	b, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Brief])
	if errors.Is(err, pgx.ErrNoRows) {
		return Brief{}, ErrMessageNotFound
	}
	if err != nil {
		return Brief{}, fmt.Errorf("load message: %w", err)
	}
	return b, nil
}

// DeleteMessageTx takes a message away for good: the row stays for the order of
// the room, its text does not. False when it was deleted before.
func DeleteMessageTx(ctx context.Context, tx *pg.Tx, c id.Conversation, m id.Message) (bool, error) {
	tag, err := tx.Exec(ctx, sqlDeleteMessage, c, m)
	if err != nil {
		return false, fmt.Errorf("delete message: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// MergeMessageMetadataTx merges keys into a message's metadata, null removes a
// key. It returns the whole map and whether anything changed.
func MergeMessageMetadataTx(ctx context.Context, tx *pg.Tx, m id.Message, patch json.RawMessage) (meta json.RawMessage, changed bool, err error) {
	err = tx.QueryRow(ctx, sqlMergeMessageMetadata, m, string(patch)).Scan(&meta, &changed)
	if pg.IsNotFound(err) {
		return nil, false, ErrMessageNotFound
	}
	if err != nil {
		return nil, false, fmt.Errorf("merge message metadata: %w", err)
	}
	return meta, changed, nil
}

func nullJSON(m json.RawMessage) *string {
	if len(m) == 0 || string(m) == "null" {
		return nil
	}
	return new(string(m))
}

func objectJSON(m json.RawMessage) string {
	if len(m) == 0 || string(m) == "null" {
		return "{}"
	}
	return string(m)
}

// InRoom reports whether a message, deleted ones too, belongs to a room.
func InRoom(ctx context.Context, q pg.Querier, c id.Conversation, m id.Message) (bool, error) {
	_, ok, err := SeqOf(ctx, q, c, m)
	return ok, err
}

// SeqOf is the number of a message, deleted ones too, in a room; false when it
// is not there.
func SeqOf(ctx context.Context, q pg.Querier, c id.Conversation, m id.Message) (seq int64, ok bool, err error) {
	err = q.QueryRow(ctx, sqlSeqOf, c, m).Scan(&seq)
	if pg.IsNotFound(err) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("find message: %w", err)
	}
	return seq, true, nil
}
