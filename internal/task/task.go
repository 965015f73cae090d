// Package task owns tasks: what was asked for, who does it, its state, plan and
// history, and the queue row while an agent can run it or runs it (T1, docs/tasks.md).
// It owns no message, no question (ask) and no timer, and knows no socket.
//
// A queue row exists while a task of one agent is ready to run or runs; it is
// deleted when the task is parked or ended. Whether an agent works is therefore a
// question to the leases, never a stored word (field.md 6).
package task

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
)

// The limits of a task.
const (
	MaxTitle       = 200    // characters
	MaxDescription = 30_000 // characters
	MaxResponse    = 30_000 // characters
	MaxSummary     = 5_000  // characters
	MaxMetadata    = 64 << 10
	MaxResult      = 128 << 10
	MaxAssignees   = 20
	MaxDepth       = 5   // of sub-tasks
	MaxChildren    = 100 // of one task
	MaxSteps       = 200
)

// Status is the state of a task (desktop contract 5.7).
type Status string

// The states.
const (
	Pending    Status = "pending"
	Accepted   Status = "accepted"
	InProgress Status = "in_progress"
	Blocked    Status = "blocked"
	Waiting    Status = "waiting"
	Complete   Status = "complete"
	Failed     Status = "failed"
	Cancelled  Status = "cancelled"
	Rejected   Status = "rejected"
	Exhausted  Status = "exhausted"
)

// Statuses are all states.
var Statuses = []Status{Pending, Accepted, InProgress, Blocked, Waiting, Complete, Failed, Cancelled, Rejected, Exhausted}

// Ended reports a state that nothing leaves.
func (s Status) Ended() bool {
	return slices.Contains([]Status{Complete, Failed, Cancelled, Rejected, Exhausted}, s)
}

// Parked reports a state in which a task waits for somebody.
func (s Status) Parked() bool { return s == Blocked || s == Waiting }

// EndKind tells ends apart.
type EndKind string

// The kinds of ends.
const (
	Done           EndKind = "done"
	Empty          EndKind = "empty" // done with nothing to show
	EndedFailed    EndKind = "failed"
	EndedCancelled EndKind = "cancelled"
	Lost           EndKind = "lost" // nobody runs it any more
	EndedRejected  EndKind = "rejected"
	EndedExhausted EndKind = "exhausted" // tried often enough
)

// JoinMode says when the barrier of sub-tasks fires.
type JoinMode string

// The modes.
const (
	JoinAll   JoinMode = "all"
	JoinAny   JoinMode = "any"
	JoinCount JoinMode = "count"
)

// Task is a tasks row.
type Task struct {
	ID                 id.Task
	OrganizationID     id.Organization
	ConversationID     id.Conversation
	WorkConversationID id.Conversation
	SourceMessageID    id.Message
	CardMessageID      id.Message // its card in the asking room
	CreatedBy          id.Participant
	RequesterID        id.Participant
	ParentTaskID       id.Task
	RootTaskID         id.Task
	Depth              int
	Title              string
	Description        string
	Source             string
	FanOut             bool
	Status             Status
	Priority           int
	Version            int64
	Metadata           json.RawMessage
	DependsOn          []id.Task
	Deadline           *time.Time
	JoinMode           *JoinMode
	JoinCount          *int
	JoinUntil          *time.Time
	JoinFiredAt        *time.Time
	Response           *string
	Summary            *string
	ResultData         json.RawMessage
	CompletionDetails  json.RawMessage
	EndKind            *EndKind
	FailureCode        *string
	FailureOrigin      *string
	FailureMessage     *string
	Attempt            int
	RetryAt            *time.Time
	RetryOf            id.Task
	WakeNote           *string
	ExecutorID         id.Executor // that ran it last
	StartedAt          *time.Time
	EndedAt            *time.Time
	InsertedAt         time.Time
	UpdatedAt          time.Time
	AssignedTo         []id.Participant // in order
}

// HasWorkRoom reports a room of its own: only the result leaves it.
func (t Task) HasWorkRoom() bool { return t.WorkConversationID != t.ConversationID }

// Assigned reports that the participant is to do it.
func (t Task) Assigned(p id.Participant) bool { return slices.Contains(t.AssignedTo, p) }

// ErrNotFound is the one answer for absent and for hidden tasks.
var ErrNotFound = fault.ErrNotFound

// ErrEnded is the answer to whoever ends or moves a task that has ended.
var ErrEnded error = fault.New(fault.Conflict, "already_ended", "This task has ended already.")
