package view

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// FoundPerson is somebody found by a search.
type FoundPerson struct {
	ID          id.Participant
	DisplayName string
	AvatarURL   *string
	Email       string
}

// A person is found by the whole e-mail address, which only those know who were
// told; by name only among those with whom the seeker shares a room or a workspace.
const findPeopleSQL = `SELECT a.id, p.display_name, p.avatar_url, a.email FROM accounts a JOIN participants p ON p.id = a.id
	WHERE a.deleted_at IS NULL AND p.status = 'active' AND a.id <> $1 AND (lower(a.email) = lower($2)
		OR (p.display_name ILIKE $3 AND (EXISTS (SELECT 1 FROM conversation_members m JOIN conversation_members o ON o.conversation_id = m.conversation_id
				WHERE m.participant_id = $1 AND o.participant_id = a.id)
			OR EXISTS (SELECT 1 FROM memberships w JOIN memberships v ON v.organization_id = w.organization_id
				WHERE w.account_id = $1 AND v.account_id = a.id))))
	ORDER BY (lower(a.email) = lower($2)) DESC, p.display_name LIMIT 20`

// FindPeople searches people for a seeker; at most 20.
func FindPeople(ctx context.Context, q pg.Querier, seeker id.Participant, term string) ([]FoundPerson, error) {
	like := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(term) + "%"
	rows, err := q.Query(ctx, findPeopleSQL, seeker, term, like)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[FoundPerson])
}
