package turn

import (
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/pg/pgtest"
)

// TestM2_StatementsPlan plans every statement against the migrated schema, with
// reading whole tables forbidden: where it is still done, no index serves. Only the
// statements of the start may do it.
func TestM2_StatementsPlan(t *testing.T) {
	t.Parallel()
	conn := pgtest.Frugal(t)
	pgtest.PlanFrugally(t, conn, []string{
		queryEnqueue, queryEnqueueOne, queryOpenClaim, queryRow, queryLockRow, queryLockGroup, queryMarkAnswered, queryMarkPassed, queryMarkStale, queryHeldBy, queryHeldInRoom,
		queryWaitingRows, queryOfAgent, queryUnseen, queryHolders, queryInFlight, queryWaitingCount, queryWaitingInRoom, queryWaiting, queryLapsed, queryLease,
		queryRelease, queryFinish, queryFinished, queryReturned, querySettle, queryFinishReturned, queryUsage, queryFault, queryToolUses, queryDirective,
		queryWaitingFor, queryRoomsInWork, queryHeads, queryBehind, queryUsageOf, querySetBudget, queryDropBudget, queryBudget, queryStop, queryLockStop, queryDecideStop, queryLockOpenGroup, querySettleStale,
	}, queryUnseen, queryHolders)
	for _, sql := range NewQueue(time.Minute, time.Hour, "").Statements() {
		pgtest.PlanOn(t, conn, sql) // their plans are tested in claim
	}
}
