package view

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// AgentIdentity is what authentication needs of an agent; flow caches it.
type AgentIdentity struct {
	ID             id.Participant
	OwnerID        id.Participant
	OrganizationID id.Organization
	DisplayName    string
	Status         string
	Runtime        string
	CodeAction     bool
	KeyPrefix      string
	KeyHash        []byte
	KeyVersion     int
}

const agentIdentitySQL = `SELECT a.id, a.owner_id, a.organization_id, p.display_name, p.status, a.runtime,
	(COALESCE(a.settings ->> 'execution_mode', a.model_config ->> 'execution_mode', '') = 'code_action') AS code_action,
	a.key_prefix, a.key_hash, a.key_version
	FROM agents a JOIN participants p ON p.id = a.id`

// AgentIdentityByID reads it by id; fault.ErrNotFound when absent.
func AgentIdentityByID(ctx context.Context, q pg.Querier, aid id.Participant) (AgentIdentity, error) {
	return agentIdentity(q.Query(ctx, agentIdentitySQL+` WHERE a.id = $1`, aid))
}

// AgentIdentityByPrefix reads it by the lookup part of an API key.
func AgentIdentityByPrefix(ctx context.Context, q pg.Querier, prefix string) (AgentIdentity, error) {
	return agentIdentity(q.Query(ctx, agentIdentitySQL+` WHERE a.key_prefix = $1`, prefix))
}

func agentIdentity(rows pgx.Rows, err error) (AgentIdentity, error) {
	if err != nil {
		return AgentIdentity{}, err
	}
	i, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[AgentIdentity])
	if pg.IsNotFound(err) {
		return AgentIdentity{}, fault.ErrNotFound
	}
	return i, err
}

const sessionActorSQL = `SELECT a.id, a.active_organization_id, a.platform_admin, p.display_name
	FROM accounts a JOIN participants p ON p.id = a.id WHERE a.id = $1 AND a.deleted_at IS NULL`

// PersonActor is what a request by a person needs to know of them.
type PersonActor struct {
	ID                   id.Participant
	ActiveOrganizationID id.Organization
	PlatformAdmin        bool
	DisplayName          string
}

// Person reads it; fault.ErrUnauthenticated when the account is gone.
func Person(ctx context.Context, q pg.Querier, aid id.Participant) (PersonActor, error) {
	rows, err := q.Query(ctx, sessionActorSQL, aid)
	if err != nil {
		return PersonActor{}, err
	}
	p, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[PersonActor])
	if pg.IsNotFound(err) {
		return PersonActor{}, fault.ErrUnauthenticated
	}
	return p, err
}

const countAgentsSQL = `SELECT count(*) FROM agents a JOIN participants p ON p.id = a.id AND p.status <> 'deleted' WHERE a.owner_id = $1`

// CountAgents counts the live agents of one owner.
func CountAgents(ctx context.Context, q pg.Querier, owner id.Participant) (int, error) {
	var n int
	err := q.QueryRow(ctx, countAgentsSQL, owner).Scan(&n)
	return n, err
}
