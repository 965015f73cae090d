package view

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// AgentQueue counts an agent's messages and turns.
type AgentQueue struct {
	AgentID  id.Participant
	Waiting  int        // messages
	Claimed  int        // messages
	Silent   int        // messages claimed, without a sign of life for too long
	OldestIn *time.Time // time of the oldest waiting message
}

const agentQueuesSQL = `SELECT q.agent_id, count(*) FILTER (WHERE q.lease_until IS NULL) AS waiting,
	count(*) FILTER (WHERE q.lease_until IS NOT NULL) AS claimed,
	count(*) FILTER (WHERE q.answered_at IS NULL AND q.lease_until < now() + make_interval(secs => $2::float8)) AS silent,
	min(q.inserted_at) FILTER (WHERE q.lease_until IS NULL) AS oldest_in
	FROM queued_messages q WHERE q.agent_id = ANY($1::uuid[]) GROUP BY q.agent_id`

// AgentQueues counts for these agents; those without a row are missing. A claim
// whose lease ends within left counts as silent.
func AgentQueues(ctx context.Context, q pg.Querier, agents []id.Participant, left time.Duration) (map[id.Participant]AgentQueue, error) {
	list, err := pg.Rows[AgentQueue](ctx, q, "count queues", agentQueuesSQL, id.Strings(agents), left.Seconds())
	if err != nil {
		return nil, err
	}
	out := make(map[id.Participant]AgentQueue, len(list))
	for _, a := range list {
		out[a.AgentID] = a
	}
	return out, nil
}

// ExecutorRow is an executor as health shows it.
type ExecutorRow struct {
	ID            id.Executor
	AgentID       id.Participant
	ExecutorKey   string
	DisplayName   string
	Status        string
	DeviceName    *string
	BridgeVersion string
	MaxConcurrent int
	BackendHealth json.RawMessage
	Metrics       json.RawMessage
	LastSeenAt    time.Time
}

const executorRowsSQL = `SELECT e.id, e.agent_id, e.executor_key, e.display_name, e.status, e.device_name, e.bridge_version, e.max_concurrent,
	e.backend_health, e.metrics, e.last_seen_at FROM executors e WHERE e.agent_id = ANY($1::uuid[]) ORDER BY e.inserted_at, e.id LIMIT 5000`

// ExecutorRows are the executors of these agents.
func ExecutorRows(ctx context.Context, q pg.Querier, agents []id.Participant) ([]ExecutorRow, error) {
	return pg.Rows[ExecutorRow](ctx, q, "list executors", executorRowsSQL, id.Strings(agents))
}

// ClaimRow is a message that an executor works on.
type ClaimRow struct {
	ID             id.QueueItem
	MessageID      id.Message
	ConversationID id.Conversation
	ClaimedAt      time.Time
}

const claimRowsSQL = `SELECT q.id, q.message_id, q.conversation_id, q.claimed_at FROM queued_messages q
	WHERE q.agent_id = $1::uuid AND q.lease_until IS NOT NULL AND q.claimed_at IS NOT NULL ORDER BY q.seq LIMIT 200`

// ClaimRows are the agent's claims in flight, at most 200.
func ClaimRows(ctx context.Context, q pg.Querier, agent id.Participant) ([]ClaimRow, error) {
	return pg.Rows[ClaimRow](ctx, q, "list claims", claimRowsSQL, agent)
}

// FaultRow is what a bridge reported to have gone wrong.
type FaultRow struct {
	ID             string
	Kind           string
	ConversationID id.Conversation
	MessageID      id.Message
	Detail         string
	InsertedAt     time.Time
}

const faultRowsSQL = `SELECT f.id::text AS id, f.kind, f.conversation_id, f.message_id, f.detail, f.inserted_at FROM runtime_faults f
	WHERE f.agent_id = $1::uuid ORDER BY f.inserted_at DESC LIMIT 20`

// RecentFaults are the agent's newest twenty faults.
func RecentFaults(ctx context.Context, q pg.Querier, agent id.Participant) ([]FaultRow, error) {
	return pg.Rows[FaultRow](ctx, q, "list faults", faultRowsSQL, agent)
}
