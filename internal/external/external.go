// Package external owns what lets a person's own command line session speak as an
// agent: external_sessions (who runs where, in which state), inbox_items (what such
// an agent has to read) and agent_invites (the right to become an agent). It does
// not own rooms (chat) or agents (agent).
package external

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// The states of a session (desktop 5.4) and why it ended.
const (
	Running = "running"
	Waiting = "waiting"
	Ended   = "ended"

	ReasonEnded = "ended"
	ReasonLost  = "lost"
)

// The tools of people (desktop 5.4).
const (
	ClaudeCode = "claude_code"
	Codex      = "codex"
	OtherTool  = "other"
)

// Silence is how long a session may be silent before it is lost (bridge 8.2), and
// Retention how long an ended one is remembered.
const (
	Silence   = 180 * time.Second
	Retention = 90 * 24 * time.Hour
)

// MaxTools bounds the different tools that are counted by name for one session.
const MaxTools = 200

// Session is an external_sessions row. Tools counts calls by name.
type Session struct {
	ID             id.ExternalSession
	AgentID        id.Participant
	SessionKey     string
	Tool           string
	State          string
	EndReason      *string
	Hostname       string
	Cwd            string
	Branch         string
	Repo           string
	Model          string
	Effort         string
	BlockedOn      string
	Live           bool
	Prompts        int
	ToolCalls      int
	Tools          map[string]int
	Announced      bool
	ConversationID id.Conversation
	StartedAt      time.Time
	LastEventAt    time.Time
	EndedAt        *time.Time
	Quiet          bool `db:"-"` // nothing has been reported yet: its start is not said
}

// ErrUnknown is the answer for a session that this agent does not have.
var ErrUnknown = fault.New(fault.NotFound, "session_not_found", "There is no such session.")

// OpenTx finds the agent's session of that name, or makes it waiting, and locks it.
func OpenTx(ctx context.Context, tx *pg.Tx, agent id.Participant, key, tool string) (s Session, created bool, err error) {
	tag, err := tx.Exec(ctx, sqlMake, agent, key, tool)
	if err != nil {
		return Session{}, false, fmt.Errorf("open session: %w", err)
	}
	s, err = one(ctx, tx, sqlLockByKey, agent, key)
	return s, tag.RowsAffected() == 1, err
}

// LockTx locks a session by id, or answers ErrUnknown.
func LockTx(ctx context.Context, tx *pg.Tx, s id.ExternalSession) (Session, error) {
	return one(ctx, tx, sqlLock, s)
}

// Find is the agent's session of that name, or ErrUnknown.
func Find(ctx context.Context, q pg.Querier, agent id.Participant, key string) (Session, error) {
	return one(ctx, q, sqlByKey, agent, key)
}

// LockOfRoomTx locks the session that a room shows, or answers ErrUnknown.
func LockOfRoomTx(ctx context.Context, tx *pg.Tx, c id.Conversation) (Session, error) {
	return one(ctx, tx, sqlLockOfRoom, c)
}

func one(ctx context.Context, q pg.Querier, sql string, args ...any) (Session, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return Session{}, fmt.Errorf("load session: %w", err)
	}
	s, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Session])
	if errors.Is(err, pgx.ErrNoRows) {
		return Session{}, ErrUnknown
	}
	if err != nil {
		return Session{}, fmt.Errorf("load session: %w", err)
	}
	return s, nil
}

// SaveTx stores what an event made of a locked session and notes that it lives now.
func SaveTx(ctx context.Context, tx *pg.Tx, s Session) error {
	tools, err := json.Marshal(s.Tools)
	if err != nil {
		return fmt.Errorf("save session: %w", err)
	}
	_, err = tx.Exec(ctx, sqlSave, s.ID, s.Tool, s.State, s.EndReason, s.Hostname, s.Cwd, s.Branch, s.Repo, s.Model, s.Effort, s.BlockedOn, s.Live,
		s.Prompts, s.ToolCalls, string(tools), s.Announced, s.ConversationID, s.StartedAt, s.LastEventAt, s.EndedAt)
	if err != nil {
		return fmt.Errorf("save session: %w", err)
	}
	return nil
}

// Silent lists sessions that said nothing for Silence, at most limit.
func Silent(ctx context.Context, q pg.Querier, limit int) ([]id.ExternalSession, error) {
	rows, err := q.Query(ctx, sqlSilent, Silence.Seconds(), limit)
	if err != nil {
		return nil, fmt.Errorf("list silent sessions: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowTo[id.ExternalSession])
}

// Live is where an agent has a session that has not ended.
type Live struct {
	AgentID  id.Participant
	Hostname string
}

// LiveOf is the newest live session of an agent; ok is false when there is none.
func LiveOf(ctx context.Context, q pg.Querier, agent id.Participant) (l Live, ok bool, err error) {
	all, err := live(ctx, q, agent)
	if err != nil || len(all) == 0 {
		return Live{}, false, err
	}
	return all[0], true, nil
}

// AnyLive reports that one of the agent's sessions can be typed into.
func AnyLive(ctx context.Context, q pg.Querier, agent id.Participant) (yes bool, err error) {
	if err := q.QueryRow(ctx, sqlAnyLive, agent).Scan(&yes); err != nil {
		return false, fmt.Errorf("list live sessions: %w", err)
	}
	return yes, nil
}

// AllLive is LiveOf of every agent that has one.
func AllLive(ctx context.Context, q pg.Querier) ([]Live, error) {
	return live(ctx, q, id.Participant{})
}

func live(ctx context.Context, q pg.Querier, agent id.Participant) ([]Live, error) {
	rows, err := q.Query(ctx, sqlLive, agent)
	if err != nil {
		return nil, fmt.Errorf("list live sessions: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[Live])
}

// PruneTx forgets sessions that ended long ago and what was read long ago.
func PruneTx(ctx context.Context, tx *pg.Tx) error {
	for _, sql := range []string{sqlPruneSessions, sqlPruneItems} {
		if _, err := tx.Exec(ctx, sql, Retention.Seconds()); err != nil {
			return fmt.Errorf("prune sessions: %w", err)
		}
	}
	return nil
}
