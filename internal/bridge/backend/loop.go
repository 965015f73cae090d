package backend

import (
	"context"
	"encoding/json"
	"strings"
)

// Limits of a turn on an API backend (contract 5.5).
const (
	MaxIterations = 10
	MaxToolCalls  = 25
)

// Dialogue arranges a turn for a model API: roles alternate, the first message
// is the user's, and everything that changes per turn is in the last message.
// The last message is always the user's.
func (t Turn) Dialogue() []Message {
	var out []Message
	add := func(assistant bool, text string) {
		if n := len(out); n > 0 && out[n-1].Assistant == assistant {
			out[n-1].Text += "\n\n" + text
			return
		}
		out = append(out, Message{Assistant: assistant, Text: text})
	}
	for i, m := range t.History {
		if i == 0 && m.Assistant {
			add(false, "(The conversation began earlier.)")
		}
		add(m.Assistant, m.Render())
	}
	last := Message{Text: t.LastInput()}
	// A trailing user message of the history stays apart, so that the cached
	// prefix ends at the history and not in the middle of this turn.
	return append(out, last)
}

// Calls runs the tools of one turn and keeps its limits.
type Calls struct {
	Box   Toolbox
	Emit  func(Event)
	Names []string
}

// Run executes one tool call, or refuses it when the turn has used its share.
func (c *Calls) Run(ctx context.Context, name string, args json.RawMessage) ToolResult {
	if len(c.Names) >= MaxToolCalls {
		return ToolResult{Text: `{"error":"The limit of tool calls for one turn is reached. Answer now with what you have."}`, IsError: true}
	}
	c.Names = append(c.Names, name)
	c.Emit(Event{Kind: ToolCall, Tool: name, Detail: Label(name)})
	if c.Box == nil {
		return ToolResult{Text: `{"error":"There are no tools in this turn."}`, IsError: true}
	}
	return c.Box.Call(ctx, name, args)
}

// Done says that the model has ended its turn by a tool.
func (c *Calls) Done() bool { return c.Box != nil && c.Box.Done() }

// Answer is the text of a run that may go on behind its answer, because somebody said
// something meanwhile: what was answered before stays, as a paragraph of its own.
type Answer struct {
	to   func(Event)
	kept string
}

// NewAnswer passes events on.
func NewAnswer(emit func(Event)) *Answer { return &Answer{to: emit} }

// Emit passes an event on; what is kept outlives a Reset.
func (a *Answer) Emit(e Event) {
	a.to(e)
	if e.Kind == Reset && a.kept != "" {
		a.to(Event{Kind: Text, Text: a.kept})
	}
}

// With is the whole answer, text its last part.
func (a *Answer) With(text string) string { return a.kept + text }

// Keep keeps the whole answer so far; more follows.
func (a *Answer) Keep(whole string) {
	if whole != "" {
		a.kept = whole + "\n\n"
	}
	a.Emit(Event{Kind: Reset})
}

// Schema splits a JSON Schema object for SDKs that want its parts; unknown
// keywords are kept in extra.
func Schema(raw json.RawMessage) (properties map[string]any, required []string, extra map[string]any) {
	var all map[string]any
	if json.Unmarshal(raw, &all) != nil || all == nil {
		return map[string]any{}, nil, nil
	}
	properties, _ = all["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
	}
	list, _ := all["required"].([]any)
	for _, r := range list {
		if s, ok := r.(string); ok {
			required = append(required, s)
		}
	}
	delete(all, "properties")
	delete(all, "required")
	delete(all, "type")
	return properties, required, all
}

// Short keeps a provider's text fit for a message to people.
func Short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 300 {
		return string(r[:300]) + "…"
	}
	return s
}
