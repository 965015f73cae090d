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
	Attachments       []Attachment
	// Streak replaces what the room counts of agents' messages in a row; nil leaves it.
	Streak *Streak
}

// Streak is how many messages of agents stand in a row, and whether the notice
// about them was shown (decision 9).
type Streak struct {
	Count   int
	Noticed bool
}

// Placed is what the room gave a message.
type Placed struct {
	Version    int64
	MessageSeq int64
	At         time.Time
}

// AddInsert stores a message, moves the sender's read mark behind it and records
// the change, all in one statement of a batch. The room must be locked. The
// message gets the next dense number and a time later than every other in the
// room: p tells when the batch has run.
func AddInsert(b *pg.Batch, n NewMessage, p *Placed) {
	var key *string
	if n.ClientKey != "" {
		key = &n.ClientKey
	}
	var streak *int
	var noticed *bool
	if n.Streak != nil {
		streak, noticed = &n.Streak.Count, &n.Streak.Noticed
	}
	var found bool
	read := pg.ReadValues(&found, &p.Version, &p.MessageSeq, &p.At)
	b.Add(func(rows pgx.Rows) error {
		err := read(rows)
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && strings.HasPrefix(e.Code, "22") {
			return errData.Because(err)
		}
		if err == nil && !found {
			err = ErrRoomNotFound
		}
		if err != nil {
			return fmt.Errorf("insert message: %w", err)
		}
		return nil
	}, sqlInsertMessage, n.ID, n.ConversationID, n.SenderID, n.SenderKind, n.Content, n.ContentType, n.MessageType, nullJSON(n.ContentStructured),
		objectJSON(n.Metadata), n.ParentMessageID, n.CorrelationID, n.TurnGroupID, id.Strings(n.Mentions), key, streak, noticed, attachmentsJSON(n.Attachments))
}

// AddFindByKey finds the message that the sender stored under this key, in
// whatever room; m stays zero when there is none.
func AddFindByKey(b *pg.Batch, sender id.Participant, key string, m *id.Message, c *id.Conversation) {
	var found bool
	b.Add(pg.ReadValues(&found, m, c), sqlFindByKey, sender, key)
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

// PatchMessageTx locks the room, merges keys into a message's metadata, null removes
// a key, and records the change. It returns the whole map and the change's number;
// false when nothing changes, or the room or the message is gone.
func PatchMessageTx(ctx context.Context, tx *pg.Tx, c id.Conversation, m id.Message, patch json.RawMessage) (meta json.RawMessage, seq int64, changed bool, err error) {
	var b pg.Batch
	var room Room
	AddLock(&b, c, &room, new(bool))
	b.Add(pg.ReadValues(&changed, &meta, &seq), sqlPatchMessage, c, m, string(patch))
	if err := pg.Run(ctx, tx, &b); err != nil {
		return nil, 0, false, fmt.Errorf("patch message: %w", err)
	}
	return meta, seq, changed, nil
}

// SetAttachmentsTx replaces what a message says of its files, and its content, and
// records the change (event message_updated). The room must be locked. It returns the
// change's number; false when the message is gone.
func SetAttachmentsTx(ctx context.Context, tx *pg.Tx, c id.Conversation, m id.Message, files []Attachment, content string) (seq int64, ok bool, err error) {
	err = tx.QueryRow(ctx, sqlSetAttachments, c, m, attachmentsJSON(files), content).Scan(&seq)
	if pg.IsNotFound(err) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("set attachments: %w", err)
	}
	return seq, true, nil
}

func attachmentsJSON(files []Attachment) *string {
	if len(files) == 0 {
		return nil
	}
	b, err := json.Marshal(files)
	if err != nil { // ids, words and numbers: never
		return nil
	}
	return new(string(b))
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

// AddSeqOf is SeqOf in a batch.
func AddSeqOf(b *pg.Batch, c id.Conversation, m id.Message, seq *int64, found *bool) {
	b.Add(pg.ReadValues(found, seq), sqlSeqOf, c, m)
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
