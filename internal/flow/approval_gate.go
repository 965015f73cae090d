package flow

import (
	"context"
	"strings"

	"github.com/agntchat/agntchat/internal/approval"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/pg"
)

// toolLife is how long a question about a tool of the server is open: no process
// waits for it.
const toolLife = approval.DefaultDurable

// fromOutside tells people why they are asked in a marked turn.
const fromOutside = "Text from outside has entered this turn: a page, a file or another agent may have asked for this."

// Check implements ToolGate: an action of a server tool that needs a person runs
// under a standing yes, or once after its request was approved, or a request is
// made and the call is told to come back. While untrusted text is in the turn only
// a yes to this very action counts as standing.
func (s *Approvals) Check(ctx context.Context, c ToolCaller, a ExactAction) (v ToolVerdict, err error) {
	action, err := approval.NewAction(a.Tool, a.Input)
	if err != nil {
		return v, err
	}
	input := approval.Input(action.Text)
	n := approval.New{
		AgentID: c.Agent.ID, OrganizationID: c.Agent.OrganizationID, ConversationID: c.Room, TaskID: c.Task, Source: approval.FromTool, ToolName: a.Tool,
		Action: action, Risk: approval.Risk(a.Risk.String()), Scope: approval.ScopeOf(a.Tool, input), Life: toolLife,
	}
	n.Reason = cutText(a.Why, approval.MaxText)
	if a.Marked {
		n.Reason = cutText(strings.TrimSpace(fromOutside+" "+n.Reason), approval.MaxText)
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		v = ToolVerdict{}
		err := s.gateTx(ctx, tx, c, n, a.Marked, &v)
		if fault.Is(err, approval.ErrNoApprover.Code) {
			v.Reason, err = approval.ErrNoApprover.Message, nil
		}
		return err
	})
	return v, err
}

func (s *Approvals) gateTx(ctx context.Context, tx *pg.Tx, c ToolCaller, n approval.New, marked bool, v *ToolVerdict) error {
	if err := placeTx(ctx, tx, c.Agent, &n.OrganizationID, n.ConversationID); err != nil {
		return err
	}
	same, err := approval.SameTx(ctx, tx, n)
	if err != nil {
		return err
	}
	for _, a := range same {
		switch {
		case a.Status == approval.Approved: // allowed once: this is the once
			_, err := approval.UseTx(ctx, tx, a, n.Action.Hash)
			v.Allowed = err == nil
			return err
		case a.Overdue:
			if err := s.endTx(ctx, tx, a, approval.Expire); err != nil {
				return err
			}
		default:
			v.RequestID = a.ID
			return nil
		}
	}
	a, err := s.storeTx(ctx, tx, n, marked)
	if err != nil {
		return err
	}
	if a.Status == approval.Approved { // a standing yes
		_, err := approval.UseTx(ctx, tx, a, n.Action.Hash)
		v.Allowed = err == nil
		return err
	}
	v.RequestID = a.ID
	return nil
}
