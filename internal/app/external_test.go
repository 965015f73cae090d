package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/agntchat/agntchat/internal/app/apptest"
	"github.com/agntchat/agntchat/internal/config"
	"github.com/agntchat/agntchat/internal/realtime/phxtest"
	"github.com/agntchat/agntchat/migrations"
)

// terminal is a person with an external agent over the real server.
type terminal struct {
	*apptest.Server
	t                     *testing.T
	owner, agent          string // tokens
	ownerID, agentID, key string
}

func (x *terminal) call(token, method, path string, body any, want int) map[string]any {
	x.t.Helper()
	raw, _ := json.Marshal(body)
	status, answer, err := request(x.t.Context(), x.URL, token, method, "/api"+path, string(raw))
	if err != nil || status != want {
		x.t.Fatalf("%s %s: %d %s %v, want %d", method, path, status, answer, err, want)
	}
	out := map[string]any{}
	if err := json.Unmarshal([]byte(answer), &out); answer != "" && err != nil {
		x.t.Fatalf("%s %s: %s", method, path, answer)
	}
	return out
}

func (x *terminal) person(name string) (id, token string) {
	x.t.Helper()
	in := x.call("", "POST", "/auth/signup", map[string]any{
		"email": uuid.NewString() + "@example.com", "password": "Qv7-harbour-Lamp", "firstName": name, "lastName": "X", "acceptedTerms": true, "birthDate": "1990-04-12",
	}, 200)
	p, _ := in["participant"].(map[string]any)
	return p["id"].(string), in["token"].(string)
}

func newTerminal(t *testing.T, opts ...apptest.Option) *terminal {
	t.Helper()
	x := &terminal{Server: apptest.New(t, opts...), t: t}
	x.ownerID, x.owner = x.person("Ada")
	inv := x.call(x.owner, "POST", "/invites", map[string]any{"displayName": "Laptop"}, 201)
	got := x.call("", "POST", "/invites/"+inv["code"].(string)+"/claim", map[string]any{"runtime": "external", "externalTool": "claude_code"}, 201)
	x.agentID, x.key = got["agentId"].(string), got["apiKey"].(string)
	x.agent = x.call("", "POST", "/auth/agent-token", map[string]any{"agent_id": x.agentID, "api_key": x.key}, 200)["token"].(string)
	return x
}

func (x *terminal) event(session, kind string, more map[string]any) {
	x.t.Helper()
	body := map[string]any{"sessionId": session, "event": kind, "tool": "claude_code", "hostname": "laptop", "cwd": "/src/app"}
	for k, v := range more {
		body[k] = v
	}
	x.call(x.agent, "POST", "/agents/me/sessions/events", body, 200)
}

func (x *terminal) room(session string) string {
	x.t.Helper()
	c := x.call(x.owner, "POST", "/conversations/session", map[string]any{"agentId": x.agentID, "sessionKey": session, "cwd": "/src/app", "tool": "claude_code"}, 201)
	if c["type"] != "session" {
		x.t.Fatalf("%v", c)
	}
	return c["id"].(string)
}

func (x *terminal) say(room, text string) string {
	x.t.Helper()
	return x.call(x.owner, "POST", "/conversations/"+room+"/messages", map[string]any{"content": text}, 201)["id"].(string)
}

func (x *terminal) messages(room string) []map[string]any {
	x.t.Helper()
	list, _ := x.call(x.owner, "GET", "/conversations/"+room+"/messages?limit=50", nil, 200)["messages"].([]any)
	out := make([]map[string]any, len(list))
	for i, m := range list {
		out[i] = m.(map[string]any)
	}
	return out
}

// inbox gives the texts of an inbox, newest first.
func (x *terminal) inbox(query string) []string {
	x.t.Helper()
	out := []string{}
	list, _ := x.call(x.agent, "GET", "/agents/me/inbox"+query, nil, 200)["unread"].([]any)
	for _, r := range list {
		ms, _ := r.(map[string]any)["messages"].([]any)
		for _, m := range ms {
			out = append(out, m.(map[string]any)["content"].(string))
		}
	}
	return out
}

func TestB1_InviteLife(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	_, eve := x.person("Eve")
	inv := x.call(x.owner, "POST", "/invites", map[string]any{"displayName": "Two", "maxUses": 2, "ttlHours": 1}, 201)
	code := inv["code"].(string)
	if !strings.HasPrefix(code, "inv_") || inv["expiresAt"] == nil || inv["displayName"] != "Two" {
		t.Fatalf("%v", inv)
	}
	if n := x.Count(t, `SELECT count(*) FROM agent_invites i WHERE i::text LIKE '%' || $1 || '%'`, code[len("inv_")+17:]); n != 0 {
		t.Error("the code itself is stored")
	}
	info := x.call("", "GET", "/invites/"+code+"/info", nil, 200)
	if info["status"] != "pending" || info["creatorName"] != "Ada X" || info["maxUses"] != 2.0 {
		t.Errorf("%v", info)
	}
	first := x.call("", "POST", "/invites/"+code+"/claim", nil, 201)
	if agent, _ := first["agent"].(map[string]any); agent["displayName"] != "Two" || agent["runtime"] != "local" || !strings.HasSuffix(first["gatewayUrl"].(string), "/api/gateway") || first["executor"] != nil {
		t.Errorf("%v", first)
	}
	second := x.call("", "POST", "/invites/"+code+"/claim", map[string]any{"executorKey": "agnt", "executorDisplayName": "box"}, 201)
	if ex, _ := second["executor"].(map[string]any); ex["id"] == nil || second["agentId"] == first["agentId"] {
		t.Errorf("%v", second)
	}
	x.call("", "POST", "/invites/"+code+"/claim", nil, 410)

	inv = x.call(x.owner, "POST", "/invites", map[string]any{}, 201)
	x.call(eve, "DELETE", "/invites/"+inv["id"].(string), nil, 404)
	x.call(x.owner, "DELETE", "/invites/"+inv["id"].(string), nil, 204)
	x.call("", "POST", "/invites/"+inv["code"].(string)+"/claim", nil, 409)

	inv = x.call(x.owner, "POST", "/invites", map[string]any{}, 201)
	if _, err := x.DB.Exec(t.Context(), `UPDATE agent_invites SET expires_at = now() - interval '1 second' WHERE id = $1::uuid`, inv["id"]); err != nil {
		t.Fatal(err)
	}
	x.call("", "POST", "/invites/"+inv["code"].(string)+"/claim", nil, 410)
	x.call("", "POST", "/invites/inv_0123456789abcdef_nothing/claim", nil, 404)
	if list, _ := x.call(x.owner, "GET", "/invites", nil, 200)["invites"].([]any); len(list) != 4 || list[0].(map[string]any)["code"] != nil {
		t.Errorf("%v", list)
	}
	for name, body := range map[string]map[string]any{"hours": {"ttlHours": 721}, "uses": {"maxUses": 101}, "twice": {"maxUses": 2, "agentId": x.agentID}} {
		t.Log(name)
		x.call(x.owner, "POST", "/invites", body, 422)
	}
	x.call(eve, "POST", "/invites", map[string]any{"agentId": x.agentID}, 404)
}

func TestB1_InviteOfAnAgentMakesANewKey(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	inv := x.call(x.owner, "POST", "/invites", map[string]any{"agentId": x.agentID}, 201)
	got := x.call("", "POST", "/invites/"+inv["code"].(string)+"/claim", map[string]any{"runtime": "external", "externalTool": "codex"}, 201)
	if got["agentId"] != x.agentID || got["apiKey"] == x.key {
		t.Fatalf("%v", got["agentId"])
	}
	x.call("", "POST", "/auth/agent-token", map[string]any{"agent_id": x.agentID, "api_key": x.key}, 401)
	x.call(x.agent, "GET", "/agents/me/inbox", nil, 401)
	a := x.call(x.owner, "GET", "/agents/"+x.agentID, nil, 200)
	if a["runtime"] != "external" || a["externalTool"] != "codex" {
		t.Errorf("%v", a)
	}
}

func TestB1_OfTwoClaimsOneWins(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	inv := x.call(x.owner, "POST", "/invites", map[string]any{}, 201)
	var mu sync.Mutex
	var wg sync.WaitGroup
	got := map[int]int{}
	for range 8 {
		wg.Go(func() {
			status, _, err := request(t.Context(), x.URL, "", "POST", "/api/invites/"+inv["code"].(string)+"/claim", `{"runtime":"external"}`)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			got[status]++
		})
	}
	wg.Wait()
	if got[201] != 1 || got[409] != 7 {
		t.Errorf("%v", got)
	}
}

func TestB1_GuessingCodesIsLimitedByAddress(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	inv := x.call(x.owner, "POST", "/invites", map[string]any{}, 201)
	last := 0
	for n := 0; n < 60 && last != 429; n++ {
		status, _, err := request(t.Context(), x.URL, "", "GET", fmt.Sprintf("/api/invites/inv_%016x_guess/info", n), "")
		if err != nil {
			t.Fatal(err)
		}
		last = status
	}
	if last != 429 {
		t.Fatalf("last %d", last)
	}
	x.call("", "POST", "/invites/"+inv["code"].(string)+"/claim", nil, 429)
}

func TestB1_ExternalAgentsOff(t *testing.T) {
	t.Parallel()
	x := &terminal{Server: apptest.New(t, func(c *config.Config) { c.ExternalAgents = "off" }), t: t}
	_, x.owner = x.person("Ada")
	made := x.call(x.owner, "POST", "/agents", map[string]any{"displayName": "Nova"}, 201)
	token := x.call("", "POST", "/auth/agent-token", map[string]any{"agent_id": made["id"], "api_key": made["apiKey"]}, 200)["token"].(string)
	if got := x.call("", "POST", "/invites/inv_0123456789abcdef_x/claim", nil, 404); got["error"] != "external_agents_disabled" {
		t.Errorf("%v", got)
	}
	x.call(x.owner, "POST", "/invites", nil, 404)
	x.call(token, "POST", "/agents/me/sessions/events", map[string]any{"sessionId": "s", "event": "prompt", "tool": "codex"}, 404)
	x.call(token, "GET", "/agents/me/inbox", nil, 404)
	x.call(x.owner, "POST", "/agents", map[string]any{"displayName": "Out", "runtime": "external"}, 404)
	me := x.call(x.owner, "GET", "/me", nil, 200)
	if f, _ := me["features"].(map[string]any); f["external_agents"] != nil {
		t.Errorf("%v", f)
	}
}

func TestB1_SessionLifeIsShownInItsRoom(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	room := x.room("s1")
	again := x.call(x.agent, "POST", "/conversations/session", map[string]any{"agentId": x.agentID, "sessionKey": "s1"}, 200)
	if again["id"] != room {
		t.Fatalf("a second room for one session: %v", again["id"])
	}
	x.event("s1", "session_start", map[string]any{"branch": "main", "repo": "org/app", "channel": true, "model": "opus"})
	x.event("s1", "prompt", map[string]any{"text": "fix the test, @[Laptop]"})
	x.event("s1", "prompt", map[string]any{"text": "again", "eventId": "e1"})
	x.event("s1", "prompt", map[string]any{"text": "again", "eventId": "e1"})
	x.event("s1", "prompt", nil) // a channel event: no text, no echo
	x.event("s1", "tool_start", map[string]any{"toolName": "Bash"})
	x.event("s1", "tool_end", map[string]any{"toolName": "Bash"})
	x.event("s1", "assistant_message", map[string]any{"text": "done"})
	x.event("s1", "stop", nil)
	x.event("s1", "waiting", map[string]any{"notificationType": "permission_prompt"})
	x.event("s1", "heartbeat", nil)
	x.event("s1", "model_switch", map[string]any{"model": "sonnet", "effort": "high"})

	c := x.call(x.owner, "GET", "/conversations/"+room, nil, 200)
	meta, _ := c["metadata"].(map[string]any)["session"].(map[string]any)
	for k, want := range map[string]any{"state": "waiting", "blocked_on": "permission_prompt", "session_key": "s1", "delivery": "live", "repo": "org/app", "branch": "main", "model": "sonnet", "effort": "high", "tool": "claude_code", "agent_id": x.agentID} {
		if meta[k] != want {
			t.Errorf("metadata.session.%s is %v, want %v", k, meta[k], want)
		}
	}
	a := x.call(x.owner, "GET", "/agents/"+x.agentID, nil, 200)
	s, _ := a["externalSession"].(map[string]any)
	stats, _ := s["stats"].(map[string]any)
	if s["state"] != "waiting" || s["dmConversationId"] != room || stats["prompts"] != 4.0 || stats["tool_calls"] != 1.0 || a["presence"] != "online_local" {
		t.Errorf("%v, presence %v", s, a["presence"])
	}
	x.event("s1", "session_end", nil)
	x.event("s1", "session_end", nil)
	x.event("s1", "tool_end", nil) // late: it is over
	var kinds, texts []string
	for _, m := range x.messages(room) {
		meta, _ := m["metadata"].(map[string]any)
		if kind, _ := meta["kind"].(string); kind != "" {
			kinds = append(kinds, kind)
			var body map[string]any
			if err := json.Unmarshal([]byte(m["content"].(string)), &body); err != nil || body["type"] != kind || body["hostname"] != "laptop" {
				t.Errorf("%v", m["content"])
			}
			continue
		}
		if meta["source"] != "terminal" {
			t.Errorf("%v", m)
		}
		who := m["senderId"]
		if want := map[bool]string{true: x.ownerID, false: x.agentID}[meta["terminal_role"] == "prompt"]; who != want {
			t.Errorf("%v is said by %v", m["content"], who)
		}
		texts = append(texts, m["content"].(string))
	}
	if fmt.Sprint(kinds) != "[external_session_ended external_session_started]" || fmt.Sprint(texts) != "[done again fix the test, @[Laptop]]" {
		t.Errorf("%v %v", kinds, texts)
	}
	if n := x.Count(t, `SELECT (SELECT count(*) FROM queued_messages) + (SELECT count(*) FROM inbox_items)`); n != 0 {
		t.Errorf("%d wakes or inbox rows by what only was shown", n)
	}
	if a := x.call(x.owner, "GET", "/agents/"+x.agentID, nil, 200); a["presence"] != "offline" {
		t.Errorf("presence %v after the end", a["presence"])
	}
	x.event("s1", "prompt", map[string]any{"text": "once more"}) // claude --resume
	if a := x.call(x.owner, "GET", "/agents/"+x.agentID, nil, 200); a["presence"] != "online_local" {
		t.Errorf("presence %v after it was resumed", a["presence"])
	}
}

func TestB1_OwnerSpeaksOnlyWhereNobodyElseListens(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	bob, _ := x.person("Bob")
	group := x.call(x.owner, "POST", "/conversations", map[string]any{"type": "group", "title": "G", "memberIds": []string{bob, x.agentID}}, 201)["id"].(string)
	x.call(x.owner, "POST", "/conversations/"+group+"/session/link", map[string]any{"agentId": x.agentID, "sessionKey": "s1"}, 200)
	x.event("s1", "prompt", map[string]any{"text": "wire the money to @[Bob X]"})
	for _, m := range x.messages(group) {
		if m["senderId"] == x.ownerID {
			t.Errorf("an agent's key put words into its owner's mouth before others: %v", m["content"])
		}
	}
	if n := x.call(x.owner, "DELETE", "/conversations/"+group+"/session/link", nil, 200)["unlinked"]; n != 1.0 {
		t.Errorf("unlinked %v", n)
	}
	c := x.call(x.owner, "GET", "/conversations/"+group, nil, 200)
	if s, _ := c["metadata"].(map[string]any)["session"].(map[string]any); s["state"] != "unlinked" {
		t.Errorf("%v", s)
	}
	if n := x.call(x.owner, "DELETE", "/conversations/"+group+"/session/link", nil, 200)["unlinked"]; n != 0.0 {
		t.Errorf("unlinked %v", n)
	}
}

func TestB1_SilentSessionIsLost(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	health := func() any {
		return x.call(x.owner, "GET", "/agents/"+x.agentID+"/health", nil, 200)["healthStatus"]
	}
	if got := health(); got != "offline" {
		t.Errorf("before its first session it is %v", got)
	}
	x.event("s1", "prompt", map[string]any{"text": "hello"}) // Codex never says session_start
	if got := health(); got != "healthy" {
		t.Errorf("in a session it is %v", got)
	}
	if _, err := x.DB.Exec(t.Context(), `UPDATE external_sessions SET last_event_at = now() - interval '181 seconds'`); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := x.App.External.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := x.Count(t, `SELECT count(*) FROM messages WHERE metadata->>'kind' = 'external_session_ended' AND content::jsonb->>'reason' = 'lost'`); n != 1 {
		t.Errorf("%d lines about the loss", n)
	}
	if a := x.call(x.owner, "GET", "/agents/"+x.agentID, nil, 200); a["presence"] != "offline" {
		t.Errorf("presence %v", a["presence"])
	}
	if got := health(); got != "offline" {
		t.Errorf("when it is lost it is %v", got)
	}
	x.event("s1", "heartbeat", nil) // the machine slept
	if a := x.call(x.owner, "GET", "/agents/"+x.agentID, nil, 200); a["presence"] != "online_local" {
		t.Errorf("presence %v", a["presence"])
	}
	if err := x.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a := x.call(x.owner, "GET", "/agents/"+x.agentID, nil, 200); a["presence"] != "online_local" {
		t.Errorf("presence %v after a restart", a["presence"])
	}
}

func TestB1_InboxIsReadOnce(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	room := x.room("s1")
	x.event("s1", "session_start", map[string]any{"channel": true})
	direct := x.call(x.owner, "POST", "/conversations", map[string]any{"type": "direct", "memberIds": []string{x.agentID}}, 201)["id"].(string)
	x.say(room, "one")
	two := x.say(room, "two")
	x.say(direct, "in the direct room")
	if n := x.Count(t, `SELECT count(*) FROM queued_messages`); n != 0 {
		t.Fatalf("%d rows for executors that will not come", n)
	}
	if got := x.inbox("?sessionId=unknown&claim=true"); len(got) != 0 {
		t.Errorf("a session that is shown nowhere got %v", got)
	}
	if got := x.inbox("?sessionId=s1"); fmt.Sprint(got) != "[two one]" {
		t.Errorf("%v", got)
	}
	receipts := func() string {
		list, _ := x.call(x.owner, "GET", "/conversations/"+room+"/receipts?messageIds="+two, nil, 200)["receipts"].([]any)
		if len(list) != 1 {
			t.Fatalf("%v", list)
		}
		return list[0].(map[string]any)["state"].(string)
	}
	if got := receipts(); got != "waiting" {
		t.Errorf("receipt %s", got)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	seen := map[string]int{}
	for range 6 {
		wg.Go(func() {
			_, answer, err := request(t.Context(), x.URL, x.agent, "GET", "/api/agents/me/inbox?claim=true&sessionId=s1", "")
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			for _, word := range []string{`"one"`, `"two"`} {
				seen[word] += strings.Count(answer, word)
			}
		})
	}
	wg.Wait()
	if seen[`"one"`] != 1 || seen[`"two"`] != 1 {
		t.Errorf("six pollers got %v", seen)
	}
	if got := receipts(); got != "read" {
		t.Errorf("receipt %s", got)
	}
	rest := x.call(x.agent, "GET", "/agents/me/inbox?sessionId=s1&direct=true", nil, 200)["unread"].([]any)
	if len(rest) != 1 || rest[0].(map[string]any)["ownerDm"] != true || rest[0].(map[string]any)["title"] != "Ada X" {
		t.Errorf("%v", rest)
	}

	x.say(room, "/compact")
	typed := x.call(x.agent, "GET", "/agents/me/inbox?sessionId=s1", nil, 200)
	m := typed["unread"].([]any)[0].(map[string]any)["messages"].([]any)[0].(map[string]any)
	if m["command"] != "/compact" || typed["commandsTypeable"] != true {
		t.Errorf("%v", typed)
	}
	if n := x.call(x.agent, "POST", "/agents/me/inbox/ack", map[string]any{"messageIds": []any{m["id"], m["id"], uuid.NewString()}}, 200)["acked"]; n != 1.0 {
		t.Errorf("acked %v", n)
	}
	if got := x.inbox("?sessionId=s1"); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// What waits in a huddle when it is closed, or in a room that the agent leaves, is not
// read any more, and people see why.
func TestB1_ClosedRoomsLeaveNothingToRead(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	room := x.call(x.owner, "POST", "/conversations", map[string]any{"type": "group", "title": "Yard", "memberIds": []string{x.agentID}}, 201)["id"].(string)
	huddle := x.call(x.owner, "POST", "/conversations/dm", map[string]any{"peerId": x.agentID, "sourceConversationId": room, "huddleTopic": "sails"}, 200)["id"].(string)
	read := x.say(huddle, "read before")
	if got := x.inbox("?claim=true"); fmt.Sprint(got) != "[read before]" {
		t.Fatalf("the inbox has %v", got)
	}
	asked := x.say(huddle, "linen?")
	x.say(room, "in the room above")
	me := phxtest.Dial(t, x.URL, phxtest.Options{Token: x.owner}).Join("conversation:"+huddle, map[string]any{})
	x.call(x.owner, "POST", "/huddles/complete", map[string]any{"huddleId": huddle, "outcome": "abandoned", "summary": "Too windy."}, 200)
	receipt := func(room, message, want string) {
		t.Helper()
		list, _ := x.call(x.owner, "GET", "/conversations/"+room+"/receipts?messageIds="+message, nil, 200)["receipts"].([]any)
		if len(list) != 1 {
			t.Fatalf("receipts %v", list)
		}
		if r := list[0].(map[string]any); fmt.Sprint(r["state"], " ", r["errorCode"]) != want {
			t.Errorf("receipt %v, want %s", r, want)
		}
	}
	receipt(huddle, asked, "stopped room_closed")
	receipt(huddle, read, "read <nil>")
	var told struct {
		Receipt struct{ MessageID, AgentID, State, ErrorCode string }
	}
	until(me, "receipt_changed", &told)
	if r := told.Receipt; r.MessageID != asked || r.AgentID != x.agentID || r.State != "stopped" || r.ErrorCode != "room_closed" {
		t.Errorf("told %+v", r)
	}
	if got := x.inbox("?claim=true"); fmt.Sprint(got) != "[in the room above]" {
		t.Errorf("the inbox has %v", got)
	}
	if n := x.call(x.agent, "POST", "/agents/me/inbox/ack", map[string]any{"messageIds": []string{asked}}, 200)["acked"]; n != 0.0 {
		t.Errorf("acked %v", n)
	}

	left := x.say(room, "never read")
	x.call(x.owner, "DELETE", "/conversations/"+room+"/members/"+x.agentID, nil, 200)
	receipt(room, left, "stopped left_room")
	x.call(x.owner, "POST", "/conversations/"+room+"/members", map[string]any{"participantId": x.agentID}, 201)
	if got := x.inbox("?claim=true"); len(got) != 0 {
		t.Errorf("who came back finds %v", got)
	}

	// So it is for what an older program left open when it closed a huddle.
	x.say(room, "still to read")
	if err := x.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{migration(t, "000020_close_inbox_items.down.sql"), `UPDATE inbox_items SET read_at = NULL WHERE message_id = '` + asked + `'`, migration(t, "000020_close_inbox_items.up.sql")} {
		if _, err := x.DB.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	receipt(huddle, asked, "stopped room_closed")
	if got := x.inbox("?claim=true"); fmt.Sprint(got) != "[still to read]" {
		t.Errorf("after the upgrade the inbox has %v", got)
	}
}

func migration(t *testing.T, name string) string {
	t.Helper()
	raw, err := migrations.FS.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestB1_SessionInputIsBounded(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	for name, more := range map[string]map[string]any{
		"event": {"event": "dance"}, "no session": {"sessionId": " "}, "text": {"text": strings.Repeat("x", 10_001)}, "tool name": {"toolName": strings.Repeat("x", 61)},
		"session": {"sessionId": strings.Repeat("x", 201)}, "nul": {"cwd": "a\x00b"},
	} {
		body := map[string]any{"sessionId": "s", "event": "prompt", "tool": "claude_code"}
		for k, v := range more {
			body[k] = v
		}
		t.Log(name)
		x.call(x.agent, "POST", "/agents/me/sessions/events", body, 422)
	}
	if n := x.Count(t, `SELECT count(*) FROM external_sessions`); n != 0 {
		t.Errorf("%d sessions", n)
	}
	limited := false
	for n := 0; n < 1000 && !limited; n++ {
		status, _, err := request(t.Context(), x.URL, x.agent, "POST", "/api/agents/me/sessions/events", `{"sessionId":"s","event":"dance"}`)
		if err != nil {
			t.Fatal(err)
		}
		limited = status == 429
	}
	if !limited {
		t.Error("events are not limited")
	}
}

func TestS1_SessionAsksItsOwner(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	room := x.room("s1")
	x.event("s1", "session_start", nil)
	ask := x.call(x.agent, "POST", "/agent/permission-requests", map[string]any{"toolName": "Bash", "toolInput": map[string]any{"command": "rm -rf build"}, "conversationId": room}, 200)
	request := ask["requestId"].(string)
	x.call(x.owner, "POST", "/permission-requests/"+request+"/resolve", map[string]any{"decision": "approve"}, 200)
	if got := x.call(x.agent, "GET", "/agent/permission-requests/"+request, nil, 200); got["status"] != "approved" {
		t.Errorf("%v", got)
	}
}
