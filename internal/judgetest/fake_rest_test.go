package judgetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// restRoutes are the smaller parts of the fake's gateway: what agents and people
// do over REST around tasks, rooms, files and profiles.
func (f *fake) restRoutes() map[string]func(*http.Request, string, obj) (int, any) {
	return map[string]func(*http.Request, string, obj) (int, any){
		"POST /api/tasks/{id}/accept":                f.restAccept,
		"POST /api/tasks/{id}/reject":                f.restReject,
		"POST /api/tasks/{id}/revision":              f.revision,
		"GET /api/agents/{id}/task-queue":            f.taskQueue,
		"POST /api/gateway/task-requests":            f.taskRequests,
		"POST /api/gateway/scope-requests":           f.askScope,
		"POST /api/gateway/scope-requests/collect":   f.collectScopes,
		"POST /api/gateway/scope-requests/{id}/{op}": f.respondScope,
		"POST /api/conversations/dm":                 f.dm,
		"PATCH /api/agents/{id}/model-config":        f.modelConfig,
		"GET /api/agents/me/soul": func(_ *http.Request, who string, _ obj) (int, any) {
			return 200, obj{"soulMd": f.agents[who]["soulMd"]}
		},
		"GET /api/agents/me/soul/template":           func(*http.Request, string, obj) (int, any) { return 200, obj{"template": "# Soul"} },
		"PATCH /api/agents/me/soul":                  f.setSoul,
		"POST /api/agents/{id}/soul/revert":          f.revertSoul,
		"GET /api/conversations/{id}/context":        f.context,
		"GET /api/conversations/{id}/brief":          f.brief,
		"POST /api/conversations/{id}/upload-url":    f.uploadURL,
		"POST /api/conversations/{id}/files/confirm": f.confirmFile,
		"GET /api/files/{id}/download-url":           f.downloadURL,
		"POST /api/files/{id}/forward":               f.forwardFile,
		"DELETE /api/files/{id}":                     f.deleteFile,
		"GET /api/files":                             f.listFiles,
		"GET /api/conversations/{id}/files":          f.listFiles,
	}
}

func (f *fake) restAccept(r *http.Request, who string, _ obj) (int, any) {
	t := f.task(r.PathValue("id"), who)
	if t == nil || t.agent != who {
		return 404, fail("not_found")
	}
	f.setTask(t, "accepted")
	return 200, t.row
}

func (f *fake) restReject(r *http.Request, who string, _ obj) (int, any) {
	t := f.task(r.PathValue("id"), who)
	if t == nil || t.agent != who {
		return 404, fail("not_found")
	}
	f.setTask(t, "rejected")
	return 200, t.row
}

func (f *fake) revision(r *http.Request, who string, in obj) (int, any) {
	t := f.task(r.PathValue("id"), who)
	switch {
	case t == nil || who != t.own:
		return 404, fail("not_found")
	case str(in, "feedback") == "":
		return 422, fail("invalid")
	}
	t.queue, t.executor, t.accepted = uuid.NewString(), "", false
	f.setTask(t, "pending")
	return 200, t.row
}

func (f *fake) taskQueue(r *http.Request, who string, _ obj) (int, any) {
	if r.PathValue("id") != who {
		return 404, fail("not_found")
	}
	return 200, obj{"tasks": []obj{}}
}

func (f *fake) taskRequests(_ *http.Request, who string, in obj) (int, any) {
	if f.agents[who] == nil || in["conversation_id"] != nil && f.member(str(in, "conversation_id"), who) == nil {
		return 404, fail("not_found")
	}
	list := listOf(in, "task_requests")
	if len(list) == 0 {
		return 422, fail("invalid")
	}
	for _, want := range list {
		f.makeTask(str(in, "conversation_id"), who, want, nil)
	}
	return 202, obj{"ok": true}
}

func (f *fake) askScope(_ *http.Request, who string, in obj) (int, any) {
	to := str(in, "agent_id")
	switch {
	case to == "":
		return 422, fail("invalid")
	case f.agents[to] == nil || f.person(to) != f.person(who) || f.member(str(in, "conversation_id"), who) == nil:
		return 404, fail("not_found")
	}
	p := obj{"id": uuid.NewString(), "requesterId": who, "agentId": to, "conversationId": in["conversation_id"], "content": in["content"], "status": "claimed",
		"requestContext": in["request_context"], "expiresAt": f.later()}
	f.scopes[str(p, "id")] = p
	for c := range f.conns {
		if c.who == to && c.executor != "" {
			c.send("user:"+to, "gateway_scope_request", p)
		}
	}
	return 201, p
}

func (f *fake) collectScopes(_ *http.Request, who string, in obj) (int, any) {
	out := obj{}
	for _, id := range stringsOf(in["scope_request_ids"]) {
		if p := f.scopes[id]; p != nil && p["requesterId"] == who && p["answer"] != nil {
			out[str(p, "agentId")] = p["answer"]
		}
	}
	return 200, obj{"responses": out}
}

func (f *fake) respondScope(r *http.Request, who string, in obj) (int, any) {
	p := f.scopes[r.PathValue("id")]
	if p == nil || p["agentId"] != who {
		return 404, fail("not_found")
	}
	p["answer"] = obj{"title": in["title"], "description": in["description"]}
	return 200, obj{"ok": true}
}

// dm finds or creates the room of two participants of one family.
func (f *fake) dm(_ *http.Request, who string, in obj) (int, any) {
	peer := str(in, "peerId")
	if peer == "" {
		return 422, fail("invalid")
	}
	if f.person(peer) != f.person(who) {
		return 404, fail("not_found")
	}
	for id, room := range f.rooms {
		if room.row["type"] == "direct" && len(room.members) == 2 && slices.Contains(room.members, who) && slices.Contains(room.members, peer) {
			return 200, f.roomRow(id)
		}
	}
	_, row := f.createRoom(nil, who, obj{"type": "direct", "memberIds": []any{peer}})
	if text := str(in, "message"); text != "" {
		room := f.rooms[str(row.(obj), "id")]
		f.store(str(row.(obj), "id"), who, text, nil, nil)
		f.queue = append(f.queue, &fakeItem{id: uuid.NewString(), agent: peer, msg: room.messages[len(room.messages)-1]})
		f.dispatch()
	}
	return 201, row
}

func (f *fake) modelConfig(r *http.Request, who string, in obj) (int, any) {
	id := r.PathValue("id")
	if id == "me" {
		id = who
	}
	config, _ := in["model_config"].(obj)
	mine := maps.Clone(f.agents[id]["modelConfig"].(obj))
	maps.Copy(mine, config)
	f.agents[id]["modelConfig"] = mine
	for key, agent := range f.keys {
		if agent == id && mine["execution_mode"] == "code_action" {
			f.tokens[key] = id
		}
	}
	return 204, nil
}

func (f *fake) setSoul(_ *http.Request, who string, in obj) (int, any) {
	if f.agents[who] == nil || in["soul_md"] == nil {
		return 422, fail("invalid")
	}
	f.agents[who]["soulMd"] = in["soul_md"]
	return 200, obj{"soulMd": in["soul_md"]}
}

func (f *fake) revertSoul(r *http.Request, _ string, _ obj) (int, any) {
	delete(f.agents[r.PathValue("id")], "soulMd")
	return 200, f.agentRow(r.PathValue("id"))
}

func (f *fake) context(r *http.Request, who string, _ obj) (int, any) {
	room := f.member(r.PathValue("id"), who)
	if room == nil {
		return 404, fail("not_found")
	}
	tier := 0
	_, _ = fmt.Sscan(r.URL.Query().Get("tier"), &tier)
	out := obj{"conversationId": r.PathValue("id"), "memory": nil, "memoryVersion": 0, "tier": tier}
	switch {
	case tier == 1:
		out["messages"] = room.messages
	case tier == 2:
		out["messages"] = room.messages[len(room.messages)-1:]
	}
	return 200, out
}

func (f *fake) brief(r *http.Request, who string, _ obj) (int, any) {
	if f.member(r.PathValue("id"), who) == nil {
		return 404, fail("not_found")
	}
	return 200, obj{"brief": ""}
}

// fakeFile is one upload, a file once it is confirmed.
type fakeFile struct {
	id, room, by, name, kind string
	size                     int
	data                     []byte
	message                  obj
}

func (f *fake) uploadURL(r *http.Request, who string, in obj) (int, any) {
	size, _ := in["sizeBytes"].(float64)
	switch {
	case f.member(r.PathValue("id"), who) == nil:
		return 404, fail("not_found")
	case size <= 0 || size > 25<<20:
		return 422, fail("invalid")
	}
	key := uuid.NewString()
	f.files[key] = &fakeFile{id: key, room: r.PathValue("id"), by: who, size: int(size)}
	return 200, obj{"uploadUrl": f.url + "/blob/" + key, "storageKey": key}
}

// blob is the store behind the signed addresses.
func (f *fake) blob(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	file := f.files[r.PathValue("key")]
	if o := r.Header.Get("Origin"); o != "" {
		w.Header().Set("Access-Control-Allow-Origin", o)
		w.Header().Set("Access-Control-Allow-Methods", "PUT")
		w.Header().Set("Access-Control-Allow-Headers", "content-type")
	}
	switch {
	case file == nil:
		w.WriteHeader(404)
	case r.Method == http.MethodPut:
		file.data = make([]byte, file.size)
		_, _ = r.Body.Read(file.data)
	case r.Method == http.MethodGet:
		_, _ = w.Write(file.data)
	}
}

func (f *fake) confirmFile(r *http.Request, who string, in obj) (int, any) {
	file := f.files[str(in, "storageKey")]
	switch {
	case f.member(r.PathValue("id"), who) == nil || file == nil || file.room != r.PathValue("id"):
		return 404, fail("not_found")
	case file.data == nil:
		return 409, fail("not_uploaded")
	}
	return 201, f.postFile(file, file.room, who, in)
}

func (f *fake) postFile(file *fakeFile, room, who string, in obj) obj {
	file.name, file.kind = str(in, "filename"), str(in, "contentType")
	content, _ := json.Marshal(obj{"attachmentId": file.id, "filename": file.name, "contentType": file.kind, "sizeBytes": file.size})
	file.message = f.storeAs(room, who, string(content), "file", f.attached(file))
	return file.message
}

func (f *fake) attached(file *fakeFile) []obj {
	return []obj{{"id": file.id, "filename": file.name, "contentType": file.kind, "sizeBytes": file.size}}
}

func (f *fake) fileOf(r *http.Request, who string) *fakeFile {
	if file := f.files[r.PathValue("id")]; file != nil && f.member(file.room, who) != nil {
		return file
	}
	return nil
}

func (f *fake) downloadURL(r *http.Request, who string, _ obj) (int, any) {
	file := f.fileOf(r, who)
	if file == nil {
		return 404, fail("not_found")
	}
	return 200, obj{"url": f.url + "/blob/" + file.id, "sizeBytes": file.size}
}

func (f *fake) forwardFile(r *http.Request, who string, in obj) (int, any) {
	file := f.fileOf(r, who)
	if file == nil || f.member(str(in, "conversationId"), who) == nil {
		return 404, fail("not_found")
	}
	twin := *file
	twin.id, twin.room = uuid.NewString(), str(in, "conversationId")
	f.files[twin.id] = &twin
	return 201, f.postFile(&twin, twin.room, who, obj{"filename": file.name, "contentType": file.kind})
}

func (f *fake) deleteFile(r *http.Request, who string, _ obj) (int, any) {
	if f.fileOf(r, who) == nil {
		return 404, fail("not_found")
	}
	delete(f.files, r.PathValue("id"))
	return 204, nil
}

func (f *fake) listFiles(r *http.Request, who string, _ obj) (int, any) {
	out := []obj{}
	room := r.PathValue("id")
	if room != "" && f.member(room, who) == nil {
		return 404, fail("not_found")
	}
	for _, file := range f.files {
		if file.message == nil || f.member(file.room, who) == nil || room != "" && file.room != room {
			continue
		}
		p := f.participant(file.by)
		out = append(out, obj{"id": file.id, "messageId": file.message["id"], "conversationId": file.room, "uploadedBy": file.by, "filename": file.name, "contentType": file.kind,
			"sizeBytes": file.size, "extractionStatus": "done", "insertedAt": file.message["insertedAt"], "uploader": p,
			"conversation": obj{"id": file.room, "title": nil, "type": f.rooms[file.room].row["type"]}, "task": nil})
	}
	return 200, obj{"files": out}
}

// readAttachment is the passthrough tool of that name.
func (f *fake) readAttachment(who string, args obj) (int, any) {
	file := f.files[str(args, "attachment_id")]
	if file == nil || f.member(file.room, who) == nil {
		return 200, obj{"ok": false, "error": "not_found"}
	}
	return 200, obj{"ok": true, "content": []obj{{"type": "text", "text": strings.TrimSpace(string(file.data))}}}
}
