package chat

import (
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/pg/pgtest"
)

// TestM2_StatementsPlan plans every statement against the migrated schema.
func TestM2_StatementsPlan(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{
		sqlCreateRoom, sqlFindDirect, sqlGetRoom, sqlLockRoom, sqlSetTitle, sqlSetAvatar, sqlSetAgentsAdd, sqlDeleteRoom,
		sqlAddMember, sqlRemoveMember, sqlSetRole, sqlRole, sqlMarkRead, sqlReadNext, sqlInsertMessage, sqlFindByKey, sqlBrief, sqlSeqOf,
		sqlDeleteMessage, sqlPatchMessage, sqlRecordChange, sqlChanges, sqlPruneChanges,
		sqlFindHuddle, sqlOpenHuddles, sqlFreeHuddleKey, sqlHuddlesOf, sqlGroupsOf, sqlReaderRole, sqlHuddlesBelow, sqlDepth, sqlSetAttachments,
	} {
		plan := pgtest.Plan(t, sql)
		if strings.Contains(plan, "Seq Scan on messages") || strings.Contains(plan, "Seq Scan on conversations ") {
			t.Errorf("reads a whole table:\n%s\n%s", sql, plan)
		}
	}
}
