package flow

import (
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/ask"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/view"
)

// The lives of questions to models.
const (
	queryLife   = 2 * time.Minute
	scopeLife   = 2 * time.Minute
	mostCollect = 60 * time.Second
)

var (
	errAgentOffline = fault.New(fault.Conflict, "agent_offline", "The agent is offline: this runs on its own model.")
	errAgentTimeout = fault.New(fault.Conflict, "agent_timeout", "The agent's model did not answer in time.")
	errAgentFailed  = fault.New(fault.Conflict, "agent_failed", "The agent's model gave no answer.")
)

// AskModel puts a stateless question to an agent's own model and waits for the answer
// (bridge contract 2.10). Errors: agent_offline, agent_timeout, agent_failed.
func (s *Tasks) AskModel(ctx context.Context, agent id.Participant, label, system, content string) (string, error) {
	if !s.Gateway.answersQueries(agent) {
		return "", errAgentOffline
	}
	q := ask.Query{
		ID: id.New[id.Query](), AgentID: agent, Label: label, SystemPrompt: system, UserContent: content, Tier: new("fast"), ExpiresAt: time.Now().Add(queryLife),
	}
	answered := s.answers.wait(q.ID.String())
	defer s.answers.forget(q.ID.String())
	if err := s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		tx.AfterCommit(func() { s.Gateway.askAside(agent) })
		return ask.AddQueryTx(ctx, tx, q)
	}); err != nil {
		return "", err
	}
	timeout := time.NewTimer(queryLife)
	defer timeout.Stop()
	select {
	case a := <-answered:
		if strings.TrimSpace(a) == "" {
			return "", errAgentFailed
		}
		return a, nil
	case <-timeout.C:
		return "", errAgentTimeout
	case <-ctx.Done():
		return "", errAgentTimeout.Because(context.Cause(ctx))
	}
}

// AnswerQuery takes the answer of the executor that the question was given to.
func (s *Tasks) AnswerQuery(ctx context.Context, actor access.Actor, qid id.Query, ex id.Executor, text string, model *string, usage json.RawMessage) error {
	if !clean(text) || len(text) > 1<<20 {
		return fault.New(fault.Invalid, "invalid", "This answer cannot be stored.").With("text", "characters", "text of at most 1 MiB")
	}
	if _, err := object(usage); err != nil {
		usage = nil // figures that cannot be read
	}
	return s.closeQuery(ctx, actor, qid, ex, text, func(ctx context.Context, tx *pg.Tx) error { return ask.AnswerQueryTx(ctx, tx, qid, text, model, usage) })
}

// FailQuery says that there is no answer.
func (s *Tasks) FailQuery(ctx context.Context, actor access.Actor, qid id.Query, ex id.Executor, reason string, model *string) error {
	return s.closeQuery(ctx, actor, qid, ex, "", func(ctx context.Context, tx *pg.Tx) error {
		return ask.FailQueryTx(ctx, tx, qid, cutText(reason, 500), model)
	})
}

func (s *Tasks) closeQuery(ctx context.Context, actor access.Actor, qid id.Query, ex id.Executor, text string, fn func(ctx context.Context, tx *pg.Tx) error) error {
	if err := access.RequireAgent(actor); err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		q, err := ask.LockQueryTx(ctx, tx, qid)
		switch {
		case err != nil:
			return err
		case q.AgentID != actor.ID:
			return fault.ErrNotFound
		case q.Status != "claimed" && q.Status != "pending":
			return ask.ErrOver
		case q.ExecutorID != ex:
			return ask.ErrNotYours
		}
		tx.AfterCommit(func() { s.answers.give(qid.String(), text) })
		return fn(ctx, tx)
	})
}

const reviseSystem = "You edit a document in Markdown that describes who an AI agent is. Apply the instruction to the document. " +
	"Answer with the whole new document and nothing else: no explanation, no code fence."

// ReviseSoul has an agent's own model rewrite its soul by an instruction. Nothing is
// saved: the answer is a proposal (desktop contract 4.10).
func (s *Tasks) ReviseSoul(ctx context.Context, actor access.Actor, aid id.Participant, instruction string) (string, error) {
	a, err := s.Gateway.managed(ctx, actor, aid)
	if err != nil {
		return "", err
	}
	instruction = strings.TrimSpace(instruction)
	if n := utf8.RuneCountInString(instruction); n == 0 || n > 5000 || !clean(instruction) {
		return "", fault.New(fault.Invalid, "invalid", "Say what should change.").With("instruction", "length", "1 to 5000 characters")
	}
	return s.AskModel(ctx, aid, "soul_revise", reviseSystem, "# Instruction\n"+instruction+"\n\n# Document\n"+a.SoulMD)
}

// ScopeRequest asks an agent to word a task, as an orchestrator does (bridge contract
// 3.2).
func (s *Tasks) ScopeRequest(ctx context.Context, actor access.Actor, agent id.Participant, conv id.Conversation, content string, requestContext json.RawMessage) (ask.Scope, error) {
	if err := access.RequireAgent(actor); err != nil {
		return ask.Scope{}, err
	}
	bad := fault.New(fault.Invalid, "invalid", "This request cannot be made.")
	if n := utf8.RuneCountInString(content); strings.TrimSpace(content) == "" || n > 30_000 || !clean(content) {
		return ask.Scope{}, bad.With("content", "length", "1 to 30000 characters")
	}
	meta, err := object(requestContext)
	if err != nil || len(requestContext) > 64<<10 {
		return ask.Scope{}, bad.With("request_context", "object", "a JSON object of at most 64 KiB")
	}
	raw, err := pack(meta)
	if err != nil {
		return ask.Scope{}, err
	}
	sc := ask.Scope{ID: id.New[id.Scope](), RequesterID: actor.ID, AgentID: agent, ConversationID: conv, Content: content, RequestContext: raw, Status: "pending", ExpiresAt: time.Now().Add(scopeLife)}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		role, err := chat.Role(ctx, tx, conv, actor.ID)
		if err != nil {
			return err
		}
		if err := access.PostInRoom(actor, access.RoomFacts{ID: conv, Role: role}); err != nil {
			return err
		}
		m, ok, err := view.MemberOf(ctx, tx, conv, agent)
		if err != nil {
			return err
		}
		if !ok || !m.IsAgent() { // beyond the room it must be one that the asker knows
			reach, err := view.Reachable(ctx, tx, actor.ID, actor.OwnerID, actor.OrganizationID, []id.Participant{agent})
			if err != nil {
				return err
			}
			if c, known := reach[agent]; !known || c.Kind != chat.Agent {
				return bad.With("agent_id", "unknown", "there is no such agent here")
			}
		}
		tx.AfterCommit(func() { s.Gateway.askAside(agent) })
		return ask.AddScopeTx(ctx, tx, sc)
	})
	return sc, err
}

// RespondScope is an agent's wording.
func (s *Tasks) RespondScope(ctx context.Context, actor access.Actor, sid id.Scope, title, description string, message *string) error {
	if err := access.RequireAgent(actor); err != nil {
		return err
	}
	if title = cutText(strings.TrimSpace(title), 200); title == "" || !clean(title+description) {
		return fault.New(fault.Invalid, "invalid", "A task needs a title.").With("title", "required", "must not be empty")
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		list, err := ask.Scopes(ctx, tx, []id.Scope{sid})
		if err != nil {
			return err
		}
		if len(list) == 0 || list[0].AgentID != actor.ID {
			return fault.ErrNotFound
		}
		tx.AfterCommit(func() { s.answers.give(sid.String(), "") })
		return ask.RespondTx(ctx, tx, sid, actor.ID, title, cutText(description, 30_000), message)
	})
}

// CollectScopes waits for the answers to one's own requests, at most most, and gives
// those that have come.
func (s *Tasks) CollectScopes(ctx context.Context, actor access.Actor, ids []id.Scope, most time.Duration) ([]ask.Scope, error) {
	if err := access.RequireAgent(actor); err != nil {
		return nil, err
	}
	if len(ids) > 50 {
		return nil, fault.New(fault.Invalid, "invalid", "At most 50 requests at once.").With("scope_request_ids", "too_many", "at most 50")
	}
	timeout := time.NewTimer(max(0, min(most, mostCollect)))
	defer timeout.Stop()
	waits := make([]<-chan string, len(ids))
	for n, i := range ids {
		waits[n] = s.answers.wait(i.String())
		defer s.answers.forget(i.String())
	}
	late := false
	for {
		list, err := ask.Scopes(ctx, s.DB, ids)
		if err != nil {
			return nil, err
		}
		open := -1
		for n, i := range ids {
			for _, sc := range list {
				if sc.ID == i && sc.RequesterID != actor.ID {
					return nil, fault.ErrNotFound
				}
				if sc.ID == i && (sc.Status == "pending" || sc.Status == "claimed") && open < 0 {
					open = n
				}
			}
		}
		if open < 0 || late {
			return list, nil
		}
		select {
		case <-waits[open]:
		case <-timeout.C:
			late = true
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// pushAside hands an agent's questions to one of its executors; they take no slot.
func (s *Tasks) pushAside(ctx context.Context, agent id.Participant, c claimer) {
	var queries []ask.Query
	var scopes []ask.Scope
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) (err error) {
		if c.answersQueries {
			if queries, err = ask.ClaimQueriesTx(ctx, tx, agent, c.id); err != nil {
				return err
			}
		}
		scopes, err = ask.ClaimScopesTx(ctx, tx, agent, c.id)
		return err
	})
	if err != nil {
		s.Gateway.complain(ctx, "claim questions failed", err, agent)
		return
	}
	for _, q := range queries {
		err = firstError(err, c.sock.DeliverQuery(q))
	}
	for _, sc := range scopes {
		err = firstError(err, c.sock.DeliverScope(sc))
	}
	if err != nil {
		s.Gateway.complain(ctx, "push questions failed", err, agent)
		if err := ask.Return(ctx, s.DB, agent, c.id); err != nil {
			s.Gateway.complain(ctx, "return questions failed", err, agent)
		}
	}
}

func firstError(have, next error) error {
	if have != nil {
		return have
	}
	return next
}
