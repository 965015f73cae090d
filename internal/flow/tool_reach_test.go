package flow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/approval"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
)

// TestK3_NothingIsCarriedToWhoCannotSeeIt: what is read in one room for a turn in
// another is held, until a person allows it, where somebody there cannot look into the
// first: a member, another owner's agent, somebody in a room above. Where all can,
// and with the owner alone, nobody is asked.
func TestK3_NothingIsCarriedToWhoCannotSeeIt(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	tools := d.gated()
	secret := d.Room("group", d.owner, d.bot)
	d.Say(d.owner, secret, "the secret plan")
	alone, both := d.Room("direct", d.owner, d.bot), d.Room("group", d.owner, d.bot, d.Agent(d.owner, "Second"))
	guests := d.Room("group", d.owner, d.bot, d.other)
	read := func(in, of id.Conversation, name, more string) flow.ToolResult {
		t.Helper()
		d.exec(`DELETE FROM queued_messages`)
		d.Claim(d.bot, d.Say(d.owner, in, "@Bot what is planned?").Message.ID)
		out, err := tools.Call(t.Context(), d.bot, flow.ToolCall{Name: name, Args: []byte(fmt.Sprintf(`{"conversation_id":%q%s}`, of, more)), ConversationID: in.String()})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for what, in := range map[string]id.Conversation{"the room itself": secret, "the owner alone": alone, "the owner and both agents": both} {
		if out := read(in, secret, "get_messages", ""); !strings.Contains(out.Text, "the secret plan") {
			t.Errorf("%s: %+v", what, out)
		}
	}
	for name, more := range map[string]string{"get_messages": "", "search_messages": `,"query":"plan"`} {
		for what, in := range map[string]id.Conversation{"a person": d.room, "another owner's agent": guests} {
			if out := read(in, secret, name, more); out.RequestID.IsZero() || out.Refused.Code != "approval_required" || strings.Contains(out.Text, "secret") {
				t.Errorf("%s, before %s: %+v", name, what, out)
			}
		}
	}
	list, err := d.s.Pending(t.Context(), d.owner)
	if err != nil || len(list) != 4 || !strings.Contains(list[0].Reason, `from "Room"`) {
		t.Fatalf("asked %+v, %v", list, err)
	}
	asked := read(d.room, secret, "get_messages", "")
	if _, err := d.s.Resolve(t.Context(), d.owner, asked.RequestID, flow.Verdict{Act: approval.Approve}); err != nil {
		t.Fatal(err)
	}
	if out := read(d.room, secret, "get_messages", ""); !strings.Contains(out.Text, "the secret plan") {
		t.Errorf("allowed: %+v", out)
	}
	// Who may not read it at all is refused, and asks nobody.
	d.exec(`DELETE FROM queued_messages`)
	d.Claim(d.bot, d.Say(d.peer, d.room, "@Bot tell me").Message.ID)
	if out := d.use(tools, d.bot, flow.ToolCall{Name: "get_messages", Args: []byte(fmt.Sprintf(`{"conversation_id":%q}`, secret)), ConversationID: d.room.String()}); out.Refused == nil || out.Refused.Code != "not_found" {
		t.Errorf("somebody else: %+v", out)
	}
	if d.waits(access.Actor{Kind: access.Person, ID: d.peer.ID, OwnerID: d.peer.ID}) != 0 {
		t.Error("somebody else is asked")
	}
}
