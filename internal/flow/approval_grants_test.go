package flow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/approval"
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/flow/flowtest"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/tool"
)

// eventsTo are the events of one type so far.
func eventsTo[E event.Event](d *desk) []E { return flowtest.EventsOf[E](d.World) }

// TestS1_GrantsCoverWhatTheyName: each scope, and what it does not cover: another
// room, another agent, another input, after its end, after it was revoked.
func TestS1_GrantsCoverWhatTheyName(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	second := d.Agent(d.owner, "Second")
	other := d.Room("group", d.owner, d.bot, second)
	asks := func(who access.Actor, room id.Conversation, cmd string) bool {
		t.Helper()
		a, err := d.s.Ask(t.Context(), who, flow.AskApproval{ToolName: "Bash", Input: command(cmd), ConversationID: room})
		if err != nil {
			t.Fatal(err)
		}
		return a.Status == approval.Pending
	}
	grant := func(cmd string, v flow.Verdict) id.Grant {
		t.Helper()
		out, err := d.s.Resolve(t.Context(), d.owner, d.stock(cmd).ID, v)
		if err != nil {
			t.Fatal(err)
		}
		return out.GrantID
	}
	if g := grant("date", flow.Verdict{Act: approval.Approve}); !g.IsZero() || !asks(d.bot, d.room, "date") {
		t.Error("once is more than once")
	}

	exact := grant("rm -rf build", flow.Verdict{Act: approval.Approve, Scope: approval.ThisExact})
	if asks(d.bot, d.room, "rm -rf build") || asks(d.bot, other, "rm -rf build") {
		t.Error("this exact input is asked again")
	}
	if !asks(d.bot, d.room, "rm -rf build/") || !asks(second, other, "rm -rf build") {
		t.Error("more than this exact input of this agent is covered")
	}

	grant("git status", flow.Verdict{Act: approval.Approve, Scope: flow.ScopeAlways})
	if asks(d.bot, other, "git status src") {
		t.Error("the pattern is asked again")
	}
	if !asks(d.bot, d.room, "git push") || !asks(d.bot, d.room, "git status && rm x") || !asks(second, other, "git status") {
		t.Error("more than the pattern is covered")
	}

	room := grant("sudo ls", flow.Verdict{Act: approval.Approve, Scope: approval.ThisRoom, GrantDays: 1})
	if asks(d.bot, d.room, "sudo rm -rf /") {
		t.Error("this tool in this room is asked again")
	}
	if !asks(d.bot, other, "sudo ls") || !asks(d.bot, id.Conversation{}, "sudo ls") {
		t.Error("the yes for one room counts elsewhere")
	}
	if a, err := d.s.Ask(t.Context(), d.bot, flow.AskApproval{ToolName: "Write", Input: json.RawMessage(`{"file_path":"/x/y"}`), ConversationID: d.room}); err != nil || a.Status != approval.Pending {
		t.Errorf("another tool in the room: %s %v", a.Status, err)
	}

	list, err := d.s.Grants(t.Context(), d.owner)
	if err != nil || len(list) != 3 || list[0].ID != room || list[0].Uses != 1 || list[2].ID != exact || list[2].Uses != 2 {
		t.Fatalf("grants %+v, %v", list, err)
	}
	if list, err := d.s.Grants(t.Context(), d.peer); err != nil || len(list) != 0 {
		t.Errorf("somebody else sees %v %v", list, err)
	}
	wantCode(t, "revoke as another", d.s.RevokeGrant(t.Context(), d.peer, room), "not_found")
	wantCode(t, "revoke as the agent", d.s.RevokeGrant(t.Context(), d.bot, room), "people_only")
	if err := d.s.RevokeGrant(t.Context(), d.owner, room); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "revoke twice", d.s.RevokeGrant(t.Context(), d.owner, room), "not_found")
	if !asks(d.bot, d.room, "sudo ls") {
		t.Error("it counts after it was revoked")
	}
	if _, err := d.DB.Exec(t.Context(), `UPDATE approval_grants SET expires_at = now() - interval '1 second' WHERE id = $1::uuid`, exact); err != nil {
		t.Fatal(err)
	}
	if !asks(d.bot, d.room, "rm -rf build") {
		t.Error("it counts after its end")
	}
	for what, v := range map[string]flow.Verdict{
		"a scope of no kind": {Act: approval.Approve, Scope: "all"}, "a pattern where there is none": {Act: approval.Approve, Scope: approval.Pattern},
		"a denial for good": {Act: approval.Deny, Scope: approval.ThisRoom}, "two years": {Act: approval.Approve, Scope: approval.ThisExact, GrantDays: 366},
		"a long text": {Act: approval.Approve, Text: strings.Repeat("x", 2001)}, "nothing": {},
	} {
		_, err := d.s.Resolve(t.Context(), d.owner, d.stock("sudo x").ID, v)
		wantCode(t, what, err, "invalid")
	}
	if a, err := d.s.Ask(t.Context(), d.bot, flow.AskApproval{ToolName: "Bash", Input: command("sudo x")}); err != nil {
		t.Fatal(err)
	} else if _, err := d.s.Resolve(t.Context(), d.owner, a.ID, flow.Verdict{Act: approval.Approve, Scope: approval.ThisRoom}); err == nil {
		t.Error("this room, where there is no room")
	}
}

func (d *desk) check(cmd string, marked bool) flow.ToolVerdict {
	d.t.Helper()
	v, err := d.s.Check(d.t.Context(), flow.ToolCaller{Agent: d.bot, Person: d.owner, Room: d.room},
		flow.ExactAction{Tool: "send_mail", Input: json.RawMessage(`{"to":"` + cmd + `"}`), Risk: tool.Critical, Marked: marked})
	if err != nil {
		d.t.Fatal(err)
	}
	return v
}

// TestS1_ToolGate: a tool of the server is held until a person allows it, then
// runs once for exactly these arguments; the answer wakes the agent in the room.
func TestS1_ToolGate(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	first := d.check("a@example.com", false)
	if first.Allowed || first.RequestID.IsZero() {
		t.Fatalf("%+v", first)
	}
	if again := d.check("a@example.com", false); again.RequestID != first.RequestID {
		t.Error("one question becomes two")
	}
	if _, err := d.s.Resolve(t.Context(), d.owner, first.RequestID, flow.Verdict{Act: approval.Approve, Text: "to them only"}); err != nil {
		t.Fatal(err)
	}
	d.say()
	if n := d.Count(`SELECT count(*) FROM queued_messages q JOIN messages m ON m.id = q.message_id WHERE q.agent_id = $1::uuid AND m.sender_id = $2::uuid
		AND m.conversation_id = $3::uuid AND m.content LIKE '%send_mail%to them only' AND m.content NOT LIKE '%a@example.com%'`, d.bot.ID, d.owner.ID, d.room); n != 1 {
		t.Errorf("the agent is woken %d times", n)
	}
	if v := d.check("b@example.com", false); v.Allowed {
		t.Error("the yes to one action let another run")
	}
	if v := d.check("a@example.com", false); !v.Allowed {
		t.Errorf("after the yes: %+v", v)
	}
	if v := d.check("a@example.com", false); v.Allowed || v.RequestID == first.RequestID {
		t.Errorf("one yes, two runs: %+v", v)
	}
	denied := d.check("c@example.com", false)
	if _, err := d.s.Resolve(t.Context(), d.owner, denied.RequestID, no); err != nil {
		t.Fatal(err)
	}
	d.say()
	if n := d.Count(`SELECT count(*) FROM messages WHERE content LIKE '@[Bot] No, do not run send_mail.'`); n != 1 {
		t.Errorf("the no is said %d times", n)
	}
	if v := d.check("c@example.com", false); v.Allowed {
		t.Error("denied and allowed")
	}
}

// TestS1_ToolGateInAMarkedTurn: once strangers' text is in the turn, only a yes to
// this very action stands.
func TestS1_ToolGateInAMarkedTurn(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	v := d.check("a@example.com", false)
	if _, err := d.s.Resolve(t.Context(), d.owner, v.RequestID, flow.Verdict{Act: approval.Approve, Scope: approval.ThisRoom}); err != nil {
		t.Fatal(err)
	}
	if v := d.check("a@example.com", true); !v.Allowed {
		t.Error("the one yes is gone")
	}
	if v := d.check("b@example.com", false); !v.Allowed {
		t.Error("the standing yes does not count")
	}
	v = d.check("b@example.com", true)
	if v.Allowed {
		t.Error("a standing yes counts in a marked turn")
	}
	list, err := d.s.Pending(t.Context(), d.owner)
	if err != nil || len(list) != 1 || !strings.Contains(list[0].Reason, "outside") || list[0].Risk != approval.Critical {
		t.Fatalf("asked %+v %v", list, err)
	}
	if _, err := d.s.Resolve(t.Context(), d.owner, v.RequestID, flow.Verdict{Act: approval.Approve, Scope: approval.ThisExact}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if v := d.check("b@example.com", true); !v.Allowed {
			t.Error("a yes to this very action does not count")
		}
	}
}

// TestS1_OwnerWhoIsNotThere: the answer of an owner who does not sit in the room
// comes in the direct room of the two.
func TestS1_OwnerWhoIsNotThere(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	room := d.Room("group", d.peer, d.owner, d.bot)
	if err := d.Chat.RemoveMember(t.Context(), d.peer, room, d.owner.ID); err != nil {
		t.Fatal(err)
	}
	v, err := d.s.Check(t.Context(), flow.ToolCaller{Agent: d.bot, Person: d.peer, Room: room}, flow.ExactAction{Tool: "send_mail", Risk: tool.Critical})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.s.Resolve(t.Context(), d.owner, v.RequestID, yes); err != nil {
		t.Fatal(err)
	}
	d.say()
	if n := d.Count(`SELECT count(*) FROM queued_messages q JOIN conversations c ON c.id = q.conversation_id WHERE q.agent_id = $1::uuid AND c.type = 'direct'`, d.bot.ID); n != 1 {
		t.Errorf("the agent is woken %d times", n)
	}
}

// TestS1_CredentialRequests: the secret goes in once and comes out nowhere; the
// question is its owner's alone; the answer wakes the agent.
func TestS1_CredentialRequests(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const planted = "sk-planted-Tomate-42"
	ask := func() id.CredentialRequest {
		t.Helper()
		c, err := d.s.AskCredential(t.Context(), d.bot, approval.NewCredential{ConversationID: d.room, Label: "Weather key", Reason: "to look", Endpoint: "https://api.example.com/v1"})
		if err != nil {
			t.Fatal(err)
		}
		return c.ID
	}
	c := ask()
	if list, err := d.s.PendingCredentials(t.Context(), d.owner); err != nil || len(list) != 1 || list[0].Label != "Weather key" {
		t.Fatalf("%v %v", list, err)
	}
	for _, who := range []access.Actor{d.peer, d.bot} {
		if list, _ := d.s.PendingCredentials(t.Context(), who); len(list) != 0 {
			t.Errorf("%s sees it", who.DisplayName)
		}
	}
	_, err := d.s.Fulfil(t.Context(), d.peer, c, planted)
	wantCode(t, "as another", err, "not_found")
	_, err = d.s.Fulfil(t.Context(), d.bot, c, planted)
	wantCode(t, "as the agent", err, "people_only")
	_, err = d.s.Fulfil(t.Context(), d.owner, c, "two\nlines")
	wantCode(t, "two lines", err, "invalid")
	out, err := d.s.Fulfil(t.Context(), d.owner, c, "  "+planted+" ")
	if err != nil || out.Status != approval.Fulfilled || out.CredentialID.IsZero() {
		t.Fatalf("%+v %v", out, err)
	}
	_, err = d.s.Fulfil(t.Context(), d.owner, c, "x")
	wantCode(t, "twice", err, "already_decided")
	d.say()
	if n := d.Count(`SELECT count(*) FROM queued_messages q JOIN messages m ON m.id = q.message_id WHERE q.agent_id = $1::uuid AND m.content LIKE '%Weather key%'`, d.bot.ID); n != 1 {
		t.Errorf("the agent is woken %d times", n)
	}
	if n := d.Count(`SELECT count(*) FROM credential_requests WHERE position(convert_to($1, 'UTF8') IN sealed) > 0 OR fingerprint LIKE '%' || $1 || '%'`, planted); n != 0 {
		t.Error("the secret is stored in the open")
	}
	if seen := fmt.Sprintf("%+v", d.Events()); strings.Contains(seen, planted) {
		t.Error("an event holds the secret")
	}
	if n := d.Count(`SELECT count(*) FROM messages WHERE content LIKE '%' || $1 || '%' OR metadata::text LIKE '%' || $1 || '%'`, planted); n != 0 {
		t.Error("a message holds the secret")
	}
	sealed, err := approval.SealedCredential(t.Context(), d.DB, d.bot.ID, out.CredentialID)
	if err != nil {
		t.Fatal(err)
	}
	if plain, _, err := d.s.Ring.Open(sealed.Purpose(), sealed.Sealed); err != nil || string(plain) != planted {
		t.Errorf("opened %q %v", plain, err)
	}
	_, err = approval.SealedCredential(t.Context(), d.DB, d.other.ID, out.CredentialID)
	wantCode(t, "used by another agent", err, "not_found")
	wantCode(t, "taken away by another", d.s.ForgetCredential(t.Context(), d.peer, c), "not_found")
	if err := d.s.ForgetCredential(t.Context(), d.owner, c); err != nil {
		t.Fatal(err)
	}
	_, err = approval.SealedCredential(t.Context(), d.DB, d.bot.ID, out.CredentialID)
	wantCode(t, "used after it was taken away", err, "not_found")

	declined := ask()
	if out, err := d.s.Decline(t.Context(), d.owner, declined); err != nil || out.Status != approval.Denied {
		t.Errorf("%s %v", out.Status, err)
	}
	late := ask()
	if _, err := d.DB.Exec(t.Context(), `UPDATE credential_requests SET expires_at = now() - interval '1 second' WHERE id = $1::uuid`, late); err != nil {
		t.Fatal(err)
	}
	_, err = d.s.Fulfil(t.Context(), d.owner, late, "x")
	wantCode(t, "too late", err, "approval_expired")
	if err := d.s.ExpireDue(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	if n := d.Count(`SELECT count(*) FROM credential_requests WHERE status = 'expired'`); n != 1 {
		t.Errorf("%d have expired", n)
	}
	for what, n := range map[string]approval.NewCredential{
		"no label": {Endpoint: "https://x.org"}, "plain http": {Label: "x", Endpoint: "http://x.org"}, "no endpoint": {Label: "x"},
		"a password in the address": {Label: "x", Endpoint: "https://a:b@x.org"}, "an unknown way": {Label: "x", Endpoint: "https://x.org", AuthMode: "query"},
		"a header with a line": {Label: "x", Endpoint: "https://x.org", AuthMode: "header", AuthHeader: "X\r\nY"},
	} {
		_, err := d.s.AskCredential(t.Context(), d.bot, n)
		wantCode(t, what, err, "invalid_arguments")
	}
}

// TestS1_RetiredAgentsAskNothing: what a switched-off agent asked ends, and what a
// deleted one was allowed is gone.
func TestS1_RetiredAgentsAskNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	open := d.stock("make")
	out, err := d.s.Resolve(t.Context(), d.owner, d.stock("git status").ID, flow.Verdict{Act: approval.Approve, Scope: approval.Pattern})
	if err != nil {
		t.Fatal(err)
	}
	told := d.ask(d.durable("run", "call", "make"))
	d.decide(told, yes)
	set := func(status string) {
		t.Helper()
		if _, err := d.DB.Exec(t.Context(), `UPDATE participants SET status = $2 WHERE id = $1::uuid`, d.bot.ID, status); err != nil {
			t.Fatal(err)
		}
		if err := d.s.Retire(t.Context(), d.bot.ID); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.s.Retire(t.Context(), d.bot.ID); err != nil || d.state(open) != approval.Pending {
		t.Fatalf("an active agent is retired: %v", err)
	}
	set("deactivated")
	if got := d.state(open); got != approval.Cancelled {
		t.Errorf("it is %s", got)
	}
	if n := d.Count(`SELECT count(*) FROM queued_approvals`); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	if n := d.Count(`SELECT count(*) FROM approval_grants WHERE id = $1::uuid AND revoked_at IS NULL`, out.GrantID); n != 1 {
		t.Error("a pause revoked what was allowed")
	}
	_, err = d.s.Ask(t.Context(), d.bot, flow.AskApproval{ToolName: "Bash", Input: command("git status")})
	wantCode(t, "ask while switched off", err, "no_approver")
	set("deleted")
	if n := d.Count(`SELECT count(*) FROM approval_grants WHERE revoked_at IS NULL`); n != 0 {
		t.Error("a deleted agent keeps what was allowed")
	}
}

// TestS1_EverythingThatWaits: one list of requests, secrets and open questions of
// tasks, for the people who were asked and for nobody else.
func TestS1_EverythingThatWaits(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.stock("make")
	if _, err := d.s.AskCredential(t.Context(), d.bot, approval.NewCredential{ConversationID: d.room, Label: "Key", Endpoint: "https://x.org"}); err != nil {
		t.Fatal(err)
	}
	task := id.New[id.Task]()
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := d.DB.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`INSERT INTO tasks (id, organization_id, conversation_id, work_conversation_id, created_by, requester_id, root_task_id, title)
		VALUES ($1::uuid, $2::uuid, $3::uuid, $3::uuid, $4::uuid, $4::uuid, $1::uuid, 'Tidy')`, task, d.Org, d.room, d.owner.ID)
	exec(`INSERT INTO asks (id, task_id, agent_id, conversation_id, asked, question, options, expires_at)
		VALUES (gen_random_uuid(), $1::uuid, $2::uuid, $3::uuid, ARRAY[$4::uuid], 'Which colour?', '["red","blue"]', now() + interval '1 hour')`, task, d.bot.ID, d.room, d.owner.ID)
	list, err := d.s.Decisions(t.Context(), d.owner)
	if err != nil || len(list) != 3 || list[0].Kind != "ask" || list[0].Question != "Which colour?" || strings.Join(list[0].Options, " ") != "red blue" || list[0].Title != "Tidy" || list[0].TaskID != task ||
		list[1].Kind != "credential_request" || list[1].Label != "Key" || list[2].Kind != "permission_request" || list[2].ToolName != "Bash" || list[2].AgentName != "Bot" {
		t.Errorf("%+v %v", list, err)
	}
	if list, err := d.s.Decisions(t.Context(), d.peer); err != nil || len(list) != 0 {
		t.Errorf("somebody else sees %v %v", list, err)
	}
}

// TestS1_NothingStandsOfWhatIsOver: a yes for good to a request that has expired, was
// asked anew, taken back or denied, and one to a changed call, leaves no permission.
func TestS1_NothingStandsOfWhatIsOver(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	forGood := flow.Verdict{Act: approval.Approve, Scope: approval.ThisExact}
	over := map[string]approval.Approval{"expired": d.stock("a"), "superseded": d.stock("b"), "cancelled": d.stock("c"), "denied": d.stock("d")}
	d.overdue(over["expired"])
	d.stock("b")
	if _, err := d.s.Cancel(t.Context(), d.bot, over["cancelled"].ID); err != nil {
		t.Fatal(err)
	}
	d.decide(over["denied"], no)
	for what, a := range over {
		for range 2 { // also when the first one found it overdue
			if _, err := d.s.Resolve(t.Context(), d.owner, a.ID, forGood); !fault.Is(err, "already_decided") && !fault.Is(err, "approval_expired") {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	changed := d.ask(d.durable("run", "call", "make"))
	_, err := d.s.Resolve(t.Context(), d.owner, changed.ID, flow.Verdict{Act: approval.Edit, Scope: approval.ThisExact, Input: command("make all")})
	wantCode(t, "a changed call for good", err, "invalid")
	d.decide(changed, flow.Verdict{Act: approval.Edit, Input: command("make all")})
	if list, err := d.s.Grants(t.Context(), d.owner); err != nil || len(list) != 0 {
		t.Errorf("it stands: %+v, %v", list, err)
	}
}
