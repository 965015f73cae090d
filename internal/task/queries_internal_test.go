package task

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
// statements of the start and of the sweep over small partial indexes may do it.
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
	atStart := map[string]bool{sqlUnseen: true, sqlHolders: true}
	for _, sql := range []string{
		sqlInsert, sqlAssign, sqlUnassign, sqlGet, sqlLock, sqlMove, sqlEvent, sqlEvents, sqlEdit, sqlJoin, sqlCard, sqlFired, sqlChildren, sqlDependencies,
		sqlDuplicate, sqlDue, sqlOrphans, sqlDependents, sqlOpenOf, sqlInWorkRoom, sqlSteps, sqlAddStep, sqlReopenSteps, sqlSetStep, sqlEnqueue, sqlDequeue, sqlRow,
		sqlRowOfTask, sqlLockRowOfTask, sqlAccepted, sqlReopen, sqlHeld, sqlInFlight, sqlWaiting, sqlCountWaiting, sqlUnseen, sqlHolders, sqlLapsed,
		sqlStillLapsed, sqlRoomsInWork, sqlUnbind,
	} {
		if plan := pgtest.PlanOn(t, conn, sql); !atStart[sql] && strings.Contains(plan, "Seq Scan on") {
			t.Errorf("reads a whole table:\n%s\n%s", sql, plan)
		}
	}
	for _, sql := range NewQueue(Times{time.Minute, time.Hour, time.Minute}).Statements() {
		pgtest.PlanOn(t, conn, sql) // their plans are tested in claim
	}
}
