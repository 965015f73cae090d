package chat

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// MaxChanges is the longest page of changes.
const MaxChanges = 500

// Change is one persisted change of a room. For events about a message the
// payload is empty and read from the message when it is asked for.
type Change struct {
	Seq       int64
	Event     string
	SubjectID uuid.UUID
	Payload   json.RawMessage
}

// RecordTx gives a change the room's next version, which is the `seq` of its
// event (decision 20), and remembers it for clients that miss the event. It
// locks the room. Payload is the event's payload without seq, or nil when it is
// rendered from the subject.
func RecordTx(ctx context.Context, tx *pg.Tx, c id.Conversation, event string, subject uuid.UUID, payload json.RawMessage) (seq int64, err error) {
	var subj *string
	if subject != uuid.Nil {
		subj = new(subject.String())
	}
	err = tx.QueryRow(ctx, sqlRecordChange, c, event, subj, objectJSON(payload)).Scan(&seq)
	if pg.IsNotFound(err) {
		return 0, ErrRoomNotFound
	}
	if err != nil {
		return 0, fmt.Errorf("record change: %w", err)
	}
	return seq, nil
}

// Changes are the changes with a number above after, oldest first, at most limit
// (bounded by MaxChanges).
func Changes(ctx context.Context, q pg.Querier, c id.Conversation, after int64, limit int) ([]Change, error) {
	rows, err := q.Query(ctx, sqlChanges, c, after, min(max(limit, 1), MaxChanges))
	if err != nil {
		return nil, fmt.Errorf("list changes: %w", err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Change, error) {
		var ch Change
		var subj *string
		if err := row.Scan(&ch.Seq, &ch.Event, &subj, &ch.Payload); err != nil {
			return ch, err
		}
		if subj != nil {
			u, err := uuid.Parse(*subj)
			if err != nil {
				return ch, fmt.Errorf("subject: %w", err)
			}
			ch.SubjectID = u
		}
		return ch, nil
	})
	if err != nil {
		return nil, fmt.Errorf("list changes: %w", err)
	}
	return out, nil
}

// PruneChangesTx forgets at most limit changes older than days; clients that
// are further behind refetch the room. It returns how many it removed.
func PruneChangesTx(ctx context.Context, tx *pg.Tx, days, limit int) (int64, error) {
	tag, err := tx.Exec(ctx, sqlPruneChanges, days, limit)
	if err != nil {
		return 0, fmt.Errorf("prune changes: %w", err)
	}
	return tag.RowsAffected(), nil
}
