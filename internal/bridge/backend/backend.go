// Package backend owns the one interface behind which every model lives, and
// the words a turn and its outcome are described in. It knows no model, no
// process and no server.
package backend

import (
	"context"
	"encoding/json"
)

// Names as stored in an agent's modelConfig (contract bridge.md 4.4). Scripted
// is never stored; it exists only on the command line.
const (
	ClaudeCLI = "claude_cli"
	CodexCLI  = "codex_cli"
	Anthropic = "anthropic"
	OpenAI    = "openai"
	Scripted  = "scripted"
)

// Known tells whether there is a backend of this name, in either spelling.
func Known(name string) bool {
	switch Canonical(name) {
	case ClaudeCLI, CodexCLI, Anthropic, OpenAI, Scripted:
		return true
	}
	return false
}

// Canonical maps a command-line spelling to the stored name. An unknown name
// is returned as it is, so that the caller can name it in its error.
func Canonical(name string) string {
	switch name {
	case "claude":
		return ClaudeCLI
	case "codex":
		return CodexCLI
	}
	return name
}

// Backend runs turns on one model. Run may be called concurrently for
// different conversations, never twice at a time for one.
type Backend interface {
	// Name is the stored backend name.
	Name() string
	// Check tells cheaply, without a model call, whether the backend can run at
	// all. The error is an *Error.
	Check(ctx context.Context) error
	// Run answers one turn. It blocks until the answer is complete, the context
	// ends or the backend gives up; a model failure is an *Error. Events are
	// delivered from one goroutine, in order, and never after Run has returned.
	Run(ctx context.Context, turn Turn, emit func(Event)) (Result, error)
	// Close ends everything the backend still has running and waits for it.
	Close() error
}

// Message is one entry of the history.
type Message struct {
	ID        string
	Assistant bool   // written by this agent itself
	Speaker   string // label such as "[Human: Ann]"; empty for the agent's own
	Text      string
}

// Render is the message as the model reads it.
func (m Message) Render() string {
	if m.Assistant || m.Speaker == "" {
		return m.Text
	}
	return m.Speaker + " " + m.Text
}

// Tool is one tool of the agent's catalogue.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema object
}

// ToolResult is what a tool call gave back to the model.
type ToolResult struct {
	Text    string
	IsError bool
}

// Toolbox runs tool calls of one turn. It is bound to the conversation and
// message of the turn, so that the server sees the true context.
type Toolbox interface {
	Tools() []Tool
	Call(ctx context.Context, name string, args json.RawMessage) ToolResult
	// Done says that the model has ended its turn by a tool call.
	Done() bool
}

// Turn is one piece of work.
type Turn struct {
	ID             string // stable over redelivery
	ConversationID string
	System         string    // byte-stable over the turns of an agent
	History        []Message // oldest first, without the messages being answered
	Input          []Message // what is to be answered, oldest first, never empty
	Volatile       string    // per-turn context; belongs behind the cached prefix
	Model          string    // empty means the backend's own default
	Effort         string    // low, medium, high, max or empty
	MaxTokens      int64     // 0 means the backend's default
	SkipPerms      bool      // the CLI may use every tool without asking
	Toolbox        Toolbox   // nil means no platform tools
	Gate           Gate      // asked about the CLI's own tools; nil means that those which ask are refused
}

// Kind is what an Event reports.
type Kind int

const (
	// Thinking says that the model works without visible text.
	Thinking Kind = iota
	// Text carries the next piece of the answer.
	Text
	// ToolCall says that a tool runs; Detail names it readably.
	ToolCall
	// Reset says that the text so far was not the answer (it was commentary
	// before a tool call) and starts again from nothing.
	Reset
)

// Event is a sign of life of a running turn.
type Event struct {
	Kind   Kind
	Text   string // Text: the delta
	Tool   string // ToolCall: the tool's name as the model called it
	Detail string // ToolCall, Thinking: a short readable label
}

// Usage counts tokens of a whole turn, all model calls together.
type Usage struct {
	Input, Output, CacheWrite, CacheRead int64
}

// Add sums two counts.
func (u Usage) Add(o Usage) Usage {
	return Usage{u.Input + o.Input, u.Output + o.Output, u.CacheWrite + o.CacheWrite, u.CacheRead + o.CacheRead}
}

// Result is a finished answer. Text may be empty: the caller decides what an
// empty answer means.
type Result struct {
	Text       string
	Model      string
	Usage      Usage
	ToolUses   []string // names in call order, at most 200
	Iterations int
	Waiting    bool // the run ended at a call that people must decide about; there is no answer yet
}
