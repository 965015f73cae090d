package flow

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/ask"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/realtime"
	"github.com/agntchat/agntchat/internal/task"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// Get is one task, for who may see it.
func (s *Tasks) Get(ctx context.Context, actor access.Actor, tid id.Task) (TaskView, error) {
	if _, err := s.may(ctx, s.DB, actor, tid, access.ReadTask); err != nil {
		return TaskView{}, err
	}
	return s.view(ctx, tid)
}

func (s *Tasks) view(ctx context.Context, tid id.Task) (TaskView, error) {
	t, err := task.Get(ctx, s.DB, tid)
	if err != nil {
		return TaskView{}, err
	}
	views, err := s.views(ctx, s.DB, []task.Task{t})
	if err != nil {
		return TaskView{}, err
	}
	return views[0], nil
}

// List is a page of tasks that the actor may see, newest change first. People see
// those of their active workspace.
func (s *Tasks) List(ctx context.Context, actor access.Actor, f view.TaskFilter) ([]TaskView, error) {
	org := actor.OrganizationID
	if actor.IsAgent() {
		org = id.Organization{}
	}
	ids, err := view.TaskIDs(ctx, s.DB, actor.ID, org, f)
	if err != nil {
		return nil, err
	}
	list, err := task.ByID(ctx, s.DB, ids)
	if err != nil {
		return nil, err
	}
	at := make(map[id.Task]task.Task, len(list))
	for _, t := range list {
		at[t.ID] = t
	}
	ordered := make([]task.Task, 0, len(ids))
	for _, i := range ids {
		if t, ok := at[i]; ok {
			ordered = append(ordered, t)
		}
	}
	return s.views(ctx, s.DB, ordered)
}

// Watch lets a person who may see a task look into the room of its work.
func (s *Tasks) Watch(ctx context.Context, actor access.Actor, tid id.Task) (TaskView, error) {
	if err := access.RequirePerson(actor); err != nil {
		return TaskView{}, err
	}
	v, err := s.Get(ctx, actor, tid)
	if err != nil || !v.HasWorkRoom() {
		return v, err
	}
	return v, s.Chat.watchTx(ctx, actor, v.WorkConversationID)
}

// Queue is the tasks that an agent is to do: for itself and its owner.
func (s *Tasks) Queue(ctx context.Context, actor access.Actor, agent id.Participant, statuses []string, limit int) ([]TaskView, error) {
	if actor.ID != agent {
		if _, err := s.Gateway.managed(ctx, actor, agent); err != nil {
			return nil, err
		}
	}
	return s.List(ctx, access.Actor{Kind: access.Agent, ID: agent}, view.TaskFilter{Statuses: statuses, Assignee: agent, Limit: limit})
}

// TaskDetail is a task with its plan, questions, sub-tasks and newest history.
type TaskDetail struct {
	TaskView
	Steps    []task.Step
	Asks     []ask.Ask
	Children []TaskView
	History  []task.Line
}

// taskHistory is how many lines the detail of a task has.
const taskHistory = 100

// Detail is everything about a task, for who may see it.
func (s *Tasks) Detail(ctx context.Context, actor access.Actor, tid id.Task) (d TaskDetail, err error) {
	if d.TaskView, err = s.Get(ctx, actor, tid); err != nil {
		return d, err
	}
	if d.Steps, err = task.Steps(ctx, s.DB, tid); err != nil {
		return d, err
	}
	if d.Asks, err = ask.OfTask(ctx, s.DB, tid); err != nil {
		return d, err
	}
	children, err := task.Children(ctx, s.DB, tid)
	if err != nil {
		return d, err
	}
	if d.Children, err = s.views(ctx, s.DB, children); err != nil {
		return d, err
	}
	d.History, err = task.History(ctx, s.DB, tid, 0, taskHistory)
	return d, err
}

// History is a page of what happened to a task, newest first.
func (s *Tasks) History(ctx context.Context, actor access.Actor, tid id.Task, before int64, limit int) ([]task.Line, error) {
	if _, err := s.may(ctx, s.DB, actor, tid, access.ReadTask); err != nil {
		return nil, err
	}
	return task.History(ctx, s.DB, tid, before, limit)
}

// RequesterOf is on whose behalf an agent works at a task: TaskRequesters.
func (s *Tasks) RequesterOf(ctx context.Context, agent id.Participant, tid id.Task) (id.Participant, bool, error) {
	t, err := task.Get(ctx, s.DB, tid)
	if err != nil {
		return id.Participant{}, false, goneIsNil(err)
	}
	return t.RequesterID, t.Assigned(agent), nil
}

// tellProgress is only live: a client that missed it sees the next one.
func (s *Tasks) tellProgress(ctx context.Context, t task.Task, p Progress) {
	topics := []string{event.ConversationTopic(t.ConversationID.String()), event.UserTopic(t.RequesterID.String())}
	if t.HasWorkRoom() {
		topics = append(topics, event.ConversationTopic(t.WorkConversationID.String()))
	}
	m := realtime.Message{Event: "task_progress", Payload: wire.TaskProgress{
		TaskID: t.ID.String(), TaskIDOld: t.ID.String(), CurrentStep: p.Step, CurrentStepOld: p.Step, Phase: p.Phase, ElapsedMS: p.ElapsedMS,
		ConversationID: t.ConversationID.String(), WorkConversationID: t.WorkConversationID.String(),
	}}
	if err := s.Gateway.Bus.BroadcastAll(topics, m); err != nil {
		s.complain(ctx, "broadcast progress failed", err, t.ID)
	}
}

// TellBusy tells a person who wrote to agents that work at tasks of that room in rooms
// of their own where that is (desktop contract 3.5). It is only live.
func (s *Tasks) TellBusy(room id.Conversation, who id.Participant, agents []id.Participant) {
	s.later(func(ctx context.Context) {
		busy, err := view.BusyIn(ctx, s.DB, room, agents)
		if err != nil {
			s.complain(ctx, "look for busy agents failed", err, id.Task{})
			return
		}
		for _, b := range busy {
			m := realtime.Message{Event: "agent_busy_redirect", Payload: wire.AgentBusy{
				AgentID: b.AgentID.String(), AgentName: b.AgentName, ParentConversationID: room.String(), WorkConversationID: b.Room.String(), TaskID: b.TaskID.String(), TaskTitle: b.Title,
			}}
			if err := s.Gateway.Bus.BroadcastAll([]string{event.UserTopic(who.String())}, m); err != nil {
				s.complain(ctx, "broadcast busy agent failed", err, b.TaskID)
			}
		}
	})
}

// TaskRequest is one <task_request> of an agent's text (bridge contract 5.7).
type TaskRequest struct {
	Title       string
	Description string
	AssignedTo  []string // ids or names
	DependsOn   []string // titles of requests of the same list, or task ids
	Metadata    json.RawMessage
}

// RequestTasks makes the tasks that an agent asked for in its text, in order. What
// cannot be made is told in the room (desktop contract 5.3a); the rest is made.
func (s *Tasks) RequestTasks(ctx context.Context, actor access.Actor, conv id.Conversation, source id.Message, list []TaskRequest) ([]TaskView, error) {
	if err := access.RequireAgent(actor); err != nil {
		return nil, err
	}
	if len(list) > 20 {
		return nil, errTask.With("task_requests", "too_many", "at most 20 at once")
	}
	role, err := chat.Role(ctx, s.DB, conv, actor.ID)
	if err != nil {
		return nil, err
	}
	if err := access.ReadRoom(actor, access.RoomFacts{ID: conv, Role: role}); err != nil {
		return nil, err
	}
	members, err := view.MembersOf(ctx, s.DB, conv)
	if err != nil {
		return nil, err
	}
	byTitle := map[string]id.Task{}
	out := []TaskView{}
	for _, r := range list {
		n := NewTask{ConversationID: conv, Title: r.Title, Description: r.Description, SourceMessage: source, Metadata: r.Metadata}
		kind := ""
		for _, a := range r.AssignedTo {
			p, err := id.Parse[id.Participant](a)
			if err != nil {
				if p, kind = namedMember(members, a); kind != "" {
					break
				}
			}
			n.AssignedTo = append(n.AssignedTo, p)
		}
		for _, d := range r.DependsOn {
			if t, ok := byTitle[d]; ok {
				n.DependsOn = append(n.DependsOn, t)
			} else if t, err := id.Parse[id.Task](d); err == nil {
				n.DependsOn = append(n.DependsOn, t)
			}
		}
		var made TaskView
		if kind == "" {
			made, err = s.Create(ctx, actor, n)
			f := fault.From(err)
			switch {
			case err == nil:
				byTitle[r.Title] = made.ID
				out = append(out, made)
				continue
			case isDuplicate(err):
				continue
			case f.Kind == fault.Invalid || f.Kind == fault.Forbidden:
				if kind = f.Code; kind == "invalid" || f.Kind == fault.Forbidden {
					kind = "misrouted_task"
				}
			default:
				return out, err
			}
		}
		if err := s.tellFailedRequest(ctx, actor, conv, r, kind); err != nil {
			return out, err
		}
	}
	return out, nil
}

func isDuplicate(err error) bool {
	_, ok := errors.AsType[*DuplicateTaskError](err)
	return ok
}

// tellFailedRequest shows in the room that a task an agent asked for was not made.
func (s *Tasks) tellFailedRequest(ctx context.Context, actor access.Actor, conv id.Conversation, r TaskRequest, kind string) error {
	who := r.AssignedTo
	if who == nil {
		who = []string{}
	}
	content, err := encode(map[string]any{
		"type": "task_request_failed", "error_kind": kind, "attempted_title": cutText(r.Title, task.MaxTitle), "attempted_assignees": who, "attempted_conversation_id": conv,
	})
	if err != nil {
		return err
	}
	_, err = s.Chat.Post(ctx, actor, Post{
		ConversationID: conv, Content: string(content), ContentType: "status_update", MessageType: new("StatusUpdate"), Metadata: json.RawMessage(`{"task_report":"none"}`), marked: true,
	})
	if fault.KindOf(err) == fault.Forbidden { // it may not write there, which is why
		return nil
	}
	return err
}

// namedMember finds a member of the room by name.
func namedMember(members []view.Member, name string) (id.Participant, string) {
	var found []id.Participant
	for _, m := range members {
		if strings.EqualFold(m.DisplayName, strings.TrimPrefix(strings.TrimSpace(name), "@")) {
			found = append(found, m.ParticipantID)
		}
	}
	if len(found) != 1 {
		return id.Participant{}, "invalid_assignees_not_uuid"
	}
	return found[0], ""
}
