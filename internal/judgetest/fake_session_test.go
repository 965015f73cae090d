package judgetest

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// fakeSession is one terminal session of an external agent.
type fakeSession struct {
	row  obj
	room string
	at   int
}

func (f *fake) sessionRoutes() map[string]func(*http.Request, string, obj) (int, any) {
	return map[string]func(*http.Request, string, obj) (int, any){
		"POST /api/invites":                           f.invite,
		"POST /api/agents/me/sessions/events":         f.sessionEvent,
		"GET /api/agents/me/inbox":                    f.inbox,
		"POST /api/agents/me/inbox/ack":               f.inboxAck,
		"POST /api/conversations/session":             f.sessionRoom,
		"POST /api/conversations/{id}/session/link":   f.sessionLink,
		"DELETE /api/conversations/{id}/session/link": f.sessionUnlink,
	}
}

func (f *fake) invite(_ *http.Request, who string, in obj) (int, any) {
	if f.people[who] == nil {
		return 403, fail("forbidden")
	}
	code := "inv_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	name, agent := str(in, "displayName"), str(in, "agentId")
	if agent != "" {
		name = str(f.agents[agent], "displayName")
	}
	f.invites[code] = obj{"id": uuid.NewString(), "code": code, "displayName": name, "description": in["description"], "agentId": agent, "owner": who, "expiresAt": f.later()}
	row := maps.Clone(f.invites[code])
	return 201, row
}

// openInvite answers the two open routes of an invite.
func (f *fake) openInvite(w http.ResponseWriter, r *http.Request) {
	claim := r.Method == http.MethodPost
	r.Header.Set("Authorization", "Bearer "+openToken)
	f.handler(func(r *http.Request, _ string, in obj) (int, any) {
		inv := f.invites[r.PathValue("code")]
		switch {
		case inv == nil:
			return 404, fail("not_found")
		case !claim:
			return 200, obj{"displayName": inv["displayName"], "description": inv["description"]}
		case inv["used"] != nil:
			return 409, fail("claimed")
		}
		inv["used"] = true
		id := str(inv, "agentId")
		key := "ak_" + uuid.NewString()
		if id == "" {
			_, row := f.createAgent(nil, str(inv, "owner"), obj{"displayName": inv["displayName"], "runtime": in["runtime"]})
			id, key = str(row.(obj), "id"), str(row.(obj), "apiKey")
		} else {
			f.keys[key] = id
		}
		return 201, obj{"agentId": id, "apiKey": key, "agent": obj{"displayName": inv["displayName"]}, "gatewayUrl": f.url + "/api/gateway"}
	})(w, r)
}

// openToken stands for nobody in particular.
const openToken = "open"

func (f *fake) sessionEvent(_ *http.Request, who string, in obj) (int, any) {
	key := str(in, "sessionId")
	switch {
	case f.agents[who] == nil:
		return 403, fail("forbidden")
	case key == "" || str(in, "event") == "":
		return 422, fail("invalid")
	}
	s := f.sessions[who+key]
	if s == nil {
		now := f.stamp()
		s = &fakeSession{row: obj{"id": uuid.NewString(), "sessionKey": key, "tool": in["tool"], "state": "running", "startedAt": now}}
		f.sessions[who+key] = s
	}
	s.row["lastEventAt"] = f.stamp()
	s.at = len(f.sessions)
	for _, k := range []string{"cwd", "repo", "branch", "hostname"} {
		if in[k] != nil {
			s.row[k] = in[k]
		}
	}
	f.agents[who]["externalSession"] = s.row
	switch in["event"] {
	case "prompt":
		if s.room != "" {
			f.storeWith(s.room, f.person(who), str(in, "text"), obj{"source": "terminal"}, nil, obj{})
			delete(f.rooms[s.room].unread, who)
		}
	case "assistant_message":
		if s.room != "" {
			f.store(s.room, who, str(in, "text"), nil, nil)
		}
	case "session_end":
		s.row["state"] = "ended"
	case "waiting":
		s.row["state"] = "waiting"
		f.remetaSession(s, who, obj{"state": "waiting", "blocked_on": in["notificationType"]})
	case "model_switch":
		f.remetaSession(s, who, obj{"model": in["model"], "effort": in["effort"]})
	}
	return 200, obj{"ok": true}
}

func (f *fake) remetaSession(s *fakeSession, who string, change obj) {
	if s.room == "" {
		return
	}
	meta := f.rooms[s.room].row["metadata"].(obj)
	session := maps.Clone(meta["session"].(obj))
	maps.Copy(session, change)
	f.rooms[s.room].row["metadata"] = obj{"session": session}
	f.toUser(f.person(who), "conversation_metadata_changed", obj{"conversationId": s.room, "metadata": obj{"session": session}})
}

func (f *fake) sessionRoom(_ *http.Request, who string, in obj) (int, any) {
	agent := str(in, "agentId")
	if f.agents[agent] == nil || f.person(agent) != who {
		return 404, fail("not_found")
	}
	_, row := f.createRoom(nil, who, obj{"type": "session", "title": in["title"], "memberIds": []any{agent}})
	id := str(row.(obj), "id")
	return 201, f.linkSession(id, agent, in)
}

func (f *fake) linkSession(room, agent string, in obj) obj {
	key := str(in, "sessionKey")
	f.rooms[room].row["metadata"] = obj{"session": obj{"agent_id": agent, "session_key": key, "state": "running", "cwd": in["cwd"]}}
	if s := f.sessions[agent+key]; s != nil {
		s.room = room
	}
	return f.roomRow(room)
}

func (f *fake) sessionLink(r *http.Request, who string, in obj) (int, any) {
	if f.member(r.PathValue("id"), who) == nil {
		return 404, fail("not_found")
	}
	return 200, f.linkSession(r.PathValue("id"), str(in, "agentId"), in)
}

func (f *fake) sessionUnlink(r *http.Request, _ string, _ obj) (int, any) {
	n := 0
	for _, s := range f.sessions {
		if s.room == r.PathValue("id") {
			s.room = ""
			n++
		}
	}
	return 200, obj{"unlinked": n}
}

func (f *fake) inbox(r *http.Request, who string, _ obj) (int, any) {
	if f.agents[who] == nil {
		return 403, fail("forbidden")
	}
	out := obj{"unread": []obj{}, "tasks": []obj{}, "commandsTypeable": false}
	only := ""
	if key := r.URL.Query().Get("sessionId"); key != "" {
		only = "none"
		if s := f.sessions[who+key]; s != nil && s.room != "" {
			only = s.room
		}
	}
	for id, room := range f.rooms {
		n := room.unread[who]
		if !slices.Contains(room.members, who) || n == 0 || only != "" && only != id {
			continue
		}
		var list []obj
		for _, m := range room.messages[len(room.messages)-n:] {
			list = append(list, obj{"id": m["id"], "senderName": m["senderName"], "senderType": m["senderType"], "content": m["content"], "contentType": "text", "insertedAt": m["insertedAt"]})
		}
		out["unread"] = append(out["unread"].([]obj), obj{"conversationId": id, "type": room.row["type"], "title": room.row["title"], "count": n, "ownerDm": false, "messages": list})
		if r.URL.Query().Get("claim") == "true" && f.fault != "claim_leaves_unread" {
			delete(room.unread, who)
		}
	}
	for _, t := range f.tasks {
		if t.agent == who && !terminal[str(t.row, "status")] {
			out["tasks"] = append(out["tasks"].([]obj), obj{"id": t.row["id"], "title": t.row["title"], "status": t.row["status"], "conversationId": t.row["conversationId"]})
		}
	}
	return 200, out
}

func (f *fake) inboxAck(_ *http.Request, who string, in obj) (int, any) {
	for _, id := range stringsOf(in["messageIds"]) {
		for _, room := range f.rooms {
			if slices.ContainsFunc(room.messages, func(m obj) bool { return m["id"] == id }) {
				delete(room.unread, who)
			}
		}
	}
	return 200, obj{"ok": true}
}
