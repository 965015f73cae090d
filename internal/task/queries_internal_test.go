package task

import (
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/pg/pgtest"
)

// TestM2_StatementsPlan plans every statement against the migrated schema, with
// reading whole tables forbidden: where it is still done, no index serves. Only the
// statements of the start and of the sweep over small partial indexes may do it.
func TestM2_StatementsPlan(t *testing.T) {
	t.Parallel()
	conn := pgtest.Frugal(t)
	pgtest.PlanFrugally(t, conn, []string{
		sqlInsert, sqlAssign, sqlUnassign, sqlGet, sqlLock, sqlMove, sqlEvent, sqlEvents, sqlEdit, sqlJoin, sqlCard, sqlFired, sqlChildren, sqlDependencies,
		sqlDuplicate, sqlDue, sqlOrphans, sqlDependents, sqlOpenOf, sqlInWorkRoom, sqlSteps, sqlAddStep, sqlReopenSteps, sqlSetStep, sqlEnqueue, sqlDequeue, sqlRow,
		sqlRowOfTask, sqlLockRowOfTask, sqlAccepted, sqlReopen, sqlHeld, sqlInFlight, sqlWaiting, sqlCountWaiting, sqlUnseen, sqlHolders, sqlLapsed,
		sqlStillLapsed, sqlRoomsInWork, sqlUnbind,
	}, sqlUnseen, sqlHolders)
	for _, sql := range NewQueue(Times{time.Minute, time.Hour, time.Minute}).Statements() {
		pgtest.PlanOn(t, conn, sql) // their plans are tested in claim
	}
}
