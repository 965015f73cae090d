package view

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/approval"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// Approval is a request with the names that people read.
type Approval struct {
	approval.Approval
	OwnerID           id.Participant
	AgentName         string
	ConversationTitle *string
	DecidedByName     *string
	AllowedBy         []id.Participant // who of two has allowed what would run now
	AllowedByNames    []string         // in the same order
}

const approvalSQL = `SELECT a.id, a.organization_id, a.agent_id, a.conversation_id, a.task_id, a.source, a.tool_name, a.action, a.action_hash, a.edited_action, a.edited_hash,
	a.description, a.reason, a.risk, a.scope_kind, a.scope_facet, a.approvers, a.status, a.decided_by, a.decided_at, a.decision_scope, a.decision_text, a.grant_id,
	a.durable, a.executor_id, a.run_id, a.tool_use_id, a.resume, a.used_at, a.use_key, a.told_at, a.told_executor_id, a.told_queue_id, a.told_generation, a.told_outcome,
	a.expires_at, a.inserted_at, a.deciders_needed, a.proposed_action, a.proposed_hash, a.turn_queue_id, a.turn_generation, (a.status = 'pending' AND a.expires_at <= clock_timestamp()) AS overdue,
	g.owner_id, p.display_name AS agent_name, c.title AS conversation_title, d.display_name AS decided_by_name,
	ARRAY(SELECT v.person_id FROM approval_votes v WHERE v.approval_id = a.id ORDER BY v.inserted_at, v.person_id) AS allowed_by,
	ARRAY(SELECT n.display_name FROM approval_votes v JOIN participants n ON n.id = v.person_id WHERE v.approval_id = a.id ORDER BY v.inserted_at, v.person_id) AS allowed_by_names
	FROM approvals a JOIN agents g ON g.id = a.agent_id JOIN participants p ON p.id = a.agent_id
	LEFT JOIN conversations c ON c.id = a.conversation_id AND c.deleted_at IS NULL LEFT JOIN participants d ON d.id = a.decided_by`

const (
	oneApprovalSQL = approvalSQL + ` WHERE a.id = $1::uuid`
	// What a person has to decide, what ends first on top.
	pendingApprovalsSQL = approvalSQL + ` WHERE a.approvers @> ARRAY[$1::uuid] AND a.status = 'pending' AND a.expires_at > clock_timestamp() ORDER BY a.expires_at, a.id LIMIT 500`
	approvalsByIDSQL    = approvalSQL + ` WHERE a.id = ANY($1::uuid[])`
)

// OneApproval reads a request; fault.ErrNotFound when there is none.
func OneApproval(ctx context.Context, q pg.Querier, aid id.Approval) (Approval, error) {
	all, err := approvals(ctx, q, oneApprovalSQL, aid)
	if err == nil && len(all) == 0 {
		return Approval{}, fault.ErrNotFound
	}
	if err != nil {
		return Approval{}, err
	}
	return all[0], nil
}

// PendingApprovals is what a person has to decide, at most 500.
func PendingApprovals(ctx context.Context, q pg.Querier, person id.Participant) ([]Approval, error) {
	return approvals(ctx, q, pendingApprovalsSQL, person)
}

func approvals(ctx context.Context, q pg.Querier, sql string, args ...any) ([]Approval, error) {
	return pg.Rows[Approval](ctx, q, "list approvals", sql, args...)
}

const approversSQL = `SELECT o.id FROM agents a JOIN participants o ON o.id = a.owner_id AND o.kind = 'human' AND o.status = 'active'
	JOIN accounts c ON c.id = o.id AND c.deleted_at IS NULL
	JOIN participants p ON p.id = a.id AND p.status = 'active' WHERE a.id = $1::uuid`

// Approvers are the people who may decide what an agent asks: its owner. Nobody,
// when the owner's account or the agent is not active.
func Approvers(ctx context.Context, q pg.Querier, agent id.Participant) ([]id.Participant, error) {
	return pg.Column[id.Participant](ctx, q, "find approvers", approversSQL, agent)
}

// Asked by a run that died, in a turn that ended in a later claim without asking the same.
const orphanedApprovalsSQL = `SELECT a.id FROM approvals a WHERE a.status = 'pending' AND a.turn_queue_id IS NOT NULL
	AND EXISTS (SELECT 1 FROM turns t WHERE t.queue_id = a.turn_queue_id AND t.agent_id = a.agent_id AND t.generation > a.turn_generation) ORDER BY a.expires_at LIMIT 200`

// OrphanedApprovals are open requests whose asker is gone for good, at most 200.
func OrphanedApprovals(ctx context.Context, q pg.Querier) ([]id.Approval, error) {
	return pg.Column[id.Approval](ctx, q, "list orphaned approvals", orphanedApprovalsSQL)
}

const activeDecidersSQL = `SELECT p.id FROM participants p JOIN accounts c ON c.id = p.id AND c.deleted_at IS NULL
	WHERE p.id = ANY($1::uuid[]) AND p.kind = 'human' AND p.status = 'active' ORDER BY p.id`

// ActivePeople are those of the ids that are people whose account is active.
func ActivePeople(ctx context.Context, q pg.Querier, ids []id.Participant) ([]id.Participant, error) {
	return pg.Column[id.Participant](ctx, q, "find deciders", activeDecidersSQL, id.Strings(ids))
}

// Credential is a question for a secret with the agent's name.
type Credential struct {
	approval.Credential
	AgentName         string
	ConversationTitle *string
	HasSecret         bool // it was given, and not taken away again
}

const credentialSQL = `SELECT r.id, r.organization_id, r.agent_id, r.owner_id, r.conversation_id, r.task_id, r.label, r.reason, r.endpoint, r.auth_mode, r.auth_header, r.status,
	r.credential_id, r.fingerprint, r.resolved_at, r.last_used_at, r.uses, r.expires_at, r.inserted_at, (r.status = 'pending' AND r.expires_at <= clock_timestamp()) AS overdue,
	p.display_name AS agent_name, c.title AS conversation_title, r.sealed IS NOT NULL AS has_secret
	FROM credential_requests r JOIN participants p ON p.id = r.agent_id LEFT JOIN conversations c ON c.id = r.conversation_id AND c.deleted_at IS NULL`

const (
	oneCredentialSQL      = credentialSQL + ` WHERE r.id = $1::uuid`
	pendingCredentialsSQL = credentialSQL + ` WHERE r.owner_id = $1::uuid AND r.status = 'pending' AND r.expires_at > clock_timestamp() AND p.status = 'active' ORDER BY r.inserted_at DESC, r.id LIMIT 500`
	givenCredentialsSQL   = credentialSQL + ` WHERE r.owner_id = $1::uuid AND r.sealed IS NOT NULL ORDER BY r.inserted_at DESC, r.id LIMIT 500`
)

// OneCredential reads a question; fault.ErrNotFound when there is none.
func OneCredential(ctx context.Context, q pg.Querier, c id.CredentialRequest) (Credential, error) {
	all, err := credentials(ctx, q, oneCredentialSQL, c)
	if err == nil && len(all) == 0 {
		return Credential{}, fault.ErrNotFound
	}
	if err != nil {
		return Credential{}, err
	}
	return all[0], nil
}

// PendingCredentials are a person's open questions for secrets, newest first.
func PendingCredentials(ctx context.Context, q pg.Querier, person id.Participant) ([]Credential, error) {
	return credentials(ctx, q, pendingCredentialsSQL, person)
}

// GivenCredentials are those whose secret the person gave and did not take away.
func GivenCredentials(ctx context.Context, q pg.Querier, person id.Participant) ([]Credential, error) {
	return credentials(ctx, q, givenCredentialsSQL, person)
}

func credentials(ctx context.Context, q pg.Querier, sql string, args ...any) ([]Credential, error) {
	return pg.Rows[Credential](ctx, q, "list credential requests", sql, args...)
}

// MemberRequest is a question to let somebody into a room, with the names that people read.
type MemberRequest struct {
	approval.MemberRequest
	AgentName         string
	ParticipantName   string
	ParticipantKind   string // human | agent
	ConversationTitle *string
}

const memberRequestSQL = `SELECT m.id, m.organization_id, m.conversation_id, m.agent_id, m.participant_id, m.task_id, m.reason, m.approvers, m.status, m.decided_by, m.decided_at,
	m.expires_at, m.inserted_at, (m.status = 'pending' AND m.expires_at <= clock_timestamp()) AS overdue,
	p.display_name AS agent_name, w.display_name AS participant_name, w.kind AS participant_kind, c.title AS conversation_title
	FROM member_requests m JOIN participants p ON p.id = m.agent_id JOIN participants w ON w.id = m.participant_id JOIN conversations c ON c.id = m.conversation_id
	WHERE m.id = $1::uuid`

// OneMemberRequest reads a question; fault.ErrNotFound when there is none.
func OneMemberRequest(ctx context.Context, q pg.Querier, m id.MemberRequest) (MemberRequest, error) {
	rows, err := q.Query(ctx, memberRequestSQL, m)
	if err != nil {
		return MemberRequest{}, fmt.Errorf("read member request: %w", err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowToStructByName[MemberRequest])
	switch {
	case err != nil:
		return MemberRequest{}, fmt.Errorf("read member request: %w", err)
	case len(out) == 0:
		return MemberRequest{}, fault.ErrNotFound
	}
	return out[0], nil
}

// Decision is one thing that waits for a person, of whatever kind.
type Decision struct {
	Kind           string // permission_request | credential_request | ask | member_request | budget_stop
	SourceID       uuid.UUID
	ConversationID id.Conversation
	RoomTitle      *string // of the room, nil of a direct one
	TaskID         id.Task
	AgentID        id.Participant
	AgentName      string
	InsertedAt     time.Time
	Description    string
	Question       string
	Label          string
	Title          string
	ToolName       string
	Options        []string // of an ask: the answers to choose from; empty for free text
	Field          *string  // of an ask for text: the name of what is filled in
	DefaultValue   *string  // of an ask: what counts when nobody answers
	ExpiresAt      time.Time
	Used           *int64 // of a budget stop: tokens of the day
	TokensPerDay   *int64 // of a budget stop
}

// What an agent wants that is off or deleted waits for nobody; its approvals and tasks are ended when it goes.
const decisionsSQL = `SELECT x.kind, x.source_id, x.conversation_id, room.title AS room_title, x.task_id, x.agent_id, p.display_name AS agent_name, x.inserted_at,
	x.description, x.question, x.label, x.title, x.tool_name, x.options, x.field, x.default_value, x.expires_at, x.used, x.tokens_per_day FROM (
		SELECT 'permission_request' AS kind, a.id AS source_id, a.conversation_id, a.task_id, a.agent_id, a.inserted_at, a.description, '' AS question, '' AS label, '' AS title, a.tool_name,
			'{}'::text[] AS options, NULL::text AS field, NULL::text AS default_value, a.expires_at, NULL::bigint AS used, NULL::bigint AS tokens_per_day
		FROM approvals a WHERE a.approvers @> ARRAY[$1::uuid] AND a.status = 'pending' AND a.expires_at > clock_timestamp()
			AND NOT EXISTS (SELECT 1 FROM approval_votes v WHERE v.approval_id = a.id AND v.person_id = $1::uuid)
		UNION ALL
		SELECT 'credential_request', r.id, r.conversation_id, r.task_id, r.agent_id, r.inserted_at, r.reason, '', r.label, '', '', '{}', NULL, NULL, r.expires_at, NULL, NULL
		FROM credential_requests r WHERE r.owner_id = $1::uuid AND r.status = 'pending' AND r.expires_at > clock_timestamp()
		UNION ALL
		SELECT 'ask', k.id, k.conversation_id, k.task_id, k.agent_id, k.inserted_at, '', k.question, '', t.title, '', ARRAY(SELECT jsonb_array_elements_text(k.options)), k.field, k.default_value, k.expires_at, NULL, NULL
		FROM asks k JOIN tasks t ON t.id = k.task_id WHERE k.asked @> ARRAY[$1::uuid] AND k.status = 'open' AND k.approval_id IS NULL AND k.expires_at > clock_timestamp()
		UNION ALL
		SELECT 'member_request', m.id, m.conversation_id, m.task_id, m.agent_id, m.inserted_at, m.reason, '', w.display_name, coalesce(c.title, ''), '', '{}', NULL, NULL, m.expires_at, NULL, NULL
		FROM member_requests m JOIN participants w ON w.id = m.participant_id JOIN conversations c ON c.id = m.conversation_id AND c.deleted_at IS NULL
		WHERE m.approvers @> ARRAY[$1::uuid] AND m.status = 'pending' AND m.expires_at > clock_timestamp()
		UNION ALL
		SELECT 'budget_stop', s.id, NULL, NULL, s.agent_id, s.inserted_at, '', '', '', '', '', '{}', NULL, NULL, s.expires_at, s.used, s.tokens_per_day
		FROM budget_stops s JOIN agents g ON g.id = s.agent_id WHERE g.owner_id = $1::uuid AND s.status = 'pending' AND s.expires_at > clock_timestamp()
	) x JOIN participants p ON p.id = x.agent_id LEFT JOIN conversations room ON room.id = x.conversation_id AND room.deleted_at IS NULL
	WHERE p.status = 'active' OR x.kind IN ('permission_request', 'ask') ORDER BY x.inserted_at DESC, x.source_id LIMIT 500`

// Decisions is everything that waits for a person, newest first, at most 500.
func Decisions(ctx context.Context, q pg.Querier, person id.Participant) ([]Decision, error) {
	return pg.Rows[Decision](ctx, q, "list decisions", decisionsSQL, person)
}
