package file

import (
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/pg/pgtest"
)

// TestM2_StatementsPlan plans every statement against the migrated schema.
func TestM2_StatementsPlan(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{lockCountSQL, countUnkeptSQL, insertSQL, getSQL, storedSQL, lockSQL, keepSQL, deleteSQL, forgetUnkeptSQL, storedBytesSQL, leftoversSQL, goneSQL} {
		if plan := pgtest.Plan(t, sql); strings.Contains(plan, "Seq Scan on files ") {
			t.Errorf("reads a whole table:\n%s\n%s", sql, plan)
		}
	}
}

// Forgetting looks at every file, once an hour: it must only be a valid statement.
func TestM2_ForgettingPlans(t *testing.T) {
	t.Parallel()
	pgtest.Plan(t, forgetSQL)
}
