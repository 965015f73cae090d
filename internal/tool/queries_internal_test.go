package tool

import (
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/pg/pgtest"
)

// TestM2_StatementsPlan plans every statement against the migrated schema.
func TestM2_StatementsPlan(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{insertCallSQL, markedSQL, choicesSQL, chooseSQL} {
		if plan := pgtest.Plan(t, sql); strings.Contains(plan, "Seq Scan on tool_calls") {
			t.Errorf("reads a whole table:\n%s\n%s", sql, plan)
		}
	}
}

// Forgetting finds the oldest by age; what it then deletes by id is read as the
// planner likes, which is the whole of a small table.
func TestM2_ForgettingFindsTheOldest(t *testing.T) {
	t.Parallel()
	if plan := pgtest.Plan(t, pruneCallsSQL); !strings.Contains(plan, "tool_calls_age_idx") {
		t.Errorf("%s", plan)
	}
}
