package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/agntchat/agntchat/internal/app/apptest"
)

// actors are the columns of the access matrix: nobody; a person and an agent that
// share nothing with the others; a member of the room; the room's administrator,
// who owns the agent; the agent, a member too.
var actors = []string{"nobody", "stranger", "foreign", "member", "owner", "agent"}

// TestM2_AccessMatrix is decision 27: every route, walked off the router, by every
// kind of actor, against what accessRows says. Who may not see a thing gets 404,
// who sees it and may not do this 403. A new route needs a row.
func TestM2_AccessMatrix(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	routes, err := s.App.Routes()
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]accessRow{}
	for _, r := range accessRows {
		if _, twice := rows[r.route]; twice {
			t.Errorf("%s has two rows", r.route)
		}
		rows[r.route] = r
	}
	todo := make(chan accessRow, len(routes))
	for _, route := range routes {
		if strings.Contains(route, "/admin/river") || route == "GET /socket/websocket" || strings.Contains(route, " /relay") {
			continue // other rules: TestM2_JobsAreForAdministrators, internal/channel, internal/relay (every call is signed)
		}
		row, ok := rows[route]
		delete(rows, route)
		if !ok {
			t.Errorf("%s has no row in accessRows: say who may call it", route)
			continue
		}
		todo <- row
	}
	close(todo)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var w *accessWorld // kept until a call may have changed it
			for row := range todo {
				var got string
				if got, w = accessOf(t, s, row, w); got != row.want {
					t.Errorf("%s\n got %s\nwant %s\n     (%s)", row.route, got, row.want, strings.Join(actors, " "))
				}
			}
		})
	}
	wg.Wait()
	for route := range rows {
		t.Errorf("accessRows has %s, which is no route", route)
	}
}

// accessOf calls a route as every actor. A world in which something may have been
// changed is not used again.
func accessOf(t *testing.T, s *apptest.Server, row accessRow, w *accessWorld) (string, *accessWorld) {
	var out []string
	for _, actor := range actors {
		if w == nil {
			made, err := newAccessWorld(t.Context(), s)
			if err != nil {
				t.Errorf("%s: make a world: %v", row.route, err)
				return "", nil
			}
			w = &made
		}
		method, path, _ := strings.Cut(w.fill(row.route+row.query), " ")
		status, body, err := request(t.Context(), s.URL, w.tokens[actor], method, path, w.fill(row.body))
		switch {
		case err != nil:
			t.Errorf("%s as %s: %v", row.route, actor, err)
		case status >= 500:
			t.Errorf("%s as %s answered %d: %s", row.route, actor, status, body)
		case status == 401, status == 403, status == 404:
			out = append(out, fmt.Sprint(status))
		case !strings.Contains(body, w.fill(row.shows)):
			out = append(out, "hidden")
		default:
			out = append(out, "in")
		}
		if status < 400 && !strings.HasPrefix(row.route, "GET ") {
			w = nil
		}
	}
	return strings.Join(out, " "), w
}

// accessWorld is one room, its people and agents, and a thing of each kind.
type accessWorld struct {
	tokens map[string]string
	ids    *strings.Replacer
}

func (w accessWorld) fill(s string) string { return w.ids.Replace(s) }

func newAccessWorld(ctx context.Context, s *apptest.Server) (w accessWorld, err error) {
	w.tokens = map[string]string{"nobody": ""}
	do := func(actor, method, path string, body map[string]any) (out map[string]any) {
		if err != nil {
			return nil
		}
		raw, _ := json.Marshal(body)
		status, answer, e := request(ctx, s.URL, w.tokens[actor], method, path, string(raw))
		if err = e; e == nil && status/100 != 2 {
			err = fmt.Errorf("%s %s as %s: %d %s", method, path, actor, status, answer)
		}
		_ = json.Unmarshal([]byte(answer), &out)
		return out
	}
	text := func(m map[string]any, key string) string { v, _ := m[key].(string); return v }
	ids := map[string]string{}
	for _, who := range []string{"stranger", "member", "owner"} {
		in := do("nobody", "POST", "/api/auth/signup", map[string]any{
			"email": who + "-" + uuid.NewString() + "@example.com", "password": "Qv7-harbour-Lamp", "firstName": who, "lastName": "X", "acceptedTerms": true, "birthDate": "1990-04-12",
		})
		w.tokens[who] = text(in, "token")
		p, _ := in["participant"].(map[string]any)
		ids[who] = text(p, "id")
	}
	for agent, owner := range map[string]string{"agent": "owner", "foreign": "stranger"} {
		made := do(owner, "POST", "/api/agents", map[string]any{"displayName": agent, "runtime": "local"})
		ids[agent] = text(made, "id")
		w.tokens[agent] = text(do("nobody", "POST", "/api/auth/agent-token", map[string]any{"agent_id": ids[agent], "api_key": text(made, "apiKey")}), "token")
	}
	room := text(do("owner", "POST", "/api/conversations", map[string]any{"type": "group", "title": "Room", "memberIds": []string{ids["member"], ids["agent"]}}), "id")
	message := text(do("owner", "POST", "/api/conversations/"+room+"/messages", map[string]any{"content": "hello"}), "id")
	executor := text(do("agent", "POST", "/api/gateway/executors", map[string]any{"executor_key": "k", "max_concurrent": 1}), "id")
	key := do("owner", "POST", "/api/me/llm-keys", map[string]any{"provider": "anthropic", "token": "sk-ant-" + uuid.NewString(), "label": "mine"})
	api, _ := do("owner", "POST", "/api/me/apis", map[string]any{
		"name": "weather", "baseUrl": "https://api.example.com", "operations": []map[string]any{{"method": "GET", "path": "/now"}}, "agentIds": []string{ids["agent"]},
	})["api"].(map[string]any)
	sessions := do("owner", "GET", "/api/me/sessions", nil)
	invite := do("owner", "POST", "/api/invites", map[string]any{"displayName": "Terminal"})
	file := text(do("owner", "POST", "/api/conversations/"+room+"/upload-url", map[string]any{"filename": "a.txt", "contentType": "text/plain", "sizeBytes": 5}), "uploadUrl")
	if err == nil {
		file, err = uploaded(ctx, s, file)
	}
	do("owner", "POST", "/api/conversations/"+room+"/files/confirm", map[string]any{"storageKey": file})
	huddle := text(do("agent", "POST", "/api/conversations/dm", map[string]any{"peerId": ids["owner"], "sourceConversationId": room, "huddleTopic": "Sails"}), "id")
	ask := func(command string) string {
		return text(do("agent", "POST", "/api/agent/permission-requests", map[string]any{"toolName": "Bash", "toolInput": map[string]any{"command": command}, "conversationId": room}), "requestId")
	}
	grant := text(do("owner", "POST", "/api/permission-requests/"+ask("git status")+"/resolve", map[string]any{"decision": "approve", "scope": "pattern"}), "grantId")
	approval := ask("rm -rf build")
	if err != nil {
		return w, err
	}
	task := text(do("owner", "POST", "/api/conversations/"+room+"/tasks", map[string]any{"title": "Task", "assignedTo": []string{ids["agent"]}}), "id")
	if err != nil {
		return w, err
	}
	var question string
	if err := s.DB.QueryRow(ctx, `INSERT INTO asks (id, task_id, agent_id, conversation_id, asked, question, expires_at)
		VALUES (gen_random_uuid(), $1::uuid, $2::uuid, $3::uuid, ARRAY[$4::uuid], 'Go on?', now() + interval '1 hour') RETURNING id::text`,
		task, ids["agent"], room, ids["owner"]).Scan(&question); err != nil {
		return w, fmt.Errorf("question: %w", err)
	}
	var query, scope string
	if err := s.DB.QueryRow(ctx, `INSERT INTO agent_queries (id, agent_id, label, system_prompt, user_content, expires_at)
		VALUES (gen_random_uuid(), $1::uuid, 'x', '', 'x', now() + interval '1 hour') RETURNING id::text`, ids["agent"]).Scan(&query); err != nil {
		return w, fmt.Errorf("agent query: %w", err)
	}
	if err := s.DB.QueryRow(ctx, `INSERT INTO scope_requests (id, requester_id, agent_id, conversation_id, content, expires_at)
		VALUES (gen_random_uuid(), $1::uuid, $1::uuid, $2::uuid, 'x', now() + interval '1 hour') RETURNING id::text`, ids["agent"], room).Scan(&scope); err != nil {
		return w, fmt.Errorf("scope request: %w", err)
	}
	var row string
	if err := s.DB.QueryRow(ctx, `SELECT id::text FROM queued_tasks WHERE task_id = $1::uuid`, task).Scan(&row); err != nil {
		return w, fmt.Errorf("queue row of task: %w", err)
	}
	var item, organization string
	if err := s.DB.QueryRow(ctx, `SELECT organization_id::text FROM conversations WHERE id = $1::uuid`, room).Scan(&organization); err != nil {
		return w, fmt.Errorf("workspace: %w", err)
	}
	if err := s.DB.QueryRow(ctx, `SELECT id::text FROM queued_messages WHERE message_id = $1::uuid`, message).Scan(&item); err != nil {
		return w, fmt.Errorf("queue row: %w", err)
	}
	var secrets [2]string
	for n := range secrets {
		if err := s.DB.QueryRow(ctx, `INSERT INTO credential_requests (organization_id, agent_id, owner_id, label, expires_at) VALUES ($1::uuid, $2::uuid, $3::uuid, 'key', now() + interval '1 hour')
			RETURNING id::text`, organization, ids["agent"], ids["owner"]).Scan(&secrets[n]); err != nil {
			return w, fmt.Errorf("credential request: %w", err)
		}
	}
	var stop, seat string
	if err := s.DB.QueryRow(ctx, `INSERT INTO budget_stops (agent_id, day, tokens_per_day, used, expires_at) VALUES ($1::uuid, current_date, 1, 2, now() + interval '1 hour')
		RETURNING id::text`, ids["agent"]).Scan(&stop); err != nil {
		return w, fmt.Errorf("budget stop: %w", err)
	}
	if err := s.DB.QueryRow(ctx, `INSERT INTO member_requests (id, organization_id, conversation_id, agent_id, participant_id, approvers, expires_at)
		VALUES (gen_random_uuid(), $1::uuid, $2::uuid, $3::uuid, $4::uuid, ARRAY[$5::uuid], now() + interval '1 hour') RETURNING id::text`,
		organization, room, ids["agent"], ids["stranger"], ids["owner"]).Scan(&seat); err != nil {
		return w, fmt.Errorf("member request: %w", err)
	}
	do("owner", "POST", "/api/credential-requests/"+secrets[1]+"/fulfill", map[string]any{"value": "s3cret"})
	if err != nil {
		return w, err
	}
	remember := func(path string) string {
		m, _ := do("owner", "POST", path, map[string]any{"category": "fact", "key": "k", "content": "planted"})["memory"].(map[string]any)
		return text(m, "id")
	}
	noted, shared := remember("/api/agents/"+ids["agent"]+"/memories"), remember("/api/family/memories")
	do("owner", "PATCH", "/api/agents/"+ids["agent"]+"/soul", map[string]any{"soul_md": "# A"})
	do("agent", "POST", "/api/conversations/"+room+"/messages", map[string]any{"content": "hello both"}) // the people have something unread
	if err != nil {
		return w, err
	}
	made, _ := key["key"].(map[string]any)
	keyID, sessionID := text(made, "id"), ""
	if list, _ := sessions["sessions"].([]any); len(list) > 0 {
		m, _ := list[0].(map[string]any)
		sessionID = text(m, "id")
	}
	if keyID == "" || sessionID == "" || room == "" || executor == "" || grant == "" || approval == "" {
		return w, fmt.Errorf("incomplete: key %v, sessions %v", key, sessions)
	}
	w.ids = strings.NewReplacer("{request}", approval, "{grant}", grant, "{credential}", secrets[0], "{given}", secrets[1], "{file}", file, "{api}", text(api, "id"), "{memory}", noted, "{shared}", shared, "{tool}", "web_fetch",
		"{stop}", stop, "{seat}", seat, "{huddle}", huddle, "{query}", query, "{scope}", scope, "{task}", task, "{ask}", question, "{row}", row, "{agent}", ids["agent"], "{conversation}", room, "{message}", message, "{participant}", ids["agent"], "{member}", ids["member"],
		"{stranger}", ids["stranger"], "{executor}", executor, "{item}", item, "{key}", keyID, "{session}", sessionID, "{provider}", "anthropic", "{code}", "x", "{invite}", text(invite, "id"), "{inviteCode}", text(invite, "code"), "{tour}", "profileTour", "{organization}", organization)
	return w, nil
}

// uploaded sends five bytes to a signed address and gives the key of the file.
func uploaded(ctx context.Context, s *apptest.Server, address string) (string, error) {
	_, path, _ := strings.Cut(address, "/api/")
	status, answer, err := request(ctx, s.URL, "", "PUT", "/api/"+path, "hello")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("upload: %d %s", status, answer)
	}
	key, _, _ := strings.Cut(strings.TrimPrefix(path, "files/"), "/")
	return key, err
}

func request(ctx context.Context, base, token, method, path, body string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, method, base+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, string(b), err
}

// TestM2_JobsAreForAdministrators: River's own interface opens with the cookie of a
// signed-in administrator and for nobody else, who cannot tell that it is there.
func TestM2_JobsAreForAdministrators(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	first, _ := person(t, s.URL)
	call(t, s.URL, first, "POST", "/api/admin/river-session", map[string]any{}, 200, nil) // whoever comes first administers
	token, id := person(t, s.URL)
	open := func(cookie string) int {
		req, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/admin/river/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if cookie != "" {
			req.AddCookie(&http.Cookie{Name: "agntchat_river", Value: cookie})
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		return res.StatusCode
	}
	call(t, s.URL, token, "POST", "/api/admin/river-session", map[string]any{}, 404, nil)
	if a, b := open(""), open(token); a != 404 || b != 404 {
		t.Errorf("without right: %d and %d", a, b)
	}
	if _, err := s.DB.Exec(t.Context(), `UPDATE accounts SET platform_admin = true WHERE id = $1::uuid`, id); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(t.Context()); err != nil { // sessions are believed for a minute
		t.Fatal(err)
	}
	call(t, s.URL, token, "POST", "/api/admin/river-session", map[string]any{}, 200, nil)
	if got := open(token); got != 200 {
		t.Errorf("an administrator gets %d", got)
	}
}
