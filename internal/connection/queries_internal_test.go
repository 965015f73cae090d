package connection

import (
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/pg/pgtest"
)

// TestM2_StatementsPlan plans every statement against the migrated schema.
func TestM2_StatementsPlan(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{countSQL, insertSQL, updateSQL, sealSQL, deleteSQL, clearOperationsSQL, insertOperationSQL, clearAgentsSQL, insertAgentsSQL, ofOwnerSQL, getSQL, ofAgentSQL, countForSQL, operationsSQL, agentsSQL, sealedSQL} {
		if plan := pgtest.Plan(t, sql); strings.Contains(plan, "Seq Scan on connection_") {
			t.Errorf("reads a whole table:\n%s\n%s", sql, plan)
		}
	}
}
