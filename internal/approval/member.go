package approval

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// MemberRequest is an agent's question to the administrators of a room: let this
// person or agent in.
type MemberRequest struct {
	ID             id.MemberRequest
	OrganizationID id.Organization
	ConversationID id.Conversation
	AgentID        id.Participant
	ParticipantID  id.Participant
	TaskID         id.Task
	Reason         string
	Approvers      []id.Participant
	Status         State // pending | approved | denied | expired
	DecidedBy      id.Participant
	DecidedAt      *time.Time
	ExpiresAt      time.Time
	InsertedAt     time.Time
	Overdue        bool
}

// MayDecide reports that a person was asked.
func (m MemberRequest) MayDecide(who id.Participant) bool { return slices.Contains(m.Approvers, who) }

// MemberLife is how long such a question is open; MaxMemberRequests how many an agent
// may have open.
const (
	MemberLife        = 7 * 24 * time.Hour
	MaxMemberRequests = 20
)

// ErrAsked is the answer to who asks what is asked already.
var ErrAsked = fault.New(fault.Conflict, "already_asked", "The administrators of this room have been asked to let them in.")

// AskMemberTx stores a question. ErrAsked when it is open already, ErrTooMany beyond
// MaxMemberRequests of the agent.
func AskMemberTx(ctx context.Context, tx *pg.Tx, n MemberRequest) (MemberRequest, error) {
	var open int
	if err := tx.QueryRow(ctx, queryCountMembers, n.AgentID).Scan(&open); err != nil {
		return MemberRequest{}, fmt.Errorf("count member requests: %w", err)
	}
	if open >= MaxMemberRequests {
		return MemberRequest{}, ErrTooMany
	}
	out, err := members(ctx, tx, queryAskMember, id.New[id.MemberRequest](), n.OrganizationID, n.ConversationID, n.AgentID, n.ParticipantID, n.TaskID, n.Reason,
		id.Strings(n.Approvers), MemberLife.Seconds())
	switch {
	case err != nil:
		return MemberRequest{}, err
	case len(out) == 0:
		return MemberRequest{}, ErrAsked
	}
	return out[0], nil
}

// MemberRequestByID reads a question; fault.ErrNotFound when there is none.
func MemberRequestByID(ctx context.Context, q pg.Querier, m id.MemberRequest) (MemberRequest, error) {
	return oneMember(members(ctx, q, queryMember, m))
}

// LockMemberTx reads and locks a question; fault.ErrNotFound when there is none.
func LockMemberTx(ctx context.Context, tx *pg.Tx, m id.MemberRequest) (MemberRequest, error) {
	return oneMember(members(ctx, tx, queryMember+` FOR UPDATE`, m))
}

// DecideMemberTx ends a locked question. ErrDecided when it is not open, ErrExpired when
// its time is over.
func DecideMemberTx(ctx context.Context, tx *pg.Tx, m MemberRequest, to State, by id.Participant) (MemberRequest, error) {
	switch {
	case m.Status == Expired, m.Overdue && to != Expired:
		return m, ErrExpired
	case m.Status != Pending:
		return m, ErrDecided
	}
	list, err := members(ctx, tx, queryDecideMember, m.ID, string(to), by)
	if err == nil && len(list) == 0 { // its time ended in this moment
		return m, ErrExpired
	}
	return oneMember(list, err)
}

// ExpireMembersTx ends questions whose time is over, at most limit, and returns them.
func ExpireMembersTx(ctx context.Context, tx *pg.Tx, limit int) ([]MemberRequest, error) {
	return members(ctx, tx, queryExpireMembers, limit)
}

func oneMember(list []MemberRequest, err error) (MemberRequest, error) {
	if err == nil && len(list) == 0 {
		err = fault.ErrNotFound
	}
	if err != nil {
		return MemberRequest{}, err
	}
	return list[0], nil
}

func members(ctx context.Context, q pg.Querier, sql string, args ...any) ([]MemberRequest, error) {
	return pg.Rows[MemberRequest](ctx, q, "member requests", sql, args...)
}
