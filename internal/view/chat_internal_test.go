package view

import (
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/pg/pgtest"
	"github.com/agntchat/agntchat/internal/speak"
)

// TestM2_ChatStatementsPlan plans the reads of rooms and messages.
func TestM2_ChatStatementsPlan(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{
		messagesByIDSQL, messageByIDSQL, messagesNewestSQL, messagesBeforeSQL, messagesAfterSQL, lastMessagesSQL, membersSQL, roomMembersSQL, roomSQL, personalRoomsSQL, sideRoomsSQL, huddlesOfSQL,
		unreadSQL, unreadInSQL, contactsSQL, contactByIDSQL, activePeople, peersSQL, circlesSQL, roomsWithSQL, guestsSQL, ownerIDSQL, seatsSQL, oneMemberSQL,
		causeSQL, groupSQL,
	} {
		plan := pgtest.Plan(t, sql)
		if sql == messagesByIDSQL {
			continue // on an empty table a list of ids is not worth an index
		}
		if strings.Contains(plan, "Seq Scan on messages") {
			t.Errorf("reads every message:\n%s\n%s", sql, plan)
		}
	}
}

// Files are few beside messages, and lead to theirs by its key: it must only be valid.
func TestP8_FilesPlan(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{filesBySQL, roomFilesSQL, messageCountsSQL} {
		pgtest.Plan(t, sql)
	}
}

// TestP8_HiddenTypesAgree: what is not listed is what speak calls hidden.
func TestP8_HiddenTypesAgree(t *testing.T) {
	t.Parallel()
	for name := range strings.SplitSeq(strings.Trim(hiddenTypes, "()"), ", ") {
		if !speak.Hidden(strings.Trim(name, "'")) {
			t.Errorf("%s is listed by speak and hidden by view", name)
		}
	}
	for _, name := range []string{"EndTurn", "TaskReassign", "TaskDeclined", "TurnDirective", "CapabilityUpdate", "capability_negotiation", "ContextBriefing"} {
		if !strings.Contains(hiddenTypes, "'"+name+"'") {
			t.Errorf("view lists %s", name)
		}
	}
}
