package channel_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"testing"

	"github.com/agntchat/agntchat/internal/channel"
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/view"
)

// TestM4_EveryChatEventHasAnEncoder reads the list of events from their source, so
// that a new one without an encoder fails.
func TestM4_EveryChatEventHasAnEncoder(t *testing.T) {
	t.Parallel()
	one := []id.Participant{id.New[id.Participant]()}
	samples := map[event.Event][]string{}
	names := []string{}
	add := func(e event.Event, want ...string) {
		samples[&wrapped{e}] = want
		names = append(names, reflect.TypeOf(e).Name())
	}
	add(flow.MessagePosted{}, "new_message")
	add(flow.ConversationUpdated{To: []flow.Recipients{{IDs: one}, {Category: new("mentions"), IDs: one}}}, "conversation_updated", "conversation_updated")
	add(flow.ConversationRead{}, "conversation_read")
	add(flow.MessageDeleted{}, "message_deleted")
	add(flow.MessageUpdated{Message: view.Message{ContentType: "text"}}, "message_updated")
	add(flow.MessageUpdated{Message: view.Message{ContentType: "file"}}, "message_updated", "new_message")
	add(flow.SubConversationCreated{}, "sub_conversation_created")
	add(flow.HuddleChanged{}, "huddle_changed")
	add(flow.MessageMetadataChanged{Metadata: json.RawMessage(`{}`)}, "message_metadata_changed")
	add(flow.ConversationCreated{To: one, Conversation: view.Conversation{}}, "new_conversation")
	add(flow.ConversationDeleted{To: one}, "conversation_deleted")
	add(flow.TitleChanged{To: one}, "conversation_title_changed")
	add(flow.AvatarChanged{To: one}, "conversation_avatar_changed")
	add(flow.SettingsChanged{To: one}, "conversation_settings_changed")
	add(flow.RoomMetadataChanged{To: one, Metadata: json.RawMessage(`{}`)}, "conversation_metadata_changed")
	add(flow.MemberAdded{To: one}, "member_added")
	add(flow.MemberRemoved{To: one}, "member_removed", "removed_from_conversation")
	add(flow.WriterNotice{}, "notice")
	add(flow.RenameResolved{To: one}, "conversation_rename_resolved")

	encode := channel.ChatEvents(channel.NewRooms(), nil)
	for w, want := range samples {
		outs, ok := encode(w.(*wrapped).Event)
		var got []string
		for _, o := range outs {
			got = append(got, o.Event)
			if raw, err := json.Marshal(o.Payload); err != nil || raw[0] != '{' {
				t.Errorf("%s: payload %s, %v", o.Event, raw, err)
			}
			if len(o.Topics) == 0 {
				t.Errorf("%s goes nowhere", o.Event)
			}
		}
		if !ok || !slices.Equal(got, want) {
			t.Errorf("%T: %v, want %v", w.(*wrapped).Event, got, want)
		}
	}

	f, err := parser.ParseFile(token.NewFileSet(), "../flow/chat_events.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		ts, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		st, ok := ts.Type.(*ast.StructType)
		if ok && len(st.Fields.List) > 0 && len(st.Fields.List[0].Names) == 0 && !slices.Contains(names, ts.Name.Name) {
			t.Errorf("flow.%s has no sample here: does it have an encoder?", ts.Name.Name)
		}
		return true
	})
}

// wrapped makes an event a map key: some hold slices.
type wrapped struct{ event.Event }

// TestP8_NewcomersLearnWhoIsOnline: who shares a room for the first time has no
// presence_snapshot of the other.
func TestP8_NewcomersLearnWhoIsOnline(t *testing.T) {
	t.Parallel()
	ada, bob, nova := id.New[id.Participant](), id.New[id.Participant](), id.New[id.Participant]()
	members := []view.Member{{ParticipantID: ada, Kind: "human"}, {ParticipantID: bob, Kind: "human"}, {ParticipantID: nova, Kind: "agent", OwnerID: ada}}
	encode := channel.ChatEvents(channel.NewRooms(), func(p id.Participant) bool { return p != bob })
	outs, _ := encode(flow.ConversationCreated{To: []id.Participant{ada, bob}, Conversation: view.Conversation{Members: members}})
	heard := map[string][]string{}
	for _, o := range outs {
		heard[o.Event] = append(heard[o.Event], o.Topics...)
	}
	toBob := []string{event.UserTopic(bob.String())}
	if !slices.Equal(heard["human_status_changed"], toBob) || !slices.Equal(heard["agent_status_changed"], toBob) {
		t.Errorf("Bob must hear of Ada and her agent, Ada of nobody: %v", heard)
	}
	outs, _ = encode(flow.MemberAdded{Member: members[0], To: []id.Participant{bob}})
	if len(outs) != 2 || outs[0].Event != "member_added" || outs[1].Event != "human_status_changed" {
		t.Errorf("a new member that is online: %v", outs)
	}
}
