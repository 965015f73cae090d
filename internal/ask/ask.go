// Package ask owns the questions of the place: those of a run to people, for whose
// answer the run waits (asks; T1, field.md 26), those of the server to an agent's own
// model (agent_queries; bridge contract 2.10), and those of an orchestrator to another
// agent (scope_requests; 2.9). It decides nobody's rights and tells nobody.
package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// The limits of a question.
const (
	MaxQuestion = 5_000 // characters
	MaxAnswer   = 10_000
	MaxOptions  = 4
	DefaultLife = 7 * 24 * time.Hour
	MaxLife     = 60 * 24 * time.Hour
)

// Status is the state of a question.
type Status string

// The states: open → answered, expired, withdrawn.
const (
	Open      Status = "open"
	Answered  Status = "answered"
	Expired   Status = "expired"
	Withdrawn Status = "withdrawn"
)

// Ask is one question of a run: options to choose from, or a field to fill in, or
// neither for free text.
type Ask struct {
	ID             id.Ask
	TaskID         id.Task
	AgentID        id.Participant
	ConversationID id.Conversation // where it is shown and answered
	MessageID      id.Message
	Asked          []id.Participant
	Question       string
	Options        []string
	Field          *string
	DefaultValue   *string
	Status         Status
	Answer         *string
	AnsweredBy     id.Participant
	ExpiresAt      time.Time
	EndedAt        *time.Time
	InsertedAt     time.Time
	ApprovalID     id.Approval // the request that the run waits for: it is decided, not answered; zero for words
}

// ErrClosed is the answer to whoever answers a question that is not open any more.
var ErrClosed = fault.New(fault.Conflict, "ask_closed", "This question is not open any more.")

// ErrApproval is the answer to words where a decision is asked for.
var ErrApproval = fault.New(fault.Conflict, "decide_approval", "This is a request to run something: approve or deny it.")

var errAsk = fault.New(fault.Invalid, "invalid", "This question cannot be asked.")

// Check refuses a question without words, a single option, and a default that is none of the options.
func (a *Ask) Check(now time.Time) error {
	a.Question = strings.TrimSpace(a.Question)
	switch n := utf8.RuneCountInString(a.Question); {
	case n == 0:
		return errAsk.With("question", "required", "say what you want to know")
	case n > MaxQuestion:
		return errAsk.With("question", "too_long", fmt.Sprintf("at most %d characters", MaxQuestion))
	case len(a.Options) == 1 || len(a.Options) > MaxOptions:
		return errAsk.With("options", "count", fmt.Sprintf("two to %d options, or none", MaxOptions))
	case len(a.Asked) == 0:
		return errAsk.With("asked", "required", "somebody has to be asked")
	case a.ExpiresAt.Before(now) || a.ExpiresAt.After(now.Add(MaxLife)):
		return errAsk.With("expires_at", "range", "at most 60 days from now")
	}
	fits := a.DefaultValue == nil || len(a.Options) == 0
	for _, o := range a.Options {
		if strings.TrimSpace(o) == "" || utf8.RuneCountInString(o) > 200 {
			return errAsk.With("options", "format", "an option has 1 to 200 characters")
		}
		fits = fits || o == *a.DefaultValue
	}
	if !fits {
		return errAsk.With("default", "unknown", "the default must be one of the options")
	}
	return nil
}

// Fits refuses an answer that is empty, too long, or none of the options.
func (a Ask) Fits(answer string) error {
	bad := fault.New(fault.Invalid, "invalid", "This answer does not fit the question.")
	if n := utf8.RuneCountInString(strings.TrimSpace(answer)); n == 0 || n > MaxAnswer {
		return bad.With("answer", "length", fmt.Sprintf("1 to %d characters", MaxAnswer))
	}
	if strings.Contains(answer, "\x00") || !utf8.ValidString(answer) {
		return bad.With("answer", "characters", "must be text")
	}
	return nil
}

// InsertTx stores a question that Check has passed.
func InsertTx(ctx context.Context, tx *pg.Tx, a Ask) error {
	options := a.Options
	if options == nil {
		options = []string{}
	}
	raw, err := json.Marshal(options)
	if err != nil {
		return fmt.Errorf("store question: %w", err)
	}
	_, err = tx.Exec(ctx, sqlInsert, a.ID, a.TaskID, a.AgentID, a.ConversationID, a.MessageID, id.Strings(a.Asked), a.Question, string(raw), a.Field, a.DefaultValue, a.ExpiresAt, a.ApprovalID)
	if err != nil {
		return fmt.Errorf("store question: %w", err)
	}
	return nil
}

// Get is a question, or fault.ErrNotFound.
func Get(ctx context.Context, q pg.Querier, a id.Ask) (Ask, error) {
	list, err := many(ctx, q, sqlGet, a)
	if err == nil && len(list) == 0 {
		err = fault.ErrNotFound
	}
	if err != nil {
		return Ask{}, err
	}
	return list[0], nil
}

// OpenOf is the open question of a task; nil when there is none.
func OpenOf(ctx context.Context, q pg.Querier, t id.Task) (*Ask, error) {
	list, err := many(ctx, q, sqlOpenOf, t)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// OfTask lists the questions of a task, oldest first.
func OfTask(ctx context.Context, q pg.Querier, t id.Task) ([]Ask, error) {
	return many(ctx, q, sqlOfTask, t)
}

// OpenIn lists the open questions that a person may answer in words in a room, oldest first.
func OpenIn(ctx context.Context, q pg.Querier, c id.Conversation, who id.Participant) ([]Ask, error) {
	return many(ctx, q, sqlOpenIn, c, who)
}

// Due lists questions whose time is over; an approval has its own end.
func Due(ctx context.Context, q pg.Querier) ([]Ask, error) { return many(ctx, q, sqlDue) }

// CloseTx ends an open question; false when it was closed before, or stands for an
// approval: that ends with it, in the database. By is zero unless a person answered.
func CloseTx(ctx context.Context, tx *pg.Tx, a id.Ask, s Status, answer *string, by id.Participant) (bool, error) {
	tag, err := tx.Exec(ctx, sqlClose, a, string(s), answer, by)
	if err != nil {
		return false, fmt.Errorf("close question: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

type row struct {
	ID             id.Ask
	TaskID         id.Task
	AgentID        id.Participant
	ConversationID id.Conversation
	MessageID      id.Message
	Asked          []id.Participant
	Question       string
	Options        json.RawMessage
	Field          *string
	DefaultValue   *string
	Status         Status
	Answer         *string
	AnsweredBy     id.Participant
	ExpiresAt      time.Time
	EndedAt        *time.Time
	InsertedAt     time.Time
	ApprovalID     id.Approval
}

func many(ctx context.Context, q pg.Querier, sql string, args ...any) ([]Ask, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("read questions: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("read questions: %w", err)
	}
	out := make([]Ask, len(list))
	for n, r := range list {
		out[n] = Ask{
			ID: r.ID, TaskID: r.TaskID, AgentID: r.AgentID, ConversationID: r.ConversationID, MessageID: r.MessageID, Asked: r.Asked, Question: r.Question,
			Field: r.Field, DefaultValue: r.DefaultValue, Status: r.Status, Answer: r.Answer, AnsweredBy: r.AnsweredBy, ExpiresAt: r.ExpiresAt,
			EndedAt: r.EndedAt, InsertedAt: r.InsertedAt, ApprovalID: r.ApprovalID,
		}
		if err := json.Unmarshal(r.Options, &out[n].Options); err != nil {
			return nil, fmt.Errorf("read questions: options: %w", err)
		}
	}
	return out, nil
}
