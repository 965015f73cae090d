package turn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// Result is how a turn ended and what is known about its run.
type Result struct {
	Outcome      Outcome
	AnswerID     id.Message
	MergedInto   id.Message // with Outcome Merged: the message whose turn answers this one too
	ErrorCode    string
	ErrorMessage string
	Model        string
	Backend      string
	ToolCalls    int
	Iterations   int
	Tokens       Tokens
	DurationMS   int64 // 0 = the time since the claim
}

// Tokens counts what a model run used.
type Tokens struct {
	Input, Output, CacheRead, CacheWrite int64
}

// mostTokens bounds what one report may say. A bridge that counts nonsense must neither
// keep its turn from ending nor overflow the sums that budgets and pages are made of.
const mostTokens = 1_000_000_000_000

// bounded is t as it is stored.
func (t Tokens) bounded() Tokens {
	return Tokens{min(t.Input, mostTokens), min(t.Output, mostTokens), min(t.CacheRead, mostTokens), min(t.CacheWrite, mostTokens)}
}

// Turn is a finished turn as far as fencing and repeats need it.
type Turn struct {
	ID             id.Turn         `db:"id"`
	AgentID        id.Participant  `db:"agent_id"`
	ConversationID id.Conversation `db:"conversation_id"`
	MessageID      id.Message      `db:"message_id"`
	QueueID        id.QueueItem    `db:"queue_id"`
	Generation     int64           `db:"generation"`
	ExecutorID     id.Executor     `db:"executor_id"`
	Outcome        Outcome         `db:"outcome"`
	MergedInto     id.Message      `db:"merged_into"`
	AnswerID       id.Message      `db:"answer_id"`
	ErrorCode      *string         `db:"error_code"`
	ErrorMessage   *string         `db:"error_message"`
}

// FinishTx ends the turn of these locked rows, whose last one is the head: the
// rows are deleted and turns are written. The others are merged into the head
// when it was answered or passed, else they share its outcome.
func FinishTx(ctx context.Context, tx *pg.Tx, group []Claim, r Result) error {
	var b pg.Batch
	AddFinish(&b, group, r)
	if err := pg.Run(ctx, tx, &b); err != nil {
		return fmt.Errorf("finish turn: %w", err)
	}
	return nil
}

// AddFinish is FinishTx in a batch.
func AddFinish(b *pg.Batch, group []Claim, r Result) {
	if len(group) == 0 {
		return
	}
	turnID := id.New[id.Turn]()
	head, others, into := group[len(group)-1], r.Outcome, r.MergedInto
	if r.Outcome == Answered || r.Outcome == Passed {
		others, into = Merged, head.MessageID
	}
	var duration *int64
	if r.DurationMS > 0 {
		duration = &r.DurationMS
	}
	used := r.Tokens.bounded()
	b.Add(nil, queryFinish, ids(group), head.QueueID, turnID, string(r.Outcome), string(others), r.AnswerID,
		text(r.ErrorCode), text(cut(r.ErrorMessage, 1000)), text(r.Model), text(r.Backend), min(r.ToolCalls, math.MaxInt32), min(r.Iterations, math.MaxInt32),
		used.Input, used.Output, used.CacheRead, used.CacheWrite, duration, r.MergedInto, into)
}

// Finished finds the turn that a queue row became; nil when there is none.
func Finished(ctx context.Context, q pg.Querier, agent id.Participant, item id.QueueItem) (*Turn, error) {
	rows, err := q.Query(ctx, queryFinished, item, agent)
	if err != nil {
		return nil, fmt.Errorf("read turn: %w", err)
	}
	t, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Turn])
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read turn: %w", err)
	}
	return &t, nil
}

// SettleTx credits a final message of the agent that no open claim explains: to
// the oldest row of the room that had been claimed and went back, which is then
// over and never delivered again, else to the agent's last unanswered turn there
// (decision 15). It returns the messages that are answered by it; what they say
// about not being answered is to be removed.
func SettleTx(ctx context.Context, tx *pg.Tx, agent id.Participant, conv id.Conversation, answer id.Message, outcome Outcome) ([]id.Message, error) {
	back, err := one(ctx, tx, "returned row", queryReturned, agent, conv)
	if err != nil {
		return nil, err
	}
	if back != nil {
		if _, err := tx.Exec(ctx, queryFinishReturned, back.QueueID, string(outcome), answer); err != nil {
			return nil, fmt.Errorf("settle returned row: %w", err)
		}
		return []id.Message{back.MessageID}, nil
	}
	// It may have been claimed again since the caller looked: then this is its answer.
	again, err := OpenClaimTx(ctx, tx, agent, conv)
	if err != nil {
		return nil, err
	}
	if again != nil && again.Generation > 1 && again.AnsweredAt == nil {
		return nil, MarkAnsweredTx(ctx, tx, again.QueueID, answer)
	}
	return pg.Column[id.Message](ctx, tx, "settle turn", querySettle, agent, conv, string(outcome), answer)
}

// SettleStaleTx is for a draft that was refused as stale and that no open claim
// explains: its bridge drops it, and the newer message covers the unanswered one.
// That is into, or the oldest that waits; when there is none, nothing changes. It
// returns the messages that are covered by it, as SettleTx does.
func SettleStaleTx(ctx context.Context, tx *pg.Tx, agent id.Participant, conv id.Conversation, into id.Message) ([]id.Message, error) {
	return pg.Column[id.Message](ctx, tx, "settle stale draft", querySettleStale, agent, conv, into)
}

func text(s string) *string {
	s = clean(s)
	if s == "" {
		return nil
	}
	return &s
}

// clean drops what Postgres cannot store in a text.
func clean(s string) string { return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "�") }

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}
