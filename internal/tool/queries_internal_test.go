package tool

import (
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/pg/pgtest"
)

// TestM2_StatementsPlan plans every statement against the migrated schema.
func TestM2_StatementsPlan(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{insertCallSQL, markedSQL, choicesSQL, chooseSQL, pruneCallsSQL} {
		if plan := pgtest.Plan(t, sql); strings.Contains(plan, "Seq Scan on tool_calls") {
			t.Errorf("reads a whole table:\n%s\n%s", sql, plan)
		}
	}
}
