package flow

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/tool"
)

// Tool is one tool: what is known about it and what carries it out. There is one
// file for each, flow/tool_NAME.go, whose function gives its Tool; app puts them
// into one table. Handlers get arguments that fit the schema, with the placeholders
// of ids filled in, and return faults for what the agent's model should read.
type Tool struct {
	tool.Spec
	Handle ToolHandler
	// Risky gives this very call another risk class than the Spec's. Nil for most.
	Risky func(ctx context.Context, c ToolCaller, args ToolArgs) (Danger, error)
}

// Danger is how bad a call can be, and why, for the people who are asked; Why is empty
// where the call says it.
type Danger struct {
	Risk tool.Risk
	Why  string
}

// ToolHandler carries a call out.
type ToolHandler func(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error)

// ToolCaller is who calls: the agent, and the person on whose behalf its turn runs.
// What a tool does, both must be allowed to do (field.md 35).
type ToolCaller struct {
	Agent         access.Actor    // who acts; where people act for themselves, the person
	Person        access.Actor    // Kind None when the turn cannot be traced to one person
	Room          id.Conversation // of the turn; zero when none is known
	Task          id.Task         // zero outside of tasks
	SourceMessage id.Message      // what the turn answers
	LastSeen      id.Message      // newest message that the model has seen
	Marked        bool            // untrusted text has entered the turn
	Key           string          // the bridge's own name of the call: done once, however often it is repeated; "" for none
}

// ToolArgs are the arguments of a call, a JSON object.
type ToolArgs struct {
	Raw json.RawMessage
	m   map[string]any
}

func newToolArgs(raw json.RawMessage) (ToolArgs, error) {
	a := ToolArgs{Raw: raw, m: map[string]any{}}
	if len(raw) == 0 || string(raw) == "null" {
		a.Raw = json.RawMessage(`{}`)
		return a, nil
	}
	if err := json.Unmarshal(raw, &a.m); err != nil {
		return a, fault.New(fault.Invalid, "invalid_arguments", "The arguments are not a JSON object.").Because(err)
	}
	return a, nil
}

// Has reports that the argument was given and is not null.
func (a ToolArgs) Has(key string) bool { return a.m[key] != nil }

// Value is the argument as encoding/json decodes it.
func (a ToolArgs) Value(key string) any { return a.m[key] }

// Text is a string argument, "" when absent.
func (a ToolArgs) Text(key string) string { s, _ := a.m[key].(string); return s }

// Bool is a boolean argument, false when absent.
func (a ToolArgs) Bool(key string) bool { b, _ := a.m[key].(bool); return b }

// Int is a number argument without its fraction, def when absent.
func (a ToolArgs) Int(key string, def int) int {
	if n, ok := a.m[key].(float64); ok {
		return int(n)
	}
	return def
}

// Texts is a list of strings; one string counts as a list of one.
func (a ToolArgs) Texts(key string) []string {
	switch v := a.m[key].(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				out = append(out, s)
			}
		}
		return out
	default:
		return nil
	}
}

// Object is the argument as it came, nil when absent.
func (a ToolArgs) Object(key string) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(a.Raw, &m) != nil || string(m[key]) == "null" {
		return nil
	}
	return m[key]
}

// set replaces an argument.
func (a *ToolArgs) set(key string, v any) error {
	a.m[key] = v
	raw, err := json.Marshal(a.m)
	if err != nil {
		return fmt.Errorf("encode tool arguments: %w", err)
	}
	a.Raw = raw
	return nil
}

// ToolResult is the text for the model, or a refusal. A refusal has no text: a
// bridge would take any text for success (bridge contract 5.5).
type ToolResult struct {
	Text string
	// Source says whose text this is, when it is neither the platform's nor that of
	// the room's people: the dispatcher fences it and marks the turn.
	Source    string
	Refused   *fault.Error
	RequestID id.Approval // with code approval_required: the request that waits for a person
}

// ToolJSON is a result that the model reads as JSON.
func ToolJSON(v any) (ToolResult, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return ToolResult{}, fmt.Errorf("encode tool result: %w", err)
	}
	return ToolResult{Text: string(b)}, nil
}

// ExactAction is what will run, to the byte.
type ExactAction struct {
	Tool   string
	Input  json.RawMessage // a JSON object, placeholders filled in
	Risk   tool.Risk
	Why    string // for the people who are asked, when the call does not say it
	Marked bool   // asked because untrusted text has entered the turn
}

// ToolVerdict is what a gate says about an action: allowed, pending with the id of
// the request that was made, or refused with the reason.
type ToolVerdict struct {
	Allowed   bool
	RequestID id.Approval
	Reason    string
}

// ToolGate asks a person about actions that need one, unless a grant covers them.
// An action that a person allowed is allowed once when it is called again.
type ToolGate interface {
	Check(ctx context.Context, c ToolCaller, a ExactAction) (ToolVerdict, error)
}

// TaskRequesters tells on whose behalf a task runs; ok is false when the agent
// does not work at it. VisibleTo fails when somebody has nothing to do with a task.
type TaskRequesters interface {
	RequesterOf(ctx context.Context, agent id.Participant, task id.Task) (person id.Participant, ok bool, err error)
	VisibleTo(ctx context.Context, who access.Actor, task id.Task) error
}
