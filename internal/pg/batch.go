package pg

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Batch is statements that go to Postgres in one round trip and run in order, each
// with a snapshot of its own: what follows a statement that waited for a lock sees
// what the holder did. An error ends the batch. The zero value is empty.
type Batch struct {
	b   pgx.Batch
	err error // of a statement that must not be sent
}

// Add appends a statement. read gets its rows and need not close them; nil is for
// statements without any. What read fills is there when Run has returned.
func (b *Batch) Add(read func(pgx.Rows) error, sql string, args ...any) {
	if err := checkJSON(sql, args); err != nil && b.err == nil {
		b.err = err
	}
	q := b.b.Queue(sql, args...)
	if read == nil {
		return
	}
	q.Query(func(rows pgx.Rows) error {
		defer rows.Close()
		return read(rows)
	})
}

// ReadOne reads the row of a statement that gives at most one, by the names of its
// columns, and says whether there was one.
func ReadOne[T any](into *T, found *bool) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		v, err := pgx.CollectOneRow(rows, pgx.RowToStructByName[T])
		if *found = err == nil; *found {
			*into = v
		}
		if IsNotFound(err) {
			return nil
		}
		return err
	}
}

// ReadAll reads all rows, by the names of their columns.
func ReadAll[T any](into *[]T) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*into, err = pgx.CollectRows(rows, pgx.RowToStructByName[T])
		return err
	}
}

// ReadValues reads the columns of a statement that gives at most one row into
// variables, and says whether there was one.
func ReadValues(found *bool, into ...any) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		if *found = rows.Next(); *found {
			if err := rows.Scan(into...); err != nil {
				return err
			}
		}
		rows.Close()
		return rows.Err()
	}
}

// Run sends the batch, once, and reads all answers. An empty one does nothing. In a
// transaction that has not begun yet, BEGIN goes with it.
func Run(ctx context.Context, q Querier, b *Batch) error {
	if b.err != nil {
		return b.err
	}
	if b.b.Len() == 0 {
		return nil
	}
	return q.runBatch(ctx, &b.b)
}
