package external

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// The bounds of an invite.
const (
	CodePrefix   = "inv_"
	DefaultHours = 72
	MaxHours     = 30 * 24
	MaxUses      = 100
	MaxInvites   = 200 // of one person, not yet over
)

// The states of an invite, derived.
const (
	InviteOpen    = "pending"
	InviteClaimed = "claimed" // its one use is used
	InviteUsedUp  = "exhausted"
	InviteRevoked = "revoked"
	InviteExpired = "expired"
)

// Invite is an agent_invites row without its code. Now is the database's time.
type Invite struct {
	ID           id.Invite
	CreatedBy    id.Participant
	AgentID      id.Participant // zero: each claim makes an agent
	DisplayName  string
	Description  string
	Capabilities []string
	CodeHash     []byte
	MaxUses      int
	Uses         int
	ExpiresAt    time.Time
	RevokedAt    *time.Time
	LastUsedAt   *time.Time
	InsertedAt   time.Time
	Now          time.Time
}

// State is what can still be done with it.
func (i Invite) State() string {
	switch {
	case i.RevokedAt != nil:
		return InviteRevoked
	case i.Uses >= i.MaxUses && i.MaxUses == 1:
		return InviteClaimed
	case i.Uses >= i.MaxUses:
		return InviteUsedUp
	case !i.Now.Before(i.ExpiresAt):
		return InviteExpired
	}
	return InviteOpen
}

// NewInvite is what InsertInviteTx stores.
type NewInvite struct {
	CreatedBy    id.Participant
	AgentID      id.Participant
	DisplayName  string
	Description  string
	Capabilities []string
	MaxUses      int
	Hours        int
}

// ErrInviteUnknown tells nothing about why.
var ErrInviteUnknown = fault.New(fault.NotFound, "invite_not_found", "There is no such invite.")

const lookupLen = 16 // hex characters

// InsertInviteTx makes an invite; the code is shown once.
func InsertInviteTx(ctx context.Context, tx *pg.Tx, n NewInvite) (Invite, string, error) {
	lookup, secret := make([]byte, lookupLen/2), make([]byte, 32)
	_, _ = rand.Read(lookup)
	_, _ = rand.Read(secret)
	prefix := hex.EncodeToString(lookup)
	code := CodePrefix + prefix + "_" + base64.RawURLEncoding.EncodeToString(secret)
	hash := sha256.Sum256([]byte(code)) // 256 random bits need no salt
	caps := n.Capabilities
	if caps == nil {
		caps = []string{}
	}
	i, err := oneInvite(ctx, tx, sqlInsertInvite, n.CreatedBy, n.AgentID, n.DisplayName, n.Description, caps, prefix, hash[:], n.MaxUses, n.Hours)
	return i, code, err
}

// InviteByCode finds an invite by its code, or answers ErrInviteUnknown.
func InviteByCode(ctx context.Context, q pg.Querier, code string) (Invite, error) {
	return byCode(ctx, q, sqlInviteByPrefix, code)
}

// LockInviteTx is InviteByCode under the row's lock: of two claims one is first.
func LockInviteTx(ctx context.Context, tx *pg.Tx, code string) (Invite, error) {
	return byCode(ctx, tx, sqlLockInvite, code)
}

func byCode(ctx context.Context, q pg.Querier, sql, code string) (Invite, error) {
	rest, ok := strings.CutPrefix(code, CodePrefix)
	if !ok || len(code) > 200 || len(rest) < lookupLen+2 || rest[lookupLen] != '_' {
		return Invite{}, ErrInviteUnknown
	}
	i, err := oneInvite(ctx, q, sql, rest[:lookupLen])
	if err != nil {
		return Invite{}, err
	}
	hash := sha256.Sum256([]byte(code))
	if subtle.ConstantTimeCompare(hash[:], i.CodeHash) != 1 {
		return Invite{}, ErrInviteUnknown
	}
	return i, nil
}

// UseInviteTx counts one claim of a locked invite.
func UseInviteTx(ctx context.Context, tx *pg.Tx, i id.Invite) error {
	if _, err := tx.Exec(ctx, sqlUseInvite, i); err != nil {
		return fmt.Errorf("use invite: %w", err)
	}
	return nil
}

// RevokeInviteTx ends an invite of that person; ErrInviteUnknown when it is not theirs.
func RevokeInviteTx(ctx context.Context, tx *pg.Tx, i id.Invite, by id.Participant) error {
	tag, err := tx.Exec(ctx, sqlRevokeInvite, i, by)
	if err != nil {
		return fmt.Errorf("revoke invite: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return ErrInviteUnknown
	}
	return nil
}

// Invites are what a person made, newest first, at most MaxInvites.
func Invites(ctx context.Context, q pg.Querier, by id.Participant) ([]Invite, error) {
	rows, err := q.Query(ctx, sqlInvites, by, MaxInvites)
	if err != nil {
		return nil, fmt.Errorf("list invites: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[Invite])
}

// CountOpenTx counts a person's invites that can still be claimed.
func CountOpenTx(ctx context.Context, tx *pg.Tx, by id.Participant) (n int, err error) {
	if err := tx.QueryRow(ctx, sqlCountInvites, by).Scan(&n); err != nil {
		return 0, fmt.Errorf("count invites: %w", err)
	}
	return n, nil
}

func oneInvite(ctx context.Context, q pg.Querier, sql string, args ...any) (Invite, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return Invite{}, fmt.Errorf("load invite: %w", err)
	}
	i, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Invite])
	if errors.Is(err, pgx.ErrNoRows) {
		return Invite{}, ErrInviteUnknown
	}
	if err != nil {
		return Invite{}, fmt.Errorf("load invite: %w", err)
	}
	return i, nil
}
