package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/agntchat/agntchat/internal/app/apptest"
	"github.com/agntchat/agntchat/internal/config"
)

// toolCallers are on whose behalf a turn runs: the owner of the agents and of the
// room; a member of the room; somebody who is none; somebody who was; and a stranger's
// agent that speaks by itself.
var toolCallers = []string{"owner", "member", "outsider", "removed", "foreign"}

// toolAgents are which agent is asked: a member of the room; one that is none; one
// from which its owner has taken every tool.
var toolAgents = []string{"nova", "vela", "lyra"}

// toolRow says by hand what each caller gets from each agent: in, or the code of the
// refusal. A single word holds for all callers.
type toolRow struct {
	args             string
	nova, vela, lyra string
}

const (
	bothInRoom = "in in not_found not_found not_found" // the room is read or written by who sits there
	// What is read of the room would be said where outsiders listen (field.md 35).
	heldInRoom = "approval_required approval_required not_found not_found not_found"
	nobody     = "not_found"
	everyone   = "in"
	taken      = "forbidden"
	notWorking = "queue_item_not_found" // nothing runs
)

// toolRows has a row for every tool of the registry. {room} is the room of the
// columns, {file} a file there, {kin} an agent whom only its owner reaches.
var toolRows = map[string]toolRow{
	"send_message":      {`{"conversation_id":"{room}","content":"x"}`, bothInRoom, nobody, taken},
	"get_messages":      {`{"conversation_id":"{room}"}`, heldInRoom, nobody, taken},
	"search_messages":   {`{"conversation_id":"{room}","query":"planted"}`, heldInRoom, nobody, taken},
	"list_members":      {`{"conversation_id":"{room}"}`, bothInRoom, nobody, taken},
	"read_attachment":   {`{"attachment_id":"{file}"}`, heldInRoom, nobody, taken},
	"create_document":   {`{"conversation_id":"{room}","format":"md","filename":"a","content":"x"}`, bothInRoom, nobody, taken},
	"share_file":        {`{"conversation_id":"{room}","path":"x"}`, "local_tool", "local_tool", taken},
	"request_member":    {`{"conversation_id":"{room}","participant_id":"{kin}"}`, "in not_found not_found not_found not_found", nobody, taken},
	"find_contacts":     {`{}`, everyone, everyone, taken},
	"find_or_create_dm": {`{"peer_id":"{kin}"}`, "in not_found not_found not_found not_found", "in not_found not_found not_found not_found", taken},
	"complete_huddle":   {`{"huddle_id":"{room}","outcome":"resolved","summary":"x"}`, "not_a_huddle not_a_huddle not_found not_found not_found", nobody, taken},
	"get_profile":       {`{}`, everyone, everyone, taken},
	"read_soul":         {`{}`, everyone, everyone, taken},
	"get_soul_template": {`{}`, everyone, everyone, taken},
	// A stranger's agent marks the turn: what cannot be undone asks before it is refused.
	"update_soul": {`{"soul_md":"x"}`, "in forbidden forbidden forbidden approval_required", "in forbidden forbidden forbidden approval_required", taken},
	"end_turn":    {`{"reason":"task_complete"}`, everyone, everyone, everyone},
	"web_fetch":   {`{"url":"{web}/healthz"}`, everyone, everyone, taken},
	"create_task": {`{"conversation_id":"{room}","title":"x","assigned_to":["{nova}"]}`, bothInRoom, nobody, taken},
	// {task} is one of nova, asked for in the room, at which nothing runs in this turn.
	"complete_task":        {`{"task_id":"{task}","response":"x"}`, bothInRoom, nobody, "not_assigned not_assigned not_found not_found not_found"},
	"fail_task":            {`{"task_id":"{task}","error":"x"}`, bothInRoom, nobody, "not_assigned not_assigned not_found not_found not_found"},
	"update_task_status":   {`{"task_id":"{task}","status":"in_progress"}`, bothInRoom, nobody, taken},
	"update_task":          {`{"task_id":"{task}","title":"x"}`, bothInRoom, nobody, taken},
	"report_progress":      {`{"task_id":"{task}","progress":{"current_step":"x"}}`, "queue_item_not_found queue_item_not_found not_found not_found not_found", "queue_item_not_found queue_item_not_found not_found not_found not_found", taken},
	"ask_person":           {`{"task_id":"{task}","question":"x"}`, "not_running not_running not_found not_found not_found", nobody, taken},
	"wait_for_subtasks":    {`{"task_id":"{task}","mode":"all"}`, "no_open_subtasks no_open_subtasks not_found not_found not_found", nobody, taken},
	"get_task":             {`{"task_id":"{task}"}`, bothInRoom, nobody, taken},
	"list_apis":            {`{}`, everyone, everyone, taken},
	"call_api":             {`{"api":"crm","path":"/who"}`, "in not_found not_found not_found not_found", nobody, taken},
	"accept_task_rest":     {`{"task_id":"{task}"}`, bothInRoom, nobody, taken},
	"claim_next_step":      {`{"queued_task_id":"{task}"}`, notWorking, notWorking, taken},
	"report_step_progress": {`{"queued_task_id":"{task}","step_id":"a","status":"completed"}`, notWorking, notWorking, taken},
	"extend_task_plan":     {`{"queued_task_id":"{task}","new_steps":[{"id":"a","title":"x"}]}`, notWorking, notWorking, taken},
	"get_context":          {`{"conversation_id":"{room}","tier":2}`, heldInRoom, nobody, taken},
	"get_context_brief":    {`{"conversation_id":"{room}"}`, heldInRoom, nobody, taken},
	"get_memory":           {`{"conversation_id":"{room}"}`, heldInRoom, nobody, taken},
	// What all agents of the room will be told asks once text from outside was there.
	"update_memory": {`{"conversation_id":"{room}","changes":{"summary":"x"}}`, "in in not_found not_found approval_required", "not_found not_found not_found not_found approval_required", taken},
	// Who may ask an agent may have it remember; what is recalled for whom: TestK4_RecallIsFilteredByWhoAsks.
	"get_agent_memories":  {`{}`, everyone, everyone, taken},
	"get_family_memories": {`{}`, everyone, everyone, taken},
	"memory_search":       {`{"query":"planted","conversation_id":"{room}"}`, heldInRoom, nobody, taken},
	// The first to save is the owner: nobody else replaces that.
	"save_agent_memory":   {`{"category":"fact","key":"matrix","content":"x"}`, "in memory_exists memory_exists memory_exists memory_exists", "in memory_exists memory_exists memory_exists memory_exists", taken},
	"forget_memory":       {`{"category":"fact","key":"none"}`, "not_found forbidden forbidden forbidden approval_required", "not_found forbidden forbidden forbidden approval_required", taken},
	"save-family-memory":  {`{"category":"fact","key":"matrix","content":"x"}`, "in forbidden forbidden forbidden approval_required", "in forbidden forbidden forbidden approval_required", taken},
	"get_owner_location":  {`{}`, "no_location forbidden forbidden forbidden forbidden", "no_location forbidden forbidden forbidden forbidden", taken},
	"update_input_schema": {`{"schema_dict":{"fields":[]}}`, "in forbidden forbidden forbidden approval_required", "in forbidden forbidden forbidden approval_required", taken},
	// Anybody may make an agent ask; only its owner is asked.
	"request_credential":   {`{"label":"Weather","endpoint":"https://api.example.com"}`, everyone, everyone, taken},
	"call_with_credential": {`{"credential_id":"` + uuid.NewString() + `"}`, "not_found forbidden forbidden forbidden forbidden", "not_found forbidden forbidden forbidden forbidden", taken},
}

// TestS1_ToolPermissionMatrix tries every tool, by every caller, with
// every agent, and with a token that has died; rows from the registry, answers by
// hand. What was planted comes out only where its reader may read it, and a secret
// nowhere.
func TestS1_ToolPermissionMatrix(t *testing.T) {
	t.Parallel()
	w := newToolWorld(t)
	rows := map[string]toolRow{}
	for name, r := range toolRows {
		rows[name] = r
	}
	for _, spec := range w.s.App.Tools.Registry().All() {
		row, ok := rows[spec.Name]
		delete(rows, spec.Name)
		if !ok {
			t.Errorf("%s has no row in toolRows: say who may call it", spec.Name)
			continue
		}
		sources := w.sources(spec.Name)
		for n, want := range []string{row.nova, row.vela, row.lyra} {
			agent := toolAgents[n]
			var got []string
			for _, caller := range toolCallers {
				got = append(got, w.tool(spec.Name, row.args, agent, caller, sources[caller], w.tokens[agent]))
			}
			all := strings.Fields(want)
			if len(all) == 1 {
				all = strings.Fields(strings.Repeat(want+" ", len(toolCallers)))
			}
			if strings.Join(got, " ") != strings.Join(all, " ") {
				t.Errorf("%s of %s:\n got %s\nwant %s\n     (%s)", spec.Name, agent, strings.Join(got, " "), strings.Join(all, " "), strings.Join(toolCallers, " "))
			}
		}
		if got := w.tool(spec.Name, row.args, "nova", "owner", sources["owner"], w.dead); got != "401" {
			t.Errorf("%s with a dead token: %s", spec.Name, got)
		}
	}
	for name := range rows {
		t.Errorf("toolRows has %s, which is no tool", name)
	}
	log := w.s.Log.Text()
	for name, secret := range map[string]string{"the secret of the service": w.secret, "the text of a message": w.planted, "a token": w.tokens["nova"], "a dead token": w.dead} {
		if strings.Contains(log, secret) {
			t.Errorf("%s is in the log", name)
		}
	}
}

type toolWorld struct {
	t       *testing.T
	s       *apptest.Server
	tokens  map[string]string
	ids     map[string]string
	fill    *strings.Replacer
	room    string // of the columns
	side    string // where everybody asks
	secret  string
	planted string
	dead    string
}

func newToolWorld(t *testing.T) *toolWorld {
	t.Helper()
	s := apptest.New(t, func(c *config.Config) { c.OutboundTrusted = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	w := &toolWorld{t: t, s: s, tokens: map[string]string{}, ids: map[string]string{}, secret: "planted-secret-" + uuid.NewString(), planted: "planted-text-" + uuid.NewString()}
	do := func(who, method, path string, body, out any, want int) {
		t.Helper()
		call(t, s.URL, w.tokens[who], method, path, body, want, out)
	}
	for _, who := range []string{"owner", "member", "outsider", "removed"} {
		w.tokens[who], w.ids[who] = person(t, s.URL)
	}
	key := map[string]string{}
	for agent, owner := range map[string]string{"nova": "owner", "vela": "owner", "lyra": "owner", "kin": "owner", "foreign": "outsider"} {
		var made struct{ ID, APIKey string }
		do(owner, "POST", "/api/agents", map[string]any{"displayName": agent, "runtime": "local"}, &made, 201)
		var in struct{ Token string }
		do("", "POST", "/api/auth/agent-token", map[string]any{"agent_id": made.ID, "api_key": made.APIKey}, &in, 200)
		w.ids[agent], w.tokens[agent], key[agent] = made.ID, in.Token, made.APIKey
	}
	// A token dies with the key that it was made from.
	w.dead = w.tokens["nova"]
	var again struct{ APIKey, Token string }
	do("owner", "POST", "/api/agents/"+w.ids["nova"]+"/regenerate-key", nil, &again, 200)
	do("", "POST", "/api/auth/agent-token", map[string]any{"agent_id": w.ids["nova"], "api_key": again.APIKey}, &again, 200)
	w.tokens["nova"] = again.Token

	room := func(members ...string) string {
		var ids []string
		for _, m := range members {
			ids = append(ids, w.ids[m])
		}
		var made struct{ ID string }
		do("owner", "POST", "/api/conversations", map[string]any{"type": "group", "title": "Room", "memberIds": ids}, &made, 201)
		return made.ID
	}
	target := room("member", "removed", "nova", "lyra")
	do("owner", "DELETE", "/api/conversations/"+target+"/members/"+w.ids["removed"], nil, nil, 0)
	do("owner", "POST", "/api/conversations/"+target+"/messages", map[string]any{"content": w.planted}, nil, 201)
	w.side = room("member", "outsider", "removed", "nova", "vela", "lyra")
	do("owner", "POST", "/api/conversations/"+w.side+"/members", map[string]any{"participantId": w.ids["outsider"]}, nil, 0)
	w.seat("foreign")

	var up struct{ UploadURL, StorageKey string }
	do("owner", "POST", "/api/conversations/"+target+"/upload-url", map[string]any{"filename": "a.txt", "contentType": "text/plain", "sizeBytes": len(w.planted)}, &up, 200)
	req, err := http.NewRequestWithContext(t.Context(), "PUT", up.UploadURL, strings.NewReader(w.planted))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("upload: %v %v", res, err)
	}
	_ = res.Body.Close()
	do("owner", "POST", "/api/conversations/"+target+"/files/confirm", map[string]any{"storageKey": up.StorageKey}, nil, 201)

	echo := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { fmt.Fprint(rw, "you are ", r.Header) }))
	t.Cleanup(echo.Close)
	do("owner", "POST", "/api/me/apis", map[string]any{
		"name": "crm", "baseUrl": echo.URL, "auth": map[string]any{"kind": "bearer", "secret": w.secret}, "agentIds": []string{w.ids["nova"], w.ids["lyra"]},
		"operations": []map[string]any{{"method": "GET", "path": "/who"}},
	}, nil, 201)
	for _, spec := range s.App.Tools.Registry().All() {
		if !spec.Essential {
			do("owner", "DELETE", "/api/tools/"+spec.Name+"/assign/"+w.ids["lyra"], nil, nil, 204)
		}
	}
	w.room = target
	w.fill = strings.NewReplacer("{room}", target, "{file}", up.StorageKey, "{kin}", w.ids["kin"], "{nova}", w.ids["nova"], "{web}", s.URL)
	return w
}

// seat gives a stranger's agent a seat in the side room: only its owner could.
func (w *toolWorld) seat(who string) {
	w.t.Helper()
	if _, err := w.s.DB.Exec(w.t.Context(), `INSERT INTO conversation_members (conversation_id, participant_id, role) VALUES ($1::uuid, $2::uuid, 'member')`, w.side, w.ids[who]); err != nil {
		w.t.Fatal(err)
	}
}

// sources makes every caller ask in the side room, as a turn of every agent.
func (w *toolWorld) sources(text string) map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for _, who := range toolCallers {
		var m struct{ ID string }
		call(w.t, w.s.URL, w.tokens[who], "POST", "/api/conversations/"+w.side+"/messages", map[string]any{"content": text}, 201, &m)
		out[who] = m.ID
		for _, agent := range toolAgents {
			if _, err := w.s.DB.Exec(w.t.Context(), `INSERT INTO turns (id, agent_id, conversation_id, message_id, queue_id, generation, outcome, queued_at)
				VALUES (gen_random_uuid(), $1::uuid, $2::uuid, $3::uuid, gen_random_uuid(), 1, 'answered', now()) ON CONFLICT DO NOTHING`, w.ids[agent], w.side, m.ID); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	return out
}

// tool calls a tool, by either of its doors, and tells what came of it.
func (w *toolWorld) tool(name, args, agent, caller, source, token string) string {
	w.t.Helper()
	at := map[string]any{"conversation_id": w.side, "source_message_id": source}
	if strings.Contains(args, "{task}") { // a new one: most of these tools change it
		var made struct{ ID string }
		call(w.t, w.s.URL, w.tokens["owner"], "POST", "/api/conversations/"+w.room+"/tasks", map[string]any{"title": "t" + uuid.NewString(), "description": w.planted, "assignedTo": []string{w.ids["nova"]}}, 201, &made)
		args = strings.ReplaceAll(args, "{task}", made.ID)
	}
	raw := json.RawMessage(w.fill.Replace(args))
	path, body := "/api/mcp/call", map[string]any{"tool_name": name, "args": raw, "context": at}
	rpc := caller == "owner" || caller == "removed"
	if rpc {
		path, body = "/api/mcp", map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": name, "arguments": raw, "_meta": map[string]any{"context": at}}}
	}
	b, err := json.Marshal(body)
	if err != nil {
		w.t.Fatal(err)
	}
	status, answer, err := request(w.t.Context(), w.s.URL, token, "POST", path, string(b))
	if err != nil {
		w.t.Fatal(err)
	}
	if strings.Contains(answer, w.secret) {
		w.t.Errorf("%s of %s for %s shows the secret", name, agent, caller)
	}
	if status != http.StatusOK {
		if strings.Contains(answer, w.planted) {
			w.t.Errorf("%s of %s for %s shows what was planted", name, agent, caller)
		}
		return fmt.Sprint(status)
	}
	code := codeOf(w.t, answer, rpc)
	if code != "in" && strings.Contains(answer, w.planted) {
		w.t.Errorf("%s of %s for %s is refused and shows what was planted", name, agent, caller)
	}
	return code
}

func codeOf(t *testing.T, answer string, rpc bool) string {
	t.Helper()
	var out struct {
		OK     bool
		Code   string
		Result struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	if err := json.NewDecoder(strings.NewReader(answer)).Decode(&out); err != nil && err != io.EOF {
		t.Fatalf("%s: %v", answer, err)
	}
	switch {
	case rpc && out.Result.IsError:
		var refusal struct{ Code string }
		if err := json.Unmarshal([]byte(out.Result.Content[0].Text), &refusal); err != nil {
			t.Fatalf("%s: %v", answer, err)
		}
		return refusal.Code
	case rpc && len(out.Result.Content) > 0, !rpc && out.OK:
		return "in"
	case out.Code == "":
		t.Fatalf("no code: %s", answer)
	}
	return out.Code
}
