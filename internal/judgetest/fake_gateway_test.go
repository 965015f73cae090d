package judgetest

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

func (f *fake) listMessages(r *http.Request, who string, _ obj) (int, any) {
	room := f.member(r.PathValue("id"), who)
	if room == nil {
		return 404, fail("not_found")
	}
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	before := r.URL.Query().Get("before")
	out := []obj{}
	for _, m := range slices.Backward(room.messages) {
		if (before == "" || str(m, "insertedAt") < before) && len(out) < limit {
			out = append(out, m)
		}
	}
	return 200, obj{"messages": out}
}

func (f *fake) postMessage(r *http.Request, who string, in obj) (int, any) {
	id := r.PathValue("id")
	room := f.member(id, who)
	if room == nil {
		return 404, fail("not_found")
	}
	item := f.claimOf(id, who)
	if anchor := str(in, "lastSeenMessageId"); anchor != "" && item != nil && in["messageType"] == nil && !f.refusals[item.id] {
		at := slices.IndexFunc(room.messages, func(m obj) bool { return m["id"] == anchor })
		var newer []obj
		for _, m := range room.messages[at+1:] {
			if f.people[str(m, "senderId")] != nil {
				newer = append(newer, m)
			}
		}
		if len(newer) > 0 && f.fault != "never_stale" {
			f.refusals[item.id] = true
			return 409, obj{"stale": true, "newMessages": newer}
		}
	}
	m := f.store(id, who, str(in, "content"), in["metadata"], in["messageType"])
	if f.fault == "double_reply" {
		f.store(id, who, str(in, "content"), in["metadata"], in["messageType"])
	}
	for stream, p := range f.streams[id] {
		if p["senderId"] == who {
			delete(f.streams[id], stream)
		}
	}
	if item != nil {
		item.answered = true
		f.remeta(item.msg, "awaiting_agent", nil)
	}
	return 201, m
}

func (f *fake) claimOf(room, agent string) *fakeItem {
	for _, it := range f.queue {
		if it.agent == agent && it.executor != "" && it.msg["conversationId"] == room {
			return it
		}
	}
	return nil
}

// store appends a message, broadcasts it and wakes the agents of a person's room.
func (f *fake) store(id, who, content string, metadata, kind any) obj {
	return f.storeWith(id, who, content, metadata, kind, obj{})
}

// storeAs stores a message of another content type with its files.
func (f *fake) storeAs(id, who, content, contentType string, files []obj) obj {
	return f.storeWith(id, who, content, nil, nil, obj{"contentType": contentType, "fileAttachments": files})
}

func (f *fake) storeWith(id, who, content string, metadata, kind any, more obj) obj {
	room, p := f.rooms[id], f.participant(who)
	if metadata == nil {
		metadata = obj{}
	}
	now := f.stamp()
	m := obj{"id": uuid.NewString(), "conversationId": id, "senderId": who, "sender": p, "senderName": p["displayName"], "senderType": p["type"],
		"content": content, "contentType": "text", "messageType": kind, "metadata": metadata, "insertedAt": now, "updatedAt": now}
	maps.Copy(m, more)
	if f.fault == "no_nonce_echo" {
		m["metadata"] = obj{}
	}
	named := f.mentions(room, content)
	if len(named) > 0 {
		meta, list := obj{}, []obj{}
		if old, ok := metadata.(obj); ok {
			maps.Copy(meta, old)
		}
		for _, n := range named {
			list = append(list, obj{"displayName": f.participant(n)["displayName"]})
		}
		meta["mentions"] = list
		m["metadata"] = meta
	}
	woken := f.woken(room, who, named)
	room.messages = append(room.messages, m)
	f.broadcast("conversation:"+id, "new_message", m)
	for _, member := range room.members {
		if member == who {
			delete(room.unread, who)
			f.toUser(who, "conversation_read", obj{"conversationId": id})
			continue
		}
		room.unread[member]++
		f.toUser(member, "conversation_updated", obj{"conversationId": id, "lastMessage": m})
		if slices.Contains(woken, member) {
			f.queue = append(f.queue, &fakeItem{id: uuid.NewString(), agent: member, msg: m})
			if f.agentRow(member)["online"] == false {
				f.remeta(m, "awaiting_agent", obj{"agent_id": member})
			}
		}
	}
	f.dispatch()
	if p["type"] == "agent" && len(named) > 0 && len(woken) == 0 && f.inARow(room) == 13 {
		notice := obj{"id": uuid.NewString(), "conversationId": id, "senderId": nil, "senderName": nil, "content": "The agents were stopped.", "contentType": "status_update",
			"metadata": obj{"code": "agent_loop"}, "insertedAt": f.stamp(), "updatedAt": m["updatedAt"]}
		room.messages = append(room.messages, notice)
		f.broadcast("conversation:"+id, "new_message", notice)
	}
	return m
}

// mentions resolves @[Name] and @Name of agents, longest first, outside code.
func (f *fake) mentions(room *fakeRoom, content string) []string {
	text := " " + strings.ToLower(regexp.MustCompile("`[^`]*`").ReplaceAllString(content, ""))
	agents := slices.DeleteFunc(slices.Clone(room.members), func(id string) bool { return f.agents[id] == nil })
	name := func(id string) string { return strings.ToLower(str(f.agents[id], "displayName")) }
	slices.SortFunc(agents, func(a, b string) int { return len(name(b)) - len(name(a)) })
	var out []string
	for _, id := range agents {
		form := regexp.MustCompile(`\W@(?:\[` + regexp.QuoteMeta(name(id)) + `\]|` + regexp.QuoteMeta(name(id)) + `)`)
		if form.MatchString(text) {
			out = append(out, id)
			text = form.ReplaceAllString(text, " ")
		}
	}
	return out
}

func (f *fake) inARow(room *fakeRoom) int {
	n := 0
	for _, m := range slices.Backward(room.messages) {
		if f.people[str(m, "senderId")] != nil {
			break
		}
		n++
	}
	return n
}

// woken is who gets a queue row for a message that is about to be stored.
func (f *fake) woken(room *fakeRoom, who string, named []string) []string {
	if f.people[who] == nil {
		if f.inARow(room) >= 12 && f.fault != "endless_loop" {
			return nil
		}
		return slices.DeleteFunc(slices.Clone(named), func(id string) bool { return id == who })
	}
	if len(named) > 0 {
		return named
	}
	i := slices.IndexFunc(room.members, func(id string) bool { return f.agents[id] != nil })
	if i < 0 {
		return nil
	}
	return room.members[i : i+1]
}

// remeta sets or clears one metadata key and tells the room the whole map.
func (f *fake) remeta(m obj, key string, value any) {
	meta := obj{}
	if old, ok := m["metadata"].(obj); ok {
		for k, v := range old {
			meta[k] = v
		}
	}
	if meta[key] == nil && value == nil {
		return
	}
	if meta[key] = value; value == nil {
		delete(meta, key)
	}
	m["metadata"] = meta
	f.broadcast("conversation:"+str(m, "conversationId"), "message_metadata_changed", obj{"messageId": m["id"], "metadata": meta})
}

// dispatch claims for every executor socket with a free slot; one turn per
// agent and room.
func (f *fake) dispatch() {
	for _, it := range f.queue {
		if it.executor != "" || f.claimOf(str(it.msg, "conversationId"), it.agent) != nil && f.fault != "parallel_turns" {
			continue
		}
		for c := range f.conns {
			if c.who != it.agent || c.executor == "" || f.inUse(c.executor) >= f.exec[c.executor]["max"].(int) {
				continue
			}
			it.executor = c.executor
			f.deliver(c, it)
			break
		}
	}
}

func (f *fake) inUse(executor string) int {
	n := 0
	for _, it := range f.queue {
		if it.executor == executor {
			n++
		}
	}
	return n
}

func (f *fake) deliver(c *fakeConn, it *fakeItem) {
	room := f.rooms[str(it.msg, "conversationId")]
	recent := fitting(room.messages, 20)
	if f.fault == "history_newest_first" {
		slices.Reverse(recent)
	}
	var members []obj
	for _, m := range room.members {
		members = append(members, obj{"participantId": m, "displayName": f.participant(m)["displayName"]})
	}
	directives := obj{"promptDirectives": []string{"You are an agent.", str(f.agents[it.agent], "soulMd")}, "volatileContext": []string{"now"}, "humanExpectsReply": true}
	if f.fault == "no_expects_reply" {
		delete(directives, "humanExpectsReply")
	}
	c.send("user:"+it.agent, "gateway_message", obj{
		"id": it.id, "messageId": it.msg["id"], "conversationId": it.msg["conversationId"], "content": it.msg["content"], "contentType": it.msg["contentType"],
		"senderId": it.msg["senderId"], "senderName": it.msg["senderName"], "senderType": it.msg["senderType"], "metadata": obj{},
		"conversationMembers": members, "directives": directives, "recentMessages": recent, "latestSeenMessageId": room.messages[len(room.messages)-1]["id"],
	})
}

// fitting is the newest of the messages, at most n and half a frame.
func fitting(list []obj, n int) []obj {
	size := 0
	for i, m := range slices.Backward(list) {
		if size += len(str(m, "content")); len(list)-i > n || size > frameCap/2 {
			return slices.Clone(list[i+1:])
		}
	}
	return append([]obj{}, list...)
}

func (f *fake) stream(r *http.Request, who string, in obj) (int, any) {
	id := r.PathValue("id")
	if f.member(id, who) == nil {
		return 404, fail("not_found")
	}
	p := obj{"streamId": in["stream_id"], "senderId": who, "senderName": f.participant(who)["displayName"], "status": in["status"]}
	for from, to := range map[string]string{"phase": "phase", "phase_detail": "phaseDetail", "content": "content"} {
		if in[from] != nil {
			p[to] = in[from]
		}
	}
	if f.streams[id] == nil {
		f.streams[id] = map[string]obj{}
	}
	f.streams[id][str(in, "stream_id")] = p
	if in["status"] == "complete" || in["status"] == "cancelled" {
		delete(f.streams[id], str(in, "stream_id"))
	}
	f.broadcast("conversation:"+id, "message_streaming", p)
	return 204, nil
}

func (f *fake) stopAgents(r *http.Request, _ string, _ obj) (int, any) {
	id := r.PathValue("id")
	for stream, p := range f.streams[id] {
		who := str(p, "senderId")
		f.broadcast("conversation:"+id, "message_streaming", obj{"streamId": stream, "senderId": who, "status": "cancelled"})
		for c := range f.conns {
			if c.who == who && c.executor != "" {
				c.send("user:"+who, "gateway_command", obj{"type": "stop_generation", "conversation_id": id})
			}
		}
	}
	for _, it := range f.queue {
		if it.msg["conversationId"] == id && it.executor != "" {
			f.remeta(it.msg, "not_answered", obj{"reason": "stopped", "agents": []string{it.agent}})
		}
	}
	return 200, obj{"stopped": len(f.streams[id])}
}

func (f *fake) register(_ *http.Request, who string, in obj) (int, any) {
	n, _ := in["max_concurrent"].(float64)
	id := ""
	for have, e := range f.exec {
		if e["agent"] == who && e["key"] == in["executor_key"] {
			id = have
		}
	}
	if id == "" {
		id = uuid.NewString()
	}
	if old := f.exec[id]; old != nil && old["instance"] != in["instance_id"] {
		for c := range f.conns {
			if c.executor == id {
				c.send("user:"+who, "gateway_command", obj{"type": "shutdown", "reason": "superseded"})
				c.executor = ""
			}
		}
		f.giveBack(id)
		f.giveBackTasks(id, stringsOf(in["resumable_task_ids"]))
	}
	meta, _ := in["metadata"].(obj)
	f.exec[id] = obj{"agent": who, "key": in["executor_key"], "instance": in["instance_id"], "max": int(n), "version": meta["bridge_version"]}
	return 201, obj{"id": id}
}

func (f *fake) giveBack(executor string) {
	if f.fault != "answer_again" {
		f.queue = slices.DeleteFunc(f.queue, func(it *fakeItem) bool { return it.executor == executor && it.answered })
	}
	for _, it := range f.queue {
		if it.executor == executor && f.fault != "claims_lost" {
			it.executor = ""
		}
	}
}

func (f *fake) deregister(r *http.Request, who string, _ obj) (int, any) {
	e := f.exec[r.PathValue("id")]
	if have := r.URL.Query().Get("instance_id"); have != "" && e["instance"] != have {
		return 200, obj{"superseded": true}
	}
	f.giveBack(r.PathValue("id"))
	e["gone"] = true
	f.toUser(str(f.agents[who], "ownerId"), "agent_status_changed", obj{"agentId": who, "presence": "offline"})
	return 200, obj{}
}

func (f *fake) ack(r *http.Request, _ string, in obj) (int, any) {
	i := slices.IndexFunc(f.queue, func(it *fakeItem) bool { return it.id == r.PathValue("id") })
	if i < 0 || f.queue[i].executor != in["executor_id"] {
		return 403, fail("executor_not_owned")
	}
	f.queue = slices.Delete(f.queue, i, i+1)
	f.dispatch()
	return 200, obj{"ok": true}
}

func (f *fake) mcp(_ *http.Request, who string, in obj) (int, any) {
	args, _ := in["args"].(obj)
	switch in["tool_name"] {
	case "read_attachment":
		return f.readAttachment(who, args)
	case "end_turn":
		if _, is := args["reason"].(string); !is {
			return 422, fail("invalid_arguments: reason")
		}
	default:
		return 404, fail("tool_not_found")
	}
	return 200, obj{"ok": true, "content": []obj{{"type": "text", "text": "turn ended"}}}
}
