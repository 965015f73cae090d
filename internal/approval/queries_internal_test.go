package approval

import (
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/pg/pgtest"
)

// TestM2_StatementsPlan plans every statement against the migrated schema, with
// reading whole tables forbidden: where it is still done, no index serves.
func TestM2_StatementsPlan(t *testing.T) {
	t.Parallel()
	conn := pgtest.Frugal(t)
	pgtest.PlanFrugally(t, conn, []string{
		queryInsert, queryOne, queryLock, queryOpenOfRun, queryOfCall, querySame, queryCountOpen, queryAct, queryUse, queryDue, queryOpenOfRoom, queryOpenOfAgent, queryOpenOfTask, queryRunOfTask, queryRowsOfTask, queryOrphans, queryRowOfApproval,
		queryTold, queryByQueue, queryEnqueue, queryInFlight, queryWaiting, queryRowAgent, queryRowsOfRoom, queryRoomsInWork, queryUnblame, queryRemoveOf,
		queryGrant, queryGrantsFor, queryCountGrants, queryUseGrant, queryRevoke, queryRevokeAll,
		queryAskCredential, queryLockCredential, queryCountCredentials, queryResolveCredential, queryDueCredentials, querySealedCredential, queryForgetCredential, queryForgetCredentials,
		queryAskMember, queryMember, queryCountMembers, queryDecideMember, queryExpireMembers,
		querySetRule, queryDropRule, queryRules, queryVote, queryVotes, queryForgetVotes, queryPropose,
	})
	for _, sql := range NewQueue(time.Minute, time.Hour, "EXISTS (SELECT 1 FROM queued_messages h WHERE h.conversation_id = a.conversation_id)").Statements() {
		pgtest.PlanOn(t, conn, sql) // their plans are tested in claim
	}
}
