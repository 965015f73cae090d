package approval

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// The scopes that a person may choose with a yes (docs/protocol.md 9).
const (
	Once      = "once"
	ThisExact = "exact"
	ThisRoom  = "room"
	Pattern   = "pattern"
)

// Grant is a standing yes. ConversationID zero: wherever the agent works.
type Grant struct {
	ID             id.Grant
	AgentID        id.Participant
	GrantedBy      id.Participant
	ToolName       string
	Kind           ScopeKind
	Facet          *string
	ActionHash     *string
	ConversationID id.Conversation
	Uses           int64
	LastUsedAt     *time.Time
	ExpiresAt      time.Time
	RevokedAt      *time.Time
	InsertedAt     time.Time
}

// Scopes lists what a person may choose for a request.
func (a Approval) Scopes() []string {
	if a.DecidersNeeded > 1 {
		return []string{Once} // one of two must not allow it for good
	}
	out := []string{Once, ThisExact}
	if !a.ConversationID.IsZero() {
		out = append(out, ThisRoom)
	}
	if a.ScopeFacet != nil {
		out = append(out, Pattern)
	}
	return out
}

// GrantFor is the standing yes that a scope means for a request; false for Once.
// A fault when the request has no such scope.
func (a Approval) GrantFor(scope string, by id.Participant) (Grant, bool, error) {
	g := Grant{AgentID: a.AgentID, GrantedBy: by, ToolName: a.ToolName}
	switch {
	case scope == Once:
		return Grant{}, false, nil
	case a.DecidersNeeded > 1:
		return Grant{}, false, fault.New(fault.Invalid, "invalid", "What two people have to allow cannot be allowed for good.").With("scope", "unknown", "must be once")
	case scope == ThisExact:
		g.Kind, g.ActionHash = ScopeExact, &a.ActionHash
	case scope == ThisRoom && !a.ConversationID.IsZero():
		g.Kind, g.ConversationID = ScopeAny, a.ConversationID
	case scope == Pattern && a.ScopeFacet != nil:
		g.Kind, g.Facet = a.ScopeKind, a.ScopeFacet
	default:
		return Grant{}, false, fault.New(fault.Invalid, "invalid", "This request cannot be allowed in this way.").With("scope", "unknown", "must be one of the request's scopes")
	}
	return g, true, nil
}

// Covers reports that a live grant includes the action in the room. The caller
// has matched agent, tool and granter.
func (g Grant) Covers(act Action, room id.Conversation) bool {
	if !g.ConversationID.IsZero() && g.ConversationID != room {
		return false
	}
	if g.Kind == ScopeExact {
		return g.ActionHash != nil && *g.ActionHash == act.Hash
	}
	s := Scope{Kind: g.Kind}
	if g.Facet != nil {
		s.Facet = *g.Facet
	}
	return s.covers(g.ToolName, Input(act.Text))
}

// GrantTx stores a standing yes. fault.Exhausted beyond MaxGrants of the agent.
func GrantTx(ctx context.Context, tx *pg.Tx, g Grant, life time.Duration) (Grant, error) {
	var have int
	if err := tx.QueryRow(ctx, queryCountGrants, g.AgentID).Scan(&have); err != nil {
		return Grant{}, fmt.Errorf("count grants: %w", err)
	}
	if have >= MaxGrants {
		return Grant{}, fault.Newf(fault.Exhausted, "too_many_grants", "An agent can have at most %d standing permissions. Revoke one first.", MaxGrants)
	}
	rows, err := tx.Query(ctx, queryGrant, id.New[id.Grant](), g.AgentID, g.GrantedBy, g.ToolName, string(g.Kind), g.Facet, g.ActionHash, g.ConversationID, life.Seconds())
	if err != nil {
		return Grant{}, fmt.Errorf("store grant: %w", err)
	}
	out, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Grant])
	if err != nil {
		return Grant{}, fmt.Errorf("store grant: %w", err)
	}
	return out, nil
}

// UseGrantTx finds a live grant, of one of those who may decide, that covers the
// action, and counts its use; zero when there is none. onlyExact: patterns and
// whole tools do not count.
func UseGrantTx(ctx context.Context, tx *pg.Tx, n New, onlyExact bool) (id.Grant, error) {
	rows, err := tx.Query(ctx, queryGrantsFor, n.AgentID, n.ToolName, id.Strings(n.Approvers), n.ConversationID)
	if err != nil {
		return id.Grant{}, fmt.Errorf("list grants: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[Grant])
	if err != nil {
		return id.Grant{}, fmt.Errorf("list grants: %w", err)
	}
	for _, g := range list {
		if !g.Covers(n.Action, n.ConversationID) || (onlyExact && g.Kind != ScopeExact) {
			continue
		}
		tag, err := tx.Exec(ctx, queryUseGrant, g.ID)
		if err != nil {
			return id.Grant{}, fmt.Errorf("use grant: %w", err)
		}
		if tag.RowsAffected() == 1 { // not revoked in this moment
			return g.ID, nil
		}
	}
	return id.Grant{}, nil
}

// RevokeTx ends a grant of this person; fault.ErrNotFound when they gave no such
// one that lives.
func RevokeTx(ctx context.Context, tx *pg.Tx, g id.Grant, by id.Participant) error {
	tag, err := tx.Exec(ctx, queryRevoke, g, by)
	if err != nil {
		return fmt.Errorf("revoke grant: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return fault.ErrNotFound
	}
	return nil
}

// RevokeAllTx ends every grant of an agent.
func RevokeAllTx(ctx context.Context, tx *pg.Tx, agent id.Participant) error {
	if _, err := tx.Exec(ctx, queryRevokeAll, agent); err != nil {
		return fmt.Errorf("revoke grants: %w", err)
	}
	return nil
}

// InputOf is the canonical input of what may run: the edited one when there is one.
func (a Approval) InputOf() json.RawMessage {
	if a.EditedAction != nil {
		return Input(*a.EditedAction)
	}
	return Input(a.Action)
}
