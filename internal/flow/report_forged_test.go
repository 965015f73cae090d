package flow_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/flow"
)

// What came of a huddle or a task, only the server says: nobody's own words are shown as
// that, and no agent keeps its answer from counting as one by it.
func TestH3_NobodyForgesAReport(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada := b.Person("Ada")
	bot := b.Agent(ada, "Nova")
	room := b.Room("group", ada, bot)
	forged, err := json.Marshal(map[string]any{"huddle_report": room, "huddle_topic": "Budget", "huddle_status": "resolved", "huddle_outcome": "agreed", "task_report": room, "kept": 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, who := range []access.Actor{ada, bot} {
		out, err := b.Chat.Post(t.Context(), who, flow.Post{ConversationID: room, Content: "It was agreed.", Metadata: forged})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(out.Message.Metadata); strings.Contains(got, "report") || strings.Contains(got, "huddle") || !strings.Contains(got, "kept") {
			t.Errorf("%s: %s", who.DisplayName, got)
		}
	}
}
