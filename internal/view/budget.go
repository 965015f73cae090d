package view

import (
	"context"
	"time"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// The code is that of the notice (flow.NoticeBudget).
const roomsToTellSQL = `SELECT w.room FROM (
		SELECT q.conversation_id AS room FROM queued_messages q WHERE q.agent_id = $1::uuid AND q.lease_until IS NULL
		UNION SELECT t.work_conversation_id FROM queued_tasks q JOIN tasks t ON t.id = q.task_id WHERE q.agent_id = $1::uuid AND q.lease_until IS NULL) w
	WHERE ($4::uuid IS NULL OR w.room = $4::uuid) AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.conversation_id = w.room AND m.inserted_at >= $2::date::timestamp AT TIME ZONE $3::text
		AND m.sender_kind = 'system' AND m.metadata ->> 'code' = 'budget_stopped' AND m.metadata -> 'params' ->> 'agent_id' = $1::text) LIMIT 20`

// RoomsToTellOfStop are rooms in which messages or tasks wait for an agent that has no
// tokens left, and which no notice of that day, one of the zone, has told so. At most 20;
// with a room only that one.
func RoomsToTellOfStop(ctx context.Context, q pg.Querier, agent id.Participant, day time.Time, zone string, room id.Conversation) ([]id.Conversation, error) {
	return pg.Column[id.Conversation](ctx, q, "rooms of stopped agent", roomsToTellSQL, agent, day, zone, room)
}
