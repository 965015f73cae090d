package tool

import (
	"context"
	"fmt"
	"time"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// Outcome is what came of a call.
type Outcome string

// The outcomes. Refused is what the agent can read and act on; Failed is ours.
const (
	Done     Outcome = "done"
	Refused  Outcome = "refused"
	Failed   Outcome = "failed"
	TimedOut Outcome = "timed_out"
)

// Call is the record of one call: no arguments, no result (field.md 36). Zero ids
// are absent.
type Call struct {
	AgentID        id.Participant
	PersonID       id.Participant // on whose behalf
	ConversationID id.Conversation
	TaskID         id.Task
	MessageID      id.Message // what the turn answers
	Tool           string
	Outcome        Outcome
	Code           string
	ArgsHash       []byte // SHA-256
	ArgsBytes      int
	ResultBytes    int
	Untrusted      bool // its result is text of strangers
	ApprovalID     id.Approval
	Took           time.Duration
}

// Record stores the call.
func Record(ctx context.Context, db *pg.DB, c Call) error {
	_, err := db.Exec(ctx, insertCallSQL, c.AgentID, c.PersonID, c.ConversationID, c.TaskID, c.MessageID, c.Tool, string(c.Outcome), c.Code, c.ArgsHash, c.ArgsBytes, c.ResultBytes,
		c.Untrusted, c.ApprovalID, c.Took.Milliseconds())
	if err != nil {
		return fmt.Errorf("record tool call: %w", err)
	}
	return nil
}

// Marked reports that untrusted text has entered the agent's turn about these messages.
func Marked(ctx context.Context, q pg.Querier, agent id.Participant, about []id.Message) (marked bool, err error) {
	if err := q.QueryRow(ctx, markedSQL, agent, id.Strings(about)).Scan(&marked); err != nil {
		return false, fmt.Errorf("read mark of turn: %w", err)
	}
	return marked, nil
}

// MarkedLately reports that untrusted text has entered what the agent did in a room
// within the last hour, for words that belong to no turn that is known.
func MarkedLately(ctx context.Context, q pg.Querier, agent id.Participant, room id.Conversation) (marked bool, err error) {
	if err := q.QueryRow(ctx, markedLatelySQL, agent, room).Scan(&marked); err != nil {
		return false, fmt.Errorf("read mark of room: %w", err)
	}
	return marked, nil
}

// PruneCallsTx forgets at most limit records older than days and counts them.
func PruneCallsTx(ctx context.Context, tx *pg.Tx, days, limit int) (int64, error) {
	tag, err := tx.Exec(ctx, pruneCallsSQL, days, limit)
	if err != nil {
		return 0, fmt.Errorf("prune tool calls: %w", err)
	}
	return tag.RowsAffected(), nil
}
