package claim

import (
	"context"
	"fmt"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// All ways to give a claim back open the row again, except an answered one: its
// lease ends at once and Expire hands it to its owner to be closed. They return
// the rows as they were opened.

// Release gives back claims of one executor.
func (q *Queue[T]) Release(ctx context.Context, db pg.Querier, executor id.Executor, held ...Held) ([]T, error) {
	if len(held) == 0 {
		return nil, nil
	}
	ids, generations := split(held)
	return q.released(ctx, db, q.sql.release, ids, executor, generations)
}

// ReleaseAllUnseen gives back every claim that nobody took notice of: the server
// starts, so no socket that got them is left. It reads the whole table once.
func (q *Queue[T]) ReleaseAllUnseen(ctx context.Context, db pg.Querier) ([]T, error) {
	return q.released(ctx, db, q.sql.releaseAllUnseen)
}

// Reopen opens claimed rows again whoever holds them: for the owner of the queue,
// after Expire.
func (q *Queue[T]) Reopen(ctx context.Context, tx *pg.Tx, ids ...id.QueueItem) ([]T, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return q.released(ctx, tx, q.sql.reopen, id.Strings(ids))
}

func (q *Queue[T]) released(ctx context.Context, db pg.Querier, sql string, args ...any) ([]T, error) {
	rows, err := q.collect(ctx, db, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("release claims: %w", err)
	}
	open := rows[:0]
	for _, r := range rows {
		if r.Claimed().LeaseUntil == nil {
			open = append(open, r)
		}
	}
	return open, nil
}

// Expire locks up to 200 claimed rows whose lease is over and returns them,
// oldest first. The caller decides in the same transaction: an answered row is
// closed (Remove), another is offered again (Reopen) or given up (Remove). Rows
// that somebody is finishing right now are left out. It reads the claimed rows of
// the whole table: run it about once a second, not per request.
func (q *Queue[T]) Expire(ctx context.Context, tx *pg.Tx) ([]T, error) {
	rows, err := q.collect(ctx, tx, q.sql.expire)
	if err != nil {
		return nil, fmt.Errorf("expire claims: %w", err)
	}
	return rows, nil
}

// Claims lists the claims of one executor, in order.
func (q *Queue[T]) Claims(ctx context.Context, db pg.Querier, agent id.Participant, executor id.Executor) ([]T, error) {
	rows, err := q.collect(ctx, db, q.sql.claims, agent, executor)
	if err != nil {
		return nil, fmt.Errorf("list claims: %w", err)
	}
	return rows, nil
}
