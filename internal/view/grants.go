package view

import (
	"context"

	"github.com/agntchat/agntchat/internal/approval"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// Grant is a standing yes with the names that people read.
type Grant struct {
	approval.Grant
	AgentName         string
	GrantedByName     string
	ConversationTitle *string // also of a room that is gone
	RoomGone          bool
	Action            *string // of an exact one: what was allowed, canonical, its first 4,000 characters
	ActionCut         bool    // there is more of it
}

// The action is that of the request to which the yes was said; a list of 1000 holds only their beginnings.
const grantsSQL = `SELECT g.id, g.agent_id, g.granted_by, g.tool_name, g.kind, g.facet, g.action_hash, g.conversation_id, g.uses, g.last_used_at, g.expires_at, g.revoked_at, g.inserted_at,
	p.display_name AS agent_name, b.display_name AS granted_by_name, c.title AS conversation_title, c.deleted_at IS NOT NULL AS room_gone,
	left(a.action, 4000) AS action, coalesce(char_length(a.action) > 4000, false) AS action_cut
	FROM approval_grants g JOIN participants p ON p.id = g.agent_id AND p.status <> 'deleted' JOIN participants b ON b.id = g.granted_by
	LEFT JOIN conversations c ON c.id = g.conversation_id
	LEFT JOIN LATERAL (SELECT r.action FROM approvals r WHERE g.kind = 'exact' AND r.grant_id = g.id AND r.decided_by IS NOT NULL LIMIT 1) a ON true
	WHERE g.granted_by = $1::uuid AND g.revoked_at IS NULL AND g.expires_at > clock_timestamp() ORDER BY g.inserted_at DESC, g.id LIMIT 1000`

// Grants are the standing yeses that a person gave and that live, newest first.
func Grants(ctx context.Context, q pg.Querier, person id.Participant) ([]Grant, error) {
	return pg.Rows[Grant](ctx, q, "list grants", grantsSQL, person)
}

// ApprovalRule is who decides at a place, with the names that people read.
type ApprovalRule struct {
	approval.Rule
	DeciderNames []string // in the order of Deciders
	SetByName    string
}

const approvalRuleSQL = `SELECT r.least_risk, r.deciders, r.set_by, r.updated_at, s.display_name AS set_by_name,
	ARRAY(SELECT coalesce(p.display_name, '') FROM unnest(r.deciders) WITH ORDINALITY d(id, n) LEFT JOIN participants p ON p.id = d.id ORDER BY d.n) AS decider_names
	FROM approval_rules r JOIN participants s ON s.id = r.set_by WHERE r.agent_id = $1::uuid OR r.organization_id = $2::uuid ORDER BY r.id LIMIT 1`

// RuleAt is the rule of a place; nil where one person decides.
func RuleAt(ctx context.Context, q pg.Querier, p approval.Place) (*ApprovalRule, error) {
	out, err := pg.Rows[ApprovalRule](ctx, q, "read approval rule", approvalRuleSQL, p.AgentID, p.OrganizationID)
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, nil //nolint:nilnil // nil is the answer: one person decides
	}
	return &out[0], nil
}
