package judgetest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// TaskReply is what the model made of a task.
type TaskReply struct {
	Text, Summary string
	Err           error // fail_task with "<ExceptionName>: <detail>"
}

// TaskTurn is what the model sees of one gateway_task or of one of its steps.
type TaskTurn struct {
	QueueID, TaskID, WorkID string
	Title, Description      string
	StepID, StepPrompt      string // of a compound task
	SystemPrompt            string
	History                 []map[string]any // oldest first
	Raw                     map[string]any

	b      *Bridge
	ended  string // name of the finisher that succeeded as a tool
	parked string // reason of a successful end_turn that parks
	last   time.Time
	over   bool // a progress call answered 403 or 404
	mu     sync.Mutex
}

// TaskRecord is what became of one pushed gateway_task.
type TaskRecord struct {
	QueueID, TaskID, WorkID string
	Outcome                 string // completed failed parked stopped refused deferred tool silent killed
	AcceptStatus            int
	Steps                   []string
	Directives              []string
	FinishText              string // text of the last complete_task or fail_task
}

// terminal holds the statuses after which a bridge stands down (bridge 2.8).
var terminal = map[string]bool{"complete": true, "cancelled": true, "failed": true, "rejected": true, "exhausted": true}

// receivedTask takes a task: no deduplication, it waits for a slot.
func (b *Bridge) receivedTask(p map[string]any) {
	b.led.check("bridge", "bridge 2.8", "gateway_task", "GatewayTask", p)
	gone := false
	b.read(func() {
		gone = b.offline
		directives, _ := p["directives"].(map[string]any)
		for _, name := range stringsOf(directives["toolAllowlist"]) {
			if !slices.Contains(b.toolkit, name) {
				b.led.Break("bridge", "bridge 4.6", "toolAllowlist names %s, which the catalogue does not", name)
			}
		}
	})
	if !gone {
		go b.taskTurn(p)
	}
}

// taskTurn is the life of one task (bridge 2.8).
func (b *Bridge) taskTurn(p map[string]any) {
	select {
	case b.slots <- struct{}{}:
	case <-b.run.Done():
		return
	}
	defer func() { <-b.slots }()
	t := newTaskTurn(b, p)
	rec := TaskRecord{QueueID: t.QueueID, TaskID: t.TaskID, WorkID: t.WorkID, Directives: stringsOf(t.directives()["promptDirectives"])}
	a, err := b.callREST(b.run, call{method: "POST", path: "/api/gateway/tasks/" + t.QueueID + "/accept", body: b.mine()})
	rec.AcceptStatus = a.Status
	if err != nil || a.Status >= 400 {
		rec.Outcome = "refused" // dropped silently
		b.finishTask(rec)
		return
	}
	b.change(func() { b.activity = "processing_task:" + t.TaskID })
	if b.refresh.due() {
		b.refreshToolkit()
	}
	b.runTask(t, &rec)
	b.change(func() { b.activity = "idle" })
	b.finishTask(rec)
}

func newTaskTurn(b *Bridge, p map[string]any) *TaskTurn {
	task, _ := p["task"].(map[string]any)
	meta, _ := task["metadata"].(map[string]any)
	work := str(meta, "work_conversation_id")
	if work == "" {
		work = str(task, "conversationId")
	}
	t := &TaskTurn{QueueID: str(p, "id"), TaskID: str(p, "taskId"), WorkID: work, Title: str(task, "title"), Description: str(task, "description"), Raw: p, b: b}
	t.SystemPrompt = strings.Join(stringsOf(t.directives()["promptDirectives"]), "")
	return t
}

func (t *TaskTurn) directives() map[string]any {
	d, _ := t.Raw["directives"].(map[string]any)
	return d
}

func (b *Bridge) mine() map[string]any { return map[string]any{"executor_id": b.executorID} }

func (b *Bridge) runTask(t *TaskTurn, rec *TaskRecord) {
	base, stop := context.WithCancelCause(b.run)
	ctx, release := context.WithTimeout(base, b.opt.TurnTimeout)
	defer release()
	defer stop(nil)
	b.change(func() { b.taskStops[t.TaskID] = stop })
	defer b.change(func() { delete(b.taskStops, t.TaskID) })

	if len(rec.Directives) == 0 {
		b.led.Break("bridge", "bridge 4.6", "gateway_task without promptDirectives")
		b.failTask(t, rec, "directives_unavailable: no promptDirectives in the task")
		b.emptyHanded(t, rec)
		return
	}
	b.taskHistory(ctx, t)
	alive := make(chan struct{})
	defer func() { <-alive }()
	keep, endKeep := context.WithCancel(ctx)
	defer endKeep()
	go b.keepAlive(keep, t, alive)

	reply := b.work(ctx, t, rec)
	switch {
	case b.run.Err() != nil:
		rec.Outcome = "killed"
	case errors.Is(context.Cause(ctx), errStopped):
		rec.Outcome = "stopped" // nothing is reported
	case ctx.Err() != nil:
		b.failTask(t, rec, "TimeoutError: the run took longer than "+strconv.Itoa(int(b.opt.TurnTimeout.Minutes()))+" minutes")
	case t.ended != "":
		rec.Outcome = "tool"
	case t.parked != "" && b.park(t, reply):
		rec.Outcome = "parked"
	case reply.Err != nil:
		b.failTask(t, rec, "HandlerError: "+reply.Err.Error())
	case t.source() == "pulse":
		b.completeTask(t, rec, map[string]any{"silent": true})
	case reply.Text == "":
		b.emptyHanded(t, rec)
	default:
		b.completeTask(t, rec, map[string]any{
			"silent": false, "response": clipRunes(reply.Text, 30_000), "summary": clipRunes(reply.Summary, 5_000),
			"result_data": map[string]any{"model": "judge-model-1", "elapsed_seconds": 0.2, "iterations": 1, "stop_reason": "end_turn"},
		})
	}
}

func (t *TaskTurn) source() string {
	task, _ := t.Raw["task"].(map[string]any)
	return str(task, "source")
}

// taskHistory is step 3: tasks carry no recentMessages.
func (b *Bridge) taskHistory(ctx context.Context, t *TaskTurn) {
	a, err := b.callREST(ctx, call{method: "GET", path: "/api/conversations/" + t.WorkID + "/messages?limit=10"})
	if err != nil {
		return
	}
	if a.Status != http.StatusOK {
		b.led.Break("bridge", "bridge 2.8", "history of the work conversation answered %d", a.Status)
		return
	}
	page := listOf(a.JSON, "messages")
	newer := ""
	for i := len(page) - 1; i >= 0; i-- {
		if at := str(page[i], "insertedAt"); at < newer {
			b.led.Break("bridge", "bridge 4.1", "GET messages is not newest first")
		} else {
			newer = at
		}
		t.History = append(t.History, page[i])
	}
}

// keepAlive sends progress at least every five seconds once it has begun.
func (b *Bridge) keepAlive(ctx context.Context, t *TaskTurn, done chan<- struct{}) {
	defer close(done)
	t.Progress(ctx, "thinking", "Analyzing...")
	for wait(ctx, b.opt.KeepAlive) == nil {
		t.Progress(ctx, "thinking", "Analyzing...")
	}
}

// Progress reports a step, at most one per 1.5 s; the end of the task (403 or
// 404) silences it (bridge 2.8).
func (t *TaskTurn) Progress(ctx context.Context, phase, step string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || time.Since(t.last) < 1500*time.Millisecond {
		return
	}
	t.last = time.Now()
	body := t.b.mine()
	body["current_step"], body["elapsed_ms"], body["phase"] = step, 1200, phase
	a, err := t.b.callREST(ctx, call{method: "POST", path: "/api/gateway/tasks/" + t.QueueID + "/progress", body: body})
	t.over = err == nil && (a.Status == http.StatusForbidden || a.Status == http.StatusNotFound)
}

// work runs the model, once or once per step of a compound task.
func (b *Bridge) work(ctx context.Context, t *TaskTurn, rec *TaskRecord) TaskReply {
	task, _ := t.Raw["task"].(map[string]any)
	meta, _ := task["metadata"].(map[string]any)
	plan, _ := meta["execution_plan"].(map[string]any)
	if steps, _ := plan["steps"].([]any); len(steps) == 0 {
		return b.thinkTask(ctx, t)
	}
	var text []string
	for range 200 {
		a, err := b.callREST(ctx, call{method: "POST", path: "/api/gateway/tasks/" + t.QueueID + "/claim-step", body: b.mine()})
		if err != nil || !a.OK() {
			return TaskReply{Err: errors.New("claim-step: " + apiError(a))}
		}
		if a.Str("status") == "done" {
			b.led.check("bridge", "bridge 2.8", "claim-step", "StepsDone", a.JSON)
			return TaskReply{Text: strings.Join(text, "\n"), Summary: a.Str("summary")}
		}
		if !b.led.check("bridge", "bridge 2.8", "claim-step", "Step", a.JSON) {
			return TaskReply{Err: errors.New("claim-step: a step without id or prompt")}
		}
		step, _ := a.Map()["step"].(map[string]any)
		t.StepID, t.StepPrompt = str(step, "id"), str(step, "prompt")
		rec.Steps = append(rec.Steps, t.StepID)
		reply := b.thinkTask(ctx, t)
		body := b.mine()
		body["step_id"], body["status"], body["result"] = t.StepID, "completed", map[string]any{"summary": clip(reply.Text, 500)}
		if reply.Err != nil {
			body["status"], body["result"] = "failed", map[string]any{"error": clip(reply.Err.Error(), 500)}
		}
		a, err = b.callREST(ctx, call{method: "POST", path: "/api/gateway/tasks/" + t.QueueID + "/step-progress", body: body})
		if err != nil || !a.OK() {
			return TaskReply{Err: errors.New("step-progress: " + apiError(a))}
		}
		text = append(text, reply.Text)
	}
	return TaskReply{Err: errors.New("plan did not end after 200 claims")}
}

func (b *Bridge) thinkTask(ctx context.Context, t *TaskTurn) TaskReply {
	out := make(chan TaskReply, 1)
	go func() { out <- b.opt.Task(ctx, t) }()
	select {
	case r := <-out:
		return r
	case <-ctx.Done():
		return TaskReply{Err: ctx.Err()}
	}
}

// emptyHanded is a run without text: a task that reads terminal stays as it is.
func (b *Bridge) emptyHanded(t *TaskTurn, rec *TaskRecord) {
	if status := b.TaskStatus(b.run, t.TaskID); terminal[status] {
		if rec.Outcome == "" {
			rec.Outcome = "silent"
		}
		return
	}
	if rec.Outcome == "failed" {
		b.led.Break("bridge", "bridge 2.8", "a failed task does not read as terminal at once: the bridge fails it a second time")
	}
	b.failTask(t, rec, "no user-facing response text")
}

// TaskStatus reads top-level status or task.status of GET /api/tasks/{id}.
func (b *Bridge) TaskStatus(ctx context.Context, id string) string {
	a, err := b.callREST(ctx, call{method: "GET", path: "/api/tasks/" + id})
	if err != nil || !a.OK() {
		return ""
	}
	if s := a.Str("status"); s != "" {
		return s
	}
	task, _ := a.Map()["task"].(map[string]any)
	return str(task, "status")
}

func (b *Bridge) completeTask(t *TaskTurn, rec *TaskRecord, args map[string]any) {
	args["task_id"] = t.TaskID
	text, ok := t.rpc("complete_task", args)
	rec.FinishText = text
	switch {
	case ok:
		rec.Outcome = "completed"
	case strings.Contains(text, "[open_subtasks]"):
		rec.Outcome = "deferred" // left open, nothing is done
	default:
		b.failTask(t, rec, "ToolError: "+text)
	}
}

func (b *Bridge) failTask(t *TaskTurn, rec *TaskRecord, reason string) {
	rec.Outcome = "failed"
	text, ok := t.rpc("fail_task", map[string]any{"task_id": t.TaskID, "silent": false, "error": reason})
	if !ok {
		rec.FinishText = text
	}
}

// park is the stand-down rule of a successful end_turn that waits.
func (b *Bridge) park(t *TaskTurn, reply TaskReply) bool {
	body := map[string]any{"status": "blocked"}
	if reply.Text != "" {
		body["summary"] = reply.Text
	}
	a, err := b.callREST(b.run, call{method: "PATCH", path: "/api/tasks/" + t.TaskID + "/status", body: body})
	return err == nil && a.OK()
}

// rpc is a call of the JSON-RPC form with the five context keys (bridge 2.8.1).
func (t *TaskTurn) rpc(name string, args map[string]any) (text string, ok bool) {
	a, err := t.b.callREST(t.b.run, call{method: "POST", path: "/api/mcp", body: map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{"name": name, "arguments": args, "_meta": map[string]any{"context": t.context()}},
	}})
	if err != nil {
		return err.Error(), false
	}
	if a.OK() && a.Map()["error"] != nil {
		t.b.led.Break("bridge", "bridge 2.8.1", "%s answered with a JSON-RPC error member, which reads as success: %s", name, brief(a.Map()["error"]))
	}
	return rpcVerdict(a)
}

func (t *TaskTurn) context() map[string]any {
	return map[string]any{"conversation_id": t.WorkID, "active_conversation_id": t.WorkID, "task_id": t.TaskID}
}

// CallTool is a tool call of the model: finishers go the JSON-RPC way, all else
// is the passthrough. Successful finishers and end_turn are remembered.
func (t *TaskTurn) CallTool(ctx context.Context, name string, args map[string]any) (text string, ok bool) {
	if name == "complete_task" || name == "fail_task" {
		if text, ok = t.rpc(name, args); ok {
			t.ended = name
		}
		return text, ok
	}
	a, err := t.b.callREST(ctx, call{method: "POST", path: "/api/mcp/call", body: map[string]any{"tool_name": name, "args": args, "context": t.context()}})
	if err != nil {
		return err.Error(), false
	}
	text, ok = toolVerdict(a)
	if reason, _ := args["reason"].(string); ok && name == "end_turn" && (reason == "blocked" || reason == "awaiting_input") {
		t.parked = reason
	}
	return text, ok
}

// CreateTask is the SDK method create_task in the task's work conversation.
func (t *TaskTurn) CreateTask(ctx context.Context, title, description string, assignees ...string) (id string, err error) {
	a, err := t.b.callREST(ctx, call{method: "POST", path: "/api/conversations/" + t.WorkID + "/tasks",
		header: map[string]string{"X-Active-Conversation": t.WorkID},
		body:   map[string]any{"title": title, "description": description, "assignedTo": assignees}})
	if err != nil {
		return "", err
	}
	if !a.OK() {
		return "", errors.New(apiError(a))
	}
	id, _ = dig(a.JSON, "id|task.id")
	return id, nil
}

func (b *Bridge) finishTask(rec TaskRecord) {
	b.change(func() { b.tasks = append(b.tasks, rec) })
}

// Tasks lists every pushed task and its outcome, in order of completion.
func (b *Bridge) Tasks() []TaskRecord {
	var out []TaskRecord
	b.read(func() { out = append(out, b.tasks...) })
	return out
}

// WaitTasks blocks until cond holds over the finished tasks.
func (b *Bridge) WaitTasks(ctx context.Context, what string, cond func([]TaskRecord) bool) error {
	return b.until(ctx, what, func() bool { return cond(b.tasks) })
}
