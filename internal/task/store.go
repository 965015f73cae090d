package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// InsertTx stores a new task with its assignees and the first line of its history.
// t.ID, t.RootTaskID and t.AssignedTo are set.
func InsertTx(ctx context.Context, tx *pg.Tx, t Task, actor id.Participant) error {
	meta := t.Metadata
	if len(meta) == 0 {
		meta = json.RawMessage("{}")
	}
	_, err := tx.Exec(ctx, sqlInsert, t.ID, t.OrganizationID, t.ConversationID, t.WorkConversationID, t.SourceMessageID, t.CreatedBy, t.RequesterID,
		t.ParentTaskID, t.RootTaskID, t.Depth, t.Title, t.Description, t.Source, t.FanOut, string(t.Status), t.Priority, string(meta), id.Strings(t.DependsOn),
		t.Deadline, text(t.JoinMode), t.RetryOf, t.WakeNote)
	if err != nil {
		return fmt.Errorf("insert task: %w", err)
	}
	if _, err := tx.Exec(ctx, sqlAssign, t.ID, id.Strings(t.AssignedTo)); err != nil {
		return fmt.Errorf("assign task: %w", err)
	}
	return NoteTx(ctx, tx, Note{TaskID: t.ID, Version: 1, Kind: "created", To: t.Status, Actor: actor})
}

func text[S ~string](s *S) *string {
	if s == nil {
		return nil
	}
	return new(string(*s))
}

// Get is a task, or ErrNotFound.
func Get(ctx context.Context, q pg.Querier, t id.Task) (Task, error) { return one(ctx, q, sqlGet, t) }

// LockTx is Get under the row lock. Rooms are locked before it, queue rows after.
func LockTx(ctx context.Context, tx *pg.Tx, t id.Task) (Task, error) { return one(ctx, tx, sqlLock, t) }

func one(ctx context.Context, q pg.Querier, sql string, args ...any) (Task, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return Task{}, fmt.Errorf("load task: %w", err)
	}
	t, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Task])
	if errors.Is(err, pgx.ErrNoRows) {
		return Task{}, ErrNotFound
	}
	if err != nil {
		return Task{}, fmt.Errorf("load task: %w", err)
	}
	return t, nil
}

func many(ctx context.Context, q pg.Querier, sql string, args ...any) ([]Task, error) {
	return pg.Rows[Task](ctx, q, "list tasks", sql, args...)
}

func ids(ctx context.Context, q pg.Querier, sql string, args ...any) ([]id.Task, error) {
	return pg.Column[id.Task](ctx, q, "list tasks", sql, args...)
}

// SetCardTx remembers the card of a task.
func SetCardTx(ctx context.Context, tx *pg.Tx, t *Task, card id.Message) error {
	if _, err := tx.Exec(ctx, sqlCard, t.ID, card); err != nil {
		return fmt.Errorf("set card of task: %w", err)
	}
	t.CardMessageID = card
	return nil
}

// Change is what a transition brings beside the new state. Nil and empty fields
// leave what is stored; the failure, RetryAt and WakeNote are replaced always.
type Change struct {
	Actor             id.Participant // zero is the server
	Note              string         // for the history
	To                Status         // of Park: blocked or waiting; else left empty
	EndKind           EndKind        // of an end; derived from the event when empty
	Failure           *Failure
	FailureMessage    string
	Response          *string
	Summary           *string
	ResultData        json.RawMessage
	CompletionDetails json.RawMessage
	Attempt           *int
	RetryAt           *time.Time
	WakeNote          *string
	Executor          id.Executor
}

var endKinds = map[Status]EndKind{
	Complete: Done, Failed: EndedFailed, Cancelled: EndedCancelled, Rejected: EndedRejected, Exhausted: EndedExhausted,
}

// MoveTx carries out one transition of a locked task: it checks the matrix, bumps
// the version and writes the history. It updates t. Errors: ErrEnded, illegal_transition.
func MoveTx(ctx context.Context, tx *pg.Tx, t *Task, e Event, c Change) error {
	to, err := Next(t.Status, e)
	if err != nil {
		return err
	}
	if to == Blocked && c.To == Waiting {
		to = Waiting
	}
	from := t.Status
	var kind *EndKind
	if to.Ended() {
		kind = new(endKinds[to])
		if c.EndKind != "" {
			kind = new(c.EndKind)
		}
	}
	t.Status, t.EndKind, t.RetryAt, t.WakeNote = to, kind, c.RetryAt, c.WakeNote
	t.FailureCode, t.FailureOrigin, t.FailureMessage = nil, nil, nil
	if c.Failure != nil {
		t.FailureCode, t.FailureOrigin, t.FailureMessage = new(c.Failure.Code), new(c.Failure.Origin), new(c.FailureMessage)
	}
	if c.Attempt != nil {
		t.Attempt = *c.Attempt
	}
	if !c.Executor.IsZero() {
		t.ExecutorID = c.Executor
	}
	keep(&t.Response, c.Response)
	keep(&t.Summary, c.Summary)
	if len(c.ResultData) > 0 {
		t.ResultData = c.ResultData
	}
	if len(c.CompletionDetails) > 0 {
		t.CompletionDetails = c.CompletionDetails
	}
	err = tx.QueryRow(ctx, sqlMove, t.ID, string(to), text(kind), t.FailureCode, t.FailureOrigin, t.FailureMessage, c.Response, c.Summary, jsonb(c.ResultData),
		jsonb(c.CompletionDetails), t.Attempt, t.RetryAt, t.WakeNote, t.ExecutorID).Scan(&t.Version, &t.UpdatedAt, &t.StartedAt, &t.EndedAt)
	if err != nil {
		return fmt.Errorf("move task: %w", err)
	}
	return NoteTx(ctx, tx, Note{TaskID: t.ID, Version: t.Version, Kind: string(e), From: from, To: to, Actor: c.Actor, Text: c.Note})
}

func keep(have **string, next *string) {
	if next != nil {
		*have = next
	}
}

func jsonb(raw json.RawMessage) *string {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return new(string(raw))
}

// EditTx changes the words of a locked task; its history has the change.
func EditTx(ctx context.Context, tx *pg.Tx, t *Task, actor id.Participant) error {
	err := tx.QueryRow(ctx, sqlEdit, t.ID, t.Title, t.Description, t.Priority, t.Deadline).Scan(&t.Version, &t.UpdatedAt)
	if err != nil {
		return fmt.Errorf("edit task: %w", err)
	}
	return NoteTx(ctx, tx, Note{TaskID: t.ID, Version: t.Version, Kind: "edited", From: t.Status, To: t.Status, Actor: actor})
}

// AssignTx replaces who is to do a locked task. MoveTx with Reassign goes with it.
func AssignTx(ctx context.Context, tx *pg.Tx, t *Task, who []id.Participant) error {
	if _, err := tx.Exec(ctx, sqlUnassign, t.ID); err != nil {
		return fmt.Errorf("assign task: %w", err)
	}
	if _, err := tx.Exec(ctx, sqlAssign, t.ID, id.Strings(who)); err != nil {
		return fmt.Errorf("assign task: %w", err)
	}
	t.AssignedTo = who
	return nil
}

// Join is the barrier of a task's sub-tasks.
type Join struct {
	Mode  JoinMode
	Count int        // of JoinCount
	Until *time.Time // nil = for ever
}

// SetJoinTx raises a barrier; one that has fired before is raised anew.
func SetJoinTx(ctx context.Context, tx *pg.Tx, t *Task, j Join) error {
	var count *int
	if j.Mode == JoinCount {
		count = new(j.Count)
	}
	if _, err := tx.Exec(ctx, sqlJoin, t.ID, string(j.Mode), count, j.Until); err != nil {
		return fmt.Errorf("set join: %w", err)
	}
	t.JoinMode, t.JoinCount, t.JoinUntil, t.JoinFiredAt = new(j.Mode), count, j.Until, nil
	return nil
}

// FireJoinTx marks the barrier as fired: it fires once.
func FireJoinTx(ctx context.Context, tx *pg.Tx, t *Task) error {
	if err := tx.QueryRow(ctx, sqlFired, t.ID).Scan(&t.JoinFiredAt); err != nil {
		return fmt.Errorf("fire join: %w", err)
	}
	return nil
}

// Told counts those sub-tasks of whose end the run was told when its barrier fired last.
func Told(t Task, children []Task) (n int) {
	for _, c := range children {
		if t.JoinFiredAt != nil && c.EndedAt != nil && !c.EndedAt.After(*t.JoinFiredAt) {
			n++
		}
	}
	return n
}

// Undivided counts the open sub-tasks that keep a task from being complete: all, until its
// barrier has fired; then only those that were made since.
func Undivided(t Task, children []Task) (n int) {
	for _, c := range children {
		if !c.Status.Ended() && (t.JoinFiredAt == nil || c.InsertedAt.After(*t.JoinFiredAt)) {
			n++
		}
	}
	return n
}

// JoinIsDue says whether the barrier of t fires now, given its sub-tasks.
func JoinIsDue(t Task, children []Task, now time.Time) bool {
	if t.JoinMode == nil || t.JoinFiredAt != nil || t.Status.Ended() {
		return false
	}
	ended := 0
	for _, c := range children {
		if c.Status.Ended() {
			ended++
		}
	}
	need := len(children)
	switch *t.JoinMode {
	case JoinAny:
		need = min(1, len(children))
	case JoinCount:
		if t.JoinCount != nil {
			need = min(*t.JoinCount, len(children))
		}
	case JoinAll:
	}
	return ended >= need || (t.JoinUntil != nil && !t.JoinUntil.After(now))
}

// Children are the sub-tasks of a task, oldest first.
func Children(ctx context.Context, q pg.Querier, t id.Task) ([]Task, error) {
	return many(ctx, q, sqlChildren, t)
}

// ByID reads tasks; absent ones are missing.
func ByID(ctx context.Context, q pg.Querier, list []id.Task) ([]Task, error) {
	if len(list) == 0 {
		return nil, nil
	}
	return many(ctx, q, sqlDependencies, id.Strings(list))
}

// Duplicate finds an open task of the last hour that asks for the same; nil when there is none.
func Duplicate(ctx context.Context, q pg.Querier, t Task) (*Task, error) {
	list, err := many(ctx, q, sqlDuplicate, t.ConversationID, t.CreatedBy, t.Title, t.Description, t.ParentTaskID, id.Strings(t.AssignedTo))
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// Due is a task that is to be looked at.
type Due struct {
	Why string // join | retry | ready | orphan
	ID  id.Task
}

// AllDue lists what time or other tasks have made due.
func AllDue(ctx context.Context, q pg.Querier) ([]Due, error) {
	rows, err := q.Query(ctx, sqlDue)
	if err != nil {
		return nil, fmt.Errorf("list due tasks: %w", err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Due])
	if err != nil {
		return nil, fmt.Errorf("list due tasks: %w", err)
	}
	return out, nil
}

// Orphans are the open sub-tasks of a task that has ended.
func Orphans(ctx context.Context, q pg.Querier, t id.Task) ([]id.Task, error) {
	return ids(ctx, q, sqlOrphans, t)
}

// Dependents are the pending tasks that wait for this one.
func Dependents(ctx context.Context, q pg.Querier, t id.Task) ([]id.Task, error) {
	return ids(ctx, q, sqlDependents, t)
}

// OpenOf are the open tasks that a participant is to do, oldest first, at most limit.
func OpenOf(ctx context.Context, q pg.Querier, who id.Participant, limit int) ([]id.Task, error) {
	return ids(ctx, q, sqlOpenOf, who, limit)
}

// InWorkRoom is the open task that an agent has in a room, the running one first; nil when there is none.
func InWorkRoom(ctx context.Context, q pg.Querier, c id.Conversation, agent id.Participant) (*Task, error) {
	list, err := many(ctx, q, sqlInWorkRoom, c, agent)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}
