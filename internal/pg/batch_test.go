package pg_test

import (
	"context"
	"errors"
	"testing"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/pg/pgtest"
)

// TestM2_BatchBeginsTheTransaction: BEGIN travels with the first batch, rolls back
// with the rest, and a unit of work that asks nothing sends nothing.
func TestM2_BatchBeginsTheTransaction(t *testing.T) {
	t.Parallel()
	var rec pgtest.Statements
	db := pgtest.DB(t, pgtest.Record(&rec))
	if _, err := db.Exec(t.Context(), `CREATE TABLE notes (n integer PRIMARY KEY)`); err != nil {
		t.Fatal(err)
	}
	count := func() (n int) {
		if err := db.QueryRow(t.Context(), `SELECT count(*) FROM notes`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	write := func(numbers ...int) func(context.Context, *pg.Tx) error {
		return func(ctx context.Context, tx *pg.Tx) error {
			var b pg.Batch
			for _, n := range numbers {
				b.Add(nil, `INSERT INTO notes (n) VALUES ($1::integer)`, n)
			}
			return pg.Run(ctx, tx, &b)
		}
	}
	list, trips := rec.Of(func() {
		if err := db.InTx(t.Context(), write(1, 2)); err != nil {
			t.Error(err)
		}
	})
	if trips != 2 || count() != 2 {
		t.Fatalf("%d round trips for %q", trips, list)
	}
	if err := db.InTx(t.Context(), write(3, 3)); !pg.IsUnique(err, "notes_pkey") {
		t.Fatalf("a number twice: %v", err)
	}
	boom := errors.New("boom")
	err := db.InTx(t.Context(), func(ctx context.Context, tx *pg.Tx) error { return errors.Join(write(4)(ctx, tx), boom) })
	if !errors.Is(err, boom) || count() != 2 {
		t.Fatalf("rolled back: %v, %d rows", err, count())
	}
	var first, second int
	list, trips = rec.Of(func() {
		err = db.InTx(t.Context(), func(ctx context.Context, tx *pg.Tx) error {
			return errors.Join(tx.QueryRow(ctx, `SELECT n FROM notes ORDER BY n`).Scan(&first), tx.QueryRow(ctx, `SELECT n FROM notes ORDER BY n DESC`).Scan(&second))
		})
	})
	if err != nil || first != 1 || second != 2 || trips != 3 {
		t.Fatalf("read %d and %d in %d round trips for %q, %v", first, second, trips, list, err)
	}
	err = db.InTx(t.Context(), func(ctx context.Context, tx *pg.Tx) error {
		return tx.QueryRow(ctx, `SELECT n FROM notes WHERE n = 9`).Scan(&first)
	})
	if !pg.IsNotFound(err) {
		t.Fatalf("no row: %v", err)
	}
	if err := db.InTx(t.Context(), func(ctx context.Context, tx *pg.Tx) error { _, err := tx.Exec(ctx, `SELECT 1/0`); return err }); err == nil {
		t.Fatal("a first statement that fails")
	}
	if err := db.InTx(t.Context(), func(ctx context.Context, tx *pg.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE notes SET n = n + 10`)
		if tag.RowsAffected() != 2 {
			t.Errorf("the first statement changed %d rows", tag.RowsAffected())
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if list, _ := rec.Of(func() { _ = db.InTx(t.Context(), write()) }); len(list) != 0 {
		t.Fatalf("nothing was asked: %q", list)
	}
}

// TestM2_IdentifiersTravelAsBytes: typed identifiers, none and lists come back as they went.
func TestM2_IdentifiersTravelAsBytes(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	want := id.New[id.Message]()
	var got, none id.Message
	var list []id.Message
	none = want
	err := tx.QueryRow(t.Context(), `SELECT $1::uuid, $2::uuid, ARRAY[$1::uuid]`, want, id.Message{}).Scan(&got, &none, &list)
	if err != nil || got != want || !none.IsZero() || len(list) != 1 || list[0] != want {
		t.Fatalf("%v %v %v, %v", got, none, list, err)
	}
	var wrong id.Message
	if err := tx.QueryRow(t.Context(), `SELECT 'x'::text`).Scan(&wrong); err == nil {
		t.Fatal("text became an identifier")
	}
}
