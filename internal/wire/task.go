package wire

// Task is a task (desktop 5.7). What follows updatedAt is ours.
type Task struct {
	ID                 string            `json:"id"`
	TaskID             string            `json:"taskId"` // the same: events name it so (desktop 3.5)
	ConversationID     string            `json:"conversationId"`
	OrganizationID     *string           `json:"organizationId"`
	Title              string            `json:"title"`
	Description        string            `json:"description"`
	Status             string            `json:"status"`
	CreatedBy          string            `json:"createdBy"`
	AssignedTo         []string          `json:"assignedTo"`
	Assignees          []TaskParticipant `json:"assignees"`
	DependsOn          []string          `json:"dependsOn"`
	Deadline           *Time             `json:"deadline"`
	Metadata           Map               `json:"metadata"`
	CompletionDetails  Map               `json:"completionDetails"`
	ResultData         Map               `json:"resultData"`
	Creator            *TaskParticipant  `json:"creator"`
	InsertedAt         Time              `json:"insertedAt"`
	UpdatedAt          Time              `json:"updatedAt"`
	WorkConversationID string            `json:"workConversationId"`
	RequesterID        string            `json:"requesterId"`
	Requester          *TaskParticipant  `json:"requester"`
	ParentTaskID       *string           `json:"parentTaskId"`
	RootTaskID         string            `json:"rootTaskId"`
	RetryOf            *string           `json:"retryOf"`
	Priority           int               `json:"priority"`
	Version            int64             `json:"version"`
	FanOut             bool              `json:"fanOut"`
	Join               *TaskJoin         `json:"join"`
	Response           *string           `json:"response"`
	Summary            *string           `json:"summary"`
	EndKind            *string           `json:"endKind"` // done | empty | failed | cancelled | lost | rejected | exhausted
	Failure            *TaskFailure      `json:"failure"`
	Attempt            int               `json:"attempt"`
	RetryAt            *Time             `json:"retryAt"`
	Working            bool              `json:"working"` // derived from a live lease
	WorkingSince       *Time             `json:"workingSince"`
	StartedAt          *Time             `json:"startedAt"`
	EndedAt            *Time             `json:"endedAt"`
}

// TaskParticipant is somebody whom a task names.
type TaskParticipant struct {
	ID          string  `json:"id"`
	Type        string  `json:"type"`
	DisplayName string  `json:"displayName"`
	AvatarURL   *string `json:"avatarUrl"`
}

// TaskFailure is why a task ended without a result.
type TaskFailure struct {
	Code      string `json:"code"`
	Origin    string `json:"origin"` // platform | tool
	Transient bool   `json:"transient"`
	Message   string `json:"message"`
}

// TaskJoin is the barrier of its sub-tasks.
type TaskJoin struct {
	Mode    string `json:"mode"` // all | any | count
	Count   *int   `json:"count"`
	Until   *Time  `json:"until"`
	FiredAt *Time  `json:"firedAt"`
}

// Tasks is a page of tasks, newest change first; the cursor is the last one's updatedAt and id.
type Tasks struct {
	Tasks   []Task `json:"tasks"`
	HasMore bool   `json:"hasMore"`
}

// TaskDetail answers GET /api/tasks/:id: the task itself and what belongs to it.
type TaskDetail struct {
	Task
	Steps    []TaskStep  `json:"steps"`
	Asks     []TaskAsk   `json:"asks"`
	Subtasks []Task      `json:"subtasks"`
	History  []TaskEvent `json:"history"`
}

// TaskStep is a step of a plan.
type TaskStep struct {
	ID        string   `json:"id"`
	Title     string   `json:"title"`
	Prompt    string   `json:"prompt"`
	DependsOn []string `json:"dependsOn"`
	Status    string   `json:"status"`
	Result    Map      `json:"result"`
	StartedAt *Time    `json:"startedAt"`
	EndedAt   *Time    `json:"endedAt"`
}

// TaskAsk is a question of a run to people.
type TaskAsk struct {
	ID             string   `json:"id"`
	TaskID         string   `json:"taskId"`
	AgentID        string   `json:"agentId"`
	ConversationID string   `json:"conversationId"`
	MessageID      *string  `json:"messageId"`
	Asked          []string `json:"asked"`
	Question       string   `json:"question"`
	Options        []string `json:"options"`
	Field          *string  `json:"field"`
	Default        *string  `json:"default"`
	Status         string   `json:"status"` // open | answered | expired | withdrawn
	Answer         *string  `json:"answer"`
	AnsweredBy     *string  `json:"answeredBy"`
	ExpiresAt      Time     `json:"expiresAt"`
	EndedAt        *Time    `json:"endedAt"`
	InsertedAt     Time     `json:"insertedAt"`
	ApprovalID     *string  `json:"approvalId"` // the request that is to be decided; null for a question in words
}

// TaskEvent is a line of a task's history.
type TaskEvent struct {
	ID         int64   `json:"id"`
	Version    int64   `json:"version"`
	Kind       string  `json:"kind"`
	FromStatus *string `json:"fromStatus"`
	ToStatus   *string `json:"toStatus"`
	ActorID    *string `json:"actorId"`
	Note       *string `json:"note"`
	InsertedAt Time    `json:"insertedAt"`
}

// TaskEvents is a page of it, newest first; the cursor is the last one's id.
type TaskEvents struct {
	Events  []TaskEvent `json:"events"`
	HasMore bool        `json:"hasMore"`
}

// TaskCreate is the body of POST /api/conversations/:id/tasks. A sandbox of a stock
// bridge writes assigned_to (bridge 3.7).
type TaskCreate struct {
	Title         string    `json:"title"`
	Description   string    `json:"description"`
	AssignedTo    []string  `json:"assignedTo"`
	AssignedToOld []string  `json:"assigned_to"`
	Metadata      Map       `json:"metadata"`
	Priority      int       `json:"priority"`
	DependsOn     []string  `json:"dependsOn"`
	Deadline      *Time     `json:"deadline"`
	ParentTaskID  *string   `json:"parentTaskId"`
	Join          *TaskJoin `json:"join"`
}

// TaskDuplicate is the body of a 409: the same is asked for already. It carries no error key (bridge 3.1).
type TaskDuplicate struct {
	Status  string `json:"status"` // duplicate_detected
	TaskID  string `json:"taskId"`
	Message string `json:"message"`
	Task    Task   `json:"task"`
}

// TaskStatusPatch is the body of PATCH /api/tasks/:id/status (bridge 3.7, desktop 4.8).
type TaskStatusPatch struct {
	Status            string `json:"status"`
	Summary           string `json:"summary"`
	Response          string `json:"response"`
	CompletionDetails Map    `json:"completionDetails"`
	ResultData        Map    `json:"resultData"`
	Silent            bool   `json:"silent"`
}

// TaskPatch is the body of PATCH /api/tasks/:id; absent keys stay. status and summary come from a sandbox (bridge 3.7).
type TaskPatch struct {
	Title       *string `json:"title"`
	Description *string `json:"description"`
	Priority    *int    `json:"priority"`
	Deadline    Map     `json:"deadline"`
	Status      *string `json:"status"`
	Summary     string  `json:"summary"`
}

// TaskReason is the body of POST …/reject, …/cancel.
type TaskReason struct {
	Reason string `json:"reason"`
}

// TaskRevision is the body of POST /api/tasks/:id/revision.
type TaskRevision struct {
	Feedback string `json:"feedback"`
}

// TaskInterrupt is the body of POST …/interrupt.
type TaskInterrupt struct {
	Message string `json:"message"`
}

// TaskRetry is the body of POST …/retry.
type TaskRetry struct {
	Title       *string  `json:"title"`
	Description *string  `json:"description"`
	AssignedTo  []string `json:"assignedTo"`
	Feedback    string   `json:"feedback"`
}

// TaskReassign is the body of POST …/reassign.
type TaskReassign struct {
	AssignedTo []string `json:"assignedTo"`
}

// TaskAnswer is the body of POST /api/tasks/:id/asks/:ask/answer.
type TaskAnswer struct {
	Answer string `json:"answer"`
}

// TaskProgress is the event task_progress (desktop 3.4), in both spellings.
type TaskProgress struct {
	TaskID             string `json:"taskId"`
	TaskIDOld          string `json:"task_id"`
	CurrentStep        string `json:"currentStep"`
	CurrentStepOld     string `json:"current_step"`
	Phase              string `json:"phase,omitempty"`
	ElapsedMS          int64  `json:"elapsedMs,omitempty"`
	ConversationID     string `json:"conversationId"`
	WorkConversationID string `json:"workConversationId"`
}

// AgentBusy is event agent_busy_redirect: an agent to whom the person just wrote works at a task of that room in a room of its own.
type AgentBusy struct {
	AgentID              string `json:"agentId"`
	AgentName            string `json:"agentName"`
	ParentConversationID string `json:"parentConversationId"`
	WorkConversationID   string `json:"workConversationId"`
	TaskID               string `json:"taskId"`
	TaskTitle            string `json:"taskTitle"`
}

// TaskSnapshot is the present state of a task on its card (desktop 5.2).
type TaskSnapshot struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Title  string `json:"title"`
}

// GatewayTask is one claimed task (bridge 2.8); generation, leaseSeconds and recentMessages go to our bridge only.
type GatewayTask struct {
	ID                 string          `json:"id"`
	TaskID             string          `json:"taskId"`
	Status             string          `json:"status"`
	Priority           int             `json:"priority"`
	Metadata           GatewayTaskMeta `json:"metadata"`
	Task               GatewayTaskBody `json:"task"`
	ConversationMemory Map             `json:"conversationMemory"`
	ContextBrief       Map             `json:"contextBrief"`
	Directives         Directives      `json:"directives"`
	Generation         int64           `json:"generation,omitempty"`
	LeaseSeconds       int             `json:"leaseSeconds,omitempty"`
	RecentMessages     []Message       `json:"recentMessages,omitempty"`
}

// GatewayTaskMeta is the metadata of the queue row.
type GatewayTaskMeta struct {
	Reason  string `json:"reason"` // new | retry | reattach | woken | answered
	Attempt int    `json:"attempt"`
}

// GatewayTaskBody is the task as a bridge reads it.
type GatewayTaskBody struct {
	ID             string `json:"id"`
	Title          string `json:"title"`
	Description    string `json:"description"`
	Status         string `json:"status"`
	Priority       int    `json:"priority"`
	ConversationID string `json:"conversationId"`
	Source         string `json:"source"`
	CreatedBy      string `json:"createdBy"`
	Metadata       Map    `json:"metadata"`
}

// GatewayTaskCall is the body of POST /api/gateway/tasks/:id/accept, claim-step and release.
type GatewayTaskCall struct {
	ExecutorID string `json:"executor_id"`
	Generation *int64 `json:"generation,omitempty"`
}

// Holder is who calls, and with which claim.
func (c GatewayTaskCall) Holder() (executor string, generation *int64) {
	return c.ExecutorID, c.Generation
}

// GatewayTaskProgress is the body of POST …/progress; further keys are free.
type GatewayTaskProgress struct {
	ExecutorID  string  `json:"executor_id"`
	Generation  *int64  `json:"generation,omitempty"`
	CurrentStep string  `json:"current_step"`
	ElapsedMS   float64 `json:"elapsed_ms"`
	Phase       string  `json:"phase"`
}

// GatewayTaskStep is the body of POST …/step-progress.
type GatewayTaskStep struct {
	GatewayTaskCall
	StepID string `json:"step_id"`
	Status string `json:"status"`
	Result Map    `json:"result"`
}

// GatewayTaskPlan is the body of POST …/extend-plan: steps {id, title, prompt, depends_on}.
type GatewayTaskPlan struct {
	GatewayTaskCall
	Steps []map[string]Map `json:"steps"`
}

// GatewayStepClaimed answers claim-step (bridge 2.8).
type GatewayStepClaimed struct {
	Status        string         `json:"status"` // step | done
	Step          *GatewayStep   `json:"step,omitempty"`
	Summary       string         `json:"summary,omitempty"`
	ExecutionPlan *ExecutionPlan `json:"executionPlan,omitempty"`
}

// GatewayStep is the step to run.
type GatewayStep struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Prompt string `json:"prompt"`
}

// ExecutionPlan is a plan as a bridge reads it: snake_case inside.
type ExecutionPlan struct {
	Steps []ExecutionStep `json:"steps"`
}

// ExecutionStep is one of its steps.
type ExecutionStep struct {
	ID        string   `json:"id"`
	Title     string   `json:"title"`
	Prompt    string   `json:"prompt"`
	DependsOn []string `json:"depends_on"`
	Status    string   `json:"status"`
	Result    Map      `json:"result"`
}

// GatewayTaskComplete is the body of POST …/complete: the end of a run in one call, of our bridge (docs/protocol.md).
type GatewayTaskComplete struct {
	ExecutorID string      `json:"executor_id"`
	Generation int64       `json:"generation"`
	Outcome    string      `json:"outcome"` // done | failed | parked | awaiting_approval
	Response   string      `json:"response,omitempty"`
	Summary    string      `json:"summary,omitempty"`
	Silent     bool        `json:"silent,omitempty"`
	ResultData Map         `json:"result_data,omitempty"`
	Error      *TurnError  `json:"error,omitempty"`
	Usage      *TokenUsage `json:"usage,omitempty"`
	Turn       *TurnStats  `json:"turn,omitempty"`
	ToolUses   []ToolUse   `json:"tool_uses,omitempty"`
}

// GatewayTaskDone answers the calls of a run.
type GatewayTaskDone struct {
	Status     string `json:"status"`
	TaskStatus string `json:"taskStatus,omitempty"`
}

// TaskRequests is the body of POST /api/gateway/task-requests (bridge 5.7).
type TaskRequests struct {
	ConversationID   string        `json:"conversation_id"`
	TaskRequests     []TaskRequest `json:"task_requests"`
	TriggerMessageID *string       `json:"trigger_message_id"`
}

// TaskRequest is one <task_request> of an agent's text.
type TaskRequest struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	AssignedTo  Map    `json:"assigned_to"` // a list or one string
	DependsOn   Map    `json:"depends_on"`
	Metadata    Map    `json:"metadata"`
}

// TaskRequestsMade answers it.
type TaskRequestsMade struct {
	Tasks []Task `json:"tasks"`
	Count int    `json:"count"`
}
