package pgtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Plan has Postgres plan one statement against the migrated schema, as the
// generic plan that a cached statement would get, and returns the plan's text. A
// statement that does not parse, names a column that is not there, or has a
// parameter without a type fails the test with the place.
func Plan(t testing.TB, sql string) string {
	t.Helper()
	f := factory(t)
	conn, err := pgx.Connect(t.Context(), f.common(t).Config().DirectURL)
	if err != nil {
		t.Fatalf("connect to test database: %v", err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	return PlanOn(t, conn, sql)
}

// PlanOn is Plan on a given direct connection, for plans that depend on data.
func PlanOn(t testing.TB, conn *pgx.Conn, sql string) string {
	t.Helper()
	ctx := t.Context()
	d, err := conn.Prepare(ctx, "pgtest_plan", sql)
	if err != nil {
		t.Fatalf("plan: %s\n%s", place(err, sql), sql)
	}
	defer func() { _ = conn.Deallocate(context.WithoutCancel(ctx), "pgtest_plan") }()
	call := "EXPLAIN EXECUTE pgtest_plan"
	if n := len(d.ParamOIDs); n > 0 {
		call += "(" + strings.TrimSuffix(strings.Repeat("NULL,", n), ",") + ")"
	}
	if _, err := conn.Exec(ctx, "SET plan_cache_mode = force_generic_plan"); err != nil {
		t.Fatalf("plan: %v", err)
	}
	rows, _ := conn.Query(ctx, call, pgx.QueryExecModeSimpleProtocol)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("plan: %s\n%s", place(err, sql), sql)
	}
	return strings.Join(lines, "\n")
}

// Frugal is a connection to the migrated schema on which Postgres reads a whole table
// only where no index serves.
func Frugal(t testing.TB) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), factory(t).common(t).Config().DirectURL)
	if err != nil {
		t.Fatalf("connect to test database: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	if _, err := conn.Exec(t.Context(), `SET enable_seqscan = off`); err != nil {
		t.Fatal(err)
	}
	return conn
}

// PlanFrugally plans the statements on a connection of Frugal. Those that read a whole
// table all the same fail the test, but for whole, of which it is known.
func PlanFrugally(t testing.TB, conn *pgx.Conn, statements []string, whole ...string) {
	t.Helper()
	for _, sql := range statements {
		if plan := PlanOn(t, conn, sql); strings.Contains(plan, "Seq Scan on") && !slices.Contains(whole, sql) {
			t.Errorf("reads a whole table:\n%s\n%s", sql, plan)
		}
	}
}

// place turns the position of a Postgres error into line and column of the statement.
func place(err error, sql string) string {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || e.Position == 0 || int(e.Position) > len(sql)+1 {
		return err.Error()
	}
	before := sql[:e.Position-1]
	line := strings.Count(before, "\n") + 1
	return fmt.Sprintf("%d:%d: %s", line, len(before)-strings.LastIndexByte(before, '\n'), e.Message)
}
