package flow

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/approval"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/view"
)

// Verdict is what a person says to a request.
type Verdict struct {
	Act       approval.Act    // approve | deny | edit
	Scope     string          // once | exact | room | pattern; "" is once
	GrantDays int             // life of the standing yes; 0 is 30 days
	Text      string          // for the agent
	Input     json.RawMessage // what may run instead, for edit
	Hash      string          // of what the person saw; "" by clients that do not tell
}

// ScopeAlways is what "always" means to a client that knows no scopes (desktop
// 4.9): the pattern that was derived, else this very action.
const ScopeAlways = "always"

// errNoEdits: a polling bridge echoes its own input, so an edit would be ignored.
var errNoEdits = fault.New(fault.Invalid, "edits_not_supported", "The bridge that asked cannot run another input. Approve it or deny it.")

func (v *Verdict) check() error {
	bad := fault.New(fault.Invalid, "invalid", "This is no decision.")
	if v.Scope == "" {
		v.Scope = approval.Once
	}
	switch {
	case v.Act != approval.Approve && v.Act != approval.Deny && v.Act != approval.Edit:
		return bad.With("decision", "unknown", "approve, deny or edit")
	case v.Act != approval.Approve && v.Scope != approval.Once:
		return bad.With("scope", "unknown", "only what is approved as it is can be allowed for good")
	case utf8.RuneCountInString(v.Text) > approval.MaxText:
		return bad.With("text", "too_long", "at most 2000 characters")
	case v.GrantDays < 0 || v.GrantDays > int(approval.MostGrant/(24*time.Hour)):
		return bad.With("grantDays", "range", "1 to 365")
	}
	return nil
}

func (v *Verdict) life() time.Duration {
	if v.GrantDays == 0 {
		return approval.DefaultGrant
	}
	return time.Duration(v.GrantDays) * 24 * time.Hour
}

// Resolve decides a request. Only those who were asked may; to everybody else, and
// to every agent, it does not exist. The first decision stands: approval.ErrDecided
// after it, approval.ErrExpired when the time is over, which also ends it.
func (s *Approvals) Resolve(ctx context.Context, actor access.Actor, aid id.Approval, v Verdict) (out view.Approval, err error) {
	if err := access.RequirePerson(actor); err != nil {
		return out, err
	}
	if err := v.check(); err != nil {
		return out, err
	}
	late := false
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		late = false
		a, err := approval.LockTx(ctx, tx, aid)
		switch {
		case err != nil:
			return err
		case !a.MayDecide(actor.ID):
			return fault.ErrNotFound
		}
		out, err = s.resolveTx(ctx, tx, actor, a, v)
		if errors.Is(err, approval.ErrExpired) && a.Overdue {
			late = true
			return s.endTx(ctx, tx, a, approval.Expire)
		}
		return err
	})
	switch {
	case err != nil:
		return out, err
	case late:
		return out, approval.ErrExpired
	}
	s.Log.InfoContext(ctx, "request decided", slog.String("approval_id", aid.String()), slog.String("agent_id", out.AgentID.String()),
		slog.String("person_id", actor.ID.String()), slog.String("state", string(out.Status)), slog.String("scope", v.Scope))
	return out, nil
}

func (s *Approvals) resolveTx(ctx context.Context, tx *pg.Tx, actor access.Actor, a approval.Approval, v Verdict) (view.Approval, error) {
	if a.DecidersNeeded > 1 {
		return s.oneOfTwoTx(ctx, tx, actor, a, v)
	}
	if v.Hash != "" && v.Act == approval.Approve && v.Hash != a.ActionHash {
		return view.Approval{}, approval.ErrChanged
	}
	if v.Scope == ScopeAlways {
		v.Scope = approval.ThisExact
		if a.ScopeFacet != nil {
			v.Scope = approval.Pattern
		}
	}
	d := approval.Decision{By: actor.ID, Text: v.Text}
	if v.Act == approval.Approve {
		d.Scope = v.Scope
	}
	if v.Act == approval.Edit {
		if !a.Durable {
			return view.Approval{}, errNoEdits
		}
		if len(v.Input) == 0 {
			return view.Approval{}, fault.New(fault.Invalid, "invalid", "This is no decision.").With("input", "required", "what may run instead")
		}
		edited, err := approval.NewAction(a.ToolName, v.Input)
		if err != nil {
			return view.Approval{}, err
		}
		if edited.Hash == a.ActionHash { // nothing was changed
			v.Act, d.Scope = approval.Approve, approval.Once
		} else {
			d.Edited = &edited
		}
	}
	// The state is checked before a grant is made of it.
	if _, ok := approval.Next(a.Status, v.Act); ok && !a.Overdue && v.Act == approval.Approve {
		g, standing, err := a.GrantFor(v.Scope, actor.ID)
		if err != nil {
			return view.Approval{}, err
		}
		if standing {
			if g, err = approval.GrantTx(ctx, tx, g, v.life()); err != nil {
				return view.Approval{}, err
			}
			d.Grant = g.ID
		}
	}
	return s.actTx(ctx, tx, a, v.Act, d)
}

// actTx decides a locked request and tells everybody: its run, and who could decide.
func (s *Approvals) actTx(ctx context.Context, tx *pg.Tx, a approval.Approval, act approval.Act, d approval.Decision) (view.Approval, error) {
	done, err := approval.ActTx(ctx, tx, a, act, d)
	if err != nil {
		return view.Approval{}, err
	}
	switch {
	case done.Durable:
		s.Tasks.followRunLater(tx, done.TaskID)
		err = s.tellRunTx(ctx, tx, done)
	case done.Source == approval.FromTool:
		err = s.Jobs.Answer(ctx, tx, approval.AnswerArgs{ApprovalID: done.ID})
	}
	if err != nil {
		return view.Approval{}, err
	}
	out, err := view.OneApproval(ctx, tx, done.ID)
	if err != nil {
		return view.Approval{}, err
	}
	publishResolved(tx, out)
	return out, nil
}
