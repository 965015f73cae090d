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

// Rule says from which risk on two different people have to allow what an agent, or
// every agent of a workspace, wants to run.
type Rule struct {
	LeastRisk Risk
	Deciders  []id.Participant // beside the agent's owner
	SetBy     id.Participant
	UpdatedAt time.Time
}

// MaxDeciders bounds the people of a rule.
const MaxDeciders = 20

// risks in their order.
var risks = []Risk{Low, Medium, High, Critical}

// Demands reports that the rule applies to a risk. One that is not known is the worst.
func (r Rule) Demands(risk Risk) bool {
	at := slices.Index(risks, risk)
	return at < 0 || at >= slices.Index(risks, r.LeastRisk)
}

// Check refuses a rule that could not be followed.
func (r Rule) Check() error {
	bad := fault.New(fault.Invalid, "invalid", "This is no rule.")
	switch {
	case !slices.Contains(risks, r.LeastRisk):
		return bad.With("leastRisk", "unknown", "low, medium, high or critical")
	case len(r.Deciders) == 0 || len(r.Deciders) > MaxDeciders:
		return bad.With("deciderIds", "count", fmt.Sprintf("1 to %d people beside the agent's owner", MaxDeciders))
	}
	return nil
}

// Place is what a rule is for: an agent, or a workspace.
type Place struct {
	AgentID        id.Participant
	OrganizationID id.Organization
}

// SetRuleTx stores the rule of a place, in the stead of an earlier one.
func SetRuleTx(ctx context.Context, tx *pg.Tx, p Place, r Rule) error {
	if err := DropRuleTx(ctx, tx, p); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, querySetRule, p.OrganizationID, p.AgentID, string(r.LeastRisk), id.Strings(r.Deciders), r.SetBy); err != nil {
		return fmt.Errorf("store rule: %w", err)
	}
	return nil
}

// DropRuleTx removes the rule of a place; none is no fault.
func DropRuleTx(ctx context.Context, tx *pg.Tx, p Place) error {
	if _, err := tx.Exec(ctx, queryDropRule, p.AgentID, p.OrganizationID); err != nil {
		return fmt.Errorf("drop rule: %w", err)
	}
	return nil
}

// RulesOf are the rules of an agent and of a workspace; either may be zero.
func RulesOf(ctx context.Context, q pg.Querier, p Place) ([]Rule, error) {
	return pg.Rows[Rule](ctx, q, "read rules", queryRules, p.AgentID, p.OrganizationID)
}

// Current is the hash of what a yes allows now: of the proposal of one of two deciders,
// else of what was asked.
func (a Approval) Current() string {
	if a.ProposedHash != nil {
		return *a.ProposedHash
	}
	return a.ActionHash
}

// VoteTx notes that a person has allowed exactly what would run now, and counts who
// has. The same person counts once. The request is locked.
func VoteTx(ctx context.Context, tx *pg.Tx, a Approval, by id.Participant) (votes int, err error) {
	if _, err := tx.Exec(ctx, queryVote, a.ID, by, a.Current()); err != nil {
		return 0, fmt.Errorf("store vote: %w", err)
	}
	if err := tx.QueryRow(ctx, queryVotes, a.ID, a.Current()).Scan(&votes); err != nil {
		return 0, fmt.Errorf("count votes: %w", err)
	}
	return votes, nil
}

// ProposeTx changes what a locked, open request of two deciders would run. Whoever
// allowed it before has not allowed this. nil takes the proposal back.
func ProposeTx(ctx context.Context, tx *pg.Tx, a Approval, p *Action) (Approval, error) {
	if _, err := tx.Exec(ctx, queryForgetVotes, a.ID); err != nil {
		return Approval{}, fmt.Errorf("forget votes: %w", err)
	}
	var text, hash *string
	if p != nil {
		text, hash = &p.Text, &p.Hash
	}
	return must(one(ctx, tx, "change proposal", queryPropose, a.ID, text, hash))
}
