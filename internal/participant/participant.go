// Package participant owns the table participants: the one id space of people
// and agents (decision 1). What a person or an agent is beyond a name, a picture
// and a status belongs to account and agent.
package participant

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// Kinds and states, as stored and on the wire.
const (
	Human = "human"
	Agent = "agent"

	Active      = "active"
	Deactivated = "deactivated"
	Deleted     = "deleted"
)

// MaxName is the longest display name in characters (desktop 6).
const MaxName = 100

// Participant is a person or an agent, as everybody knows it.
type Participant struct {
	ID          id.Participant
	Kind        string
	DisplayName string
	AvatarURL   *string
	Status      string
	InsertedAt  time.Time
	UpdatedAt   time.Time
}

// CleanName trims a display name and checks it: 1 to MaxName characters, none of
// them a control or formatting character that could imitate another name.
func CleanName(field, name string) (string, error) {
	name = strings.Join(strings.Fields(name), " ")
	bad := strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && !joins(r) || r == '[' || r == ']'
	})
	switch {
	case name == "":
		return "", fault.New(fault.Invalid, "invalid", "A name is needed.").With(field, "required", "Enter a name.")
	case !utf8.ValidString(name) || bad:
		return "", fault.New(fault.Invalid, "invalid", "This name has characters that are not allowed.").With(field, "characters", "Square brackets and control characters are not allowed.")
	case utf8.RuneCountInString(name) > MaxName:
		return "", fault.Newf(fault.Invalid, "invalid", "A name may have at most %d characters.", MaxName).With(field, "too_long", "This name is too long.")
	}
	return name, nil
}

// joins reports the invisible characters that writing needs: those that shape
// Persian or Indic words and put emoji together. All others only make two names look
// like one.
func joins(r rune) bool {
	return r == '\u200c' || r == '\u200d' || r >= '\U000e0020' && r <= '\U000e007f'
}

// InsertTx makes a participant.
func InsertTx(ctx context.Context, tx *pg.Tx, p Participant) error {
	_, err := tx.Exec(ctx, insertSQL, p.ID, p.Kind, p.DisplayName, p.AvatarURL)
	return err
}

// RenameTx sets the display name.
func RenameTx(ctx context.Context, tx *pg.Tx, pid id.Participant, name string) error {
	_, err := tx.Exec(ctx, renameSQL, pid, name)
	return err
}

// SetAvatarTx sets or clears the picture.
func SetAvatarTx(ctx context.Context, tx *pg.Tx, pid id.Participant, url *string) error {
	_, err := tx.Exec(ctx, avatarSQL, pid, url)
	return err
}

// SetStatusTx changes the state. A deleted participant keeps its row, so that old messages keep a sender, and stays
// deleted whatever else was under way.
func SetStatusTx(ctx context.Context, tx *pg.Tx, pid id.Participant, status string) error {
	_, err := tx.Exec(ctx, statusSQL, pid, status)
	return err
}

// Get reads one participant; fault.ErrNotFound when absent.
func Get(ctx context.Context, q pg.Querier, pid id.Participant) (Participant, error) {
	ps, err := List(ctx, q, []id.Participant{pid})
	if err != nil {
		return Participant{}, err
	}
	if len(ps) == 0 {
		return Participant{}, fault.ErrNotFound
	}
	return ps[0], nil
}

// List reads participants by id, in no order; absent ones are left out.
func List(ctx context.Context, q pg.Querier, ids []id.Participant) ([]Participant, error) {
	rows, err := q.Query(ctx, listSQL, id.Strings(ids))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[Participant])
}
