package view

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/pg/pgtest"
)

// TestM2_GatewayStatementsPlan plans the reads of turns, receipts and health.
func TestM2_GatewayStatementsPlan(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), pgtest.Config(t).DirectURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if _, err := conn.Exec(t.Context(), `SET enable_seqscan = off`); err != nil { // where it is still done, no index serves
		t.Fatal(err)
	}
	for _, sql := range []string{
		receiptsSQL, recentAskedSQL, turnsSQL, agentOwnerSQL, turnHistoryDefaultSQL, newestSQL, newestAndTaskSQL, workMessageSQL, busyInSQL, stoppedTasksSQL, decisionsSQL, pastDecisionsSQL, approvalsByIDSQL, grantsSQL, memberRequestSQL, activeDecidersSQL, orphanedApprovalsSQL, taskWorkSQL, answerSQL, marksSQL, agentNameSQL, oneAgentSQL, turnHistoryAnySQL, latestBySQL, audienceSQL, roomAudienceSQL, agentQueuesSQL, executorRowsSQL,
		claimRowsSQL, faultRowsSQL, openMessageSQL, openMessagesSQL, roomsToTellSQL, causeSQL, answeredSQL, groupSQL, workedSQL, turnMessagesSQL, runMessageSQL, taskTaintedSQL, listensSQL, heldCallSQL,
	} {
		if plan := pgtest.PlanOn(t, conn, sql); strings.Contains(plan, "Seq Scan on") {
			t.Errorf("reads a whole table:\n%s\n%s", sql, plan)
		}
	}
}
