package flow

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/directive"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/turn"
	"github.com/agntchat/agntchat/internal/view"
)

// Completion is a whole turn in one call (docs/protocol.md 3).
type Completion struct {
	HeldClaim
	Outcome      turn.Outcome // answered | passed | failed | stopped | unanswered
	Reply        *Post        // for answered; its ConversationID is that of the turn
	ErrorCode    string       // for failed
	ErrorMessage string
	Tokens       turn.Tokens
	Model        string
	Backend      string
	DurationMS   int64
	ToolCalls    int
	Iterations   int
	ToolNames    []string
	Usage        bool // tokens were reported
}

// Completed is the answer. Message is the reply or the error report, nil when
// nothing was posted.
type Completed struct {
	Outcome turn.Outcome
	Message *view.Message
}

// failureCodes are the codes of a failed turn.
var failureCodes = map[string]string{ // code -> metadata.errorKind of the contract, "" = none
	"auth_failure": "auth_failure", "rate_limited": "rate_limit", "empty_response": "", "killed": "", "timeout": "",
	"backend_missing": "", "model_error": "", "handler_exception": "",
}

func (c Completion) check() error {
	bad := fault.New(fault.Invalid, "invalid", "The turn cannot be completed like this.")
	switch c.Outcome {
	case turn.Answered:
		if c.Reply == nil {
			return bad.With("reply", "required", "an answered turn has a reply")
		}
	case turn.Failed:
		if _, ok := failureCodes[c.ErrorCode]; !ok {
			return bad.With("error", "unknown", "a failed turn has an error with a known code")
		}
	case turn.Passed, turn.Stopped, turn.Unanswered:
	default:
		return bad.With("outcome", "unknown", "must be answered, passed, failed, stopped or unanswered")
	}
	if c.Generation == nil || *c.Generation < 1 {
		return bad.With("generation", "required", "names the claim")
	}
	if min(c.Tokens.Input, c.Tokens.Output, c.Tokens.CacheRead, c.Tokens.CacheWrite, c.DurationMS, int64(c.ToolCalls), int64(c.Iterations)) < 0 {
		return bad.With("usage", "range", "counts must not be negative")
	}
	return nil
}

// Complete ends a turn: the reply is stored by the ordinary message function, the
// queue rows are deleted, the turns are written and the usage is booked in one
// transaction. The same call again gives the first result again. *StaleError: the
// draft is outdated, nothing is stored and the claim lives on, at most once per
// claim. turn.ErrLost: the claim is not the caller's any more.
func (g *Gateway) Complete(ctx context.Context, actor access.Actor, c Completion) (out Completed, err error) {
	if err := access.RequireAgent(actor); err != nil {
		return Completed{}, err
	}
	if err := c.check(); err != nil {
		return Completed{}, err
	}
	var stale *StaleError
	err = g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		stale, out = nil, Completed{}
		group, err := heldTx(ctx, tx, actor.ID, c.HeldClaim)
		if err != nil {
			return err
		}
		if group == nil {
			out, err = repeated(ctx, tx, actor.ID, c)
			return err
		}
		head := group[len(group)-1]
		r := turn.Result{
			Outcome: c.Outcome, ErrorCode: c.ErrorCode, ErrorMessage: c.ErrorMessage, Model: c.Model, Backend: c.Backend,
			ToolCalls: c.ToolCalls, Iterations: c.Iterations, Tokens: c.Tokens, DurationMS: c.DurationMS,
		}
		if stale, err = g.postOfTurn(ctx, tx, actor, c, head, &r, &out); err != nil || stale != nil {
			return err // a refused draft commits its refusal
		}
		out.Outcome = r.Outcome
		if err := g.finishTx(ctx, tx, group, r); err != nil {
			return err
		}
		return bookTx(ctx, tx, actor.ID, head.ConversationID, c)
	})
	if err != nil {
		return Completed{}, err
	}
	if stale != nil {
		return Completed{}, stale
	}
	return out, nil
}

// postOfTurn stores what the turn says in the room. A turn that was answered
// before, because a reply came another way, posts nothing twice.
func (g *Gateway) postOfTurn(ctx context.Context, tx *pg.Tx, actor access.Actor, c Completion, head turn.Claim, r *turn.Result, out *Completed) (*StaleError, error) {
	if !head.AnswerID.IsZero() && (c.Outcome == turn.Answered || c.Outcome == turn.Failed) {
		known, err := g.resultTx(ctx, tx, head)
		if err != nil {
			return nil, err
		}
		r.Outcome, r.AnswerID, r.ErrorCode = known.Outcome, known.AnswerID, known.ErrorCode
		return nil, messageInto(ctx, tx, known.AnswerID, out)
	}
	var post Post
	switch c.Outcome {
	case turn.Answered:
		post = *c.Reply
	case turn.Failed:
		var err error
		if post, err = failurePost(c); err != nil {
			return nil, err
		}
	default:
		return nil, nil
	}
	post.ConversationID = head.ConversationID
	post.ClientKey = fmt.Sprintf("turn:%s:%d", head.QueueID, head.Generation)
	posted, err := g.Rooms.PostTx(ctx, tx, actor, post)
	if err != nil {
		return nil, err
	}
	switch {
	case posted.Stale != nil:
		return posted.Stale, nil
	case posted.Suppressed:
		r.Outcome = turn.Passed
		return nil, nil
	}
	if posted.Message.Type() == "EndTurn" && c.Outcome == turn.Answered { // all of it went to huddles
		r.Outcome = turn.Passed
	}
	r.AnswerID, out.Message = posted.Message.ID, &posted.Message
	return nil, nil
}

// failurePost is what the room reads when a turn failed (bridge contract 2.7).
func failurePost(c Completion) (Post, error) {
	meta := map[string]any{"error_code": c.ErrorCode, "severity": "warning"}
	if kind := failureCodes[c.ErrorCode]; kind != "" {
		meta["errorKind"] = kind
	}
	if c.ErrorMessage != "" {
		meta["detail"] = cutText(storable(c.ErrorMessage), 500)
	}
	raw, err := json.Marshal(meta)
	if err != nil {
		return Post{}, fmt.Errorf("failure report: %w", err)
	}
	return Post{Content: directive.FailureText(c.ErrorCode), ContentType: "text", MessageType: new("ErrorReport"), Metadata: raw}, nil
}

func cutText(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// repeated answers a completion of a turn that is over.
func repeated(ctx context.Context, tx *pg.Tx, agent id.Participant, c Completion) (Completed, error) {
	t, err := finishedTx(ctx, tx, agent, c.HeldClaim)
	if err != nil {
		return Completed{}, err
	}
	out := Completed{Outcome: t.Outcome}
	return out, messageInto(ctx, tx, t.AnswerID, &out)
}

func messageInto(ctx context.Context, q pg.Querier, mid id.Message, out *Completed) error {
	if mid.IsZero() {
		return nil
	}
	m, err := view.OneMessage(ctx, q, mid)
	if err != nil {
		return goneIsNil(err)
	}
	out.Message = &m
	return nil
}

// bookTx stores usage and tool uses of a completed turn.
func bookTx(ctx context.Context, tx *pg.Tx, agent id.Participant, conv id.Conversation, c Completion) error {
	if c.Usage {
		err := turn.SaveUsageTx(ctx, tx, turn.Usage{AgentID: agent, ConversationID: conv, Model: c.Model, Tokens: c.Tokens})
		if err != nil {
			return err
		}
	}
	return turn.SaveToolUsesTx(ctx, tx, agent, conv, c.ToolNames)
}
