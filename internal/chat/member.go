package chat

import (
	"context"
	"fmt"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// The roles of members. Observers read and do not write.
const (
	Admin    = "admin"
	Member   = "member"
	Observer = "observer"
)

// AddMembersTx gives participants a seat; those who have one keep it. What was
// said before they came counts as read. It returns who is new, in the order given.
func AddMembersTx(ctx context.Context, tx *pg.Tx, c id.Conversation, role string, who ...id.Participant) ([]id.Participant, error) {
	var added []id.Participant
	for _, p := range who {
		tag, err := tx.Exec(ctx, sqlAddMember, c, p, role)
		if err != nil {
			return nil, fmt.Errorf("add member: %w", err)
		}
		if tag.RowsAffected() == 1 {
			added = append(added, p)
		}
	}
	return added, nil
}

// RemoveMemberTx takes a seat away; false when there was none.
func RemoveMemberTx(ctx context.Context, tx *pg.Tx, c id.Conversation, p id.Participant) (bool, error) {
	tag, err := tx.Exec(ctx, sqlRemoveMember, c, p)
	if err != nil {
		return false, fmt.Errorf("remove member: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// GroupsOf lists the groups and channels, huddles among them, in which somebody has a seat.
func GroupsOf(ctx context.Context, q pg.Querier, p id.Participant) ([]id.Conversation, error) {
	return conversations(ctx, q, sqlGroupsOf, p)
}

// SetRoleTx changes a member's role.
func SetRoleTx(ctx context.Context, tx *pg.Tx, c id.Conversation, p id.Participant, role string) error {
	return exec(ctx, tx, "set role", sqlSetRole, c, p, role)
}

// Role is the participant's role in a room that is not deleted; "" for
// non-members and absent rooms.
func Role(ctx context.Context, q pg.Querier, c id.Conversation, p id.Participant) (string, error) {
	var role string
	err := q.QueryRow(ctx, sqlRole, c, p).Scan(&role)
	if pg.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("load role: %w", err)
	}
	return role, nil
}

// ReadNextTx moves the read mark of a participant, who had read everything before it,
// over the message of this number. Whoever had not stays where they were: false.
func ReadNextTx(ctx context.Context, tx *pg.Tx, c id.Conversation, p id.Participant, seq int64) (bool, error) {
	n, err := tx.Exec(ctx, sqlReadNext, c, p, seq)
	if err != nil {
		return false, fmt.Errorf("mark read: %w", err)
	}
	return n.RowsAffected() == 1, nil
}

// MarkReadTx moves the participant's read mark to a message, or with a zero or
// unknown one to the newest, never back. It tells whether that is all of the room.
func MarkReadTx(ctx context.Context, tx *pg.Tx, c id.Conversation, p id.Participant, upTo id.Message) (all bool, err error) {
	if err := tx.QueryRow(ctx, sqlMarkRead, c, p, upTo).Scan(&all); err != nil && !pg.IsNotFound(err) {
		return false, fmt.Errorf("mark read: %w", err)
	}
	return all, nil
}
