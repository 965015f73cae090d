package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/app/apptest"
	"github.com/agntchat/agntchat/internal/realtime/phxtest"
)

// deskWorld is an owner, their agent and the room of the two.
type deskWorld struct {
	t              *testing.T
	s              *apptest.Server
	owner, ownerID string
	agent, agentID string
	room, executor string
}

func newDeskWorld(t *testing.T) *deskWorld {
	t.Helper()
	w := &deskWorld{t: t, s: apptest.New(t)}
	w.owner, w.ownerID = person(t, w.s.URL)
	var made struct{ ID, APIKey string }
	w.call(w.owner, "POST", "/api/agents", map[string]any{"displayName": "Bot"}, 201, &made)
	w.agentID = made.ID
	var token struct{ Token string }
	w.call("", "POST", "/api/auth/agent-token", map[string]any{"agent_id": made.ID, "api_key": made.APIKey}, 200, &token)
	w.agent = token.Token
	var room struct{ ID string }
	w.call(w.owner, "POST", "/api/conversations", map[string]any{"type": "direct", "memberIds": []string{made.ID}}, 201, &room)
	w.room = room.ID
	w.call(w.agent, "POST", "/api/gateway/executors", map[string]any{
		"executor_key": "k", "max_concurrent": 2, "instance_id": "i", "metadata": map[string]any{"client": "agnt", "protocol": 1},
	}, 200, &room)
	w.executor = room.ID
	return w
}

func (w *deskWorld) call(token, method, path string, body any, want int, out any) {
	w.t.Helper()
	if got := call(w.t, w.s.URL, token, method, path, body, 0, out); got != want && !(want == 200 && got == 201) {
		w.t.Fatalf("%s %s answered %d, want %d", method, path, got, want)
	}
}

func (w *deskWorld) people() *phxtest.Channel {
	return phxtest.Dial(w.t, w.s.URL, phxtest.Options{Token: w.owner}).Join("user:"+w.ownerID, map[string]any{"client": "web"})
}

func (w *deskWorld) bridge() *phxtest.Channel {
	return phxtest.Dial(w.t, w.s.URL, phxtest.Options{Token: w.agent}).Join("user:"+w.agentID, map[string]any{"executor_id": w.executor, "instance_id": "i"})
}

type permission struct {
	ID, RequestID, Status, State, ActionHash, Text string
	Input                                          json.RawMessage
}

// until skips events of other kinds.
func until(ch *phxtest.Channel, event string, into any) {
	for {
		if m := ch.Next(); m.Event == event {
			if err := json.Unmarshal(m.Payload, into); err != nil {
				panic(err)
			}
			return
		}
	}
}

// TestS1_StockBridgeAsksAndPolls is bridge 5.10 over the real server, with the
// desktop's two events and its list.
func TestS1_StockBridgeAsksAndPolls(t *testing.T) {
	t.Parallel()
	w := newDeskWorld(t)
	me := w.people()
	var asked, polled permission
	w.call(w.agent, "POST", "/api/agent/permission-requests", map[string]any{
		"toolName": "Bash", "toolInput": map[string]any{"command": "echo planted-Tomate-17"}, "description": "Run command: echo planted-Tomate-17", "conversationId": w.room,
	}, 200, &asked)
	if asked.Status != "pending" || asked.RequestID == "" || asked.ID != asked.RequestID {
		t.Fatalf("asked %+v", asked)
	}
	var told struct{ ID, Status, ToolName, AgentName, NotificationCategory, Action string }
	until(me, "permission_request", &told)
	if told.ID != asked.ID || told.Status != "pending" || told.NotificationCategory != "mentions" || told.Action != `{"input":{"command":"echo planted-Tomate-17"},"tool":"Bash"}` {
		t.Errorf("told %+v", told)
	}
	var list struct{ Requests []struct{ ID string } }
	w.call(w.owner, "GET", "/api/permission-requests", nil, 200, &list)
	var decisions struct {
		Decisions []struct{ Kind, ID, SourceID, ToolName string }
	}
	w.call(w.owner, "GET", "/api/me/decisions", nil, 200, &decisions)
	if len(list.Requests) != 1 || list.Requests[0].ID != asked.ID || len(decisions.Decisions) != 1 || decisions.Decisions[0].SourceID != asked.ID || decisions.Decisions[0].Kind != "permission_request" {
		t.Errorf("list %+v, decisions %+v", list, decisions)
	}
	w.call(w.owner, "POST", "/api/permission-requests/"+asked.ID+"/resolve", map[string]any{"decision": "approve", "always": false}, 200, &told)
	until(me, "permission_resolved", &told)
	w.call(w.agent, "GET", "/api/agent/permission-requests/"+asked.ID, nil, 200, &polled)
	if told.Status != "approved" || polled.Status != "approved" {
		t.Errorf("told %s, polled %s", told.Status, polled.Status)
	}
	w.call(w.owner, "POST", "/api/permission-requests/"+asked.ID+"/resolve", map[string]any{"decision": "deny"}, 409, nil)
	if strings.Contains(w.s.Log.Text(), "planted-Tomate-17") {
		t.Error("the log holds what was asked")
	}
}

// TestS1_DecidedWhileNobodyIsAlive: a durable request is asked, the server and the
// bridge end, the server comes back and a person decides, it ends again, and only
// then the bridge connects: it is told once, with everything that it needs, and what
// was approved runs once.
func TestS1_DecidedWhileNobodyIsAlive(t *testing.T) {
	t.Parallel()
	w := newDeskWorld(t)
	bridge := w.bridge()
	input := map[string]any{"command": "rm -rf build", "timeout": json.Number("9007199254740993")}
	body := map[string]any{
		"toolName": "Bash", "toolInput": input, "conversationId": w.room, "durable": true, "ttlSeconds": 86_400, "executorId": w.executor,
		"runId": "session-1", "toolUseId": "toolu_1", "resume": map[string]any{"session": "s1", "cwd": "/x"}, "reason": "tidy up",
	}
	var asked, again permission
	w.call(w.agent, "POST", "/api/agent/permission-requests", body, 200, &asked)
	w.call(w.agent, "POST", "/api/agent/permission-requests", body, 200, &again)
	if asked.ID != again.ID {
		t.Error("asked twice for one call")
	}
	var refused struct {
		Error struct {
			Code    string
			Details []struct{ Message string }
		}
	}
	second := map[string]any{"toolName": "Bash", "toolInput": map[string]any{"command": "ls"}, "durable": true, "executorId": w.executor, "runId": "session-1", "toolUseId": "toolu_2"}
	w.call(w.agent, "POST", "/api/agent/permission-requests", second, 409, &refused)
	if refused.Error.Code != "one_gated_call" || len(refused.Error.Details) != 1 || refused.Error.Details[0].Message != asked.ID {
		t.Errorf("a second call is told %+v", refused)
	}
	_ = bridge
	restart := func() {
		t.Helper()
		if err := w.s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	restart()
	w.call(w.owner, "POST", "/api/permission-requests/"+asked.ID+"/resolve", map[string]any{"decision": "approve", "text": "only build"}, 200, nil)
	restart()
	bridge = w.bridge()
	var told struct {
		ID, RequestID, Status, ActionHash, ToolName, Text, RunID, ToolUseID, ConversationID string
		Generation                                                                          int64
		LeaseSeconds                                                                        int
		Edited                                                                              bool
		Input, Resume                                                                       json.RawMessage
	}
	until(bridge, "gateway_approval", &told)
	if told.RequestID != asked.ID || told.Status != "approved" || told.ActionHash != asked.ActionHash || told.Edited || told.Text != "only build" || told.RunID != "session-1" ||
		told.ToolUseID != "toolu_1" || told.ConversationID != w.room || told.LeaseSeconds < 1 || string(told.Resume) != `{"cwd":"/x","session":"s1"}` ||
		string(told.Input) != `{"command":"rm -rf build","timeout":9007199254740993}` {
		t.Errorf("told %+v %s %s", told, told.Input, told.Resume)
	}
	redeem := func(in any, key string, want int) {
		t.Helper()
		w.call(w.agent, "POST", "/api/agent/permission-requests/"+asked.ID+"/redeem", map[string]any{"toolName": "Bash", "toolInput": in, "useKey": key}, want, nil)
	}
	redeem(map[string]any{"command": "rm -rf build", "timeout": json.Number("9007199254740992")}, "a", 409)
	redeem(input, "a", 200)
	redeem(input, "a", 200)
	redeem(input, "b", 409)
	ack := map[string]any{"executor_id": w.executor, "generation": told.Generation}
	for range 2 {
		w.call(w.agent, "POST", "/api/gateway/approvals/"+told.ID+"/ack", ack, 200, nil)
	}
	w.call(w.agent, "POST", "/api/gateway/approvals/"+told.ID+"/ack", map[string]any{"executor_id": w.executor, "generation": told.Generation + 1}, 403, nil)
	restart()
	if ch := w.bridge(); ch.Push("catchup", map[string]any{}).Status != "ok" {
		t.Error("no catch-up")
	}
	if n := w.s.Count(t, `SELECT count(*) FROM queued_approvals`); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

// TestS1_SecretsComeBackNowhere: a planted secret goes in by fulfil and is then in
// no answer of any list, no event, and no log.
func TestS1_SecretsComeBackNowhere(t *testing.T) {
	t.Parallel()
	w := newDeskWorld(t)
	me := w.people()
	const planted = "sk-planted-Gurke-99"
	var asked string
	if err := w.s.DB.QueryRow(t.Context(), `INSERT INTO credential_requests (organization_id, agent_id, owner_id, conversation_id, label, endpoint, auth_mode, expires_at)
		SELECT organization_id, id, owner_id, $2::uuid, 'Weather', 'https://api.example.com', 'bearer', now() + interval '1 hour' FROM agents WHERE id = $1::uuid RETURNING id::text`,
		w.agentID, w.room).Scan(&asked); err != nil {
		t.Fatal(err)
	}
	var seen strings.Builder
	look := func(token, method, path string, body any) {
		t.Helper()
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		status, answer, err := request(t.Context(), w.s.URL, token, method, path, string(raw))
		if err != nil || status >= 500 {
			t.Fatalf("%s %s: %d %v", method, path, status, err)
		}
		seen.WriteString(answer)
	}
	look(w.owner, "POST", "/api/credential-requests/"+asked+"/fulfill", map[string]any{"value": planted})
	var event json.RawMessage
	until(me, "credential_request_resolved", &event)
	seen.Write(event)
	var said json.RawMessage
	until(me, "conversation_read", &said) // the answer was said in the room
	for _, path := range []string{"/api/credential-requests", "/api/credential-requests?state=given", "/api/me/decisions", "/api/permission-requests", "/api/me", "/api/agents", "/api/conversations/" + w.room + "/messages"} {
		look(w.owner, "GET", path, nil)
		look(w.agent, "GET", path, nil)
	}
	if !strings.Contains(seen.String(), "fulfilled") || !strings.Contains(seen.String(), "Weather") {
		t.Fatal("the test looks at nothing")
	}
	if strings.Contains(seen.String(), planted) || strings.Contains(w.s.Log.Text(), planted) {
		t.Error("the secret came back")
	}
}

// TestS1_ManyAnswersAtOnce is the race over HTTP: one wins, the others are told.
func TestS1_ManyAnswersAtOnce(t *testing.T) {
	t.Parallel()
	w := newDeskWorld(t)
	var asked permission
	w.call(w.agent, "POST", "/api/agent/permission-requests", map[string]any{"toolName": "Bash", "toolInput": map[string]any{"command": "ls"}, "conversationId": w.room}, 200, &asked)
	got := make(chan int, 8)
	for n := range cap(got) {
		go func() {
			body := fmt.Sprintf(`{"decision":%q}`, []string{"approve", "deny"}[n%2])
			status, _, err := request(t.Context(), w.s.URL, w.owner, "POST", "/api/permission-requests/"+asked.ID+"/resolve", body)
			if err != nil {
				t.Error(err)
			}
			got <- status
		}()
	}
	count := map[int]int{}
	for range cap(got) {
		count[<-got]++
	}
	if count[200] != 1 || count[409] != cap(got)-1 {
		t.Errorf("answers %v", count)
	}
}

// TestS1_ExpiryIsTold: the job that stands at the end of a request's life ends it,
// and those who could have decided are told; a deleted agent's requests end too.
func TestS1_ExpiryIsTold(t *testing.T) {
	t.Parallel()
	w := newDeskWorld(t)
	me := w.people()
	ask := func(command string) permission {
		t.Helper()
		var p permission
		w.call(w.agent, "POST", "/api/agent/permission-requests", map[string]any{"toolName": "Bash", "toolInput": map[string]any{"command": command}, "conversationId": w.room}, 200, &p)
		return p
	}
	first := ask("late")
	if n := w.s.Count(t, `SELECT count(*) FROM river_job WHERE kind = 'expire_approvals' AND state = 'scheduled' AND scheduled_at > now() + interval '4 minutes'`); n != 1 {
		t.Fatalf("%d jobs stand at the end of its life", n)
	}
	for _, sql := range []string{`UPDATE approvals SET expires_at = now()`, `UPDATE river_job SET state = 'available', scheduled_at = now() WHERE kind = 'expire_approvals' AND state = 'scheduled'`} {
		if _, err := w.s.DB.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	var told permission
	until(me, "permission_resolved", &told)
	if told.ID != first.ID || told.Status != "expired" || told.State != "expired" {
		t.Errorf("told %+v", told)
	}
	second := ask("open")
	w.call(w.owner, "POST", "/api/agents/"+w.agentID+"/delete-permanent", map[string]any{"confirmName": "Bot"}, 200, nil)
	until(me, "permission_resolved", &told)
	if told.ID != second.ID || told.Status != "expired" || told.State != "cancelled" {
		t.Errorf("told %+v", told)
	}
}
