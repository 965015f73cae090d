package flow

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/ask"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/task"
	"github.com/agntchat/agntchat/internal/turn"
)

// TaskResult is what somebody hands in with the end of a task.
type TaskResult struct {
	Response          string
	Summary           string
	Silent            bool // nothing is posted
	ResultData        json.RawMessage
	CompletionDetails json.RawMessage
}

var errResult = fault.New(fault.Invalid, "invalid", "This result cannot be stored.")

func (r *TaskResult) check() error {
	r.Response = cutText(strings.TrimSpace(storable(r.Response)), task.MaxResponse)
	r.Summary = cutText(strings.TrimSpace(storable(r.Summary)), task.MaxSummary)
	for _, raw := range []*json.RawMessage{&r.ResultData, &r.CompletionDetails} {
		if isNull(*raw) {
			*raw = nil
			continue
		}
		m, err := object(*raw)
		if err != nil || len(*raw) > task.MaxResult {
			return errResult.With("result_data", "object", "a JSON object of at most 128 KiB")
		}
		if *raw, err = pack(m); err != nil {
			return err
		}
	}
	return nil
}

// errOpenSubtasks leaves the task open: the run ends, and the agent is woken with the
// results. The marker is the contract's (bridge contract 2.8.1).
func errOpenSubtasks(open int) error {
	return fault.Newf(fault.Conflict, "open_subtasks", "[open_subtasks] %d sub-tasks are not finished. You are woken with their results; do not complete or fail this task now.", open)
}

func errOpenAsk(q string) error {
	return fault.Newf(fault.Conflict, "open_ask", "[open_subtasks] This task waits for an answer to your question: %q. You are woken with the answer.", cutText(q, 200))
}

// Finish is complete_task: state and response in one transaction (bridge contract
// 2.8.1). A second end is task.ErrEnded. With open sub-tasks it is refused and the
// task is parked until their barrier fires.
func (s *Tasks) Finish(ctx context.Context, actor access.Actor, tid id.Task, r TaskResult) error {
	if err := r.check(); err != nil {
		return err
	}
	var refusal error
	err := s.change(ctx, tid, func(ctx context.Context, tx *pg.Tx, t *task.Task) error {
		refusal = nil
		if err := s.worksTx(ctx, tx, actor, *t); err != nil {
			return err
		}
		refused, err := s.refuseTx(ctx, tx, t, actor)
		if err != nil || refused != nil {
			refusal = refused
			return err
		}
		return s.finishTx(ctx, tx, t, actor, r)
	})
	if err != nil {
		return err
	}
	return refusal
}

// worksTx: only who is to do a task ends it. To others it looks absent, unless they may see it.
func (s *Tasks) worksTx(ctx context.Context, tx *pg.Tx, actor access.Actor, t task.Task) error {
	f, err := s.facts(ctx, tx, actor, t)
	if err != nil {
		return err
	}
	if err := access.WorkTask(actor, f); err != nil {
		return err
	}
	if t.Status.Ended() {
		return task.ErrEnded
	}
	if t.FanOut {
		return fault.New(fault.Conflict, "ends_with_subtasks", "This task ends by itself when its sub-tasks have ended.")
	}
	return nil
}

// refuseTx says why a task cannot be completed yet. With open sub-tasks it is parked.
func (s *Tasks) refuseTx(ctx context.Context, tx *pg.Tx, t *task.Task, actor access.Actor) (refused, err error) {
	q, err := ask.OpenOf(ctx, tx, t.ID)
	if err != nil {
		return nil, err
	}
	if q != nil && actor.IsAgent() {
		return errOpenAsk(q.Question), nil
	}
	children, err := task.Children(ctx, tx, t.ID)
	if err != nil {
		return nil, err
	}
	open := task.Undivided(*t, children)
	if open == 0 {
		return nil, nil
	}
	if t.JoinMode == nil || t.JoinFiredAt != nil {
		if err := task.SetJoinTx(ctx, tx, t, task.Join{Mode: task.JoinAll}); err != nil {
			return nil, err
		}
	}
	if t.Status == task.Accepted || t.Status == task.InProgress {
		if _, err := s.withdrawTx(ctx, tx, *t, ""); err != nil {
			return nil, err
		}
		if err := task.MoveTx(ctx, tx, t, task.Park, task.Change{Actor: actor.ID, To: task.Waiting, Note: "waits for sub-tasks"}); err != nil {
			return nil, err
		}
	}
	s.joinLater(tx, t.ID)
	return errOpenSubtasks(open), nil
}

// finishTx ends a locked task as done and posts the response: in the room of the work,
// and where it was asked for.
func (s *Tasks) finishTx(ctx context.Context, tx *pg.Tx, t *task.Task, actor access.Actor, r TaskResult) error {
	if err := s.closeTx(ctx, tx, t, ""); err != nil {
		return err
	}
	if actor.IsAgent() {
		var err error
		at := Learned{Room: t.WorkConversationID, Task: t.ID, Person: t.RequesterID}
		if r.Response, err = s.Chat.keepTx(ctx, tx, actor, at, r.Response); err != nil {
			return err
		}
	}
	c := task.Change{Actor: actor.ID, EndKind: task.Done, ResultData: r.ResultData, CompletionDetails: r.CompletionDetails}
	if r.Response != "" {
		c.Response = &r.Response
	}
	if r.Summary != "" {
		c.Summary = &r.Summary
	}
	if r.Response == "" && r.Summary == "" && !r.Silent {
		c.EndKind = task.Empty
	}
	if err := task.MoveTx(ctx, tx, t, task.Finish, c); err != nil {
		return err
	}
	switch {
	case r.Silent:
		return nil
	case r.Response == "":
		_, err := s.statusTx(ctx, tx, *t, "task_complete", map[string]any{"summary": orText(r.Summary, "Done. There is nothing to show."), "end_kind": *t.EndKind})
		return err
	}
	meta := map[string]any{metaReport: t.ID}
	if _, err := s.sayTx(ctx, tx, *t, t.WorkConversationID, r.Response, meta); err != nil {
		return err
	}
	if !t.HasWorkRoom() {
		return nil
	}
	_, err := s.sayTx(ctx, tx, *t, t.ConversationID, r.Response, meta)
	return err
}

// closeTx takes a task that ends out of the queue and withdraws its question.
func (s *Tasks) closeTx(ctx context.Context, tx *pg.Tx, t *task.Task, stop string) error {
	if _, err := s.withdrawTx(ctx, tx, *t, stop); err != nil {
		return err
	}
	if err := s.dropApprovalsTx(ctx, tx, t.ID, stop); err != nil {
		return err
	}
	q, err := ask.OpenOf(ctx, tx, t.ID)
	if err != nil || q == nil {
		return err
	}
	_, err = ask.CloseTx(ctx, tx, q.ID, ask.Withdrawn, nil, id.Participant{})
	return err
}

// ending is how a task ends without a result.
type ending struct {
	code    string
	kind    task.EndKind // empty: failed
	message string
	summary string
	silent  bool
	stop    string // tells the run to stop
	actor   id.Participant
}

// Fail is fail_task. The text of a stock bridge is read into a code of the list.
func (s *Tasks) Fail(ctx context.Context, actor access.Actor, tid id.Task, text, summary string, silent bool) error {
	text, summary = storable(text), storable(summary)
	return s.change(ctx, tid, func(ctx context.Context, tx *pg.Tx, t *task.Task) error {
		if err := s.worksTx(ctx, tx, actor, *t); err != nil {
			return err
		}
		return s.failTx(ctx, tx, t, ending{
			code: task.ReadFailure(text).Code, message: cutText(strings.TrimSpace(text), 2000), summary: cutText(strings.TrimSpace(summary), task.MaxSummary),
			silent: silent, actor: actor.ID,
		})
	})
}

// failTx ends a locked task as failed, visibly.
func (s *Tasks) failTx(ctx context.Context, tx *pg.Tx, t *task.Task, e ending) error {
	if t.Status.Ended() {
		return task.ErrEnded
	}
	if err := s.closeTx(ctx, tx, t, e.stop); err != nil {
		return err
	}
	f := task.FailureOf(e.code)
	if e.message == "" {
		e.message = "The task failed."
	}
	event := task.Fail
	if e.kind == task.EndedExhausted {
		event = task.Exhaust
	}
	c := task.Change{Actor: e.actor, Failure: &f, FailureMessage: e.message, EndKind: e.kind, Note: e.code}
	if e.summary != "" {
		c.Summary = &e.summary
	}
	if err := task.MoveTx(ctx, tx, t, event, c); err != nil {
		return err
	}
	if e.silent {
		return nil
	}
	extra := map[string]any{"error": map[string]any{"code": f.Code, "message": e.message}, "end_kind": *t.EndKind}
	if e.summary != "" {
		extra["summary"] = e.summary
	}
	_, err := s.statusTx(ctx, tx, *t, "task_failed", extra)
	return err
}

// TaskCompletion is the end of a run in one call (docs/protocol.md); only bridges of
// ours send it.
type TaskCompletion struct {
	HeldClaim
	Outcome      string // done | failed | parked | awaiting_approval
	Result       TaskResult
	ErrorCode    string
	ErrorMessage string
	Question     *ask.Ask // of parked; nil makes one of the summary
	Usage        *turn.Usage
	ToolNames    []string
}

// CompleteRun ends a run. A transient failure is tried again after a pause, until the
// attempts are used up. It answers the state of the task. A task that is over, by a
// tool of the run, a person, or this very call before, is 404: nothing is left to report.
func (s *Tasks) CompleteRun(ctx context.Context, actor access.Actor, c TaskCompletion) (status task.Status, err error) {
	if err := c.Result.check(); err != nil {
		return "", err
	}
	if c.Generation == nil {
		return "", errResult.With("generation", "required", "names the claim")
	}
	err = s.heldTask(ctx, actor, c.HeldClaim, func(ctx context.Context, tx *pg.Tx, t *task.Task, row task.Claim) error {
		if err := s.bookRunTx(ctx, tx, actor, *t, c); err != nil {
			return err
		}
		if t.Status == task.Pending { // its accept got lost; the claim is held
			if err := task.MoveTx(ctx, tx, t, task.Accept, task.Change{Actor: actor.ID, Executor: row.ExecutorID, WakeNote: t.WakeNote}); err != nil {
				return err
			}
		}
		defer func() { status = t.Status }()
		switch c.Outcome {
		case "done":
			refused, err := s.refuseTx(ctx, tx, t, actor)
			if err != nil || refused != nil {
				return err // parked: its barrier wakes it
			}
			return s.finishTx(ctx, tx, t, actor, c.Result)
		case "failed":
			return s.failRunTx(ctx, tx, t, actor, row, c)
		case "parked":
			return s.parkTx(ctx, tx, t, actor, task.Blocked, c.Result.Summary, c.Question)
		}
		if c.Outcome == "awaiting_approval" { // the decision resumes the run, which then ends the task
			return s.stopAtCallTx(ctx, tx, t, row.Attempt)
		}
		return errResult.With("outcome", "unknown", "must be done, failed, parked or awaiting_approval")
	})
	return status, err
}

func (s *Tasks) failRunTx(ctx context.Context, tx *pg.Tx, t *task.Task, actor access.Actor, row task.Claim, c TaskCompletion) error {
	f := task.FailureOf(c.ErrorCode)
	e := ending{code: f.Code, message: cutText(storable(c.ErrorMessage), 2000), summary: c.Result.Summary, silent: c.Result.Silent, actor: actor.ID}
	switch {
	case !f.Transient:
		return s.failTx(ctx, tx, t, e)
	case row.Attempt >= s.cfg.MaxAttempts:
		e.kind = task.EndedExhausted
		return s.failTx(ctx, tx, t, e)
	}
	if _, err := s.withdrawTx(ctx, tx, *t, ""); err != nil {
		return err
	}
	at := time.Now().Add(s.cfg.Backoff << min(row.Attempt-1, 8))
	return task.MoveTx(ctx, tx, t, task.Requeue, task.Change{
		Actor: actor.ID, Note: f.Code + ": tried again later", RetryAt: &at, Attempt: new(row.Attempt),
		WakeNote: t.WakeNote,
	})
}

// bookRunTx stores usage and tool uses of a run.
func (s *Tasks) bookRunTx(ctx context.Context, tx *pg.Tx, actor access.Actor, t task.Task, c TaskCompletion) error {
	if c.Usage != nil {
		u := *c.Usage
		u.AgentID, u.ConversationID = actor.ID, t.WorkConversationID
		if err := turn.SaveUsageTx(ctx, tx, u); err != nil {
			return err
		}
	}
	return turn.SaveToolUsesTx(ctx, tx, actor.ID, t.WorkConversationID, c.ToolNames)
}

// Reject is for who should do a task and will not.
func (s *Tasks) Reject(ctx context.Context, actor access.Actor, tid id.Task, reason string) (TaskView, error) {
	reason = cutText(strings.TrimSpace(reason), 2000)
	err := s.change(ctx, tid, func(ctx context.Context, tx *pg.Tx, t *task.Task) error {
		if err := s.worksTx(ctx, tx, actor, *t); err != nil {
			return err
		}
		if err := s.closeTx(ctx, tx, t, ""); err != nil {
			return err
		}
		c := task.Change{Actor: actor.ID, Note: reason}
		if reason != "" {
			c.Summary = &reason
		}
		if err := task.MoveTx(ctx, tx, t, task.Reject, c); err != nil {
			return err
		}
		_, err := s.statusTx(ctx, tx, *t, "task_failed", map[string]any{"status": "declined", "error": map[string]any{"code": "rejected", "message": orText(reason, "The task was rejected.")}})
		return err
	})
	if err != nil {
		return TaskView{}, err
	}
	return s.Get(ctx, actor, tid)
}
