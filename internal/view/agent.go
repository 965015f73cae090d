package view

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/agent"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// Agent is an agent with its name, picture, state and where it runs.
type Agent struct {
	agent.Agent
	DisplayName string
	AvatarURL   *string
	Status      string
	DeviceName  *string // of its newest online executor
	// ExternalSession is nil for an agent that never had one.
	ExternalSession *ExternalSession
}

const agentSQL = `SELECT a.id, a.owner_id, a.description, a.agent_type, a.capabilities, a.structured_capabilities, a.metadata, a.model_config, a.settings,
	a.soul_md, a.runtime, a.external_tool, a.presence_mode, a.idle_timeout_seconds, a.organization_id, a.organization_ids, a.last_active_at, a.key_prefix, a.key_version,
	a.inserted_at, a.updated_at, p.display_name, p.avatar_url, p.status,
	(SELECT e.device_name FROM executors e WHERE e.agent_id = a.id AND e.status = 'online' ORDER BY e.last_seen_at DESC LIMIT 1) AS device_name,
	` + externalSessionSQL + `
	FROM agents a JOIN participants p ON p.id = a.id`

const oneAgentSQL = agentSQL + ` WHERE a.id = $1 AND p.status <> 'deleted'`

// AgentsOf reads an owner's agents that were not deleted, oldest first. With an
// organization only those visible in it.
func AgentsOf(ctx context.Context, q pg.Querier, owner id.Participant, org id.Organization) ([]Agent, error) {
	rows, err := q.Query(ctx, agentSQL+` WHERE a.owner_id = $1 AND p.status <> 'deleted'
		AND ($2::uuid IS NULL OR a.organization_ids IS NULL OR $2 = ANY(a.organization_ids)) ORDER BY a.inserted_at, a.id LIMIT 1000`, owner, org)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[Agent])
}

// OneAgent reads an agent by id; fault.ErrNotFound when absent or deleted.
func OneAgent(ctx context.Context, q pg.Querier, aid id.Participant) (Agent, error) {
	rows, err := q.Query(ctx, oneAgentSQL, aid)
	if err != nil {
		return Agent{}, err
	}
	a, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Agent])
	if pg.IsNotFound(err) {
		return Agent{}, fault.ErrNotFound
	}
	return a, err
}

const agentNameSQL = `SELECT p.display_name FROM participants p WHERE p.id = $1::uuid`

// AddAgentName reads the name of an agent, also of one that was deleted: what it left
// unanswered names it.
func AddAgentName(b *pg.Batch, aid id.Participant, into *string) {
	b.Add(pg.ReadValues(new(bool), into), agentNameSQL, aid)
}

const sharesRoomSQL = `SELECT EXISTS (SELECT 1 FROM conversation_members m1 JOIN conversation_members m2 ON m2.conversation_id = m1.conversation_id
	WHERE m1.participant_id = $1 AND m2.participant_id = $2)`

// ShareRoom reports whether two participants are members of one room.
func ShareRoom(ctx context.Context, q pg.Querier, a, b id.Participant) (bool, error) {
	var ok bool
	err := q.QueryRow(ctx, sharesRoomSQL, a, b).Scan(&ok)
	return ok, err
}
