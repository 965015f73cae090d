package view

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// TaskPerson is somebody that a task names.
type TaskPerson struct {
	ID          id.Participant
	Kind        string // human | agent
	DisplayName string
	AvatarURL   *string
	OwnerID     id.Participant // of an agent
	Status      string
}

const taskPeopleSQL = `SELECT p.id, p.kind, p.display_name, p.avatar_url, a.owner_id, p.status FROM participants p
	LEFT JOIN agents a ON a.id = p.id WHERE p.id = ANY($1::uuid[])`

// TaskPeople reads participants by id.
func TaskPeople(ctx context.Context, q pg.Querier, ids []id.Participant) (map[id.Participant]TaskPerson, error) {
	list, err := pg.Rows[TaskPerson](ctx, q, "load people of task", taskPeopleSQL, id.Strings(ids))
	if err != nil {
		return nil, err
	}
	out := make(map[id.Participant]TaskPerson, len(list))
	for _, p := range list {
		out[p.ID] = p
	}
	return out, nil
}

// TaskFilter narrows a list of tasks. Empty fields do not.
type TaskFilter struct {
	Statuses     []string
	Conversation id.Conversation
	Assignee     id.Participant
	Parent       id.Task
	Mine         bool          // asked for, made, or to be done by the viewer
	Below        Mark[id.Task] // updatedAt
	Limit        int
}

// A task is listed for who is involved in it, and for who sits in a room of it.
const taskIDsSQL = `SELECT t.id FROM tasks t WHERE ($2::uuid IS NULL OR t.organization_id = $2::uuid)
	AND (t.requester_id = $1::uuid OR t.created_by = $1::uuid
		OR EXISTS (SELECT 1 FROM task_assignees a LEFT JOIN agents g ON g.id = a.participant_id
			WHERE a.task_id = t.id AND (a.participant_id = $1::uuid OR g.owner_id = $1::uuid))
		OR (NOT $3::boolean AND EXISTS (SELECT 1 FROM conversation_members m WHERE m.participant_id = $1::uuid
			AND m.conversation_id IN (t.conversation_id, t.work_conversation_id))))
	AND (cardinality($4::text[]) = 0 OR t.status = ANY($4::text[]))
	AND ($5::uuid IS NULL OR t.conversation_id = $5::uuid OR t.work_conversation_id = $5::uuid)
	AND ($6::uuid IS NULL OR EXISTS (SELECT 1 FROM task_assignees a WHERE a.task_id = t.id AND a.participant_id = $6::uuid))
	AND ($7::uuid IS NULL OR t.parent_task_id = $7::uuid)
	AND ($8::timestamptz IS NULL OR t.updated_at < $8::timestamptz OR t.updated_at = $8::timestamptz AND t.id > $10::uuid)
	ORDER BY t.updated_at DESC, t.id LIMIT $9::integer`

// TaskIDs lists the tasks that a participant may see, newest change first.
func TaskIDs(ctx context.Context, q pg.Querier, viewer id.Participant, org id.Organization, f TaskFilter) ([]id.Task, error) {
	if f.Statuses == nil {
		f.Statuses = []string{}
	}
	return pg.Column[id.Task](ctx, q, "list tasks", taskIDsSQL, viewer, org, f.Mine, f.Statuses, f.Conversation, f.Assignee, f.Parent, f.Below.At, f.Limit, f.Below.ID)
}

// TaskWork is the live side of a task: its lease, if it has one.
type TaskWork struct {
	TaskID     id.Task
	QueueID    id.QueueItem
	AgentID    id.Participant
	Working    bool // a live lease that was accepted
	ClaimedAt  *time.Time
	ExecutorID id.Executor
}

const taskWorkSQL = `SELECT q.task_id, q.id AS queue_id, q.agent_id, (q.accepted_at IS NOT NULL AND q.lease_until > now()) IS TRUE AS working, q.claimed_at, q.executor_id
	FROM queued_tasks q WHERE q.task_id = ANY($1::uuid[])
	UNION ALL SELECT a.task_id, q.id, q.agent_id, (q.seen_at IS NOT NULL AND q.lease_until > now()) IS TRUE, q.claimed_at, q.executor_id
	FROM approvals a JOIN queued_approvals q ON q.approval_id = a.id WHERE a.task_id = ANY($1::uuid[]) AND a.durable`

// TaskWorks reads the queue rows of tasks; tasks without one are missing. Working is
// derived from leases and stored nowhere (field.md 6).
func TaskWorks(ctx context.Context, q pg.Querier, ids []id.Task) (map[id.Task]TaskWork, error) {
	list, err := pg.Rows[TaskWork](ctx, q, "load work of tasks", taskWorkSQL, id.Strings(ids))
	if err != nil {
		return nil, err
	}
	out := make(map[id.Task]TaskWork, len(list))
	for _, w := range list {
		out[w.TaskID] = w
	}
	return out, nil
}

// Its last question is closed, and the run was not woken since.
const answeredTasksSQL = `SELECT t.id FROM tasks t WHERE t.status IN ('blocked', 'waiting')
	AND NOT EXISTS (SELECT 1 FROM asks o WHERE o.task_id = t.id AND o.status = 'open')
	AND EXISTS (SELECT 1 FROM asks a WHERE a.task_id = t.id AND a.status IN ('answered', 'expired') AND a.ended_at > t.updated_at) LIMIT 200`

// AnsweredTasks are parked tasks whose question was answered, for the sweep: what
// wakes them was lost with a process.
func AnsweredTasks(ctx context.Context, q pg.Querier) ([]id.Task, error) {
	return pg.Column[id.Task](ctx, q, "list answered tasks", answeredTasksSQL)
}

// Tasks whose run stopped at a request that is not open any more, and that do not stand where their decision does: what moves them was lost with a process.
const stoppedTasksSQL = `SELECT t.id FROM tasks t JOIN asks k ON k.task_id = t.id AND k.approval_id IS NOT NULL AND k.status <> 'open'
	LEFT JOIN LATERAL (SELECT bool_or(q.lease_until IS NOT NULL) AS held FROM queued_approvals q JOIN approvals a ON a.id = q.approval_id
		WHERE a.task_id = t.id AND a.durable) d ON true
	WHERE t.end_kind IS NULL AND t.updated_at < now() - interval '2 seconds' AND NOT EXISTS (SELECT 1 FROM queued_tasks q WHERE q.task_id = t.id)
	AND NOT EXISTS (SELECT 1 FROM asks n WHERE n.task_id = t.id AND n.inserted_at > k.inserted_at)
	AND CASE WHEN d.held THEN t.status <> 'in_progress' WHEN NOT d.held THEN t.status <> 'pending' ELSE t.retry_at IS NULL END LIMIT 200`

// StoppedTasks lists them, for the sweep; what it finds too much changes nothing.
func StoppedTasks(ctx context.Context, q pg.Querier) ([]id.Task, error) {
	return pg.Column[id.Task](ctx, q, "list stopped tasks", stoppedTasksSQL)
}

// BusyAgent is an agent that works at a task of a room in a room of its own.
type BusyAgent struct {
	AgentID   id.Participant
	AgentName string
	TaskID    id.Task
	Title     string
	Room      id.Conversation
}

const busyInSQL = `SELECT q.agent_id, p.display_name AS agent_name, t.id AS task_id, t.title, t.work_conversation_id AS room
	FROM queued_tasks q JOIN tasks t ON t.id = q.task_id JOIN participants p ON p.id = q.agent_id
	WHERE q.agent_id = ANY($2::uuid[]) AND t.conversation_id = $1::uuid AND t.work_conversation_id <> t.conversation_id
	AND q.accepted_at IS NOT NULL AND q.lease_until > now() ORDER BY q.seq LIMIT 20`

// BusyIn lists those of the agents that do, at most 20.
func BusyIn(ctx context.Context, q pg.Querier, room id.Conversation, agents []id.Participant) ([]BusyAgent, error) {
	return pg.Rows[BusyAgent](ctx, q, "list busy agents", busyInSQL, room, id.Strings(agents))
}

// TaskSnapshot is the present state of a task on the card that shows it.
type TaskSnapshot struct {
	ID     id.Task
	Status string
	Title  string
}

const taskSnapshotsSQL = `SELECT t.id, t.status, t.title FROM tasks t WHERE t.id = ANY($1::uuid[])`

// addTasks puts the present state of their tasks on the rows that are cards.
func addTasks(ctx context.Context, q pg.Querier, ms []Message) error {
	at := map[string][]int{}
	var ids []string
	for n, m := range ms {
		switch m.Type() {
		case "StatusUpdate", "TaskRequest", "TaskAccept", "TaskReject", "TaskProgress", "TaskComplete", "TaskFail":
		default:
			continue
		}
		var meta map[string]any
		if json.Unmarshal(m.Metadata, &meta) != nil {
			continue
		}
		s, _ := meta["task_id"].(string)
		if t, err := id.Parse[id.Task](s); err == nil {
			if at[t.String()] == nil {
				ids = append(ids, t.String())
			}
			at[t.String()] = append(at[t.String()], n)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := q.Query(ctx, taskSnapshotsSQL, ids)
	if err != nil {
		return fmt.Errorf("load task snapshots: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[TaskSnapshot])
	if err != nil {
		return fmt.Errorf("load task snapshots: %w", err)
	}
	for _, s := range list {
		for _, n := range at[s.ID.String()] {
			ms[n].Task = &s
		}
	}
	return nil
}

// TaskClaim is a task that an executor of an agent works at.
type TaskClaim struct {
	QueueID   id.QueueItem
	TaskID    id.Task
	Title     string
	Status    string
	ClaimedAt time.Time
	Executor  id.Executor
}

const taskClaimsSQL = `SELECT q.id AS queue_id, q.task_id, t.title, t.status, q.claimed_at, q.executor_id AS executor
	FROM queued_tasks q JOIN tasks t ON t.id = q.task_id
	WHERE q.agent_id = $1::uuid AND q.lease_until IS NOT NULL AND q.claimed_at IS NOT NULL ORDER BY q.seq LIMIT 200`

// TaskClaims are the tasks that an agent's executors hold, at most 200.
func TaskClaims(ctx context.Context, q pg.Querier, agent id.Participant) ([]TaskClaim, error) {
	return pg.Rows[TaskClaim](ctx, q, "list task claims", taskClaimsSQL, agent)
}

// TaskQueue counts an agent's tasks.
type TaskQueue struct {
	AgentID id.Participant
	Waiting int
	Silent  int // claimed, without a sign of life for too long
}

const taskQueuesSQL = `SELECT q.agent_id, count(*) FILTER (WHERE q.lease_until IS NULL) AS waiting,
	count(*) FILTER (WHERE q.lease_until < now() + make_interval(secs => $2::float8)) AS silent
	FROM queued_tasks q WHERE q.agent_id = ANY($1::uuid[]) GROUP BY q.agent_id`

// TaskQueues counts for these agents; those without a row are missing.
func TaskQueues(ctx context.Context, q pg.Querier, agents []id.Participant, left time.Duration) (map[id.Participant]TaskQueue, error) {
	list, err := pg.Rows[TaskQueue](ctx, q, "count task queues", taskQueuesSQL, id.Strings(agents), left.Seconds())
	if err != nil {
		return nil, err
	}
	out := make(map[id.Participant]TaskQueue, len(list))
	for _, a := range list {
		out[a.AgentID] = a
	}
	return out, nil
}
