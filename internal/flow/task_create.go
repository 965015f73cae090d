package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/task"
	"github.com/agntchat/agntchat/internal/view"
)

// NewTask is what somebody asks for in a room.
type NewTask struct {
	ConversationID id.Conversation
	Title          string
	Description    string
	AssignedTo     []id.Participant // empty: the agent itself, or the room's first agent
	Metadata       json.RawMessage
	Priority       int
	DependsOn      []id.Task
	Deadline       *time.Time
	Parent         id.Task // made by a run of this task
	Join           *task.Join
	Plan           []task.Step
	SourceMessage  id.Message
	ActiveRoom     id.Conversation // where the agent works when it asks
	Requester      id.Participant  // on whose behalf, when an agent asks; zero: found out
	RetryOf        id.Task
	WorkRoom       id.Conversation // of a repetition: the room of the first one
	WakeNote       *string
}

// DuplicateTaskError says that the same is asked for already: 409 duplicate_detected.
type DuplicateTaskError struct{ Task TaskView }

// Error names no task.
func (*DuplicateTaskError) Error() string { return "a task like this is open already" }

var errTask = fault.New(fault.Invalid, "invalid", "This task cannot be made.")

func (n *NewTask) check() error {
	n.Title, n.Description = strings.TrimSpace(strings.Join(strings.Fields(n.Title), " ")), strings.TrimSpace(n.Description)
	switch {
	case n.Title == "":
		return errTask.With("title", "required", "a task needs a title")
	case utf8.RuneCountInString(n.Title) > task.MaxTitle:
		return errTask.With("title", "too_long", fmt.Sprintf("at most %d characters", task.MaxTitle))
	case utf8.RuneCountInString(n.Description) > task.MaxDescription:
		return errTask.With("description", "too_long", fmt.Sprintf("at most %d characters", task.MaxDescription))
	case !clean(n.Title) || !clean(n.Description):
		return errTask.With("title", "characters", "the character U+0000 is not allowed")
	case len(n.AssignedTo) > task.MaxAssignees:
		return errTask.With("assignedTo", "too_many", fmt.Sprintf("at most %d", task.MaxAssignees))
	case n.Priority < -10 || n.Priority > 10:
		return errTask.With("priority", "range", "-10 to 10")
	case len(n.DependsOn) > 50:
		return errTask.With("dependsOn", "too_many", "at most 50")
	}
	m, err := object(n.Metadata)
	if err != nil || len(n.Metadata) > task.MaxMetadata {
		return errTask.With("metadata", "object", "a JSON object of at most 64 KiB")
	}
	if n.Metadata, err = pack(m); err != nil {
		return err
	}
	if n.Plan == nil {
		if n.Plan, err = planOf(m["execution_plan"]); err != nil {
			return err
		}
	}
	return task.CheckPlan(nil, n.Plan)
}

// planOf reads metadata.execution_plan (bridge contract 2.8).
func planOf(raw json.RawMessage) ([]task.Step, error) {
	if isNull(raw) {
		return nil, nil
	}
	var list []map[string]json.RawMessage
	if json.Unmarshal(keyOf(raw, "steps"), &list) != nil {
		return nil, errTask.With("metadata.execution_plan", "format", "an object with a list of steps")
	}
	return StepsOf(list)
}

// StepsOf reads steps as an agent writes them: id, title, prompt, depends_on.
func StepsOf(list []map[string]json.RawMessage) ([]task.Step, error) {
	out := make([]task.Step, 0, len(list))
	for _, m := range list {
		s := task.Step{Key: word(m["id"]), Title: word(m["title"]), Prompt: word(m["prompt"]), Status: task.StepPending}
		if s.Prompt == "" {
			s.Prompt = word(m["description"])
		}
		if s.Prompt == "" {
			s.Prompt = s.Title
		}
		if s.Title == "" {
			s.Title = cutText(s.Prompt, 100)
		}
		if !isNull(m["depends_on"]) && json.Unmarshal(m["depends_on"], &s.DependsOn) != nil {
			return nil, errTask.With("steps.depends_on", "format", "a list of step ids")
		}
		if !clean(s.Key + s.Title + s.Prompt) {
			return nil, errTask.With("steps", "characters", "the character U+0000 is not allowed")
		}
		out = append(out, s)
	}
	return out, nil
}

// Create makes a task in a room, in which the actor may write. Several assignees
// make one sub-task each, and the task ends with them. Errors: Invalid with the codes
// of desktop contract 5.3a for assignees, *DuplicateTaskError, NotFound, Forbidden.
func (s *Tasks) Create(ctx context.Context, actor access.Actor, n NewTask) (TaskView, error) {
	if err := n.check(); err != nil {
		return TaskView{}, err
	}
	if s.Chat.Posting != nil {
		if wait, ok := s.Chat.Posting.Take(actor.ID.String()); !ok {
			return TaskView{}, fault.New(fault.Exhausted, "rate_limited", "You are asking for tasks too fast. Try again in a moment.").After(wait)
		}
	}
	var out TaskView
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) (err error) {
		out, err = s.createTx(ctx, tx, actor, n)
		return err
	})
	return out, err
}

func (s *Tasks) createTx(ctx context.Context, tx *pg.Tx, actor access.Actor, n NewTask) (TaskView, error) {
	room, err := s.Chat.lock(ctx, tx, actor, n.ConversationID)
	if err != nil {
		return TaskView{}, err
	}
	if err := access.PostInRoom(actor, facts(room.Room, room.role)); err != nil {
		return TaskView{}, err
	}
	t := task.Task{
		ID: id.New[id.Task](), OrganizationID: room.OrganizationID, ConversationID: room.ID, WorkConversationID: room.ID, CreatedBy: actor.ID,
		Title: n.Title, Description: n.Description, Source: "task", Status: task.Pending, Priority: n.Priority, Metadata: n.Metadata,
		DependsOn: n.DependsOn, Deadline: n.Deadline, SourceMessageID: n.SourceMessage, RetryOf: n.RetryOf, WakeNote: n.WakeNote, Version: 1,
	}
	t.RootTaskID = t.ID
	if err := s.placeTx(ctx, tx, actor, &t, n); err != nil {
		return TaskView{}, err
	}
	if t.AssignedTo, err = s.assigneesTx(ctx, tx, actor, t.RequesterID, room, n.AssignedTo); err != nil {
		return TaskView{}, err
	}
	if n.RetryOf.IsZero() {
		if twin, err := task.Duplicate(ctx, tx, t); err != nil {
			return TaskView{}, err
		} else if twin != nil {
			views, err := s.views(ctx, tx, []task.Task{*twin})
			if err != nil {
				return TaskView{}, err
			}
			return TaskView{}, &DuplicateTaskError{views[0]}
		}
	}
	if err := s.dependenciesTx(ctx, tx, t); err != nil {
		return TaskView{}, err
	}
	t.FanOut = len(t.AssignedTo) > 1
	if t.WorkConversationID, err = s.workRoomOf(ctx, tx, room, t, n); err != nil {
		return TaskView{}, err
	}
	if t.FanOut {
		t.Status, t.JoinMode = task.InProgress, new(task.JoinAll)
		if n.Join != nil {
			t.JoinMode = new(n.Join.Mode)
		}
	}
	if err := task.InsertTx(ctx, tx, t, actor.ID); err != nil {
		return TaskView{}, err
	}
	if t.FanOut && n.Join != nil {
		if err := task.SetJoinTx(ctx, tx, &t, *n.Join); err != nil {
			return TaskView{}, err
		}
	}
	if err := s.planTx(ctx, tx, t, n); err != nil {
		return TaskView{}, err
	}
	if err := s.cardTx(ctx, tx, actor, room, &t); err != nil {
		return TaskView{}, err
	}
	why := task.ReasonNew
	if !n.RetryOf.IsZero() {
		why = task.ReasonRetry
	}
	if err := s.offerTx(ctx, tx, t, why, id.Executor{}); err != nil {
		return TaskView{}, err
	}
	return s.announceTx(ctx, tx, t)
}

// announceTx tells of a new task: who does it hears task_assigned, the others task_created.
func (s *Tasks) announceTx(ctx context.Context, tx *pg.Tx, t task.Task) (TaskView, error) {
	views, err := s.views(ctx, tx, []task.Task{t})
	if err != nil {
		return TaskView{}, err
	}
	v := views[0]
	in := inRoom{t.ConversationID}
	tx.Publish(lane(t.ConversationID), TaskChanged{inRoom: in, Name: "task_created", Task: v, To: audience(v)})
	tx.Publish(lane(t.ConversationID), TaskChanged{inRoom: in, Name: "task_assigned", Task: v, To: t.AssignedTo})
	return v, nil
}

// placeTx finds out on whose behalf the task is done and below which one.
func (s *Tasks) placeTx(ctx context.Context, tx *pg.Tx, actor access.Actor, t *task.Task, n NewTask) error {
	parent := n.Parent
	if parent.IsZero() && actor.IsAgent() && n.RetryOf.IsZero() {
		p, err := s.aroundTx(ctx, tx, actor, n)
		if err != nil {
			return err
		}
		parent = p
	}
	switch {
	case !parent.IsZero():
		p, err := task.Get(ctx, tx, parent)
		if err != nil {
			return err
		}
		if actor.IsAgent() && !p.Assigned(actor.ID) {
			return fault.New(fault.Forbidden, "not_assigned", "Only who does a task can divide it.")
		}
		if p.Status.Ended() {
			return task.ErrEnded
		}
		children, err := task.Children(ctx, tx, parent)
		if err != nil {
			return err
		}
		switch {
		case p.Depth+1 > task.MaxDepth:
			return errTask.With("parent", "too_deep", fmt.Sprintf("sub-tasks may be %d deep", task.MaxDepth))
		case len(children) >= task.MaxChildren:
			return errTask.With("parent", "too_many", fmt.Sprintf("a task may have %d sub-tasks", task.MaxChildren))
		}
		t.ParentTaskID, t.RootTaskID, t.Depth, t.RequesterID = p.ID, p.RootTaskID, p.Depth+1, p.RequesterID
	case !n.Requester.IsZero():
		t.RequesterID = n.Requester
	case actor.IsPerson():
		t.RequesterID = actor.ID
	default:
		var err error
		if t.RequesterID, t.SourceMessageID, err = s.behalfTx(ctx, tx, actor, n); err != nil {
			return err
		}
	}
	return nil
}

// aroundTx is the task of whose run a new one is a part: the one that the agent works
// at in the room, unless it answers a message there.
func (s *Tasks) aroundTx(ctx context.Context, tx *pg.Tx, actor access.Actor, n NewTask) (id.Task, error) {
	room := n.ConversationID
	if !n.ActiveRoom.IsZero() {
		room = n.ActiveRoom
	}
	p, err := task.InWorkRoom(ctx, tx, room, actor.ID)
	if err != nil || p == nil || (p.Status != task.Accepted && p.Status != task.InProgress) {
		return id.Task{}, err
	}
	if p.HasWorkRoom() {
		return p.ID, nil
	}
	open, err := view.OpenMessage(ctx, tx, actor.ID, room)
	if err != nil || !open.IsZero() || !n.SourceMessage.IsZero() {
		return id.Task{}, err
	}
	return p.ID, nil
}

// errNobodys is the answer to an agent in whose turn nobody asks, or several do: the run
// of the task would act with the rights of one of them.
var errNobodys = fault.New(fault.Forbidden, "nobodys_turn", "This turn is not one person's, so nobody can be the one for whom the task is done. One of them has to ask for it.")

// behalfTx is the person on whose behalf the agent answers: in the room where it works,
// else in that of the task. Without a turn it is its owner.
func (s *Tasks) behalfTx(ctx context.Context, tx *pg.Tx, actor access.Actor, n NewTask) (id.Participant, id.Message, error) {
	source := n.SourceMessage
	for _, room := range []id.Conversation{n.ActiveRoom, n.ConversationID} {
		if !source.IsZero() || room.IsZero() {
			continue
		}
		var err error
		if source, err = view.OpenMessage(ctx, tx, actor.ID, room); err != nil {
			return id.Participant{}, source, err
		}
	}
	if source.IsZero() {
		return actor.OwnerID, source, nil
	}
	c := ToolCaller{Agent: actor}
	if err := answering(ctx, tx, &c, source, nil); err != nil {
		return id.Participant{}, source, err
	}
	if !c.Person.IsPerson() {
		return id.Participant{}, source, errNobodys
	}
	return c.Person.ID, source, nil
}

// assigneesTx checks who is to do it. An agent that names nobody means itself, a
// person the room's first agent.
func (s *Tasks) assigneesTx(ctx context.Context, tx *pg.Tx, actor access.Actor, requester id.Participant, room *locked, who []id.Participant) ([]id.Participant, error) {
	var out []id.Participant
	for _, p := range who {
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		if actor.IsAgent() {
			return []id.Participant{actor.ID}, nil
		}
		for _, seat := range room.seats {
			if seat.Kind == view.SeatAgent {
				return []id.Participant{seat.ID}, nil
			}
		}
		return nil, errTask.With("assignedTo", "required", "there is no agent in this room: say who is to do it")
	}
	var strangers []id.Participant
	for _, p := range out {
		if !slices.ContainsFunc(room.seats, func(x view.Seat) bool { return x.ID == p }) && p != actor.ID {
			strangers = append(strangers, p)
		}
	}
	known, err := view.TaskPeople(ctx, tx, out)
	if err != nil {
		return nil, err
	}
	for _, p := range out {
		if one, ok := known[p]; !ok || one.Status != "active" {
			return nil, fault.Newf(fault.Invalid, "invalid_assignees_not_found", "There is nobody active with the id %s.", p).With("assignedTo", "unknown", p.String())
		}
	}
	if len(strangers) == 0 {
		return out, nil
	}
	// Beyond the room both the person and the one who asks must be able to reach them.
	for _, a := range []access.Actor{actor, {Kind: access.Person, ID: requester, OwnerID: requester, OrganizationID: room.OrganizationID}} {
		reach, err := view.Reachable(ctx, tx, a.ID, a.OwnerID, room.OrganizationID, strangers)
		if err != nil {
			return nil, err
		}
		for _, p := range strangers {
			if _, ok := reach[p]; !ok && p != a.ID {
				return nil, fault.New(fault.Invalid, "unauthorized", "You may not give tasks to somebody who is neither here nor known to you.").
					With("assignedTo", "unauthorized", p.String())
			}
		}
	}
	return out, nil
}

// dependenciesTx refuses what the asker could not see, and circles cannot be: a new
// task depends on older ones only.
func (s *Tasks) dependenciesTx(ctx context.Context, tx *pg.Tx, t task.Task) error {
	deps, err := task.ByID(ctx, tx, t.DependsOn)
	if err != nil {
		return err
	}
	for _, want := range t.DependsOn {
		n := slices.IndexFunc(deps, func(d task.Task) bool { return d.ID == want })
		if n < 0 || (deps[n].RequesterID != t.RequesterID && deps[n].RootTaskID != t.RootTaskID && deps[n].ConversationID != t.ConversationID) {
			return errTask.With("dependsOn", "unknown", "there is no task "+want.String()+" to wait for")
		}
		if st := deps[n].Status; st.Ended() && st != task.Complete {
			return errTask.With("dependsOn", "ended", "the task "+want.String()+" has ended without a result")
		}
	}
	return nil
}

// workRoomOf is where the work is done: in a room of its own when it was asked for in
// a direct room or somebody who does it is not in the room, else where it was asked for.
func (s *Tasks) workRoomOf(ctx context.Context, tx *pg.Tx, room *locked, t task.Task, n NewTask) (id.Conversation, error) {
	if !n.WorkRoom.IsZero() && n.WorkRoom != room.ID {
		for _, p := range t.AssignedTo {
			if err := s.Chat.seatTx(ctx, tx, n.WorkRoom, p); err != nil {
				return id.Conversation{}, err
			}
		}
		return n.WorkRoom, nil
	}
	outside := slices.ContainsFunc(t.AssignedTo, func(p id.Participant) bool {
		return !slices.ContainsFunc(room.seats, func(x view.Seat) bool { return x.ID == p })
	})
	switch {
	case room.Type == chat.Task:
		for _, p := range t.AssignedTo {
			if err := s.Chat.seatTx(ctx, tx, room.ID, p); err != nil {
				return id.Conversation{}, err
			}
		}
		return room.ID, nil
	case room.Type != chat.Direct && !outside:
		return room.ID, nil
	}
	people, err := view.TaskPeople(ctx, tx, t.AssignedTo)
	if err != nil {
		return id.Conversation{}, err
	}
	if !slices.ContainsFunc(t.AssignedTo, func(p id.Participant) bool { return people[p].Kind == chat.Agent }) {
		return room.ID, nil // a person's to-do needs no room
	}
	return s.Chat.workRoomTx(ctx, tx, room.Room, t.ID, t.Title, t.CreatedBy, append([]id.Participant{t.RequesterID}, t.AssignedTo...))
}

// planTx stores the plan of the task, or its sub-tasks when several are to do it.
func (s *Tasks) planTx(ctx context.Context, tx *pg.Tx, t task.Task, n NewTask) error {
	if err := task.AddStepsTx(ctx, tx, t.ID, n.Plan); err != nil || !t.FanOut {
		return err
	}
	for _, p := range t.AssignedTo {
		c := task.Task{
			ID: id.New[id.Task](), OrganizationID: t.OrganizationID, ConversationID: t.WorkConversationID, WorkConversationID: t.WorkConversationID,
			CreatedBy: t.CreatedBy, RequesterID: t.RequesterID, ParentTaskID: t.ID, RootTaskID: t.RootTaskID, Depth: t.Depth + 1, Title: t.Title,
			Description: t.Description, Source: t.Source, Status: task.Pending, Priority: t.Priority, Metadata: t.Metadata, DependsOn: t.DependsOn,
			Deadline: t.Deadline, SourceMessageID: t.SourceMessageID, AssignedTo: []id.Participant{p}, Version: 1,
		}
		if c.Depth > task.MaxDepth {
			return errTask.With("parent", "too_deep", fmt.Sprintf("sub-tasks may be %d deep", task.MaxDepth))
		}
		if err := task.InsertTx(ctx, tx, c, t.CreatedBy); err != nil {
			return err
		}
		if err := s.offerTx(ctx, tx, c, task.ReasonNew, id.Executor{}); err != nil {
			return err
		}
		if _, err := s.announceTx(ctx, tx, c); err != nil {
			return err
		}
	}
	return nil
}
