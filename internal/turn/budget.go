package turn

import (
	"context"
	"fmt"
	"time"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// Budget is how many tokens an agent may use in a day, and how it stands today. Input,
// output and written cache count; what is read from a cache does not.
type Budget struct {
	AgentID      id.Participant
	TokensPerDay int64
	Zone         string // IANA name: whose days
	Used         int64
	Day          time.Time // a date
	EndsAt       time.Time // of the day
	Stop         *string   // what was said of today's stop at this limit, or an open one at another, or that it goes on at any: pending | continued | raised | lifted | kept; nil: it was not stopped
}

// Over reports that nothing is begun any more today.
func (b Budget) Over() bool {
	return b.Used >= b.TokensPerDay && (b.Stop == nil || *b.Stop != Continued)
}

// Asked reports that its owner knows of the stop: it waits for an answer, or has one that stands.
func (b Budget) Asked() bool {
	return b.Stop != nil && *b.Stop != Raised && *b.Stop != Lifted
}

// What an owner says to a stop.
const (
	StopPending = "pending"
	Continued   = "continued" // go on for today
	Raised      = "raised"    // more for every day
	Lifted      = "lifted"    // no limit any more
	Kept        = "kept"      // wait until tomorrow
)

// Stop is the day on which an agent had work and no tokens left of its limit. A limit
// that was raised and is reached too is another one; one that is set again asks again.
type Stop struct {
	ID           id.BudgetStop
	AgentID      id.Participant
	Day          time.Time
	TokensPerDay int64
	Used         int64
	Status       string
	RaisedTo     *int64 // of a raised one: the new limit
	DecidedBy    id.Participant
	DecidedAt    *time.Time
	ExpiresAt    time.Time
	InsertedAt   time.Time
}

// MaxBudget bounds a budget, in tokens a day.
const MaxBudget = 1_000_000_000_000

// SetBudgetTx stores the budget of an agent.
func SetBudgetTx(ctx context.Context, tx *pg.Tx, agent id.Participant, tokens int64, zone string, by id.Participant) error {
	if tokens < 1 || tokens > MaxBudget {
		return fault.New(fault.Invalid, "invalid", "This is no budget.").With("tokensPerDay", "range", fmt.Sprintf("1 to %d", int64(MaxBudget)))
	}
	if _, err := tx.Exec(ctx, querySetBudget, agent, tokens, zone, by); err != nil {
		return fmt.Errorf("store budget: %w", err)
	}
	return nil
}

// DropBudgetTx removes the budget of an agent; none is no fault.
func DropBudgetTx(ctx context.Context, tx *pg.Tx, agent id.Participant) error {
	if _, err := tx.Exec(ctx, queryDropBudget, agent); err != nil {
		return fmt.Errorf("drop budget: %w", err)
	}
	return nil
}

// BudgetOf is the budget of an agent; nil when it has none.
func BudgetOf(ctx context.Context, q pg.Querier, agent id.Participant) (*Budget, error) {
	out, err := pg.Rows[Budget](ctx, q, "read budget", queryBudget, agent)
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, nil //nolint:nilnil // nil is the answer: no budget
	}
	return &out[0], nil
}

// Budgeted are the agents that have one.
func Budgeted(ctx context.Context, q pg.Querier) ([]id.Participant, error) {
	return pg.Column[id.Participant](ctx, q, "list budgets", queryBudgeted)
}

// StopTx notes that an agent is stopped for the day by its limit; nil when that is known.
func StopTx(ctx context.Context, tx *pg.Tx, b Budget) (*Stop, error) {
	return oneStop(ctx, tx, queryStop, b.AgentID, b.Day, b.TokensPerDay, b.Used, b.EndsAt)
}

// LockStopTx reads and locks a stop; fault.ErrNotFound when there is none.
func LockStopTx(ctx context.Context, tx *pg.Tx, s id.BudgetStop) (Stop, error) {
	out, err := oneStop(ctx, tx, queryLockStop, s)
	if err == nil && out == nil {
		err = fault.ErrNotFound
	}
	if err != nil {
		return Stop{}, err
	}
	return *out, nil
}

// DecideStopTx notes what the owner says to a locked stop. Conflict when that was said
// before, or the day is over. raisedTo is for Raised alone.
func DecideStopTx(ctx context.Context, tx *pg.Tx, s Stop, status string, raisedTo *int64, by id.Participant) (Stop, error) {
	switch {
	case s.Status != StopPending:
		return s, fault.New(fault.Conflict, "already_decided", "This was decided before.")
	case !s.ExpiresAt.After(time.Now()):
		return s, fault.New(fault.Conflict, "approval_expired", "That day is over: the agent works again.")
	}
	out, err := oneStop(ctx, tx, queryDecideStop, s.ID, status, raisedTo, by)
	if err != nil || out == nil {
		return s, err
	}
	return *out, nil
}

// SettleStopTx ends the open stop of an agent that another limit, or none (nil), has
// overtaken; nil when it has none, or is stopped under the other limit too.
func SettleStopTx(ctx context.Context, tx *pg.Tx, agent id.Participant, limit *int64, by id.Participant) (*Stop, error) {
	status := Lifted
	if limit != nil {
		status = Raised
		if b, err := BudgetOf(ctx, tx, agent); err != nil || b == nil || b.Over() {
			return nil, err
		}
	}
	return oneStop(ctx, tx, querySettleStop, agent, status, limit, by)
}

func oneStop(ctx context.Context, q pg.Querier, sql string, args ...any) (*Stop, error) {
	out, err := pg.Rows[Stop](ctx, q, "budget stop", sql, args...)
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, nil //nolint:nilnil // nil is the answer: there is none
	}
	return &out[0], nil
}

const stopColumns = `id, agent_id, day, tokens_per_day, used, status, raised_to, decided_by, decided_at, expires_at, inserted_at`

const (
	querySetBudget = `INSERT INTO agent_budgets (agent_id, tokens_per_day, zone, set_by) VALUES ($1::uuid, $2::bigint, $3::text, $4::uuid)
ON CONFLICT (agent_id) DO UPDATE SET tokens_per_day = excluded.tokens_per_day, zone = excluded.zone, set_by = excluded.set_by, updated_at = now()`

	queryDropBudget = `DELETE FROM agent_budgets WHERE agent_id = $1::uuid`

	queryBudget = `SELECT b.agent_id, b.tokens_per_day, b.zone, d.day, (d.day + 1)::timestamp AT TIME ZONE b.zone AS ends_at,
  (SELECT coalesce(sum(u.input_tokens + u.output_tokens + u.cache_write_tokens), 0)::bigint FROM usage_records u
    WHERE u.agent_id = b.agent_id AND u.inserted_at >= d.day::timestamp AT TIME ZONE b.zone) AS used,
  (SELECT s.status FROM budget_stops s WHERE s.agent_id = b.agent_id AND s.day = d.day AND (s.tokens_per_day = b.tokens_per_day OR s.status IN ('continued', 'pending'))
    ORDER BY s.status = 'continued' DESC LIMIT 1) AS stop
FROM agent_budgets b CROSS JOIN LATERAL (SELECT (now() AT TIME ZONE b.zone)::date AS day) d WHERE b.agent_id = $1::uuid`

	queryBudgeted = `SELECT agent_id FROM agent_budgets`

	queryStop = `INSERT INTO budget_stops (agent_id, day, tokens_per_day, used, expires_at) SELECT $1::uuid, $2::date, $3::bigint, $4::bigint, $5::timestamptz
WHERE NOT EXISTS (SELECT 1 FROM budget_stops s WHERE s.agent_id = $1::uuid AND s.status = 'pending' AND s.expires_at > now())
ON CONFLICT (agent_id, day, tokens_per_day) DO UPDATE SET status = 'pending', raised_to = NULL, decided_by = NULL, decided_at = NULL, used = excluded.used, inserted_at = now()
WHERE budget_stops.status IN ('raised', 'lifted') RETURNING ` + stopColumns

	queryLockStop = `SELECT ` + stopColumns + ` FROM budget_stops WHERE id = $1::uuid FOR UPDATE`

	queryDecideStop = `UPDATE budget_stops SET status = $2::text, raised_to = $3::bigint, decided_by = $4::uuid, decided_at = now() WHERE id = $1::uuid RETURNING ` + stopColumns

	querySettleStop = `UPDATE budget_stops SET status = $2::text, raised_to = $3::bigint, decided_by = $4::uuid, decided_at = now()
WHERE agent_id = $1::uuid AND status = 'pending' AND expires_at > now() RETURNING ` + stopColumns
)
