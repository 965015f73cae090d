package flow

import (
	"context"
	"slices"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/approval"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/workspace"
)

// mayRule: an agent's owner makes its rule; who runs a workspace makes that of the
// workspace. To everybody else the place does not exist.
func (s *Approvals) mayRule(ctx context.Context, actor access.Actor, p approval.Place) error {
	if !p.AgentID.IsZero() {
		a, err := view.OneAgent(ctx, s.DB, p.AgentID)
		if err != nil {
			return err
		}
		return access.ManageAgent(actor, access.AgentFacts{ID: a.ID, OwnerID: a.OwnerID, OrganizationIDs: a.OrganizationIDs})
	}
	role, err := workspace.RoleOf(ctx, s.DB, p.OrganizationID, actor.ID)
	if err != nil {
		return err
	}
	return access.AdminWorkspace(actor, role)
}

// Rule is the rule of a place; nil where one person decides.
func (s *Approvals) Rule(ctx context.Context, actor access.Actor, p approval.Place) (*view.ApprovalRule, error) {
	if err := s.mayRule(ctx, actor, p); err != nil {
		return nil, err
	}
	return view.RuleAt(ctx, s.DB, p)
}

// SetRule demands two different people from a risk on. Requests that are open stay
// as they were asked.
func (s *Approvals) SetRule(ctx context.Context, actor access.Actor, p approval.Place, r approval.Rule) (out *view.ApprovalRule, err error) {
	if err := s.mayRule(ctx, actor, p); err != nil {
		return nil, err
	}
	slices.SortFunc(r.Deciders, func(a, b id.Participant) int { return compareText(a.String(), b.String()) })
	r.Deciders, r.SetBy = slices.Compact(r.Deciders), actor.ID
	if err := r.Check(); err != nil {
		return nil, err
	}
	known, err := view.Reachable(ctx, s.DB, actor.ID, actor.OwnerID, actor.OrganizationID, r.Deciders)
	if err != nil {
		return nil, err
	}
	people, err := view.ActivePeople(ctx, s.DB, r.Deciders)
	if err != nil {
		return nil, err
	}
	for _, d := range r.Deciders {
		if _, ok := known[d]; (!ok && d != actor.ID) || !slices.Contains(people, d) {
			return nil, fault.New(fault.Invalid, "invalid", "Only people can decide.").With("deciderIds", "unknown", d.String())
		}
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		if err := approval.SetRuleTx(ctx, tx, p, r); err != nil {
			return err
		}
		out, err = view.RuleAt(ctx, tx, p)
		return err
	})
	return out, err
}

// DropRule lets one person decide again.
func (s *Approvals) DropRule(ctx context.Context, actor access.Actor, p approval.Place) error {
	if err := s.mayRule(ctx, actor, p); err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error { return approval.DropRuleTx(ctx, tx, p) })
}

// ruleTx says how many have to allow a request, and adds who may. With a rule and
// nobody beside the owner nothing runs: approval.ErrNoSecond.
func (s *Approvals) ruleTx(ctx context.Context, tx *pg.Tx, n *approval.New) error {
	list, err := approval.RulesOf(ctx, tx, approval.Place{AgentID: n.AgentID, OrganizationID: n.OrganizationID})
	if err != nil {
		return err
	}
	n.DecidersNeeded = 1
	more := slices.Clone(n.Approvers)
	for _, r := range list {
		if r.Demands(n.Risk) {
			n.DecidersNeeded = 2
			more = append(more, r.Deciders...)
		}
	}
	if n.DecidersNeeded == 1 {
		return nil
	}
	if n.Approvers, err = view.ActivePeople(ctx, tx, more); err != nil {
		return err
	}
	if len(n.Approvers) < n.DecidersNeeded {
		return approval.ErrNoSecond
	}
	return nil
}

// oneOfTwoTx is a person's word about a locked request that two have to allow. A no
// ends it. A yes counts once for each person and for exactly what that person saw; a
// change starts the count anew with the one who made it.
func (s *Approvals) oneOfTwoTx(ctx context.Context, tx *pg.Tx, actor access.Actor, a approval.Approval, v Verdict) (view.Approval, error) {
	d := approval.Decision{By: actor.ID, Text: v.Text}
	if _, ok := approval.Next(a.Status, v.Act); !ok || a.Overdue || v.Act == approval.Deny {
		return s.actTx(ctx, tx, a, v.Act, d) // refuses, or denies
	}
	if v.Scope != approval.Once {
		_, _, err := a.GrantFor(v.Scope, actor.ID)
		return view.Approval{}, err
	}
	switch {
	case v.Act == approval.Edit:
		changed, err := s.proposeTx(ctx, tx, a, v)
		if err != nil {
			return view.Approval{}, err
		}
		a = changed
	case v.Hash == "" && a.ProposedHash != nil, v.Hash != "" && v.Hash != a.Current():
		return view.Approval{}, approval.ErrChanged
	}
	before, err := view.OneApproval(ctx, tx, a.ID)
	if err != nil {
		return view.Approval{}, err
	}
	votes, err := approval.VoteTx(ctx, tx, a, actor.ID)
	if err != nil {
		return view.Approval{}, err
	}
	if votes < a.DecidersNeeded {
		if slices.Contains(before.AllowedBy, actor.ID) {
			return view.Approval{}, approval.ErrSecond
		}
		out, err := view.OneApproval(ctx, tx, a.ID)
		if err == nil {
			publishAsked(tx, out)
		}
		return out, err
	}
	if a.ProposedAction == nil {
		d.Scope = approval.Once
		return s.actTx(ctx, tx, a, approval.Approve, d)
	}
	d.Edited = &approval.Action{Text: *a.ProposedAction, Hash: *a.ProposedHash}
	return s.actTx(ctx, tx, a, approval.Edit, d)
}

// proposeTx stores what a person wants to run instead; what is there already changes nothing.
func (s *Approvals) proposeTx(ctx context.Context, tx *pg.Tx, a approval.Approval, v Verdict) (approval.Approval, error) {
	if !a.Durable {
		return a, errNoEdits
	}
	if len(v.Input) == 0 {
		return a, fault.New(fault.Invalid, "invalid", "This is no decision.").With("input", "required", "what may run instead")
	}
	edited, err := approval.NewAction(a.ToolName, v.Input)
	switch {
	case err != nil:
		return a, err
	case edited.Hash == a.Current():
		return a, nil
	case edited.Hash == a.ActionHash: // back to what was asked
		return approval.ProposeTx(ctx, tx, a, nil)
	}
	return approval.ProposeTx(ctx, tx, a, &edited)
}
