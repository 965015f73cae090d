package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/approval"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/executor"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/tool"
	"github.com/agntchat/agntchat/internal/view"
)

// AskApproval is a bridge's question whether a call of its CLI may run (bridge
// contract 3.8, 5.10; docs/protocol.md 9).
type AskApproval struct {
	ToolName       string
	Input          json.RawMessage
	Description    string
	Reason         string
	ConversationID id.Conversation
	TaskID         id.Task
	Durable        bool
	TTLSeconds     *int
	ExecutorID     id.Executor
	RunID          string
	ToolUseID      string
	Resume         json.RawMessage
	// The delivery that the run belongs to, and its claim; zero for a bridge that does not tell.
	TurnID         id.QueueItem
	TurnGeneration int64
}

func (in *AskApproval) check() error {
	bad := fault.New(fault.Invalid, "invalid", "The permission cannot be asked for like this.")
	long := func(s string, most int) bool { return utf8.RuneCountInString(s) > most }
	switch {
	case in.ToolName == "" || long(in.ToolName, approval.MaxName):
		return bad.With("toolName", "length", "1 to 200 characters")
	case long(in.Reason, approval.MaxText):
		return bad.With("reason", "too_long", "at most 2000 characters")
	case !in.Durable && (in.TTLSeconds != nil || len(in.Resume) > 0 || in.RunID != "" || in.ToolUseID != ""):
		return bad.With("durable", "required", "ttlSeconds, runId, toolUseId and resume belong to a durable request")
	case in.Durable && in.ExecutorID.IsZero():
		return bad.With("executorId", "required", "the executor that resumes the run")
	case in.Durable && (in.RunID == "" || long(in.RunID, approval.MaxName)):
		return bad.With("runId", "length", "1 to 200 characters")
	case long(in.ToolUseID, approval.MaxName):
		return bad.With("toolUseId", "too_long", "at most 200 characters")
	case in.TurnID.IsZero() != (in.TurnGeneration == 0) || in.TurnGeneration < 0 || (!in.Durable && !in.TurnID.IsZero()):
		return bad.With("turnId", "required", "turnId and turnGeneration name the claim of a durable request together")
	case len(in.Resume) > approval.MaxResume:
		return bad.With("resume", "too_large", "at most 65536 bytes")
	}
	if t := in.TTLSeconds; t != nil && (*t < int(approval.LeastDurable/time.Second) || *t > int(approval.MostDurable/time.Second)) {
		return bad.With("ttlSeconds", "range", "60 to 2592000")
	}
	in.Description = cutText(in.Description, approval.MaxText) // the bridge makes it of the input, however long that is
	return nil
}

func (in *AskApproval) life() time.Duration {
	switch {
	case !in.Durable:
		return approval.StockLife
	case in.TTLSeconds == nil:
		return approval.DefaultDurable
	}
	return time.Duration(*in.TTLSeconds) * time.Second
}

// Ask stores the question and tells those who may decide, or answers approved at
// once under a standing yes. The same call of the same run gives the first request
// again. Errors: approval.ErrOneAtATime when the run has another open question;
// approval.ErrNoApprover when there is nobody to ask; fault.Invalid for an input
// that cannot be shown exactly; NotFound for a room in which the agent does not
// sit. Whatever the error, the call must not run.
func (s *Approvals) Ask(ctx context.Context, actor access.Actor, in AskApproval) (out approval.Approval, err error) {
	if err := access.RequireAgent(actor); err != nil {
		return out, err
	}
	if err := in.check(); err != nil {
		return out, err
	}
	action, err := approval.NewAction(in.ToolName, in.Input)
	if err != nil {
		return out, err
	}
	if wait, ok := s.asking.Take(actor.ID.String()); !ok {
		return out, fault.New(fault.Exhausted, "rate_limited", "This agent asks too often.").After(wait)
	}
	input := approval.Input(action.Text)
	n := approval.New{
		AgentID: actor.ID, OrganizationID: actor.OrganizationID, ConversationID: in.ConversationID, TaskID: in.TaskID, Source: approval.FromBridge,
		ToolName: in.ToolName, Action: action, Description: in.Description, Reason: in.Reason, Risk: approval.RiskOf(in.ToolName, input),
		Scope: approval.ScopeOf(in.ToolName, input), Durable: in.Durable, ExecutorID: in.ExecutorID, Life: in.life(),
	}
	if in.Durable {
		n.RunID, n.ToolUseID = &in.RunID, orNil(in.ToolUseID)
		if !in.TurnID.IsZero() {
			n.TurnQueueID, n.TurnGeneration = in.TurnID, &in.TurnGeneration
		}
		if len(in.Resume) > 0 {
			n.Resume = new(string(in.Resume))
		}
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) (err error) {
		out, err = s.askTx(ctx, tx, actor, n)
		return err
	})
	return out, err
}

func (s *Approvals) askTx(ctx context.Context, tx *pg.Tx, actor access.Actor, n approval.New) (approval.Approval, error) {
	if err := placeTx(ctx, tx, actor, &n.OrganizationID, n.ConversationID); err != nil {
		return approval.Approval{}, err
	}
	if n.Durable {
		if _, err := executor.Get(ctx, tx, actor.ID, n.ExecutorID); err != nil {
			return approval.Approval{}, err
		}
	}
	switch first, err := s.firstTx(ctx, tx, n); {
	case err != nil:
		return approval.Approval{}, err
	case first != nil:
		return *first, nil
	}
	marked, err := markedTx(ctx, tx, actor, n)
	if err != nil {
		return approval.Approval{}, err
	}
	if marked { // people are to know it, whatever the model says
		n.Reason = cutText(strings.TrimSpace(fromOutside+" "+n.Reason), approval.MaxText)
	}
	return s.storeTx(ctx, tx, n, marked)
}

// markedTx reports that untrusted text has entered the run that asks. A bridge that
// names no delivery is looked for by its task, then by its room.
func markedTx(ctx context.Context, tx *pg.Tx, actor access.Actor, n approval.New) (bool, error) {
	c := ToolCaller{Agent: actor}
	var source id.Message
	var err error
	switch {
	case !n.TurnQueueID.IsZero():
		source, err = view.MessageOfRun(ctx, tx, actor.ID, n.TurnQueueID)
	case n.TaskID.IsZero() && !n.ConversationID.IsZero():
		source, err = view.OpenMessage(ctx, tx, actor.ID, n.ConversationID)
	}
	switch {
	case err != nil:
		return false, err
	case !source.IsZero():
		if err := answering(ctx, tx, &c, source, nil); err != nil || c.Marked {
			return c.Marked, err
		}
	}
	switch {
	case !n.TaskID.IsZero():
		return view.TaskTainted(ctx, tx, actor.OwnerID, n.TaskID)
	case source.IsZero() && !n.ConversationID.IsZero():
		return tool.MarkedLately(ctx, tx, actor.ID, n.ConversationID)
	}
	return false, nil
}

// placeTx: an agent asks from a room in which it sits; the request belongs to the
// room's workspace.
func placeTx(ctx context.Context, tx *pg.Tx, actor access.Actor, org *id.Organization, room id.Conversation) error {
	if room.IsZero() {
		return nil
	}
	r, err := chat.Get(ctx, tx, room)
	if err != nil {
		return err
	}
	role, err := chat.Role(ctx, tx, room, actor.ID)
	if err != nil {
		return err
	}
	*org = r.OrganizationID
	return access.ReadRoom(actor, facts(r, role))
}

// firstTx finds the request that this question repeats. What cannot be used any
// more makes room for a new one.
func (s *Approvals) firstTx(ctx context.Context, tx *pg.Tx, n approval.New) (*approval.Approval, error) {
	if !n.Durable {
		same, err := approval.SameTx(ctx, tx, n)
		for _, a := range same {
			if err == nil && a.Status == approval.Pending { // its asker is gone, or would run the same twice
				err = s.endTx(ctx, tx, a, orExpire(a, approval.Supersede))
			}
		}
		return nil, err
	}
	if taken, err := s.orphansTx(ctx, tx, n); err != nil || taken != nil {
		return taken, err
	}
	before, err := approval.OfCallTx(ctx, tx, n.AgentID, *n.RunID, n.ToolUseID, n.Action.Hash)
	if err != nil {
		return nil, err
	}
	if before != nil && n.ToolUseID != nil && !before.Overdue && (before.Status == approval.Denied || before.Status.Allows() && before.UsedAt == nil) {
		return before, nil
	}
	open, err := approval.OpenOfRunTx(ctx, tx, n.AgentID, *n.RunID)
	switch {
	case err != nil || open == nil:
		return nil, err
	case open.Overdue:
		return nil, s.endTx(ctx, tx, *open, approval.Expire)
	case before != nil && before.ID == open.ID:
		return open, nil
	case open.ToolUseID != nil && n.ToolUseID != nil && *open.ToolUseID == *n.ToolUseID: // the same call, changed
		return nil, s.endTx(ctx, tx, *open, approval.Supersede)
	}
	return nil, approval.ErrOneAtATime.With("requestId", "open", open.ID.String())
}

// orphansTx clears away what an earlier run of the same delivery asked: it is gone, for
// the delivery was claimed anew. A decision about exactly this action that
// reached nobody counts for this run; so nobody is asked twice.
func (s *Approvals) orphansTx(ctx context.Context, tx *pg.Tx, n approval.New) (taken *approval.Approval, err error) {
	list, err := approval.OrphansTx(ctx, tx, n)
	if err != nil {
		return nil, err
	}
	for _, a := range list {
		if a.Status == approval.Pending {
			if err := s.endTx(ctx, tx, a, orExpire(a, approval.Supersede)); err != nil {
				return nil, err
			}
			continue
		}
		free, err := s.work.queue.TakeOverTx(ctx, tx, a)
		if err != nil {
			return nil, err
		}
		same := a.ActionHash == n.Action.Hash && a.UsedAt == nil && (a.Status == approval.Approved || a.Status == approval.Denied)
		if free && same && taken == nil {
			taken = &a
		}
	}
	return taken, nil
}

func orExpire(a approval.Approval, act approval.Act) approval.Act {
	if a.Overdue {
		return approval.Expire
	}
	return act
}

// storeTx asks, unless a standing yes covers the action. onlyExact: nothing but a
// yes to this very action counts.
func (s *Approvals) storeTx(ctx context.Context, tx *pg.Tx, n approval.New, onlyExact bool) (approval.Approval, error) {
	var err error
	if n.Approvers, err = view.Approvers(ctx, tx, n.AgentID); err != nil {
		return approval.Approval{}, err
	}
	if len(n.Approvers) == 0 {
		return approval.Approval{}, approval.ErrNoApprover
	}
	if err := s.ruleTx(ctx, tx, &n); err != nil {
		return approval.Approval{}, err
	}
	if n.DecidersNeeded < 2 { // what one allowed for good, two have not
		if n.GrantID, err = approval.UseGrantTx(ctx, tx, n, onlyExact); err != nil {
			return approval.Approval{}, err
		}
	}
	if n.GrantID.IsZero() {
		open, err := approval.CountOpen(ctx, tx, n.AgentID)
		if err != nil {
			return approval.Approval{}, err
		}
		if open >= approval.MaxOpen {
			return approval.Approval{}, approval.ErrTooMany
		}
	}
	a, err := approval.InsertTx(ctx, tx, n)
	if err != nil || a.Status != approval.Pending {
		return a, err
	}
	v, err := view.OneApproval(ctx, tx, a.ID)
	if err != nil {
		return a, err
	}
	publishAsked(tx, v)
	if err := s.Jobs.ExpireAt(ctx, tx, a.ExpiresAt); err != nil {
		return a, fmt.Errorf("plan expiry: %w", err)
	}
	return a, nil
}

// Look is how the agent's request stands. One whose time is over has expired, also
// when the sweeper has not come by yet.
func (s *Approvals) Look(ctx context.Context, actor access.Actor, aid id.Approval) (approval.Approval, error) {
	if err := access.RequireAgent(actor); err != nil {
		return approval.Approval{}, err
	}
	a, err := approval.Get(ctx, s.DB, aid)
	if a, err = own(actor, a, err); err != nil || !a.Overdue {
		return a, err
	}
	if err := s.expireOne(ctx, aid); err != nil {
		return a, err
	}
	return approval.Get(ctx, s.DB, aid)
}

// Cancel ends the agent's request because its run ended. One that was decided
// stays as it is.
func (s *Approvals) Cancel(ctx context.Context, actor access.Actor, aid id.Approval) (out approval.Approval, err error) {
	if err := access.RequireAgent(actor); err != nil {
		return out, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		a, err := approval.LockTx(ctx, tx, aid)
		if out, err = own(actor, a, err); err != nil || out.Status != approval.Pending {
			return err
		}
		if err := s.endTx(ctx, tx, out, orExpire(out, approval.Cancel)); err != nil {
			return err
		}
		out, err = approval.Get(ctx, tx, aid)
		return err
	})
	return out, err
}

// Redeem uses an approval for one run of exactly what was approved. key makes the
// answer repeatable for whoever has it. Errors: approval.ErrChanged, ErrUsed,
// ErrNotAllowed, ErrExpired; then the call must not run.
func (s *Approvals) Redeem(ctx context.Context, actor access.Actor, aid id.Approval, tool string, input json.RawMessage, key string) (out approval.Approval, err error) {
	if err := access.RequireAgent(actor); err != nil {
		return out, err
	}
	if n := utf8.RuneCountInString(key); n == 0 || n > approval.MaxName {
		return out, fault.New(fault.Invalid, "invalid", "The approval cannot be used like this.").With("useKey", "length", "1 to 200 characters")
	}
	action, err := approval.NewAction(tool, input)
	if err != nil {
		return out, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		a, err := approval.LockTx(ctx, tx, aid)
		if a, err = own(actor, a, err); err != nil {
			return err
		}
		switch {
		case !a.Durable || !a.Status.Allows():
			return approval.ErrNotAllowed
		case a.Hash() != action.Hash:
			return approval.ErrChanged
		}
		out, err = approval.UseTx(ctx, tx, a, key)
		return err
	})
	return out, err
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
