// Package workspace owns organizations and memberships. Every person has one
// personal workspace, made with the account, never deleted or handed over (W1).
package workspace

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// Roles of a membership.
const (
	Owner  = "owner"
	Admin  = "admin"
	Member = "member"
)

// Membership is a workspace as one of its members sees it.
type Membership struct {
	OrganizationID id.Organization
	Name           string
	AvatarURL      *string
	IsPersonal     bool
	OwnerID        id.Participant
	Role           string
	InsertedAt     time.Time
	UpdatedAt      time.Time
}

// InsertPersonalTx makes the personal workspace of a new account.
func InsertPersonalTx(ctx context.Context, tx *pg.Tx, oid id.Organization, owner id.Participant, name string) error {
	if _, err := tx.Exec(ctx, insertPersonalSQL, oid, name, owner); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, insertMembershipSQL, oid, owner, Owner)
	return err
}

// RenamePersonalTx follows the name of its person.
func RenamePersonalTx(ctx context.Context, tx *pg.Tx, owner id.Participant, name string) error {
	_, err := tx.Exec(ctx, renamePersonalSQL, owner, name)
	return err
}

// ListOf reads the workspaces of a person, the personal one first.
func ListOf(ctx context.Context, q pg.Querier, account id.Participant) ([]Membership, error) {
	rows, err := q.Query(ctx, listOfSQL, account)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[Membership])
}

// RoleOf is the person's role in a workspace; fault.ErrNotFound when not a member.
func RoleOf(ctx context.Context, q pg.Querier, oid id.Organization, account id.Participant) (string, error) {
	var role string
	err := q.QueryRow(ctx, roleSQL, oid, account).Scan(&role)
	if pg.IsNotFound(err) {
		return "", fault.ErrNotFound
	}
	return role, err
}
