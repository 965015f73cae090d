// Package tool owns what agents may be offered: the registry of tools with their
// schemas, limits and risk, which of them an agent sees, which were assigned to it,
// and the record of every call. It carries nothing out: handlers are in flow
// (tool_*.go), one file a tool; the registry is assembled by app.
package tool

import (
	"encoding/json"
	"time"

	"github.com/agntchat/agntchat/internal/id"
)

// Definition is one entry of an agent's catalogue (bridge contract 4.5).
// ExecutorMethod names a method of a stock bridge's SDK, which makes it a REST call
// of that bridge; without one the call is passed to the dispatcher.
type Definition struct {
	Name           string
	Description    string
	InputSchema    json.RawMessage
	ExecutorMethod string
	Category       string
	AlwaysLoad     bool
}

// Risk says when a person is asked before a tool runs.
type Risk uint8

// The risk classes. Low reads, or acts where people see it at once. Medium reaches
// outside without changing anything there. High changes something outside or what
// cannot be undone: it asks once untrusted text has entered the turn. Critical asks
// always.
const (
	Low Risk = iota
	Medium
	High
	Critical
)

var riskNames = [...]string{"low", "medium", "high", "critical"}

// String gives the class's stable name.
func (r Risk) String() string { return riskNames[r] }

// Asks reports that a person has to allow the call, in a turn that untrusted text
// has or has not entered.
func (r Risk) Asks(marked bool) bool { return r == Critical || (r == High && marked) }

// Limits bound the calls of one tool. Zero fields take the defaults that stand with them.
type Limits struct {
	PerMinute int           // calls of one agent a minute, and at once (60)
	Args      int           // bytes of the arguments (256 KiB)
	Result    int           // bytes of the text for the model (60,000)
	Timeout   time.Duration // 30 s
}

func (l Limits) withDefaults() Limits {
	set := func(v *int, def int) {
		if *v == 0 {
			*v = def
		}
	}
	set(&l.PerMinute, 60)
	set(&l.Args, 256<<10)
	set(&l.Result, 60_000)
	if l.Timeout == 0 {
		l.Timeout = 30 * time.Second
	}
	return l
}

// Facts is what decides whether an agent sees a tool.
type Facts struct {
	AgentID   id.Participant
	AgentType string          // worker | orchestrator | reviewer | observer
	Choices   map[string]bool // by tool name: true assigned, false taken away
	APIs      int             // custom HTTP APIs that the agent may call
	// LocalFiles says that the agent's bridge sends files of its machine (share_file).
	LocalFiles bool
}

// Spec is everything that is known about a tool before it runs.
type Spec struct {
	Definition
	DisplayName string
	Tags        []string // groups in a client (desktop contract 5.14)
	// Assigned means: only agents to which it was assigned see it; any other tool is
	// seen by all, and can be taken away from one agent unless it is Essential.
	Assigned  bool
	Essential bool
	Risk      Risk
	Limits    Limits
	// Relevant hides the tool from agents that have no use for it. Nil hides it from none.
	Relevant func(Facts) bool
}

// Allowed reports that the agent of these facts may call the tool. It may also when
// it has just become irrelevant to it.
func (s Spec) Allowed(f Facts) bool {
	choice, chosen := f.Choices[s.Name]
	return s.Essential || choice || (!s.Assigned && !chosen)
}

// Seen reports that the agent of these facts is offered the tool.
func (s Spec) Seen(f Facts) bool {
	return s.Allowed(f) && (s.Relevant == nil || s.Relevant(f))
}

// Reasons of end_turn that end a turn without text; any other reason that is not
// a terminator counts as silent too (bridge contract 5.6).
const (
	NoActionNeeded = "no_action_needed"
	TaskComplete   = "task_complete"
	AwaitingInput  = "awaiting_input"
	Blocked        = "blocked"
)

// SilentReason reports that end_turn with this reason means: no text is posted.
func SilentReason(reason string) bool {
	switch reason {
	case TaskComplete, AwaitingInput, Blocked:
		return false
	default:
		return true
	}
}
