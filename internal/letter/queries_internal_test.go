package letter

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/pg/pgtest"
)

// TestL1_StatementsPlan plans every statement against the migrated schema, with
// reading whole tables forbidden: only the list of API keys reads one.
func TestL1_StatementsPlan(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), pgtest.Config(t).DirectURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if _, err := conn.Exec(t.Context(), `SET enable_seqscan = off`); err != nil {
		t.Fatal(err)
	}
	for _, sql := range statements {
		if plan := pgtest.PlanOn(t, conn, sql); sql != sqlAPIKeys && strings.Contains(plan, "Seq Scan on") {
			t.Errorf("reads a whole table:\n%s\n%s", sql, plan)
		}
	}
	for _, sql := range []string{sqlSend, sqlWaiting, sqlPeekable, sqlSenders} { // they are for one recipient
		if plan := pgtest.PlanOn(t, conn, sql); strings.Contains(plan, "letters_sent_idx") {
			t.Errorf("reads the letters of everybody:\n%s", plan)
		}
	}
}
