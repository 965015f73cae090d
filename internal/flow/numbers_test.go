package flow_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/memory"
)

// Postgres gives a number like 1e131071 back as 131072 digits. A few bytes that a member
// sends must not become megabytes for everybody who reads the room, nor a memory that
// nobody can write any more.
func TestK3_NumbersDoNotGrow(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	m, _ := b.remembering()
	ada := b.Person("Ada")
	bot := b.Agent(ada, "Nova")
	room := b.Room("group", ada, bot)
	for _, numbers := range []string{`1e131071`, `-1E+400`, `1e-16383`, strings.Repeat(`1e308,`, 100) + `1`} {
		doc := json.RawMessage(`{"a":[` + numbers + `],"b":"1e9999"}`)
		if _, _, err := m.WriteRoom(t.Context(), ada, room, memory.RoomWrite{Changes: doc}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("memory of a room, %.20s: %v", numbers, err)
		}
		if _, err := b.Chat.Post(t.Context(), ada, flow.Post{ConversationID: room, Content: "hi", Metadata: doc}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("metadata of a message, %.20s: %v", numbers, err)
		}
		note := memory.Write{Category: "fact", Key: "k", Content: "c", Metadata: doc}
		if _, err := m.AddToAgent(t.Context(), ada, bot.ID, note, false); fault.KindOf(err) != fault.Invalid {
			t.Errorf("metadata of a note, %.20s: %v", numbers, err)
		} else if strings.Contains(err.Error(), "e9999") {
			t.Errorf("the error tells the value: %.200v", err)
		}
	}
	usual := json.RawMessage(`{"a":[1e3,2.5E-4,6.02e+23,true,false],"b":"1e99999 \"1e99999","c\\":1}`)
	if _, _, err := m.WriteRoom(t.Context(), ada, room, memory.RoomWrite{Changes: usual}); err != nil {
		t.Error(err)
	}
	if _, err := b.Chat.Post(t.Context(), ada, flow.Post{ConversationID: room, Content: "hi", Metadata: usual}); err != nil {
		t.Error(err)
	}
	if got, err := m.OfRoom(t.Context(), ada, room); err != nil || !strings.Contains(string(got.Memory), "602000000000000000000000") {
		t.Errorf("%.300s %v", got.Memory, err)
	}
}
