package view

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// Unread counts what others wrote behind a participant's read mark: rows of the
// main timeline, bubbles of one turn once (desktop 3.8). Notices and hidden rows
// do not count.
type Unread struct {
	ConversationID id.Conversation
	Messages       int
	Mentions       int
}

// A room with more than this many unread rows shows this many: counting stays cheap.
const unreadCap = `1000`

const unreadFrom = ` FROM conversation_members me JOIN conversations c ON c.id = me.conversation_id
	CROSS JOIN LATERAL (SELECT count(DISTINCT coalesce(x.turn_group_id, x.id::text)) AS messages,
			count(*) FILTER (WHERE me.participant_id = ANY(x.mentions)) AS mentions
		FROM (SELECT m.id, m.turn_group_id, m.mentions FROM messages m
			WHERE m.conversation_id = me.conversation_id AND m.seq > me.last_read_seq AND m.deleted_at IS NULL
			AND m.sender_id IS NOT NULL AND m.sender_id <> me.participant_id
			AND (m.message_type IS NULL OR m.message_type NOT IN ` + hiddenTypes + `)
			ORDER BY m.seq DESC LIMIT ` + unreadCap + `) x) n
	WHERE me.participant_id = $1::uuid AND c.deleted_at IS NULL AND c.type <> 'task' AND c.message_seq > me.last_read_seq AND n.messages > 0`

const (
	unreadSQL   = `SELECT me.conversation_id, n.messages, n.mentions` + unreadFrom + ` LIMIT 2000`
	unreadInSQL = `SELECT me.conversation_id, n.messages, n.mentions` + unreadFrom + ` AND me.conversation_id = ANY($2::uuid[])`
)

// UnreadOf counts in all rooms of a participant; rooms with nothing unread are missing.
func UnreadOf(ctx context.Context, q pg.Querier, p id.Participant) ([]Unread, error) {
	return unread(ctx, q, unreadSQL, p)
}

// UnreadIn counts in the rooms named.
func UnreadIn(ctx context.Context, q pg.Querier, p id.Participant, rooms []id.Conversation) (map[id.Conversation]Unread, error) {
	ns, err := unread(ctx, q, unreadInSQL, p, id.Strings(rooms))
	if err != nil {
		return nil, err
	}
	out := make(map[id.Conversation]Unread, len(ns))
	for _, n := range ns {
		out[n.ConversationID] = n
	}
	return out, nil
}

func unread(ctx context.Context, q pg.Querier, sql string, args ...any) ([]Unread, error) {
	return pg.Rows[Unread](ctx, q, "count unread", sql, args...)
}

// Contact is somebody a writer may reach beyond the room: to mention, to add.
type Contact struct {
	ID          id.Participant
	Kind        string
	DisplayName string
	OwnerID     id.Participant // of an agent
}

// One's own agents, the owner, and the people and visible agents of the workspace.
const contactSQL = `SELECT p.id, p.kind, p.display_name, a.owner_id FROM participants p LEFT JOIN agents a ON a.id = p.id
	WHERE p.status = 'active' AND p.id <> $1::uuid AND (
		a.owner_id = $2::uuid OR p.id = $2::uuid
		OR (a.id IS NOT NULL AND (a.organization_id = $3::uuid OR $3::uuid = ANY(a.organization_ids))
			AND EXISTS (SELECT 1 FROM organizations o WHERE o.id = $3::uuid AND NOT o.is_personal))
		OR EXISTS (SELECT 1 FROM memberships w WHERE w.organization_id = $3::uuid AND w.account_id = p.id))`

const (
	contactsSQL    = contactSQL + ` ORDER BY p.inserted_at, p.id LIMIT 1000`
	contactByIDSQL = contactSQL + ` AND p.id = ANY($4::uuid[])`
	activePeople   = `SELECT p.id, p.kind, p.display_name, NULL::uuid AS owner_id FROM participants p
		WHERE p.status = 'active' AND p.kind = 'human' AND p.id = ANY($1::uuid[])`
	peersSQL = `SELECT x.id, p.kind, a.owner_id FROM (
			SELECT o.participant_id AS id FROM conversation_members me
			JOIN conversations c ON c.id = me.conversation_id AND c.deleted_at IS NULL
			JOIN conversation_members o ON o.conversation_id = me.conversation_id
			WHERE me.participant_id = $1::uuid AND o.participant_id <> $1::uuid
			UNION SELECT w2.account_id FROM memberships w1 JOIN memberships w2 ON w2.organization_id = w1.organization_id
			WHERE w1.account_id = $1::uuid AND w2.account_id <> $1::uuid
			UNION SELECT a.owner_id FROM agents a WHERE a.id = $1::uuid
			UNION SELECT b.id FROM agents b WHERE b.owner_id = $1::uuid
		) x JOIN participants p ON p.id = x.id AND p.status <> 'deleted' LEFT JOIN agents a ON a.id = x.id LIMIT 5000`

	roomsWithSQL = `SELECT conversation_id FROM conversation_members WHERE participant_id = $1::uuid AND conversation_id = ANY($2::uuid[])`
)

// Contacts are who `who` (owned by owner) may reach in a workspace, at most 1000.
func Contacts(ctx context.Context, q pg.Querier, who, owner id.Participant, org id.Organization) ([]Contact, error) {
	return contacts(ctx, q, contactsSQL, who, owner, org)
}

// Reachable are those of ids whom `who` may bring into a room: contacts, and
// people by their id. Others are missing, as if they did not exist.
func Reachable(ctx context.Context, q pg.Querier, who, owner id.Participant, org id.Organization, ids []id.Participant) (map[id.Participant]Contact, error) {
	out := make(map[id.Participant]Contact, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	cs, err := contacts(ctx, q, contactByIDSQL, who, owner, org, id.Strings(ids))
	if err != nil {
		return nil, err
	}
	people, err := contacts(ctx, q, activePeople, id.Strings(ids))
	if err != nil {
		return nil, err
	}
	for _, c := range append(cs, people...) {
		out[c.ID] = c
	}
	return out, nil
}

func contacts(ctx context.Context, q pg.Querier, sql string, args ...any) ([]Contact, error) {
	return pg.Rows[Contact](ctx, q, "list contacts", sql, args...)
}

// Peer is somebody whose coming and going a participant sees.
type Peer struct {
	ID      id.Participant
	Kind    string         // human | agent
	OwnerID id.Participant // of an agent
}

// Peers are who hears of a participant's coming and going, and whose it sees:
// everybody who shares a room or a workspace with it, its owner and its agents;
// at most 5000.
func Peers(ctx context.Context, q pg.Querier, p id.Participant) ([]Peer, error) {
	return pg.Rows[Peer](ctx, q, "list peers", peersSQL, p)
}

// circlesSQL are the rooms and workspaces of people, and they with their agents, each
// with the ids of all who are in it, one behind the other.
const circlesSQL = `SELECT string_agg(uuid_send(o.participant_id), ''::bytea) AS ids FROM conversation_members o
		WHERE o.conversation_id = ANY(ARRAY(SELECT DISTINCT me.conversation_id FROM conversation_members me
			JOIN conversations c ON c.id = me.conversation_id AND c.deleted_at IS NULL WHERE me.participant_id = ANY($1::uuid[])))
		GROUP BY o.conversation_id
	UNION ALL SELECT string_agg(uuid_send(w.account_id), ''::bytea) FROM memberships w
		WHERE w.organization_id = ANY(ARRAY(SELECT DISTINCT me.organization_id FROM memberships me WHERE me.account_id = ANY($1::uuid[])))
		GROUP BY w.organization_id
	UNION ALL SELECT string_agg(uuid_send(b.id), ''::bytea) || uuid_send(b.owner_id) FROM agents b WHERE b.owner_id = ANY($1::uuid[]) GROUP BY b.owner_id`

// Circles are the sets of participants in which people meet: two of them are Peers
// when they are in one. Each has at least one of the people given.
func Circles(ctx context.Context, q pg.Querier, people []id.Participant) ([][]id.Participant, error) {
	rows, err := q.Query(ctx, circlesSQL, id.Strings(people))
	if err != nil {
		return nil, fmt.Errorf("list circles: %w", err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) ([]id.Participant, error) {
		var ids []byte
		if err := row.Scan(&ids); err != nil {
			return nil, err
		}
		circle := make([]id.Participant, len(ids)/16)
		for i := range circle {
			circle[i] = id.From[id.Participant](uuid.UUID(ids[16*i : 16*i+16]))
		}
		return circle, nil
	})
	if err != nil {
		return nil, fmt.Errorf("list circles: %w", err)
	}
	return out, nil
}

// RoomsWith are those of the rooms in which a participant sits.
func RoomsWith(ctx context.Context, q pg.Querier, p id.Participant, rooms []id.Conversation) (map[id.Conversation]bool, error) {
	out := make(map[id.Conversation]bool, len(rooms))
	if len(rooms) == 0 {
		return out, nil
	}
	list, err := pg.Column[id.Conversation](ctx, q, "list rooms", roomsWithSQL, p, id.Strings(rooms))
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		out[c] = true
	}
	return out, nil
}

const guestsSQL = `SELECT p.id FROM participants p WHERE p.id = ANY($2::uuid[]) AND p.kind = 'human'
	AND NOT EXISTS (SELECT 1 FROM memberships w WHERE w.organization_id = $1::uuid AND w.account_id = p.id)`

// Guests are those people among ids who are no members of the workspace.
func Guests(ctx context.Context, q pg.Querier, org id.Organization, ids []id.Participant) (map[id.Participant]bool, error) {
	list, err := pg.Column[id.Participant](ctx, q, "list guests", guestsSQL, org, id.Strings(ids))
	if err != nil {
		return nil, err
	}
	out := make(map[id.Participant]bool, len(list))
	for _, p := range list {
		out[p] = true
	}
	return out, nil
}

const ownerIDSQL = `SELECT owner_id FROM agents WHERE id = $1::uuid`

// OwnerIDOf is the owner of an agent; zero for people and nobody.
func OwnerIDOf(ctx context.Context, q pg.Querier, p id.Participant) (id.Participant, error) {
	var owner id.Participant
	err := q.QueryRow(ctx, ownerIDSQL, p).Scan(&owner)
	if err != nil && !pg.IsNotFound(err) {
		return id.Participant{}, fmt.Errorf("load owner: %w", err)
	}
	return owner, nil
}
