package task

import (
	"context"
	"fmt"
	"time"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// Note is a new line of a task's history.
type Note struct {
	TaskID  id.Task
	Version int64
	Kind    string // an Event, or created | edited | step | asked | answered
	From    Status
	To      Status
	Actor   id.Participant
	Text    string
}

// NoteTx writes one.
func NoteTx(ctx context.Context, tx *pg.Tx, n Note) error {
	_, err := tx.Exec(ctx, sqlEvent, n.TaskID, n.Version, n.Kind, none(string(n.From)), none(string(n.To)), n.Actor, none(n.Text))
	if err != nil {
		return fmt.Errorf("write task history: %w", err)
	}
	return nil
}

func none(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Line is a stored line of the history.
type Line struct {
	ID         int64
	TaskID     id.Task
	Version    int64
	Kind       string
	FromStatus *string
	ToStatus   *string
	ActorID    id.Participant
	Note       *string
	InsertedAt time.Time
}

// History is a page of a task's history, newest first, older than before when it is not zero.
func History(ctx context.Context, q pg.Querier, t id.Task, before int64, limit int) ([]Line, error) {
	return pg.Rows[Line](ctx, q, "read task history", sqlEvents, t, before, limit)
}
