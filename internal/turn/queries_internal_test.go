package turn

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/pg/pgtest"
)

// TestM2_StatementsPlan plans every statement against the migrated schema, with
// reading whole tables forbidden: where it is still done, no index serves. Only the
// statements of the start may do it.
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
	atStart := map[string]bool{queryUnseen: true, queryHolders: true}
	for _, sql := range []string{
		queryEnqueue, queryEnqueueOne, queryOpenClaim, queryRow, queryLockRow, queryLockGroup, queryMarkAnswered, queryMarkPassed, queryMarkStale, queryHeldBy, queryHeldInRoom,
		queryWaitingRows, queryOfAgent, queryUnseen, queryHolders, queryInFlight, queryWaitingCount, queryWaitingInRoom, queryWaiting, queryLapsed, queryLease,
		queryRelease, queryFinish, queryFinished, queryReturned, querySettle, queryFinishReturned, queryUsage, queryFault, queryToolUses, queryDirective,
		queryWaitingFor, queryRoomsInWork, queryHeads, queryBehind, queryUsageOf, querySetBudget, queryDropBudget, queryBudget, queryStop, queryLockStop, queryDecideStop, queryWaitingRooms, queryLockOpenGroup, querySettleStale,
	} {
		if plan := pgtest.PlanOn(t, conn, sql); !atStart[sql] && strings.Contains(plan, "Seq Scan on") {
			t.Errorf("reads a whole table:\n%s\n%s", sql, plan)
		}
	}
	for _, sql := range NewQueue(time.Minute, time.Hour, "").Statements() {
		pgtest.PlanOn(t, conn, sql) // their plans are tested in claim
	}
}
