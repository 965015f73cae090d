package present

import (
	"encoding/json"
	"time"

	"github.com/agntchat/agntchat/internal/ask"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/task"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// Task is a task with who is involved (desktop contract 5.7).
func Task(v flow.TaskView) wire.Task {
	t := v.Task
	out := wire.Task{
		ID: t.ID.String(), TaskID: t.ID.String(), ConversationID: t.ConversationID.String(), Title: t.Title, Description: t.Description,
		Status: string(t.Status), CreatedBy: t.CreatedBy.String(), AssignedTo: id.Strings(t.AssignedTo), Assignees: []wire.TaskParticipant{},
		DependsOn: id.Strings(t.DependsOn), Deadline: wire.AtOrNil(t.Deadline), Metadata: taskMetadata(t), CompletionDetails: orNull(t.CompletionDetails),
		ResultData: orNull(t.ResultData), InsertedAt: wire.At(t.InsertedAt), UpdatedAt: wire.At(t.UpdatedAt), WorkConversationID: t.WorkConversationID.String(),
		RequesterID: t.RequesterID.String(), RootTaskID: t.RootTaskID.String(), Priority: t.Priority, Version: t.Version, FanOut: t.FanOut,
		Response: t.Response, Summary: t.Summary, Attempt: t.Attempt, RetryAt: wire.AtOrNil(t.RetryAt), Working: v.Working,
		StartedAt: wire.AtOrNil(t.StartedAt), EndedAt: wire.AtOrNil(t.EndedAt),
	}
	if !t.OrganizationID.IsZero() {
		out.OrganizationID = new(t.OrganizationID.String())
	}
	for _, p := range t.AssignedTo {
		if one := taskPerson(v, p); one != nil {
			out.Assignees = append(out.Assignees, *one)
		}
	}
	out.Creator, out.Requester = taskPerson(v, t.CreatedBy), taskPerson(v, t.RequesterID)
	if !t.ParentTaskID.IsZero() {
		out.ParentTaskID = new(t.ParentTaskID.String())
	}
	if !t.RetryOf.IsZero() {
		out.RetryOf = new(t.RetryOf.String())
	}
	if t.JoinMode != nil {
		out.Join = &wire.TaskJoin{Mode: string(*t.JoinMode), Count: t.JoinCount, Until: wire.AtOrNil(t.JoinUntil), FiredAt: wire.AtOrNil(t.JoinFiredAt)}
	}
	if t.EndKind != nil {
		out.EndKind = new(string(*t.EndKind))
	}
	if t.FailureCode != nil {
		f := task.FailureOf(*t.FailureCode)
		out.Failure = &wire.TaskFailure{Code: f.Code, Origin: f.Origin, Transient: f.Transient}
		if t.FailureMessage != nil {
			out.Failure.Message = *t.FailureMessage
		}
	}
	if v.Working {
		out.WorkingSince = wire.AtOrNil(v.Since)
	}
	return out
}

func taskPerson(v flow.TaskView, p id.Participant) *wire.TaskParticipant {
	one, ok := v.People[p]
	if !ok {
		return nil
	}
	return &wire.TaskParticipant{ID: p.String(), Type: one.Kind, DisplayName: one.DisplayName, AvatarURL: one.AvatarURL}
}

// taskMetadata adds the room of the work, which clients read there (bridge contract 2.8).
func taskMetadata(t task.Task) json.RawMessage {
	m := map[string]json.RawMessage{}
	_ = json.Unmarshal(t.Metadata, &m) // stored as an object
	if t.HasWorkRoom() {
		m["work_conversation_id"] = json.RawMessage(`"` + t.WorkConversationID.String() + `"`)
	}
	if !t.SourceMessageID.IsZero() {
		m["source_message_id"] = json.RawMessage(`"` + t.SourceMessageID.String() + `"`)
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return json.RawMessage("{}")
	}
	return raw
}

// Tasks lists them.
func Tasks(list []flow.TaskView) []wire.Task {
	out := make([]wire.Task, len(list))
	for n, v := range list {
		out[n] = Task(v)
	}
	return out
}

// TaskDetail is a task with everything that belongs to it.
func TaskDetail(d flow.TaskDetail) wire.TaskDetail {
	out := wire.TaskDetail{Task: Task(d.TaskView), Steps: make([]wire.TaskStep, len(d.Steps)), Asks: make([]wire.TaskAsk, len(d.Asks)), Subtasks: Tasks(d.Children), History: TaskHistory(d.History)}
	for n, s := range d.Steps {
		out.Steps[n] = wire.TaskStep{
			ID: s.Key, Title: s.Title, Prompt: s.Prompt, DependsOn: orNone(s.DependsOn), Status: string(s.Status), Result: orNull(s.Result),
			StartedAt: wire.AtOrNil(s.StartedAt), EndedAt: wire.AtOrNil(s.EndedAt),
		}
	}
	for n, a := range d.Asks {
		out.Asks[n] = TaskAsk(a)
	}
	return out
}

func orNone(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// TaskAsk is a question of a run.
func TaskAsk(a ask.Ask) wire.TaskAsk {
	out := wire.TaskAsk{
		ID: a.ID.String(), TaskID: a.TaskID.String(), AgentID: a.AgentID.String(), ConversationID: a.ConversationID.String(), MessageID: idOrNil(a.MessageID),
		Asked: id.Strings(a.Asked), Question: a.Question, Options: orNone(a.Options), Field: a.Field, Default: a.DefaultValue, Status: string(a.Status),
		Answer: a.Answer, ExpiresAt: wire.At(a.ExpiresAt), EndedAt: wire.AtOrNil(a.EndedAt), InsertedAt: wire.At(a.InsertedAt),
	}
	if !a.ApprovalID.IsZero() {
		out.ApprovalID = new(a.ApprovalID.String())
	}
	if !a.AnsweredBy.IsZero() {
		out.AnsweredBy = new(a.AnsweredBy.String())
	}
	return out
}

// TaskHistory is lines of a task's history.
func TaskHistory(lines []task.Line) []wire.TaskEvent {
	out := make([]wire.TaskEvent, len(lines))
	for n, l := range lines {
		out[n] = wire.TaskEvent{ID: l.ID, Version: l.Version, Kind: l.Kind, FromStatus: l.FromStatus, ToStatus: l.ToStatus, Note: l.Note, InsertedAt: wire.At(l.InsertedAt)}
		if !l.ActorID.IsZero() {
			out[n].ActorID = new(l.ActorID.String())
		}
	}
	return out
}

// TaskSnapshot is the present state of the task whose card a message is; nil for others.
func TaskSnapshot(s *view.TaskSnapshot) *wire.TaskSnapshot {
	if s == nil {
		return nil
	}
	return &wire.TaskSnapshot{ID: s.ID.String(), Status: s.Status, Title: s.Title}
}

// GatewayTask is one claimed task (bridge contract 2.8). Status is that of the claim.
func GatewayTask(d flow.TaskDelivery) wire.GatewayTask {
	t := d.Task
	meta := map[string]json.RawMessage{}
	_ = json.Unmarshal(taskMetadata(t), &meta)
	delete(meta, "execution_plan")
	if len(d.Steps) > 0 {
		if raw, err := json.Marshal(Plan(d.Steps)); err == nil {
			meta["execution_plan"] = raw
		}
	}
	raw, err := json.Marshal(meta)
	if err != nil {
		raw = json.RawMessage("{}")
	}
	out := wire.GatewayTask{
		ID: d.Claim.ID.String(), TaskID: t.ID.String(), Status: "claimed", Priority: t.Priority,
		Metadata: wire.GatewayTaskMeta{Reason: string(d.Claim.Reason), Attempt: d.Claim.Attempt},
		Task: wire.GatewayTaskBody{
			ID: t.ID.String(), Title: t.Title, Description: t.Description, Status: string(t.Status), Priority: t.Priority, ConversationID: t.ConversationID.String(),
			Source: t.Source, CreatedBy: t.CreatedBy.String(), Metadata: raw,
		},
		ConversationMemory: orNull(d.Memory), ContextBrief: orNull(nil), Directives: Directives(d.Directives),
	}
	if d.Ours {
		out.Generation, out.LeaseSeconds, out.RecentMessages = d.Claim.Generation, int(d.Lease/time.Second), Messages(d.Recent)
	}
	return out
}

// FitTask encodes a gateway_task in at most most bytes: the oldest of the recent
// messages go first.
func FitTask(t wire.GatewayTask, most int) (json.RawMessage, error) {
	for {
		raw, err := json.Marshal(t)
		switch {
		case err != nil:
			return nil, wrapDelivery(err)
		case len(raw) <= most:
			return raw, nil
		case len(t.RecentMessages) == 0:
			return nil, wrapDelivery(ErrTooLarge)
		}
		t.RecentMessages = t.RecentMessages[(len(t.RecentMessages)+1)/2:]
	}
}

// Plan is a plan as a bridge reads it.
func Plan(steps []task.Step) wire.ExecutionPlan {
	out := wire.ExecutionPlan{Steps: make([]wire.ExecutionStep, len(steps))}
	for n, s := range steps {
		out.Steps[n] = wire.ExecutionStep{ID: s.Key, Title: s.Title, Prompt: s.Prompt, DependsOn: orNone(s.DependsOn), Status: string(s.Status), Result: orNull(s.Result)}
	}
	return out
}

// StepClaimed answers claim-step.
func StepClaimed(c flow.StepClaim) wire.GatewayStepClaimed {
	plan := Plan(c.Plan)
	if c.Step == nil {
		return wire.GatewayStepClaimed{Status: "done", Summary: c.Summary, ExecutionPlan: &plan}
	}
	return wire.GatewayStepClaimed{Status: "step", Step: &wire.GatewayStep{ID: c.Step.Key, Title: c.Step.Title, Prompt: c.Step.Prompt}}
}

// GatewayQuery is a question to an agent's model.
func GatewayQuery(q ask.Query) wire.GatewayAgentQuery {
	return wire.GatewayAgentQuery{
		ID: q.ID.String(), AgentID: q.AgentID.String(), Label: q.Label, SystemPrompt: q.SystemPrompt, UserContent: q.UserContent, MaxTokens: q.MaxTokens,
		Tier: q.Tier, Status: q.Status, ExpiresAt: wire.At(q.ExpiresAt),
	}
}

// GatewayScope is a request to word a task.
func GatewayScope(s ask.Scope) wire.GatewayScopeRequest {
	return wire.GatewayScopeRequest{
		ID: s.ID.String(), RequesterID: s.RequesterID.String(), AgentID: s.AgentID.String(), ConversationID: s.ConversationID.String(), Content: s.Content,
		Status: s.Status, RequestContext: object(s.RequestContext), ExpiresAt: wire.At(s.ExpiresAt),
	}
}
