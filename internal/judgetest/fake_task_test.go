package judgetest

import (
	"maps"
	"net/http"
	"slices"

	"github.com/google/uuid"
)

// fakeTask is one task of the fake with its queue row, if it has one.
type fakeTask struct {
	row              obj
	work, agent, own string // work conversation, assignee, the asker's person
	queue, executor  string // queue row and who holds it
	accepted, parked bool
	waiting          bool // refused with open_subtasks
	parent           *fakeTask
	question         string
}

func (f *fake) taskRoutes() map[string]func(*http.Request, string, obj) (int, any) {
	return map[string]func(*http.Request, string, obj) (int, any){
		"POST /api/conversations/{id}/tasks":          f.createTask,
		"GET /api/tasks":                              f.listTasks,
		"GET /api/tasks/{id}":                         f.getTask,
		"PATCH /api/tasks/{id}":                       f.patchTask,
		"PATCH /api/tasks/{id}/status":                f.patchTask,
		"POST /api/gateway/tasks/{id}/{verb}":         f.taskVerb,
		"POST /api/mcp":                               f.rpc,
		"GET /api/me/decisions":                       f.decisions,
		"POST /api/agent/permission-requests":         f.ask,
		"GET /api/agent/permission-requests/{id}":     f.pollAsk,
		"GET /api/permission-requests":                f.listAsks,
		"POST /api/permission-requests/{id}/resolve":  f.resolveAsk,
		"POST /api/gateway/agent-queries/{id}/{verb}": f.answerQuery,
		"GET /api/credential-requests":                func(*http.Request, string, obj) (int, any) { return 200, obj{"requests": []any{}} },
		"POST /api/credential-requests/{id}/fulfill":  func(*http.Request, string, obj) (int, any) { return 404, fail("not_found") },
		"DELETE /api/credential-requests/{id}":        func(*http.Request, string, obj) (int, any) { return 404, fail("not_found") },
	}
}

// person is the owner of an agent, or the person itself.
func (f *fake) person(who string) string {
	if a := f.agents[who]; a != nil {
		return str(a, "ownerId")
	}
	return who
}

func (f *fake) createTask(r *http.Request, who string, in obj) (int, any) {
	room := r.PathValue("id")
	for _, t := range f.tasks {
		if t.work == room && t.agent == who { // a sub-task, in its parent's work conversation
			return f.makeTask(str(t.row, "conversationId"), who, in, t)
		}
	}
	if f.member(room, who) == nil {
		return 404, fail("not_found")
	}
	return f.makeTask(room, who, in, nil)
}

func (f *fake) makeTask(room, who string, in obj, parent *fakeTask) (int, any) {
	to := append(stringsOf(in["assignedTo"]), stringsOf(in["assigned_to"])...)
	if str(in, "title") == "" || len(to) == 0 {
		return 422, fail("invalid")
	}
	if f.agents[to[0]] == nil || f.person(to[0]) != f.person(who) {
		return 404, fail("not_found")
	}
	org, _ := f.people[f.person(who)]["activeOrganizationId"].(string)
	t := &fakeTask{agent: to[0], own: f.person(who), parent: parent, work: uuid.NewString(), queue: uuid.NewString()}
	f.rooms[t.work] = &fakeRoom{members: []string{to[0]}, unread: map[string]int{}, row: obj{"id": t.work, "type": "task", "title": in["title"], "insertedAt": f.stamp(), "updatedAt": f.stamp()}}
	meta := obj{}
	if m, ok := in["metadata"].(obj); ok {
		maps.Copy(meta, m)
	}
	now := f.stamp()
	t.row = obj{"id": uuid.NewString(), "conversationId": room, "organizationId": org, "title": in["title"], "description": in["description"], "status": "pending",
		"createdBy": who, "assignedTo": to, "metadata": meta, "insertedAt": now, "updatedAt": now}
	f.tasks = append(f.tasks, t)
	if f.agents[who] != nil && parent == nil {
		f.storeWith(room, who, "A task was made.", obj{"task_id": t.row["id"]}, "StatusUpdate", obj{"contentType": "status_update"})
	}
	f.tell(t, "task_created")
	f.toUser(t.agent, "task_assigned", t.row)
	f.dispatchTasks()
	return 201, t.row
}

func (f *fake) tell(t *fakeTask, event string) {
	if f.fault == "silent_tasks" {
		return
	}
	row := maps.Clone(t.row)
	f.toUser(t.own, event, row)
	if event != "task_created" {
		f.toUser(t.agent, event, row)
	}
}

func (f *fake) setTask(t *fakeTask, status string) {
	t.row["status"], t.row["updatedAt"] = status, f.stamp()
	event := "task_updated"
	if terminal[status] {
		t.queue, event = "", "task_completed"
	}
	f.tell(t, event)
	if terminal[status] && t.parent != nil && t.parent.waiting && !f.openSubtasks(t.parent) {
		t.parent.waiting, t.parent.accepted, t.parent.executor, t.parent.queue = false, false, "", uuid.NewString()
	}
	f.dispatchTasks()
}

func (f *fake) openSubtasks(t *fakeTask) bool {
	return slices.ContainsFunc(f.tasks, func(o *fakeTask) bool { return o.parent == t && !terminal[str(o.row, "status")] })
}

func (f *fake) dispatchTasks() {
	for _, t := range f.tasks {
		if t.queue == "" || t.executor != "" || t.parked || t.waiting {
			continue
		}
		for c := range f.conns {
			if c.who != t.agent || c.executor == "" || f.heldTasks(c.executor) >= f.exec[c.executor]["max"].(int) {
				continue
			}
			t.executor = c.executor
			meta := maps.Clone(t.row["metadata"].(obj))
			meta["work_conversation_id"] = t.work
			directives := obj{"promptDirectives": []string{"You are an agent."}}
			if f.fault == "no_task_directives" {
				directives = obj{"promptDirectives": []string{}}
			}
			c.send("user:"+t.agent, "gateway_task", obj{"id": t.queue, "taskId": t.row["id"], "status": "claimed", "priority": 0, "metadata": obj{},
				"task":       obj{"title": t.row["title"], "description": t.row["description"], "conversationId": t.row["conversationId"], "metadata": meta},
				"directives": directives})
			break
		}
	}
}

func (f *fake) heldTasks(executor string) int {
	n := 0
	for _, t := range f.tasks {
		if t.executor == executor && !t.parked && !t.waiting && t.queue != "" {
			n++
		}
	}
	return n
}

// giveBackTasks is a new process of an executor: what it lists is delivered
// again, what was not accepted too, the rest fails.
func (f *fake) giveBackTasks(executor string, resumable []string) {
	for _, t := range f.tasks {
		switch {
		case t.executor != executor || t.queue == "" || t.parked || t.waiting:
		case !t.accepted || slices.Contains(resumable, str(t.row, "id")):
			t.executor, t.accepted, t.queue = "", false, uuid.NewString()
		default:
			f.setTask(t, "failed")
		}
	}
}

// unseen gives back what a socket that ended got and nobody accepted.
func (f *fake) unseen(executor string) {
	for _, t := range f.tasks {
		if executor != "" && t.executor == executor && !t.accepted {
			t.executor = ""
		}
	}
	f.dispatchTasks()
}

func (f *fake) task(id, who string) *fakeTask {
	for _, t := range f.tasks {
		if t.row["id"] == id && f.person(who) == t.own {
			return t
		}
	}
	return nil
}

func (f *fake) listTasks(r *http.Request, who string, _ obj) (int, any) {
	out := []obj{}
	for _, t := range f.tasks {
		if status := r.URL.Query().Get("status"); t.own == who && (status == "" || t.row["status"] == status) {
			out = append(out, t.row)
		}
	}
	return 200, obj{"tasks": out}
}

func (f *fake) getTask(r *http.Request, who string, _ obj) (int, any) {
	if t := f.task(r.PathValue("id"), who); t != nil {
		return 200, t.row
	}
	return 404, fail("not_found")
}

func (f *fake) patchTask(r *http.Request, who string, in obj) (int, any) {
	t := f.task(r.PathValue("id"), who)
	status := str(in, "status")
	switch {
	case t == nil:
		return 404, fail("not_found")
	case terminal[str(t.row, "status")]:
		return 409, fail("already_ended")
	case status == "" && (str(in, "title") != "" || str(in, "description") != ""):
		maps.Copy(t.row, in)
		return 200, t.row
	case who != t.own && terminal[status]:
		return 422, fail("terminal_via_complete_task")
	case !slices.Contains([]string{"accepted", "in_progress", "waiting", "blocked", "cancelled"}, status):
		return 422, fail("invalid")
	}
	if t.parked = status == "blocked" || status == "waiting"; t.parked {
		t.question = str(in, "summary")
	}
	if status == "cancelled" && f.fault != "no_stop_task" {
		f.toExecutor(t, "gateway_command", obj{"type": "stop_task", "task_id": t.row["id"], "reason": "cancelled"})
	}
	f.setTask(t, status)
	return 200, t.row
}

func (f *fake) toExecutor(t *fakeTask, event string, payload obj) {
	for c := range f.conns {
		if c.executor != "" && c.executor == t.executor {
			c.send("user:"+t.agent, event, payload)
		}
	}
}

func (f *fake) taskVerb(r *http.Request, who string, in obj) (int, any) {
	i := slices.IndexFunc(f.tasks, func(t *fakeTask) bool { return t.queue != "" && t.queue == r.PathValue("id") })
	if i < 0 || f.tasks[i].agent != who || f.tasks[i].executor != in["executor_id"] {
		return 404, fail("not_found")
	}
	t := f.tasks[i]
	plan, _ := t.row["metadata"].(obj)["execution_plan"].(obj)
	steps, _ := plan["steps"].([]any)
	switch r.PathValue("verb") {
	case "accept":
		if t.accepted && f.fault != "accept_twice" {
			return 409, fail("already_accepted")
		}
		t.accepted = true
		f.setTask(t, "in_progress")
	case "progress":
		f.toUser(t.own, "task_progress", obj{"taskId": t.row["id"], "current_step": in["current_step"]})
	case "extend-plan":
		more, _ := in["steps"].([]any)
		plan["steps"] = append(steps, more...)
	case "step-progress":
		for _, s := range steps {
			if step := s.(obj); step["id"] == in["step_id"] {
				if in["status"] != "completed" && in["status"] != "failed" {
					return 422, fail("invalid")
				}
				step["status"] = in["status"]
				return 200, obj{"ok": true}
			}
		}
		return 404, fail("unknown_step")
	case "claim-step":
		done := map[string]bool{}
		for _, s := range steps {
			done[str(s.(obj), "id")] = s.(obj)["status"] == "completed"
		}
		for _, s := range steps {
			step := s.(obj)
			if str(step, "status") == "" && !slices.ContainsFunc(stringsOf(step["depends_on"]), func(id string) bool { return !done[id] }) {
				step["status"] = "in_progress"
				return 200, obj{"status": "step", "step": obj{"id": step["id"], "title": step["title"], "prompt": step["prompt"]}}
			}
		}
		return 200, obj{"status": "done", "summary": "all done", "executionPlan": plan}
	}
	return 200, obj{"ok": true}
}

func (f *fake) rpc(_ *http.Request, who string, in obj) (int, any) {
	params, _ := in["params"].(obj)
	args, _ := params["arguments"].(obj)
	answer := func(bad bool, text string) (int, any) {
		if bad && f.fault == "rpc_error_member" {
			return 200, obj{"jsonrpc": "2.0", "id": in["id"], "error": obj{"code": -32000, "message": text}}
		}
		return 200, obj{"jsonrpc": "2.0", "id": in["id"], "result": obj{"isError": bad, "content": []obj{{"type": "text", "text": text}}}}
	}
	name := str(params, "name")
	if name != "complete_task" && name != "fail_task" {
		return answer(name != "end_turn", "tool_not_found")
	}
	if _, err := uuid.Parse(str(args, "task_id")); err != nil {
		return answer(true, "invalid_arguments: task_id")
	}
	t := f.task(str(args, "task_id"), who)
	switch {
	case t == nil || t.agent != who:
		return answer(true, "not_found")
	case terminal[str(t.row, "status")] && f.fault != "ends_twice":
		return answer(true, "already_ended")
	case name == "fail_task":
		t.row["completionDetails"] = args["error"]
		f.setTask(t, "failed")
		return answer(false, "failed")
	case f.openSubtasks(t):
		t.waiting = true
		return answer(true, "[open_subtasks] wait for them")
	}
	t.row["resultData"] = args["result_data"]
	f.setTask(t, "complete")
	if text := str(args, "response"); text != "" {
		f.store(t.work, who, text, nil, nil)
		f.store(str(t.row, "conversationId"), who, text, nil, nil)
	}
	return answer(false, "completed")
}
