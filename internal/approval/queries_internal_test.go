package approval

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/pg/pgtest"
)

// TestM2_StatementsPlan plans every statement against the migrated schema, with
// reading whole tables forbidden: where it is still done, no index serves.
func TestM2_StatementsPlan(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), pgtest.Config(t).DirectURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if _, err := conn.Exec(t.Context(), `SET enable_seqscan = off`); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		queryInsert, queryOne, queryLock, queryOpenOfRun, queryOfCall, querySame, queryCountOpen, queryAct, queryUse, queryDue, queryOpenOfRoom, queryOpenOfAgent, queryOpenOfTask, queryRunOfTask, queryRowsOfTask, queryOrphans, queryRowOfApproval,
		queryTold, queryByQueue, queryEnqueue, queryInFlight, queryWaiting, queryRowAgent, queryRowsOfRoom, queryRoomsInWork, queryUnblame, queryRemoveOf,
		queryGrant, queryGrantsFor, queryCountGrants, queryUseGrant, queryRevoke, queryRevokeAll,
		queryAskCredential, queryLockCredential, queryCountCredentials, queryResolveCredential, queryDueCredentials, querySealedCredential, queryForgetCredential, queryForgetCredentials,
		queryAskMember, queryMember, queryCountMembers, queryDecideMember, queryExpireMembers,
		querySetRule, queryDropRule, queryRules, queryVote, queryVotes, queryForgetVotes, queryPropose,
	} {
		if plan := pgtest.PlanOn(t, conn, sql); strings.Contains(plan, "Seq Scan on") {
			t.Errorf("reads a whole table:\n%s\n%s", sql, plan)
		}
	}
	for _, sql := range NewQueue(time.Minute, time.Hour, "EXISTS (SELECT 1 FROM queued_messages h WHERE h.conversation_id = a.conversation_id)").Statements() {
		pgtest.PlanOn(t, conn, sql) // their plans are tested in claim
	}
}
