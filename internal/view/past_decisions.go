package view

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// PastDecision is something that waited for a person and is over, of whatever kind. Names
// are those of now, also of rooms, agents and people that are gone.
type PastDecision struct {
	Kind              string // as of a Decision
	SourceID          uuid.UUID
	EndedAt           time.Time
	InsertedAt        time.Time
	Outcome           string         // approved | edited | denied | expired | superseded | cancelled | answered | fulfilled | continued | raised | lifted | kept
	DecidedBy         id.Participant // zero when nobody did
	DecidedByName     *string
	AgentID           id.Participant
	AgentName         string
	ConversationID    id.Conversation // zero when there is none to go to
	ConversationTitle *string         // also of a room that is gone
	TaskID            id.Task
	Title             string   // of the task
	Reason            string   // why it was asked
	Question          string   // of an ask
	Options           []string // of an ask
	Answer            *string  // of an ask
	Label             string   // of a credential: its name; of a member request: whom
	ParticipantID     id.Participant
	ParticipantKind   *string // human | agent
	Endpoint          *string // of a credential
	Fingerprint       *string // of a credential that was given
	SecretGone        bool    // it was given and taken away again
	Uses              *int64  // of a credential that was given, of a standing yes
	Used              *int64  // of a budget stop: tokens of the day
	TokensPerDay      *int64
	RaisedTo          *int64
	GrantID           id.Grant // the standing yes that came of it
	GrantExpiresAt    *time.Time
	GrantRevokedAt    *time.Time
	Approval          *Approval `db:"-"` // of a permission_request
}

// PastMark is a place in a person's history. Its id tells apart what ended at the same time.
type PastMark struct {
	EndedAt time.Time
	ID      uuid.UUID
}

// Mark is the entry's place.
func (d PastDecision) Mark() PastMark { return PastMark{d.EndedAt, d.SourceID} }

// Each kind brings its newest entries below the mark, of which the newest of all are taken. Uses of a standing yes are counted at the yes; a question that
// was an approval is in the history of approvals; one that was withdrawn asked nothing of anybody. A stop that nobody decided ended with its day.
const pastDecisionsSQL = `SELECT h.kind, h.source_id, h.ended_at, h.inserted_at, h.outcome, h.decided_by, d.display_name AS decided_by_name, h.agent_id, p.display_name AS agent_name,
	CASE WHEN c.deleted_at IS NULL THEN h.conversation_id END AS conversation_id, c.title AS conversation_title, h.task_id, coalesce(t.title, '') AS title,
	h.reason, h.question, h.options, h.answer, coalesce(w.display_name, h.label) AS label, h.participant_id, w.kind AS participant_kind, h.endpoint, h.fingerprint, h.secret_gone,
	coalesce(h.uses, g.uses) AS uses, h.used, h.tokens_per_day, h.raised_to, h.grant_id, g.expires_at AS grant_expires_at, g.revoked_at AS grant_revoked_at FROM (
		(SELECT 'permission_request' AS kind, a.id AS source_id, a.decided_at AS ended_at, a.inserted_at, a.status AS outcome, a.decided_by, a.agent_id, a.conversation_id, a.task_id,
			a.reason, '' AS question, '{}'::text[] AS options, NULL::text AS answer, '' AS label, NULL::uuid AS participant_id, NULL::text AS endpoint, NULL::text AS fingerprint, false AS secret_gone,
			NULL::bigint AS uses, NULL::bigint AS used, NULL::bigint AS tokens_per_day, NULL::bigint AS raised_to, a.grant_id
		FROM approvals a WHERE a.approvers @> ARRAY[$1::uuid] AND a.status <> 'pending' AND (a.decided_by IS NOT NULL OR a.grant_id IS NULL)
			AND ($2::timestamptz IS NULL OR (a.decided_at, a.id) < ($2::timestamptz, $3::uuid)) ORDER BY a.decided_at DESC, a.id DESC LIMIT $4::int)
		UNION ALL
		(SELECT 'credential_request', r.id, r.resolved_at, r.inserted_at, r.status, CASE WHEN r.status <> 'expired' THEN r.owner_id END, r.agent_id, r.conversation_id, r.task_id,
			r.reason, '', '{}', NULL, r.label, NULL, r.endpoint, r.fingerprint, r.status = 'fulfilled' AND r.sealed IS NULL,
			CASE WHEN r.status = 'fulfilled' THEN r.uses END, NULL, NULL, NULL, NULL
		FROM credential_requests r WHERE r.owner_id = $1::uuid AND r.status <> 'pending'
			AND ($2::timestamptz IS NULL OR (r.resolved_at, r.id) < ($2::timestamptz, $3::uuid)) ORDER BY r.resolved_at DESC, r.id DESC LIMIT $4::int)
		UNION ALL
		(SELECT 'ask', k.id, k.ended_at, k.inserted_at, k.status, k.answered_by, k.agent_id, k.conversation_id, k.task_id,
			'', k.question, ARRAY(SELECT jsonb_array_elements_text(k.options)), k.answer, '', NULL, NULL, NULL, false, NULL, NULL, NULL, NULL, NULL
		FROM asks k WHERE k.asked @> ARRAY[$1::uuid] AND k.status <> 'open' AND k.status <> 'withdrawn' AND k.approval_id IS NULL
			AND ($2::timestamptz IS NULL OR (k.ended_at, k.id) < ($2::timestamptz, $3::uuid)) ORDER BY k.ended_at DESC, k.id DESC LIMIT $4::int)
		UNION ALL
		(SELECT 'member_request', m.id, m.decided_at, m.inserted_at, m.status, m.decided_by, m.agent_id, m.conversation_id, m.task_id,
			m.reason, '', '{}', NULL, '', m.participant_id, NULL, NULL, false, NULL, NULL, NULL, NULL, NULL
		FROM member_requests m WHERE m.approvers @> ARRAY[$1::uuid] AND m.status <> 'pending'
			AND ($2::timestamptz IS NULL OR (m.decided_at, m.id) < ($2::timestamptz, $3::uuid)) ORDER BY m.decided_at DESC, m.id DESC LIMIT $4::int)
		UNION ALL
		(SELECT 'budget_stop', s.id, s.ended_at, s.inserted_at, s.outcome, s.decided_by, s.agent_id, NULL, NULL,
			'', '', '{}', NULL, '', NULL, NULL, NULL, false, NULL, s.used, s.tokens_per_day, s.raised_to, NULL
		FROM (SELECT b.*, coalesce(b.decided_at, b.expires_at) AS ended_at, CASE WHEN b.status = 'pending' THEN 'expired' ELSE b.status END AS outcome
			FROM budget_stops b JOIN agents o ON o.id = b.agent_id WHERE o.owner_id = $1::uuid AND (b.status <> 'pending' OR b.expires_at <= clock_timestamp())) s
		WHERE $2::timestamptz IS NULL OR (s.ended_at, s.id) < ($2::timestamptz, $3::uuid) ORDER BY s.ended_at DESC, s.id DESC LIMIT $4::int)
	) h JOIN participants p ON p.id = h.agent_id LEFT JOIN participants d ON d.id = h.decided_by LEFT JOIN participants w ON w.id = h.participant_id
	LEFT JOIN conversations c ON c.id = h.conversation_id LEFT JOIN tasks t ON t.id = h.task_id LEFT JOIN approval_grants g ON g.id = h.grant_id
	ORDER BY h.ended_at DESC, h.source_id DESC LIMIT $4::int`

// PastDecisions is what waited for a person and is over, newest first; below nil is the
// newest page. Two statements, however many there are.
func PastDecisions(ctx context.Context, q pg.Querier, person id.Participant, below *PastMark, limit int) ([]PastDecision, error) {
	var at *time.Time
	var last *uuid.UUID
	if below != nil {
		at, last = &below.EndedAt, &below.ID
	}
	out, err := pg.Rows[PastDecision](ctx, q, "list past decisions", pastDecisionsSQL, person, at, last, limit)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, d := range out {
		if d.Kind == "permission_request" {
			ids = append(ids, d.SourceID.String())
		}
	}
	if len(ids) == 0 {
		return out, nil
	}
	list, err := approvals(ctx, q, approvalsByIDSQL, ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]*Approval, len(list))
	for n := range list {
		byID[list[n].ID.String()] = &list[n]
	}
	for n := range out {
		out[n].Approval = byID[out[n].SourceID.String()]
	}
	return out, nil
}
