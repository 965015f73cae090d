package letter

import (
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/pg/pgtest"
)

// TestL1_StatementsPlan plans every statement against the migrated schema, with
// reading whole tables forbidden: only the list of API keys reads one.
func TestL1_StatementsPlan(t *testing.T) {
	t.Parallel()
	conn := pgtest.Frugal(t)
	pgtest.PlanFrugally(t, conn, statements, sqlAPIKeys)
	for _, sql := range []string{sqlSend, sqlWaiting, sqlPeekable, sqlSenders} { // they are for one recipient
		if plan := pgtest.PlanOn(t, conn, sql); strings.Contains(plan, "letters_sent_idx") {
			t.Errorf("reads the letters of everybody:\n%s", plan)
		}
	}
}
