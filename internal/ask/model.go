package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// Query is a stateless question to an agent's own model (bridge contract 2.10). It
// is claimed once; nobody is asked again when the answer does not come.
type Query struct {
	ID           id.Query
	AgentID      id.Participant
	TaskID       id.Task // what it is for; zero for nothing
	Label        string
	SystemPrompt string
	UserContent  string
	MaxTokens    *int
	Tier         *string // fast | deep
	Status       string  // pending | claimed | answered | failed | expired
	ExecutorID   id.Executor
	Answer       *string
	Error        *string
	Model        *string
	ExpiresAt    time.Time
}

// ErrNotYours is the answer to who answers a question that it was not given.
var ErrNotYours = fault.New(fault.Forbidden, "executor_not_owned", "This question was not given to this executor.")

// ErrOver is the answer to who answers a question that is over.
var ErrOver = fault.New(fault.Conflict, "already_ended", "This question was answered before or has expired.")

// AddQueryTx stores a question.
func AddQueryTx(ctx context.Context, tx *pg.Tx, q Query) error {
	_, err := tx.Exec(ctx, sqlInsertQuery, q.ID, q.AgentID, q.TaskID, q.Label, q.SystemPrompt, q.UserContent, q.MaxTokens, q.Tier, q.ExpiresAt)
	if err != nil {
		return fmt.Errorf("store agent query: %w", err)
	}
	return nil
}

// ClaimQueriesTx gives all that wait for an agent to an executor.
func ClaimQueriesTx(ctx context.Context, tx *pg.Tx, agent id.Participant, ex id.Executor) ([]Query, error) {
	return pg.Rows[Query](ctx, tx, "claim agent queries", sqlClaimQueries, agent, ex)
}

// CountQueries counts what waits.
func CountQueries(ctx context.Context, q pg.Querier, agent id.Participant) (int, error) {
	return count(ctx, q, sqlCountQueries, agent)
}

// LockQueryTx reads and locks one, or fault.ErrNotFound.
func LockQueryTx(ctx context.Context, tx *pg.Tx, q id.Query) (Query, error) {
	list, err := pg.Rows[Query](ctx, tx, "load agent query", sqlLockQuery, q)
	if err == nil && len(list) == 0 {
		err = fault.ErrNotFound
	}
	if err != nil {
		return Query{}, err
	}
	return list[0], nil
}

// AnswerQueryTx stores the answer of a claimed query; ErrOver when it is not claimed any more.
func AnswerQueryTx(ctx context.Context, tx *pg.Tx, q id.Query, text string, model *string, usage json.RawMessage) error {
	return once(ctx, tx, "answer agent query", sqlAnswerQuery, q, text, model, jsonb(usage))
}

// FailQueryTx stores that there is no answer.
func FailQueryTx(ctx context.Context, tx *pg.Tx, q id.Query, reason string, model *string) error {
	return once(ctx, tx, "fail agent query", sqlFailQuery, q, reason, model)
}

// Scope is a request of an orchestrator to another agent to word a task.
type Scope struct {
	ID             id.Scope
	RequesterID    id.Participant
	AgentID        id.Participant
	ConversationID id.Conversation
	Content        string
	RequestContext json.RawMessage
	Status         string // pending | claimed | responded | expired
	ExecutorID     id.Executor
	Title          *string
	Description    *string
	ScopeMessage   *string
	ExpiresAt      time.Time
}

// AddScopeTx stores a request.
func AddScopeTx(ctx context.Context, tx *pg.Tx, s Scope) error {
	meta := s.RequestContext
	if len(meta) == 0 {
		meta = json.RawMessage("{}")
	}
	_, err := tx.Exec(ctx, sqlInsertScope, s.ID, s.RequesterID, s.AgentID, s.ConversationID, s.Content, string(meta), s.ExpiresAt)
	if err != nil {
		return fmt.Errorf("store scope request: %w", err)
	}
	return nil
}

// ClaimScopesTx gives all that wait for an agent to an executor.
func ClaimScopesTx(ctx context.Context, tx *pg.Tx, agent id.Participant, ex id.Executor) ([]Scope, error) {
	return pg.Rows[Scope](ctx, tx, "claim scope requests", sqlClaimScopes, agent, ex)
}

// CountScopes counts what waits.
func CountScopes(ctx context.Context, q pg.Querier, agent id.Participant) (int, error) {
	return count(ctx, q, sqlCountScopes, agent)
}

// Scopes reads requests; absent ones are missing.
func Scopes(ctx context.Context, q pg.Querier, list []id.Scope) ([]Scope, error) {
	return pg.Rows[Scope](ctx, q, "load scope requests", sqlGetScopes, id.Strings(list))
}

// RespondTx stores an agent's answer; ErrOver when the request is over.
func RespondTx(ctx context.Context, tx *pg.Tx, s id.Scope, agent id.Participant, title, description string, message *string) error {
	return once(ctx, tx, "respond to scope request", sqlRespondScope, s, agent, title, description, message)
}

// Expire ends what nobody answered in time.
func Expire(ctx context.Context, q pg.Querier) error {
	for _, sql := range []string{sqlExpireQueries, sqlExpireScopes} {
		if _, err := q.Exec(ctx, sql); err != nil {
			return fmt.Errorf("expire questions: %w", err)
		}
	}
	return nil
}

// Return offers again what an executor took and did not answer: it is gone.
func Return(ctx context.Context, q pg.Querier, agent id.Participant, ex id.Executor) error {
	for _, sql := range []string{sqlReturnQueries, sqlReturnScopes} {
		if _, err := q.Exec(ctx, sql, agent, ex); err != nil {
			return fmt.Errorf("return questions: %w", err)
		}
	}
	return nil
}

func once(ctx context.Context, tx *pg.Tx, what, sql string, args ...any) error {
	tag, err := tx.Exec(ctx, sql, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if tag.RowsAffected() == 0 {
		return ErrOver
	}
	return nil
}

func count(ctx context.Context, q pg.Querier, sql string, args ...any) (n int, err error) {
	if err := q.QueryRow(ctx, sql, args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("count questions: %w", err)
	}
	return n, nil
}

func jsonb(raw json.RawMessage) *string {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return new(string(raw))
}
