package pg

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Rows reads every row of a statement into a struct T, whose fields are the columns by
// name. what says in an error what was done ("list members").
func Rows[T any](ctx context.Context, q Querier, what, sql string, args ...any) ([]T, error) {
	return collect(ctx, q, pgx.RowToStructByName[T], what, sql, args)
}

// Column reads the one column of every row of a statement. what is as for Rows.
func Column[T any](ctx context.Context, q Querier, what, sql string, args ...any) ([]T, error) {
	return collect(ctx, q, pgx.RowTo[T], what, sql, args)
}

func collect[T any](ctx context.Context, q Querier, scan pgx.RowToFunc[T], what, sql string, args []any) ([]T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	out, err := pgx.CollectRows(rows, scan)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return out, nil
}
