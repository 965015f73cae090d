package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// RegisterTx makes or takes over the row of (agent, key). Before is what stood
// there, nil for a first registration; another InstanceID in it means that an
// older process was replaced.
func RegisterTx(ctx context.Context, tx *pg.Tx, in Registration) (now Executor, before *Executor, err error) {
	if err := in.check(); err != nil {
		return Executor{}, nil, err
	}
	if before, err = one(ctx, tx, queryLockByKey, in.AgentID, in.Key); err != nil {
		return Executor{}, nil, fmt.Errorf("register executor: %w", err)
	}
	e, err := one(ctx, tx, queryRegister, in.AgentID, in.Key, clean(in.DisplayName), orEmpty(in.Capabilities), orDefault(in.ConnectionType, "long_poll"),
		max(1, min(in.MaxConcurrent, MaxSlots)), clean(in.InstanceID), clean(in.BridgeVersion), in.Ours, in.DeviceName, object(in.Metadata), object(in.BackendHealth))
	if err != nil {
		return Executor{}, nil, fmt.Errorf("register executor: %w", err)
	}
	return *e, before, nil
}

// BeatTx notes a sign of life and revives an offline row (bridge contract 2.13).
// ErrUnknown when the agent has no such executor or it was disabled.
func BeatTx(ctx context.Context, tx *pg.Tx, agent id.Participant, ex id.Executor, b Beat) (Executor, error) {
	e, err := one(ctx, tx, queryBeat, ex, agent, b.BridgeVersion, nullable(b.BackendHealth), nullable(b.Metrics))
	if err != nil {
		return Executor{}, fmt.Errorf("heartbeat: %w", err)
	}
	if e == nil {
		return Executor{}, ErrUnknown
	}
	return *e, nil
}

// LockTx reads and locks one row of the agent; ErrUnknown when there is none.
func LockTx(ctx context.Context, tx *pg.Tx, agent id.Participant, ex id.Executor) (Executor, error) {
	return must(one(ctx, tx, queryLock, ex, agent))
}

// Get reads one row of the agent; ErrUnknown when there is none.
func Get(ctx context.Context, q pg.Querier, agent id.Participant, ex id.Executor) (Executor, error) {
	return must(one(ctx, q, queryGet, ex, agent))
}

// ByAgent lists the 200 executors of the agent that were heard of last, the oldest first.
func ByAgent(ctx context.Context, q pg.Querier, agent id.Participant) ([]Executor, error) {
	return many(ctx, q, queryByAgent, agent)
}

// AllOnline lists the rows that were online when the server stopped.
func AllOnline(ctx context.Context, q pg.Querier) ([]Executor, error) {
	return many(ctx, q, queryOnline)
}

// SetStatusTx writes a state.
func SetStatusTx(ctx context.Context, tx *pg.Tx, ex id.Executor, status string) error {
	if _, err := tx.Exec(ctx, querySetStatus, ex, status); err != nil {
		return fmt.Errorf("set executor status: %w", err)
	}
	return nil
}

// SilentTx takes an executor offline that was not heard of for a time; false when
// it was.
func SilentTx(ctx context.Context, tx *pg.Tx, ex id.Executor, after time.Duration) (bool, error) {
	tag, err := tx.Exec(ctx, querySilent, ex, after.Seconds())
	if err != nil {
		return false, fmt.Errorf("take executor offline: %w", err)
	}
	return tag.RowsAffected() > 0, nil
}

// TouchTx notes a sign of life of several executors at once, without reviving them.
func TouchTx(ctx context.Context, tx *pg.Tx, executors []id.Executor) error {
	if len(executors) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, queryTouch, id.Strings(executors)); err != nil {
		return fmt.Errorf("touch executors: %w", err)
	}
	return nil
}

func must(e *Executor, err error) (Executor, error) {
	if err != nil {
		return Executor{}, fmt.Errorf("read executor: %w", err)
	}
	if e == nil {
		return Executor{}, ErrUnknown
	}
	return *e, nil
}

func one(ctx context.Context, q pg.Querier, sql string, args ...any) (*Executor, error) {
	all, err := many(ctx, q, sql, args...)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

func many(ctx context.Context, q pg.Querier, sql string, args ...any) ([]Executor, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	out, err := pgx.CollectRows(rows, pgx.RowToStructByName[Executor])
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return out, err
}

func object(b json.RawMessage) string {
	if s := nullable(b); s != nil {
		return *s
	}
	return "{}"
}

func nullable(b json.RawMessage) *string {
	if len(b) == 0 || len(b) > 64<<10 || !json.Valid(b) || b[0] != '{' || strings.Contains(string(b), `\u0000`) {
		return nil
	}
	return new(string(b))
}

func orEmpty(s []string) []string {
	out := make([]string, len(s))
	for n := range s {
		out[n] = clean(s[n])
	}
	return out
}

// clean drops what Postgres cannot store in a text.
func clean(s string) string { return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "") }

func orDefault(s, def string) string {
	if s == "" {
		return def
	}
	return s
}
