package judgetest

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/coder/websocket"
)

// fakeConn is one socket of the fake; its fields are under the fake's lock.
type fakeConn struct {
	who, executor string
	topics        map[string]any // topic → join_ref
	out           chan []byte
}

func (c *fakeConn) send(topic, event string, payload any) {
	if ref, ok := c.topics[topic]; ok {
		c.frame(ref, nil, topic, event, payload)
	}
}

func (c *fakeConn) frame(parts ...any) {
	b, err := json.Marshal(parts)
	if err != nil {
		panic(err)
	}
	select {
	case c.out <- b:
	default:
	}
}

func (f *fake) toUser(id, event string, payload any) {
	for c := range f.conns {
		if c.executor == "" || strings.HasPrefix(event, "gateway_") {
			c.send("user:"+id, event, payload)
		}
	}
}

func (f *fake) broadcast(topic, event string, payload any) {
	for c := range f.conns {
		c.send(topic, event, payload)
	}
}

func (f *fake) dropAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.conns {
		close(c.out)
		delete(f.conns, c)
	}
}

func (f *fake) socket(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	who := f.tokens[r.URL.Query().Get("token")]
	f.mu.Unlock()
	if who == "" {
		w.WriteHeader(401)
		return
	}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return
	}
	ws.SetReadLimit(1 << 20)
	c := &fakeConn{who: who, topics: map[string]any{}, out: make(chan []byte, 4096)}
	f.mu.Lock()
	f.conns[c] = true
	f.mu.Unlock()
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer stop()
		for b := range c.out {
			kind := websocket.MessageText
			if f.fault == "binary" {
				kind = websocket.MessageBinary
			}
			if ws.Write(ctx, kind, b) != nil {
				return
			}
		}
		_ = ws.CloseNow()
	}()
	for {
		_, data, err := ws.Read(ctx)
		if err != nil {
			break
		}
		var p [5]any
		if json.Unmarshal(data, &p) == nil {
			f.mu.Lock()
			f.incoming(c, p)
			f.mu.Unlock()
		}
	}
	stop()
	_ = ws.CloseNow()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.conns[c] {
		delete(f.conns, c)
		close(c.out)
		f.unseen(c.executor)
	}
}

func (f *fake) incoming(c *fakeConn, p [5]any) {
	topic, _ := p[2].(string)
	event, _ := p[3].(string)
	in, _ := p[4].(obj)
	reply := func(status string, response obj) {
		c.frame(p[0], p[1], topic, "phx_reply", obj{"status": status, "response": response})
	}
	kind, id, _ := strings.Cut(topic, ":")
	switch {
	case topic == "phoenix":
		reply("ok", obj{})
	case event == "phx_join" && kind == "user" && id == c.who:
		c.topics[topic] = p[0]
		c.executor = str(in, "executor_id")
		reply("ok", obj{})
		if c.executor != "" {
			f.toUser(str(f.agents[id], "ownerId"), "agent_status_changed", obj{"agentId": id, "presence": "online_local"})
			f.dispatch()
			f.dispatchTasks()
			return
		}
		c.send(topic, "presence_snapshot", obj{"onlineParticipantIds": []string{}, "agentPresences": obj{}, "agentActivities": obj{}, "agentDevices": obj{}})
	case event == "phx_join" && kind == "conversation" && f.member(id, c.who) != nil:
		c.topics[topic] = p[0]
		reply("ok", obj{})
		room := f.rooms[id]
		c.send(topic, "recent_messages", obj{"messages": fitting(room.messages, 30)})
		for _, p := range f.streams[id] {
			c.send(topic, "message_streaming", p)
		}
	case event == "phx_join":
		reply("error", obj{"reason": "unauthorized"})
	case event == "phx_leave":
		delete(c.topics, topic)
		reply("ok", obj{})
	case c.topics[topic] == nil:
		reply("error", obj{"reason": "unmatched topic"})
	case event == "catchup":
		f.dispatch()
		f.dispatchTasks()
		reply("ok", obj{"messages": 0, "tasks": 0, "scope_requests": 0, "agent_queries": 0})
	case event == "new_message":
		more := obj{}
		for _, a := range listOf(in, "attachments") {
			file := f.files[str(a, "storageKey")]
			file.name, file.kind = str(a, "filename"), str(a, "contentType")
			more["fileAttachments"] = f.attached(file)
		}
		f.storeWith(id, c.who, str(in, "content"), in["metadata"], nil, more)
		reply("ok", obj{})
	case event == "mark_conversation_read":
		if f.fault != "no_read_event" {
			f.markRead(id, c.who)
		}
		reply("ok", obj{})
	case event == "delete_message":
		f.deleteMessage(id, c.who, str(in, "message_id"), reply)
	case event == "typing":
		f.broadcast(topic, "typing_indicator", obj{"participantId": c.who, "participantType": "human", "isTyping": true})
	}
}

func (f *fake) deleteMessage(id, who, msg string, reply func(string, obj)) {
	room := f.rooms[id]
	for i, m := range room.messages {
		if m["id"] == msg && m["senderId"] == who {
			room.messages = append(room.messages[:i:i], room.messages[i+1:]...)
			f.broadcast("conversation:"+id, "message_deleted", obj{"messageId": msg})
			reply("ok", obj{})
			return
		}
	}
	reply("error", obj{"reason": "not_found"})
}
