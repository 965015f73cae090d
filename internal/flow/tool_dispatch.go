package flow

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/directive"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/limit"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/tool"
	"github.com/agntchat/agntchat/internal/view"
)

// ToolCall is a call that a bridge passed through (bridge contract 3.8, 2.8.1). The
// context keys are as the bridge sent them; any may be empty.
type ToolCall struct {
	Name                 string
	Args                 json.RawMessage
	ConversationID       string
	ActiveConversationID string
	SourceMessageID      string
	LastSeenMessageID    string
	TaskID               string
	Key                  string // Idempotency-Key of the request
}

// Tools is the one place where tools are offered and carried out.
type Tools struct {
	DB    *pg.DB
	Gate  ToolGate       // nil: what would be asked is refused
	Tasks TaskRequesters // nil: there are no tasks
	APIs  func(ctx context.Context, agent id.Participant) (int, error)
	Log   *slog.Logger

	registry *tool.Registry
	tools    map[string]Tool
	rates    map[string]*limit.Buckets
	local    *limit.Buckets // notes of tools that run beside a bridge, by agent
	running  *inFlight
}

// mostRunning bounds the calls of one agent that run at the same time.
const mostRunning = 16

// NewTools makes the table; the order of the tools is that of every catalogue.
func NewTools(db *pg.DB, log *slog.Logger, all ...Tool) (*Tools, error) {
	t := &Tools{DB: db, Log: log, tools: map[string]Tool{}, rates: map[string]*limit.Buckets{}, local: limit.New(1, 60, 10_000), running: newInFlight(mostRunning)}
	specs := make([]tool.Spec, len(all))
	for n, one := range all {
		if one.Handle == nil {
			return nil, fmt.Errorf("tool %q has no handler", one.Name)
		}
		specs[n] = one.Spec
		t.tools[tool.Key(one.Name)] = one
	}
	var err error
	if t.registry, err = tool.NewRegistry(specs...); err != nil {
		return nil, err
	}
	for _, s := range t.registry.All() {
		t.rates[tool.Key(s.Name)] = limit.New(float64(s.Limits.PerMinute)/60, s.Limits.PerMinute, 10_000)
	}
	return t, nil
}

// Registry is the table of what there is.
func (t *Tools) Registry() *tool.Registry { return t.registry }

// facts reads what decides which tools the agent sees.
func (t *Tools) facts(ctx context.Context, agent id.Participant) (tool.Facts, error) {
	a, err := view.OneAgent(ctx, t.DB, agent)
	if err != nil {
		return tool.Facts{}, err
	}
	f := tool.Facts{AgentID: agent, AgentType: a.AgentType}
	if f.Choices, err = tool.Choices(ctx, t.DB, agent); err != nil {
		return f, err
	}
	if f.LocalFiles, err = view.SharesLocalFiles(ctx, t.DB, agent); err != nil || t.APIs == nil {
		return f, err
	}
	f.APIs, err = t.APIs(ctx, agent)
	return f, err
}

// Catalogue is what the agent is offered, always in the same order.
func (t *Tools) Catalogue(ctx context.Context, agent id.Participant) ([]tool.Definition, error) {
	f, err := t.facts(ctx, agent)
	if err != nil {
		return nil, err
	}
	return t.registry.Resolve(f), nil
}

// Call carries a tool call out. What the agent did wrong is a refusal that its
// model reads; an error is only what went wrong on our side.
func (t *Tools) Call(ctx context.Context, actor access.Actor, call ToolCall) (ToolResult, error) {
	if err := access.RequireAgent(actor); err != nil {
		return ToolResult{}, err
	}
	start := time.Now()
	spec, ok := t.registry.Lookup(call.Name)
	if !ok {
		return refused(fault.Newf(fault.NotFound, "tool_not_found", "There is no tool %q.", cutText(call.Name, 100))), nil
	}
	hash := sha256.Sum256(call.Args)
	rec := tool.Call{AgentID: actor.ID, Tool: spec.Name, ArgsHash: hash[:], ArgsBytes: len(call.Args)}
	out, err := t.run(ctx, actor, call, spec, &rec)
	rec.Took = time.Since(start)
	switch {
	case err != nil:
		rec.Outcome, rec.Code = tool.Failed, fault.From(err).Code
	case out.Refused != nil:
		rec.Outcome, rec.Code, rec.ApprovalID = tool.Refused, out.Refused.Code, out.RequestID
		if out.Refused.Code == codeTimedOut {
			rec.Outcome = tool.TimedOut
		}
	default:
		rec.Outcome, rec.ResultBytes = tool.Done, len(out.Text)
	}
	// What ran is recorded even when the caller has gone.
	if e := tool.Record(context.WithoutCancel(ctx), t.DB, rec); e != nil {
		if err == nil && rec.Untrusted {
			return ToolResult{}, e // an unmarked turn must not read a stranger's text
		}
		t.Log.WarnContext(ctx, "tool call not recorded", slog.Any("error", e), slog.String("agent_id", actor.ID.String()))
	}
	return out, err
}

const codeTimedOut = "tool_timed_out"

// run checks the call and carries it out; it fills the record in as it learns.
func (t *Tools) run(ctx context.Context, actor access.Actor, call ToolCall, spec tool.Spec, rec *tool.Call) (ToolResult, error) {
	choices, err := tool.Choices(ctx, t.DB, actor.ID)
	if err != nil {
		return ToolResult{}, err
	}
	if !spec.Allowed(tool.Facts{Choices: choices}) {
		return refused(fault.Newf(fault.Forbidden, "forbidden", "The tool %s is not yours to use.", spec.Name)), nil
	}
	if wait, ok := t.rates[tool.Key(spec.Name)].Take(actor.ID.String()); !ok {
		return refused(fault.Newf(fault.Exhausted, "rate_limited", "Too many calls of %s: try again in %d seconds.", spec.Name, int(wait.Seconds())+1).After(wait)), nil
	}
	if !t.running.enter(actor.ID) {
		return refused(fault.Newf(fault.Exhausted, "rate_limited", "%d of your tool calls run already: wait for one of them.", mostRunning)), nil
	}
	defer t.running.leave(actor.ID)
	if len(call.Args) > spec.Limits.Args {
		return refused(fault.Newf(fault.Invalid, "invalid_arguments", "The arguments of %s may have at most %d bytes.", spec.Name, spec.Limits.Args)), nil
	}
	c, err := t.caller(ctx, actor, call)
	if err != nil {
		return ToolResult{}, err
	}
	c.Key = call.Key
	rec.PersonID, rec.ConversationID, rec.TaskID, rec.MessageID = c.Person.ID, c.Room, c.Task, c.SourceMessage
	args, err := t.arguments(spec, call, c)
	if err != nil {
		return asRefusal(ToolResult{}, err)
	}
	if err := t.mayName(ctx, c, args); err != nil {
		return asRefusal(ToolResult{}, err)
	}
	one := t.tools[tool.Key(spec.Name)]
	if out, err := t.ask(ctx, one, c, args); err != nil || out.Refused != nil {
		return asRefusal(out, err)
	}
	tctx, cancel := context.WithTimeout(ctx, spec.Limits.Timeout)
	defer cancel()
	out, err := one.Handle(tctx, c, args)
	if err != nil && errors.Is(tctx.Err(), context.DeadlineExceeded) && ctx.Err() == nil {
		return refused(fault.Newf(fault.Exhausted, codeTimedOut, "%s did not finish within %d seconds.", spec.Name, int(spec.Limits.Timeout.Seconds()))), nil
	}
	if out, err = asRefusal(out, err); err != nil || out.Refused != nil {
		return out, err
	}
	out.Text = cutBytes(out.Text, spec.Limits.Result)
	if out.Source != "" {
		out.Text, rec.Untrusted = directive.Fence(out.Source, out.Text), true
	}
	return out, nil
}

// mayName: a task beyond the run's own is named on behalf of somebody who has to do
// with it; the agent's part is checked by the tool.
func (t *Tools) mayName(ctx context.Context, c ToolCaller, args ToolArgs) error {
	named, err := id.Parse[id.Task](args.Text("task_id"))
	if err != nil || named == c.Task || t.Tasks == nil {
		return nil //nolint:nilerr // no task is named, or nothing knows of tasks
	}
	return t.Tasks.VisibleTo(ctx, c.Person, named)
}

// ask holds a call that a person has to allow.
func (t *Tools) ask(ctx context.Context, one Tool, c ToolCaller, args ToolArgs) (ToolResult, error) {
	d := Danger{Risk: one.Risk}
	if one.Risky != nil {
		var err error
		if d, err = one.Risky(ctx, c, args); err != nil {
			return ToolResult{}, err
		}
	}
	if !d.Risk.Asks(c.Marked) {
		return ToolResult{}, nil
	}
	if t.Gate == nil {
		return refused(fault.Newf(fault.Forbidden, "forbidden", "A person would have to allow %s, and nobody can be asked here.", one.Name)), nil
	}
	v, err := t.Gate.Check(ctx, c, ExactAction{Tool: one.Name, Input: args.Raw, Risk: d.Risk, Why: d.Why, Marked: c.Marked})
	switch {
	case err != nil:
		return ToolResult{}, err
	case v.Allowed:
		return ToolResult{}, nil
	case v.RequestID.IsZero():
		return refused(fault.Newf(fault.Forbidden, "forbidden", "%s was not allowed: %s", one.Name, v.Reason)), nil
	}
	out := refused(fault.Newf(fault.Forbidden, "approval_required",
		"A person has to allow this call of %s first; request %s waits for them. Call it again, unchanged, once it is approved.", one.Name, v.RequestID))
	out.RequestID = v.RequestID
	return out, nil
}

func refused(f *fault.Error) ToolResult { return ToolResult{Refused: f} }

// asRefusal turns what the agent can act on into a refusal.
func asRefusal(out ToolResult, err error) (ToolResult, error) {
	if err == nil {
		return out, nil
	}
	switch fault.KindOf(err) {
	case fault.Invalid, fault.Forbidden, fault.NotFound, fault.Conflict, fault.Exhausted:
		return refused(fault.From(err)), nil
	default:
		return ToolResult{}, err
	}
}

const cutMark = "\n[cut here: the result is longer]"

// cutBytes keeps at most n bytes of whole characters and says so.
func cutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + cutMark
}
