package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// The types of rooms. A task room is never listed; session rooms come with
// external sessions.
const (
	Direct  = "direct"
	Group   = "group"
	Channel = "channel"
	Task    = "task"
	Session = "session"
)

// Room is a conversations row.
type Room struct {
	ID                     id.Conversation
	Type                   string
	Title                  *string
	AvatarURL              *string
	CreatedBy              id.Participant
	OrganizationID         id.Organization
	ParentConversationID   id.Conversation
	Metadata               json.RawMessage
	AgentsAddWithoutAsking bool
	Version                int64
	MessageSeq             int64
	LastMessageAt          *time.Time
	AgentStreak            int
	StreakNotice           bool
	InsertedAt             time.Time
	UpdatedAt              time.Time
	DeletedAt              *time.Time
}

// Closed reports a huddle that was resolved or abandoned: it is read-only.
// Both spellings of the contract are read (desktop 0.2).
func (r Room) Closed() bool {
	return closedStatus(r.Metadata)
}

// SessionAgent is the agent whose CLI session a session room shows; "" in others.
func (r Room) SessionAgent() string {
	if r.Type != Session {
		return ""
	}
	var s sessionOf
	if json.Unmarshal(r.Metadata, &s) != nil {
		return ""
	}
	return s.Session.AgentID
}

// PatchRoomTx merges top-level keys into the metadata of a locked room and records
// the change. It returns the whole map and the change's number; false when nothing
// changes.
func PatchRoomTx(ctx context.Context, tx *pg.Tx, c id.Conversation, patch json.RawMessage) (meta json.RawMessage, seq int64, changed bool, err error) {
	err = tx.QueryRow(ctx, sqlPatchRoom, c, string(patch)).Scan(&meta, &seq)
	if pg.IsNotFound(err) {
		return nil, 0, false, nil
	}
	if err != nil {
		return nil, 0, false, fmt.Errorf("patch room: %w", err)
	}
	return meta, seq, true, nil
}

// NewRoom is what CreateTx stores. DirectKey is set for direct rooms only.
type NewRoom struct {
	ID             id.Conversation
	Type           string
	Title          *string
	CreatedBy      id.Participant
	OrganizationID id.Organization
	Metadata       json.RawMessage
	DirectKey      *string
	// ParentConversationID is the room that it was opened from; zero for none.
	ParentConversationID id.Conversation
	// HuddleKey names an open huddle below its parent; nil in other rooms.
	HuddleKey *string
}

// DirectKey names the pair of a direct room: unique per organisation (decision 6).
func DirectKey(a, b id.Participant) string {
	x, y := a.String(), b.String()
	if y < x {
		x, y = y, x
	}
	return x + ":" + y
}

// ErrRoomNotFound is the answer for a room that is absent or deleted.
var ErrRoomNotFound = fault.ErrNotFound

// CreateTx stores a room. For a direct room that exists already it stores
// nothing and returns false: the caller loads the existing one with FindDirect.
func CreateTx(ctx context.Context, tx *pg.Tx, n NewRoom) (created bool, err error) {
	meta := n.Metadata
	if len(meta) == 0 {
		meta = json.RawMessage("{}")
	}
	tag, err := tx.Exec(ctx, sqlCreateRoom, n.ID, n.Type, n.Title, n.CreatedBy, n.OrganizationID, string(meta), n.DirectKey, n.ParentConversationID, n.HuddleKey)
	if err != nil {
		return false, fmt.Errorf("create room: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// FindDirect is the direct room of a pair in an organisation; zero when there is none.
func FindDirect(ctx context.Context, q pg.Querier, org id.Organization, key string) (id.Conversation, error) {
	var c id.Conversation
	err := q.QueryRow(ctx, sqlFindDirect, org, key).Scan(&c)
	if pg.IsNotFound(err) {
		return id.Conversation{}, nil
	}
	if err != nil {
		return id.Conversation{}, fmt.Errorf("find direct room: %w", err)
	}
	return c, nil
}

// Get is a room that is not deleted, or ErrRoomNotFound.
func Get(ctx context.Context, q pg.Querier, c id.Conversation) (Room, error) {
	return oneRoom(ctx, q, sqlGetRoom, c)
}

// LockTx is Get under the row lock that every change of the room takes first
// (lock order: conversation before queue row). It blocks for other changes.
func LockTx(ctx context.Context, tx *pg.Tx, c id.Conversation) (Room, error) {
	return oneRoom(ctx, tx, sqlLockRoom, c)
}

// AddLock is LockTx in a batch: what the batch does next is done under the lock.
func AddLock(b *pg.Batch, c id.Conversation, into *Room, found *bool) {
	b.Add(pg.ReadOne(into, found), sqlLockRoom, c)
}

func oneRoom(ctx context.Context, q pg.Querier, sql string, c id.Conversation) (Room, error) {
	rows, err := q.Query(ctx, sql, c)
	if err != nil {
		return Room{}, fmt.Errorf("load room: %w", err)
	}
	r, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Room])
	if errors.Is(err, pgx.ErrNoRows) {
		return Room{}, ErrRoomNotFound
	}
	if err != nil {
		return Room{}, fmt.Errorf("load room: %w", err)
	}
	return r, nil
}

// SetTitleTx renames; nil clears. The caller records the change.
func SetTitleTx(ctx context.Context, tx *pg.Tx, c id.Conversation, title *string) error {
	return exec(ctx, tx, "set title", sqlSetTitle, c, title)
}

// SetAvatarTx sets the picture; nil clears.
func SetAvatarTx(ctx context.Context, tx *pg.Tx, c id.Conversation, url *string) error {
	return exec(ctx, tx, "set avatar", sqlSetAvatar, c, url)
}

// SetAgentsAddTx says whether agents may add others without asking.
func SetAgentsAddTx(ctx context.Context, tx *pg.Tx, c id.Conversation, yes bool) error {
	return exec(ctx, tx, "set agents-add", sqlSetAgentsAdd, c, yes)
}

// DeleteTx hides a room for good. Its rows stay until retention removes them.
func DeleteTx(ctx context.Context, tx *pg.Tx, c id.Conversation) error {
	return exec(ctx, tx, "delete room", sqlDeleteRoom, c)
}

func exec(ctx context.Context, tx *pg.Tx, what, sql string, args ...any) error {
	if _, err := tx.Exec(ctx, sql, args...); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
