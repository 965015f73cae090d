package present_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/view"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, v any) {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name+".json")
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update)", err)
	}
	if !bytes.Equal(want, b.Bytes()) {
		t.Errorf("%s differs:\n%s", path, b.String())
	}
}

func uid(n byte) uuid.UUID { return uuid.UUID{0: n, 6: 0x40, 8: 0x80, 15: n} }

var at = time.Date(2026, 1, 31, 12, 0, 0, 120_000_000, time.FixedZone("elsewhere", 3600))

func message() view.Message {
	return view.Message{
		ID: id.From[id.Message](uid(1)), ConversationID: id.From[id.Conversation](uid(2)), Seq: 7, SenderID: id.From[id.Participant](uid(3)),
		SenderKind: chat.Agent, SenderName: "Nova", Content: "hello @[Ada Lovelace] <&>", ContentType: "text",
		Metadata: json.RawMessage(`{"client_nonce":"n","snake_case":{"kept_asIs":1}}`), TurnGroupID: new("turn"),
		ParentMessageID: id.From[id.Message](uid(9)), InsertedAt: at, UpdatedAt: at,
	}
}

// TestM4_ChatOnTheWire pins names, shapes and the precision of times.
func TestM4_ChatOnTheWire(t *testing.T) {
	t.Parallel()
	golden(t, "message", present.Message(message()))
	golden(t, "conversation_updated", present.Updated(message(), new("mentions")))

	line := message()
	line.SenderID, line.SenderKind, line.SenderName, line.MessageType = id.Participant{}, chat.System, "", new("Notice")
	line.ParentMessageID, line.TurnGroupID, line.Metadata = id.Message{}, nil, nil
	golden(t, "system_line", present.Message(line))

	last := message()
	room := view.Conversation{
		Room: chat.Room{
			ID: last.ConversationID, Type: chat.Group, Title: new("Room"), CreatedBy: id.From[id.Participant](uid(4)),
			OrganizationID: id.From[id.Organization](uid(5)), Version: 12, MessageSeq: 7, InsertedAt: at, UpdatedAt: at,
		},
		LastMessage: &last, Unread: 2, MentionCount: 1, LastReadSeq: 5,
		Members: []view.Member{
			{ParticipantID: id.From[id.Participant](uid(4)), Role: chat.Admin, Kind: "human", DisplayName: "Ada Lovelace", Status: "active", InsertedAt: at},
			{ParticipantID: last.SenderID, Role: chat.Member, Kind: "agent", DisplayName: "Nova", Status: "active", OwnerID: id.From[id.Participant](uid(4)),
				Description: "A star.", Capabilities: []string{"search"}, InsertedAt: at},
		},
	}
	golden(t, "conversation", present.Conversation(room, false, func(p id.Participant) bool { return p == last.SenderID }))
	if guest := present.Conversation(room, true, nil); guest.OrganizationID != nil {
		t.Error("a guest sees the workspace")
	}
}

// TestP8_ReadableTextIsNeverJSON: previews and notifications show words.
func TestP8_ReadableTextIsNeverJSON(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		m    view.Message
		want string
	}{
		"text":         {view.Message{Content: " hi ", ContentType: "text"}, "hi"},
		"text in {}":   {view.Message{Content: "{not json", ContentType: "text"}, "{not json"},
		"status":       {view.Message{Content: `{"type":"task_complete","summary":"Done."}`, ContentType: "status_update", MessageType: new("StatusUpdate")}, "Done."},
		"file":         {view.Message{Content: `{"filename":"a.pdf","sizeBytes":3}`, ContentType: "file"}, "a.pdf"},
		"action":       {view.Message{ContentType: "structured", MessageType: new("UserAction"), ContentStructured: json.RawMessage(`{"action":"book","label":"Book it"}`)}, "Book it"},
		"data":         {view.Message{ContentType: "structured", ContentStructured: json.RawMessage(`{"data":{"title":"Hotels"}}`), Content: `{"data":1}`}, "Hotels"},
		"nothing":      {view.Message{ContentType: "structured", Content: `{"x":1}`}, ""},
		"hidden":       {view.Message{ContentType: "text", Content: "x", MessageType: new("EndTurn")}, ""},
		"prose beside": {view.Message{ContentType: "structured", Content: "Here it is", ContentStructured: json.RawMessage(`{"data":{}}`)}, "Here it is"},
	} {
		if got := present.ReadableText(tc.m); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	long := present.ReadableText(view.Message{Content: strings.Repeat("€", 5000), ContentType: "text"})
	if len(long) > 4003 || !strings.HasSuffix(long, "€…") {
		t.Errorf("%d bytes", len(long))
	}
}

func TestP8_ChangesHaveNoGaps(t *testing.T) {
	t.Parallel()
	m := message()
	conv := m.ConversationID
	held := map[id.Message]view.Message{m.ID: m}
	for event, tc := range map[string]struct {
		ch   chat.Change
		want string
	}{
		"new_message":                {chat.Change{Seq: 1, Event: "new_message", SubjectID: m.ID.UUID()}, "new_message"},
		"gone":                       {chat.Change{Seq: 2, Event: "new_message", SubjectID: uid(8)}, "message_deleted"},
		"message_metadata_changed":   {chat.Change{Seq: 3, Event: "message_metadata_changed", SubjectID: m.ID.UUID()}, "message_metadata_changed"},
		"member_added":               {chat.Change{Seq: 4, Event: "member_added", SubjectID: uid(8)}, "noop"},
		"conversation_title_changed": {chat.Change{Seq: 5, Event: "conversation_title_changed", Payload: json.RawMessage(`{"title":null}`)}, "conversation_title_changed"},
	} {
		got, err := present.Change(conv, tc.ch, held, nil, nil)
		if err != nil || got.Event != tc.want || got.Seq != tc.ch.Seq {
			t.Errorf("%s: %+v, %v", event, got, err)
		}
		raw, err := json.Marshal(got.Payload)
		if err != nil || !strings.Contains(string(raw), `"seq":`) {
			t.Errorf("%s: payload %s, %v", event, raw, err)
		}
	}
}
