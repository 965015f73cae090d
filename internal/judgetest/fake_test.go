package judgetest

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

type obj = map[string]any

// fake is a server of a few hundred lines, only good enough to show that the
// judge itself is not broken. Faults, named by a test, make it break one rule.
type fake struct {
	mu       sync.Mutex
	url      string
	fault    string
	tokens   map[string]string // token → participant
	people   map[string]obj
	passwd   map[string]string // email → id + password
	agents   map[string]obj
	keys     map[string]string // key → agent
	rooms    map[string]*fakeRoom
	exec     map[string]obj // executor id → {agent, key, instance, max}
	queue    []*fakeItem
	conns    map[*fakeConn]bool
	last     time.Time
	streams  map[string]map[string]obj // room → stream → last frame
	refusals map[string]bool
	tasks    []*fakeTask
	asks     []obj
	grants   map[string]bool
	queries  map[string]*fakeQuery
	scopes   map[string]obj
	files    map[string]*fakeFile
	invites  map[string]obj
	sessions map[string]*fakeSession // agent id + session key
}

type fakeRoom struct {
	row      obj
	members  []string
	messages []obj
	unread   map[string]int
}

type fakeItem struct {
	id, agent, executor string
	msg                 obj
	answered            bool
}

func newFake(t *testing.T, fault string) Target {
	g, _ := startFake(t, fault)
	return g
}

// startFake also returns what drops every socket.
func startFake(t *testing.T, fault string) (g Target, drop func()) {
	f := &fake{
		fault: fault, tokens: map[string]string{}, people: map[string]obj{}, passwd: map[string]string{}, agents: map[string]obj{},
		keys: map[string]string{}, rooms: map[string]*fakeRoom{}, exec: map[string]obj{}, conns: map[*fakeConn]bool{},
		streams: map[string]map[string]obj{}, refusals: map[string]bool{},
		grants: map[string]bool{}, queries: map[string]*fakeQuery{}, scopes: map[string]obj{}, files: map[string]*fakeFile{},
		invites: map[string]obj{}, sessions: map[string]*fakeSession{},
	}
	mux := http.NewServeMux()
	routes := map[string]func(r *http.Request, who string, in obj) (int, any){
		"GET /api/auth/signup-policy":              func(*http.Request, string, obj) (int, any) { return 200, obj{"inviteRequired": false} },
		"GET /api/auth/invite-code/{code}":         func(*http.Request, string, obj) (int, any) { return 200, obj{"valid": false, "reason": "invalid"} },
		"POST /api/auth/signup":                    f.signup,
		"POST /api/auth/login":                     f.login,
		"POST /api/auth/agent-token":               f.agentToken,
		"GET /api/me":                              f.me,
		"PATCH /api/me":                            f.patchMe,
		"PUT /api/me/timezone":                     func(_ *http.Request, _ string, in obj) (int, any) { return 200, in },
		"GET /api/agents":                          f.listAgents,
		"GET /api/agents/health":                   func(*http.Request, string, obj) (int, any) { return 200, obj{"agents": []any{}} },
		"POST /api/agents":                         f.createAgent,
		"POST /api/agents/{id}/regenerate-key":     f.regenerate,
		"GET /api/agents/{id}":                     f.getAgent,
		"PATCH /api/agents/{id}":                   f.patchAgent,
		"POST /api/usage":                          ok204,
		"POST /api/agents/me/cli-tool-uses":        ok204,
		"POST /api/agents/me/runtime-faults":       ok204,
		"GET /api/conversations":                   f.listRooms,
		"POST /api/conversations":                  f.createRoom,
		"GET /api/conversations/{id}":              f.getRoom,
		"PATCH /api/conversations/{id}":            f.patchRoom,
		"DELETE /api/conversations/{id}":           f.deleteRoom,
		"GET /api/conversations/{id}/messages":     f.listMessages,
		"POST /api/conversations/{id}/messages":    f.postMessage,
		"POST /api/conversations/{id}/stream":      f.stream,
		"POST /api/conversations/{id}/stop-agents": f.stopAgents,
		"POST /api/conversations/{id}/read":        f.readRoom,
		"GET /api/unread-counts":                   f.unread,
		"POST /api/gateway/executors":              f.register,
		"POST /api/gateway/executors/{id}/heartbeat": func(r *http.Request, _ string, _ obj) (int, any) {
			if f.exec[r.PathValue("id")] == nil {
				return 404, fail("not_found")
			}
			return 200, obj{}
		},
		"DELETE /api/gateway/executors/{id}":   f.deregister,
		"POST /api/gateway/messages/{id}/ack":  f.ack,
		"POST /api/mcp/call":                   f.mcp,
		"GET /api/agents/me/trust":             func(*http.Request, string, obj) (int, any) { return 404, fail("not_found") },
		"GET /api/integrations/{name}/resolve": func(*http.Request, string, obj) (int, any) { return 404, fail("not_found") },
		"GET /api/owner/location":              func(*http.Request, string, obj) (int, any) { return 404, fail("not_found") },
		"POST /api/gateway/warmup":             func(*http.Request, string, obj) (int, any) { return 404, fail("not_found") },
		"/api/":                                func(*http.Request, string, obj) (int, any) { return 404, fail("not_found") },
	}
	maps.Copy(routes, f.taskRoutes())
	maps.Copy(routes, f.restRoutes())
	maps.Copy(routes, f.sessionRoutes())
	for pattern, h := range routes {
		mux.HandleFunc(pattern, f.handler(h))
	}
	mux.HandleFunc("POST /api/agents/{id}/soul/revise", f.revise)
	f.tokens[openToken] = openToken
	mux.HandleFunc("GET /api/invites/{code}/info", f.openInvite)
	mux.HandleFunc("POST /api/invites/{code}/claim", f.openInvite)
	mux.HandleFunc("/blob/{key}", f.blob)
	mux.HandleFunc("GET /socket/websocket", f.socket)
	srv := httptest.NewServer(mux)
	t.Cleanup(func() { f.dropAll(); srv.Close() })
	f.url = srv.URL
	return Target{BaseURL: srv.URL, Patience: 10 * time.Second}, f.dropAll
}

func ok204(*http.Request, string, obj) (int, any) { return 204, nil }

func fail(code string) obj { return obj{"error": obj{"code": code, "message": code}} }

func (f *fake) handler(h func(*http.Request, string, obj) (int, any)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if o := r.Header.Get("Origin"); o != "" && !strings.Contains(o, "evil") {
			w.Header().Set("Access-Control-Allow-Origin", o)
			w.Header().Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE, OPTIONS")
			w.Header().Set("Access-Control-Allow-Headers", "authorization, content-type")
		}
		if r.Method == http.MethodOptions {
			w.WriteHeader(204)
			return
		}
		var in obj
		_ = json.NewDecoder(r.Body).Decode(&in)
		f.mu.Lock()
		defer f.mu.Unlock()
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		who := f.tokens[token]
		if strings.HasPrefix(token, "ak_") && !strings.HasPrefix(r.URL.Path, "/api/conversations/") && !strings.HasPrefix(r.URL.Path, "/api/tasks/") {
			who = "" // the raw key opens the sandbox's routes only (bridge 1.3)
		}
		status, out := 401, any(fail("unauthorized"))
		if who != "" || strings.HasPrefix(r.URL.Path, "/api/auth/") {
			status, out = h(r, who, in)
		}
		if out == nil {
			w.WriteHeader(status)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(out)
	}
}

// stamp gives strictly increasing times of one precision.
func (f *fake) stamp() string {
	now := time.Now().UTC()
	if !now.After(f.last.Add(time.Microsecond)) {
		now = f.last.Add(time.Microsecond)
	}
	f.last = now
	return now.Format("2006-01-02T15:04:05.000000Z")
}

func (f *fake) session(id string) (int, any) {
	token := uuid.NewString()
	f.tokens[token] = id
	return 200, obj{"token": token, "participant": f.people[id]}
}

func (f *fake) signup(_ *http.Request, _ string, in obj) (int, any) {
	if str(in, "email") == "" || len(str(in, "password")) < 8 {
		return 422, fail("invalid")
	}
	id, org := uuid.NewString(), uuid.NewString()
	f.people[id] = obj{
		"id": id, "type": "human", "displayName": strings.TrimSpace(str(in, "firstName") + " " + str(in, "lastName")), "firstName": in["firstName"], "lastName": in["lastName"],
		"email": in["email"], "metadata": obj{}, "locale": nil, "insertedAt": f.stamp(), "activeOrganizationId": org,
		"organizations": []obj{{"id": org, "name": "Personal", "isPersonal": true, "role": "owner"}}, "platformAdmin": false, "features": obj{"stream_text": true, "work_surfaces": true, "external_agents": true},
		"marketingOptIn": false, "analyticsOptIn": in["analyticsOptIn"], "acceptedPolicyVersion": "1", "policyReacceptRequired": false,
	}
	if name := str(in, "displayName"); name != "" {
		f.people[id]["displayName"] = name
	}
	f.passwd[str(in, "email")] = id + str(in, "password")
	return f.session(id)
}

func (f *fake) login(_ *http.Request, _ string, in obj) (int, any) {
	have := f.passwd[str(in, "email")]
	if len(have) < 36 || have[36:] != str(in, "password") {
		return 422, fail("invalid_credentials")
	}
	return f.session(have[:36])
}

func (f *fake) agentToken(_ *http.Request, _ string, in obj) (int, any) {
	if id := f.keys[str(in, "api_key")]; id == "" || id != in["agent_id"] {
		return 401, fail("unauthorized")
	}
	token := uuid.NewString()
	f.tokens[token] = str(in, "agent_id")
	return 200, obj{"token": token}
}

func (f *fake) me(_ *http.Request, who string, _ obj) (int, any) {
	a := f.agents[who]
	if a == nil {
		return 200, f.people[who]
	}
	var tools []obj
	for _, n := range []string{"send_message", "get_messages", "get_profile", "end_turn"} {
		tools = append(tools, obj{"name": n, "description": n, "inputSchema": obj{"type": "object"}})
	}
	return 200, obj{"id": who, "displayName": a["displayName"], "ownerId": a["ownerId"], "capabilities": []string{}, "settings": obj{}, "soulMd": a["soulMd"], "modelConfig": a["modelConfig"], "resolvedTools": tools}
}

func (f *fake) patchMe(_ *http.Request, who string, in obj) (int, any) {
	p := f.people[who]
	p["firstName"], p["lastName"], p["displayName"] = in["firstName"], in["lastName"], str(in, "firstName")+" "+str(in, "lastName")
	return 200, p
}

func (f *fake) agentRow(id string) obj {
	row := obj{}
	for k, v := range f.agents[id] {
		row[k] = v
	}
	row["presence"], row["online"] = "offline", false
	for c := range f.conns {
		if c.who == id && c.executor != "" {
			row["presence"], row["online"], row["deviceName"] = "online_local", true, "judge-host"
		}
	}
	return row
}

func (f *fake) listAgents(_ *http.Request, who string, _ obj) (int, any) {
	out := []obj{}
	for id, a := range f.agents {
		if a["ownerId"] == who {
			out = append(out, f.agentRow(id))
		}
	}
	return 200, obj{"agents": out}
}

func (f *fake) createAgent(_ *http.Request, who string, in obj) (int, any) {
	id, key := uuid.NewString(), "ak_"+uuid.NewString()
	config, _ := in["modelConfig"].(obj)
	if config == nil {
		config = obj{}
	}
	f.agents[id] = obj{"id": id, "displayName": in["displayName"], "ownerId": who, "status": "active", "runtime": "local", "presenceMode": "manual",
		"modelConfig": config, "metadata": obj{}, "capabilities": []string{}, "insertedAt": f.stamp(), "description": in["description"], "agentType": in["agentType"]}
	if in["runtime"] == "external" {
		f.agents[id]["runtime"] = "external"
	}
	if in["metadata"] != nil {
		f.agents[id]["metadata"] = in["metadata"]
	}
	f.keys[key] = id
	row := f.agentRow(id)
	row["apiKey"] = key
	return 201, row
}

func (f *fake) regenerate(r *http.Request, _ string, _ obj) (int, any) {
	id, key := r.PathValue("id"), "ak_"+uuid.NewString()
	maps.DeleteFunc(f.keys, func(_, agent string) bool { return agent == id })
	maps.DeleteFunc(f.tokens, func(_, who string) bool { return who == id })
	f.keys[key] = id
	for c := range f.conns {
		if c.who == id {
			delete(f.conns, c)
			close(c.out)
		}
	}
	row := f.agentRow(id)
	row["apiKey"] = key
	return 200, row
}

func (f *fake) getAgent(r *http.Request, who string, _ obj) (int, any) {
	if a := f.agents[r.PathValue("id")]; a != nil && a["ownerId"] == who {
		return 200, f.agentRow(r.PathValue("id"))
	}
	return 404, fail("not_found")
}

func (f *fake) patchAgent(r *http.Request, who string, in obj) (int, any) {
	f.agents[r.PathValue("id")]["displayName"] = in["displayName"]
	row := f.agentRow(r.PathValue("id"))
	f.toUser(who, "agent_updated", row)
	return 200, row
}

func (f *fake) participant(id string) obj {
	if a := f.agents[id]; a != nil {
		return obj{"id": id, "type": "agent", "displayName": a["displayName"]}
	}
	return obj{"id": id, "type": "human", "displayName": f.people[id]["displayName"]}
}

func (f *fake) roomRow(id string) obj {
	room := f.rooms[id]
	row := obj{}
	for k, v := range room.row {
		row[k] = v
	}
	var members []obj
	for _, m := range room.members {
		members = append(members, obj{"participantId": m, "participant": f.participant(m)})
	}
	row["members"] = members
	if n := len(room.messages); n > 0 {
		row["lastMessage"] = room.messages[n-1]
	}
	return row
}

func (f *fake) member(id, who string) *fakeRoom {
	if room := f.rooms[id]; room != nil && slices.Contains(room.members, who) {
		return room
	}
	return nil
}

func (f *fake) listRooms(r *http.Request, who string, _ obj) (int, any) {
	out := []obj{}
	if r.URL.Query().Get("scope") != "agents" {
		for id := range f.rooms {
			if f.member(id, who) != nil && f.rooms[id].row["type"] != "task" {
				out = append(out, f.roomRow(id))
			}
		}
	}
	return 200, obj{"conversations": out}
}

func (f *fake) createRoom(_ *http.Request, who string, in obj) (int, any) {
	members := append([]string{who}, stringsOf(in["memberIds"])...)
	if in["type"] == "direct" {
		for id, room := range f.rooms {
			if room.row["type"] == "direct" && slices.Equal(room.members, members) {
				return 200, f.roomRow(id)
			}
		}
	}
	id := uuid.NewString()
	f.rooms[id] = &fakeRoom{members: members, unread: map[string]int{}, row: obj{"id": id, "type": in["type"], "title": in["title"], "insertedAt": f.stamp(), "updatedAt": f.stamp()}}
	for _, m := range members {
		f.toUser(m, "new_conversation", obj{"conversation": f.roomRow(id)})
	}
	return 201, f.roomRow(id)
}

func (f *fake) getRoom(r *http.Request, who string, _ obj) (int, any) {
	if f.member(r.PathValue("id"), who) == nil {
		return 404, fail("not_found")
	}
	return 200, f.roomRow(r.PathValue("id"))
}

func (f *fake) patchRoom(r *http.Request, who string, in obj) (int, any) {
	id := r.PathValue("id")
	f.rooms[id].row["title"] = in["title"]
	f.toUser(who, "conversation_title_changed", obj{"conversationId": id, "title": in["title"]})
	return 200, f.roomRow(id)
}

func (f *fake) deleteRoom(r *http.Request, who string, _ obj) (int, any) {
	f.toUser(who, "conversation_deleted", obj{"conversationId": r.PathValue("id")})
	delete(f.rooms, r.PathValue("id"))
	return 204, nil
}

func (f *fake) unread(_ *http.Request, who string, _ obj) (int, any) {
	out := obj{}
	for id, room := range f.rooms {
		if n := room.unread[who]; n > 0 {
			out[id] = n
		}
	}
	return 200, obj{"unreadCounts": out}
}

func (f *fake) readRoom(r *http.Request, who string, _ obj) (int, any) {
	f.markRead(r.PathValue("id"), who)
	return 204, nil
}

func (f *fake) markRead(id, who string) {
	delete(f.rooms[id].unread, who)
	f.toUser(who, "conversation_read", obj{"conversationId": id})
}
