// Package turn owns what becomes of a message that an agent should answer: the
// queue row while it waits or is worked on, the immutable turn when it is over,
// and what bridges report about their model runs (usage, tool uses, faults). It
// does not own messages (chat) or executors (executor), and knows no socket.
//
// A row is in one of these states (docs/turns.md):
//
//	waiting   lease_until is NULL
//	claimed   lease_until is set, seen_at is NULL: nobody knows yet that the bridge has it
//	working   seen_at is set: a stream frame, a reply or a heartbeat named it
//	answered  answered_at is set: a reply (or a pass) is stored, the ack is missing
//	gone      the row was deleted and a turn was written, in one transaction
//
// All rows that one turn answers (merged ones, docs/protocol.md 2) have the same
// agent, conversation, executor and claimed_at; the newest is the head.
//
// For whoever posts an agent's message: AddOpenClaim under the room's lock, then
// AddMarkAnswered with a final message; when there was no open claim, SettleTx.
package turn

import (
	"time"

	"github.com/agntchat/agntchat/internal/claim"
	"github.com/agntchat/agntchat/internal/id"
)

// Outcome is how a turn ended.
type Outcome string

// The outcomes (decision 19).
const (
	Answered   Outcome = "answered"
	Merged     Outcome = "merged"
	Passed     Outcome = "passed"
	Unanswered Outcome = "unanswered"
	Failed     Outcome = "failed"
	Expired    Outcome = "expired"
	Stopped    Outcome = "stopped"
)

// ErrLost is the answer to a write that names a claim which is no longer held.
var ErrLost = claim.ErrLost

// NewItem is one message that one agent should answer.
type NewItem struct {
	AgentID        id.Participant
	ConversationID id.Conversation
	MessageID      id.Message
}

// Claim is a queue row. ExecutorID is zero and LeaseUntil nil while it waits.
type Claim struct {
	QueueID        id.QueueItem    `db:"id"`
	AgentID        id.Participant  `db:"agent_id"`
	ConversationID id.Conversation `db:"conversation_id"`
	MessageID      id.Message      `db:"message_id"`
	QueuedAt       time.Time       `db:"inserted_at"`
	ExecutorID     id.Executor     `db:"executor_id"`
	Generation     int64           `db:"generation"`
	Attempt        int             `db:"attempt"`
	LeaseUntil     *time.Time      `db:"lease_until"`
	ClaimedAt      *time.Time      `db:"claimed_at"`
	SeenAt         *time.Time      `db:"seen_at"`
	AnsweredAt     *time.Time      `db:"answered_at"`
	AnswerID       id.Message      `db:"answer_id"`
	StaleRefused   bool            `db:"stale_refused"`
	PassedReason   *string         `db:"passed_reason"` // a silent end_turn: prose that follows is to be suppressed
}

// Held reports that an executor has it.
func (c Claim) Held() bool { return c.LeaseUntil != nil }

// Passed reports that the agent ended its turn silently.
func (c Claim) Passed() bool { return c.PassedReason != nil }
