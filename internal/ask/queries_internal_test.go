package ask

import (
	"testing"

	"github.com/agntchat/agntchat/internal/pg/pgtest"
)

// TestM2_StatementsPlan plans every statement against the migrated schema, with
// reading whole tables forbidden: where it is still done, no index serves.
func TestM2_StatementsPlan(t *testing.T) {
	t.Parallel()
	pgtest.PlanFrugally(t, pgtest.Frugal(t), []string{
		sqlInsert, sqlGet, sqlOpenOf, sqlOfTask, sqlOpenIn, sqlDue, sqlClose, sqlInsertQuery, sqlClaimQueries, sqlCountQueries, sqlLockQuery, sqlAnswerQuery,
		sqlFailQuery, sqlExpireQueries, sqlReturnQueries, sqlInsertScope, sqlClaimScopes, sqlCountScopes, sqlGetScopes, sqlRespondScope, sqlExpireScopes, sqlReturnScopes,
	})
}
