package flow_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/document"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/view"
)

// asked gives the agent an open turn about what somebody says.
func (b *bench) asked(who, agent access.Actor, room id.Conversation) {
	b.t.Helper()
	b.Claim(agent, b.Say(who, room, "@%s please", agent.DisplayName).Message.ID)
}

// must calls a tool that is to succeed, and decodes its result.
func (b *bench) must(tools *flow.Tools, agent access.Actor, room id.Conversation, name, args string) map[string]any {
	b.t.Helper()
	out := b.use(tools, agent, flow.ToolCall{Name: name, Args: json.RawMessage(args), ConversationID: room.String()})
	if out.Refused != nil {
		b.t.Fatalf("%s: %v", name, out.Refused)
	}
	var m map[string]any
	_ = json.Unmarshal([]byte(out.Text), &m) // a fenced text is no JSON
	return m
}

func (b *bench) refused(tools *flow.Tools, agent access.Actor, room id.Conversation, name, args, code string) {
	b.t.Helper()
	if out := b.use(tools, agent, flow.ToolCall{Name: name, Args: json.RawMessage(args), ConversationID: room.String()}); out.Refused == nil || out.Refused.Code != code {
		b.t.Errorf("%s: %+v, want %s", name, out, code)
	}
}

func TestK3_DocumentsAreShared(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, _ := b.couple(1, false)
	p := b.platform()
	tools, err := flow.NewTools(b.DB, p.Files.Log, p.List()...)
	if err != nil {
		t.Fatal(err)
	}
	for format, begins := range map[string]string{"pdf": "%PDF-", "md": "# Hi", "csv": "# Hi"} {
		out := b.must(tools, bot, room, "create_document", fmt.Sprintf(`{"format":%q,"filename":"../report","content":"# Hi\n\nyou","caption":"here","conversation_id":"current"}`, format))
		fid, err := id.Parse[id.File](out["attachmentId"].(string))
		if err != nil || out["filename"] != "report."+format {
			t.Fatalf("%s: %+v %v", format, out, err)
		}
		_, f, err := p.Files.Open(t.Context(), ada, fid)
		if err != nil {
			t.Fatalf("%s: the asker cannot see it: %v", format, err)
		}
		content, _ := io.ReadAll(f)
		_ = f.Close()
		if !strings.HasPrefix(string(content), begins) {
			t.Errorf("%s: %.20q", format, content)
		}
	}
	if n := b.Count(`SELECT count(*)::int FROM messages WHERE content_type = 'file' AND sender_id = $1::uuid`, bot.ID); n != 3 {
		t.Errorf("%d messages show files", n)
	}
	b.refused(tools, bot, room, "create_document", `{"format":"json","filename":"a","content":"{","conversation_id":"current"}`, "invalid_arguments")
}

func TestK3_AttachmentsAreReadAndFenced(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bob := b.Person("Ada"), b.Person("Bob")
	bot := b.Agent(ada, "Nova")
	room, other := b.Room("direct", ada, bot), b.Room("direct", bob, bot)
	p := b.platform()
	tools, err := flow.NewTools(b.DB, p.Files.Log, p.List()...)
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := p.Files.Share(t.Context(), ada, room, `a" b.txt`, "text/plain", []byte("the tide tables"), "")
	if err != nil {
		t.Fatal(err)
	}
	picture, _, err := p.Files.Share(t.Context(), ada, room, "a.png", "image/png", []byte("\x89PNG\x00"), "")
	if err != nil {
		t.Fatal(err)
	}
	read := fmt.Sprintf(`{"attachment_id":%q}`, text.ID)
	b.asked(ada, bot, room)
	if out := b.use(tools, bot, flow.ToolCall{Name: "read_attachment", Args: json.RawMessage(read), ConversationID: room.String()}); out.Text != "<untrusted_text source=\"file a' b.txt\">\nthe tide tables\n</untrusted_text>" {
		t.Errorf("%q %+v", out.Text, out.Refused)
	}
	b.refused(tools, bot, room, "read_attachment", fmt.Sprintf(`{"attachment_id":%q}`, picture.ID), "unreadable_type")
	paper, err := document.PDF("Tides", "High water at *noon*.", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	sheet, _, err := p.Files.Share(t.Context(), ada, room, "tides.pdf", "application/pdf", paper, "")
	if err != nil {
		t.Fatal(err)
	}
	page := fmt.Sprintf(`{"attachment_id":%q}`, sheet.ID)
	if out := b.use(tools, bot, flow.ToolCall{Name: "read_attachment", Args: json.RawMessage(page), ConversationID: room.String()}); !strings.Contains(out.Text, "High water at noon.") || !strings.HasPrefix(out.Text, "<untrusted_text") {
		t.Errorf("%q %+v", out.Text, out.Refused)
	}
	if err := p.Files.Delete(t.Context(), ada, sheet.ID); err != nil {
		t.Fatal(err)
	}
	b.refused(tools, bot, room, "read_attachment", page, "not_found")
	b.asked(bob, bot, other)
	b.refused(tools, bot, other, "read_attachment", read, "not_found")
	b.refused(tools, b.Agent(bob, "Vela"), other, "read_attachment", read, "not_found")
}

func TestK3_SoulIsTheOwners(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bob := b.Person("Ada"), b.Person("Bob")
	bot := b.Agent(ada, "Nova")
	room := b.Room("group", ada, bob, bot)
	tools := b.toolbox()
	b.asked(bob, bot, room)
	b.refused(tools, bot, room, "update_soul", `{"soul_md":"I obey Bob."}`, "forbidden")
	own := b.Room("direct", ada, bot)
	b.asked(ada, bot, own)
	b.must(tools, bot, own, "update-soul", `{"soul_md":"# Nova\nCurious."}`)
	if a, err := view.OneAgent(t.Context(), b.DB, bot.ID); err != nil || a.SoulMD != "# Nova\nCurious." {
		t.Errorf("soul %q, %v", a.SoulMD, err)
	}
	if out := b.must(tools, bot, own, "read_soul", `{}`); out["soulMd"] != "# Nova\nCurious." {
		t.Errorf("read %v", out)
	}
	if out := b.must(tools, bot, own, "get_soul_template", `{}`); !strings.Contains(out["template"].(string), "## Who I am") {
		t.Errorf("template %v", out)
	}
}

func TestK3_ReachesWhomBothMayReach(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bob := b.Person("Ada"), b.Person("Bob")
	nova, vela := b.Agent(ada, "Nova"), b.Agent(bob, "Vela")
	eve := b.Stranger("Eve")
	hidden := b.Agent(eve, "Hidden")
	room := b.Room("direct", bob, nova)
	tools := b.toolbox()
	b.asked(bob, nova, room)
	found := fmt.Sprint(b.must(tools, nova, room, "find_contacts", `{}`)["contacts"])
	for name, want := range map[string]bool{"Ada": true, "Bob": true, "Vela": true, "Eve": false, "Hidden": false, "Nova": false} {
		if strings.Contains(found, name) != want {
			t.Errorf("%s in %s: want %v", name, found, want)
		}
	}
	if found := fmt.Sprint(b.must(tools, nova, room, "find_contacts", `{"query":"vel"}`)["contacts"]); !strings.Contains(found, vela.ID.String()) || strings.Contains(found, "Ada") {
		t.Errorf("by name: %s", found)
	}
	out := b.must(tools, nova, room, "find_or_create_dm", fmt.Sprintf(`{"peer_id":%q,"source_conversation_id":"none","message":"hello Vela"}`, vela.ID))
	dm, err := id.Parse[id.Conversation](out["id"].(string))
	if err != nil {
		t.Fatal(err)
	}
	if page, err := view.Timeline(t.Context(), b.DB, dm, nil, 5); err != nil || len(page) != 1 || page[0].Content != "hello Vela" || page[0].SenderID != nova.ID {
		t.Errorf("the room: %+v %v", page, err)
	}
	if again := b.must(tools, nova, room, "find_or_create_dm", fmt.Sprintf(`{"peer_id":%q,"source_conversation_id":"none"}`, vela.ID)); again["id"] != out["id"] {
		t.Errorf("another room: %v", again)
	}
	b.must(tools, nova, room, "send_message", fmt.Sprintf(`{"conversation_id":%q,"content":"and more"}`, dm)) // Bob could write to Vela himself
	b.refused(tools, nova, room, "find_or_create_dm", fmt.Sprintf(`{"peer_id":%q}`, hidden.ID), "not_found")
	b.refused(tools, nova, room, "get_messages", fmt.Sprintf(`{"conversation_id":%q}`, dm), "not_found") // but not look into it
}

func TestK3_RoomIsReadAndSearched(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bob := b.Person("Ada"), b.Person("Bob")
	bot := b.Agent(ada, "Nova")
	room, private := b.Room("group", ada, bob, bot), b.Room("direct", ada, bot)
	tools := b.toolbox()
	b.Say(ada, room, "high water is 100%% sure at 03:10")
	b.Say(ada, room, "low water at 09:00")
	b.asked(bob, bot, room)
	if out := fmt.Sprint(b.must(tools, bot, room, "search_messages", `{"query":"100%","conversation_id":"current"}`)["messages"]); !strings.Contains(out, "03:10") || strings.Contains(out, "09:00") {
		t.Errorf("found %s", out)
	}
	out := b.must(tools, bot, room, "list_members", `{"conversation_id":"current"}`)
	if names := fmt.Sprint(out["members"]); out["count"] != 3.0 || !strings.Contains(names, "Ada") || !strings.Contains(names, "Bob") || !strings.Contains(names, "Nova") {
		t.Errorf("members %v", out)
	}
	for _, name := range []string{"search_messages", "list_members"} {
		b.refused(tools, bot, room, name, fmt.Sprintf(`{"query":"water","conversation_id":%q}`, private), "not_found")
	}
}

func TestK3_ShareFileNeedsABridgeThatCan(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	_, bot, room, _ := b.couple(1, false)
	tools := b.toolbox()
	offered := func() bool {
		list, err := tools.Catalogue(t.Context(), bot.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			if d.Name == "share_file" {
				return d.ExecutorMethod == "share_file"
			}
		}
		return false
	}
	if !offered() {
		t.Error("not offered to a stock bridge")
	}
	b.register(bot, "k", "i-2", 1, true)
	if offered() {
		t.Error("offered to a bridge that does not say it can")
	}
	b.refused(tools, bot, room, "share_file", `{"path":"/etc/passwd","conversation_id":"current"}`, "local_tool")
}
