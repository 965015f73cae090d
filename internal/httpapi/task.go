package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/task"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// Task is the tasks of rooms (desktop 4.8, bridge 3.7; docs/tasks.md).
type Task struct {
	Tasks *flow.Tasks
	Log   *slog.Logger
}

// Mount mounts the routes.
func (t Task) Mount(r chi.Router) {
	h := func(f httpx.HandlerFunc) http.HandlerFunc { return httpx.Wrap(t.Log, f) }
	r.Post("/conversations/{conversation}/tasks", h(t.create))
	r.Get("/tasks", h(t.list))
	r.Get("/tasks/{task}", h(t.get))
	r.Patch("/tasks/{task}", h(onTask(maxMessageBody, t.edit)))
	r.Patch("/tasks/{task}/status", h(onTask(maxMessageBody, t.status)))
	r.Post("/tasks/{task}/accept", h(onTask(httpx.MaxBody, t.accept)))
	r.Post("/tasks/{task}/reject", h(onTask(httpx.MaxBody, t.reject)))
	r.Post("/tasks/{task}/cancel", h(onTask(httpx.MaxBody, t.cancel)))
	r.Post("/tasks/{task}/interrupt", h(onTask(httpx.MaxBody, t.interrupt)))
	r.Post("/tasks/{task}/reassign", h(onTask(httpx.MaxBody, t.reassign)))
	r.Post("/tasks/{task}/retry", h(t.retry))
	r.Post("/tasks/{task}/revision", h(onTask(httpx.MaxBody, t.revision)))
	r.Post("/tasks/{task}/watch", h(onTask(httpx.MaxBody, t.watch)))
	r.Post("/tasks/{task}/asks/{ask}/answer", h(t.answer))
	r.Get("/tasks/{task}/events", h(t.events))
	r.Get("/agents/{agent}/task-queue", h(t.queue))
}

func taskID(r *http.Request) (id.Task, error) {
	return pathID[id.Task](r, "task")
}

// duplicateError is a 409 without an error key: the caller reads it as a result (bridge 3.1).
type duplicateError struct{ *flow.DuplicateTaskError }

// Body implements httpx's answer of an error with a body of its own.
func (e duplicateError) Body() (int, any) {
	t := present.Task(e.Task)
	return http.StatusConflict, wire.TaskDuplicate{Status: "duplicate_detected", TaskID: t.ID, Message: "A task like this is open already: " + t.Title, Task: t}
}

// create answers 201 with the task, 409 duplicate_detected when the same is asked for
// already, 422 with the codes of desktop 5.3a for assignees.
func (t Task) create(w http.ResponseWriter, r *http.Request) error {
	conv, err := roomID(r)
	if err != nil {
		return err
	}
	var in wire.TaskCreate
	if err := httpx.DecodeLimit(w, r, &in, maxMessageBody); err != nil {
		return err
	}
	n := flow.NewTask{ConversationID: conv, Title: in.Title, Description: in.Description, Metadata: in.Metadata, Priority: in.Priority}
	if n.AssignedTo, err = assignees(append(in.AssignedTo, in.AssignedToOld...)); err != nil {
		return err
	}
	for _, d := range in.DependsOn {
		x, err := id.Parse[id.Task](d)
		if err != nil {
			return fault.New(fault.Invalid, "invalid", "dependsOn must be a list of task ids.").With("dependsOn", "format", "not an id")
		}
		n.DependsOn = append(n.DependsOn, x)
	}
	if in.ParentTaskID != nil {
		if n.Parent, err = id.Parse[id.Task](*in.ParentTaskID); err != nil {
			return fault.New(fault.Invalid, "invalid", "parentTaskId must be a task id.").With("parentTaskId", "format", "not an id")
		}
	}
	if in.Deadline != nil {
		n.Deadline = &in.Deadline.Time
	}
	if n.Join, err = joinOf(in.Join); err != nil {
		return err
	}
	n.ActiveRoom, _ = id.Parse[id.Conversation](r.Header.Get("X-Active-Conversation")) // anything else is none
	v, err := t.Tasks.Create(r.Context(), httpx.Actor(r.Context()), n)
	if twin, ok := errors.AsType[*flow.DuplicateTaskError](err); ok {
		return duplicateError{twin}
	}
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusCreated, present.Task(v))
}

func joinOf(j *wire.TaskJoin) (*task.Join, error) {
	if j == nil {
		return nil, nil
	}
	out := &task.Join{Mode: task.JoinMode(j.Mode)}
	if j.Until != nil {
		out.Until = &j.Until.Time
	}
	bad := fault.New(fault.Invalid, "invalid", "This barrier is not known.")
	switch out.Mode {
	case task.JoinAll, task.JoinAny:
	case task.JoinCount:
		if j.Count == nil || *j.Count < 1 || *j.Count > task.MaxChildren {
			return nil, bad.With("join.count", "range", "1 to 100")
		}
		out.Count = *j.Count
	default:
		return nil, bad.With("join.mode", "unknown", "must be all, any or count")
	}
	return out, nil
}

// list reads ?status (repeated or a,b), conversationId, assignedTo, parentTaskId,
// mine=true, before and beforeId (updatedAt and id of the last one) and limit (50 at most).
func (t Task) list(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	f := view.TaskFilter{Mine: q.Get("mine") == "true", Statuses: words(q["status"]), Limit: httpx.Limit(r, 50, 50) + 1}
	var err error
	if f.Below, err = queryMark[id.Task](r); err != nil {
		return err
	}
	bad := fault.New(fault.Invalid, "invalid", "A filter is not an id.")
	if s := q.Get("conversationId"); s != "" {
		if f.Conversation, err = id.Parse[id.Conversation](s); err != nil {
			return bad.With("conversationId", "format", "not an id")
		}
	}
	if s := q.Get("assignedTo"); s != "" {
		if f.Assignee, err = id.Parse[id.Participant](s); err != nil {
			return bad.With("assignedTo", "format", "not an id")
		}
	}
	if s := q.Get("parentTaskId"); s != "" {
		if f.Parent, err = id.Parse[id.Task](s); err != nil {
			return bad.With("parentTaskId", "format", "not an id")
		}
	}
	list, err := t.Tasks.List(r.Context(), httpx.Actor(r.Context()), f)
	if err != nil {
		return err
	}
	return tasksPage(w, list, f.Limit-1)
}

func tasksPage(w http.ResponseWriter, list []flow.TaskView, limit int) error {
	out := wire.Tasks{HasMore: len(list) > limit}
	out.Tasks = present.Tasks(list[:min(len(list), limit)])
	return httpx.JSON(w, http.StatusOK, out)
}

// words splits a query parameter that may be repeated or a list.
func words(values []string) []string {
	var out []string
	for _, v := range values {
		for s := range strings.SplitSeq(v, ",") {
			if s = strings.TrimSpace(s); s != "" && s != "all" {
				out = append(out, s)
			}
		}
	}
	return out
}

func (t Task) queue(w http.ResponseWriter, r *http.Request) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	limit := httpx.Limit(r, 50, 50)
	list, err := t.Tasks.Queue(r.Context(), httpx.Actor(r.Context()), aid, words(r.URL.Query()["status"]), limit+1)
	if err != nil {
		return err
	}
	return tasksPage(w, list, limit)
}

func (t Task) get(w http.ResponseWriter, r *http.Request) error {
	tid, err := taskID(r)
	if err != nil {
		return err
	}
	d, err := t.Tasks.Detail(r.Context(), httpx.Actor(r.Context()), tid)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.TaskDetail(d))
}

// events reads ?before (an id) and limit.
func (t Task) events(w http.ResponseWriter, r *http.Request) error {
	tid, err := taskID(r)
	if err != nil {
		return err
	}
	var before int64
	if s := r.URL.Query().Get("before"); s != "" {
		if before, err = strconv.ParseInt(s, 10, 64); err != nil || before < 1 {
			return fault.New(fault.Invalid, "invalid", "before must be the id of an event.").With("before", "format", "not an id")
		}
	}
	limit := httpx.Limit(r, 100, 200)
	list, err := t.Tasks.History(r.Context(), httpx.Actor(r.Context()), tid, before, limit+1)
	if err != nil {
		return err
	}
	out := wire.TaskEvents{HasMore: len(list) > limit}
	out.Events = present.TaskHistory(list[:min(len(list), limit)])
	return httpx.JSON(w, http.StatusOK, out)
}

func (t Task) edit(ctx context.Context, actor access.Actor, tid id.Task, in wire.TaskPatch) (flow.TaskView, error) {
	if in.Status != nil { // a sandbox of a stock bridge sends it here (bridge 3.7)
		return t.Tasks.SetStatus(ctx, actor, tid, task.Status(*in.Status), flow.TaskResult{Summary: in.Summary})
	}
	e := flow.Edit{Title: in.Title, Description: in.Description, Priority: in.Priority}
	if len(in.Deadline) > 0 {
		var at *wire.Time
		if err := json.Unmarshal(in.Deadline, &at); err != nil {
			return flow.TaskView{}, fault.New(fault.Invalid, "invalid", "deadline must be a time or null.").With("deadline", "format", "RFC 3339")
		}
		var when *time.Time
		if at != nil {
			when = &at.Time
		}
		e.Deadline = &when
	}
	return t.Tasks.Change(ctx, actor, tid, e)
}

// status answers 422 terminal_via_complete_task to an agent that sets an end.
func (t Task) status(ctx context.Context, actor access.Actor, tid id.Task, in wire.TaskStatusPatch) (flow.TaskView, error) {
	return t.Tasks.SetStatus(ctx, actor, tid, task.Status(in.Status), flow.TaskResult{
		Response: in.Response, Summary: in.Summary, Silent: in.Silent, CompletionDetails: in.CompletionDetails, ResultData: in.ResultData,
	})
}

func (t Task) accept(ctx context.Context, actor access.Actor, tid id.Task, _ any) (flow.TaskView, error) {
	return t.Tasks.AcceptByREST(ctx, actor, tid)
}

func (t Task) reject(ctx context.Context, actor access.Actor, tid id.Task, in wire.TaskReason) (flow.TaskView, error) {
	return t.Tasks.Reject(ctx, actor, tid, in.Reason)
}

func (t Task) cancel(ctx context.Context, actor access.Actor, tid id.Task, in wire.TaskReason) (flow.TaskView, error) {
	return t.Tasks.Cancel(ctx, actor, tid, in.Reason)
}

func (t Task) interrupt(ctx context.Context, actor access.Actor, tid id.Task, in wire.TaskInterrupt) (flow.TaskView, error) {
	return t.Tasks.Interrupt(ctx, actor, tid, in.Message)
}

func (t Task) reassign(ctx context.Context, actor access.Actor, tid id.Task, in wire.TaskReassign) (flow.TaskView, error) {
	if len(in.AssignedTo) != 1 {
		return flow.TaskView{}, fault.New(fault.Invalid, "invalid", "Name who is to do it now.").With("assignedTo", "count", "exactly one")
	}
	who, err := assignees(in.AssignedTo)
	if err != nil {
		return flow.TaskView{}, err
	}
	return t.Tasks.Reassign(ctx, actor, tid, who[0])
}

func (t Task) revision(ctx context.Context, actor access.Actor, tid id.Task, in wire.TaskRevision) (flow.TaskView, error) {
	return t.Tasks.Revise(ctx, actor, tid, in.Feedback)
}

// watch lets a person who may see the task look into the room of its work.
func (t Task) watch(ctx context.Context, actor access.Actor, tid id.Task, _ any) (flow.TaskView, error) {
	return t.Tasks.Watch(ctx, actor, tid)
}

// assignees reads who is to do a task.
func assignees(list []string) ([]id.Participant, error) {
	out := make([]id.Participant, 0, len(list))
	for _, s := range list {
		p, err := id.Parse[id.Participant](s)
		if err != nil {
			return nil, fault.New(fault.Invalid, "invalid_assignees_not_uuid", "assignedTo must be a list of participant ids.").With("assignedTo", "format", "not an id")
		}
		out = append(out, p)
	}
	return out, nil
}

// retry answers 201 with the new task.
func (t Task) retry(w http.ResponseWriter, r *http.Request) error {
	tid, err := taskID(r)
	if err != nil {
		return err
	}
	var in wire.TaskRetry
	if err := httpx.DecodeLimit(w, r, &in, maxMessageBody); err != nil {
		return err
	}
	a := flow.Again{Title: in.Title, Description: in.Description, Feedback: in.Feedback}
	if a.AssignedTo, err = assignees(in.AssignedTo); err != nil {
		return err
	}
	v, err := t.Tasks.Retry(r.Context(), httpx.Actor(r.Context()), tid, a)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusCreated, present.Task(v))
}

func (t Task) answer(w http.ResponseWriter, r *http.Request) error {
	tid, err := taskID(r)
	if err != nil {
		return err
	}
	a, err := pathID[id.Ask](r, "ask")
	if err != nil {
		return err
	}
	var in wire.TaskAnswer
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	v, err := t.Tasks.Answer(r.Context(), httpx.Actor(r.Context()), tid, a, in.Answer)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.Task(v))
}

// listOrOne reads a list of strings, or one.
func listOrOne(raw json.RawMessage) []string {
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return list
	}
	var s string
	if json.Unmarshal(raw, &s) == nil && s != "" {
		return []string{s}
	}
	return nil
}
