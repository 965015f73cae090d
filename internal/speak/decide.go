package speak

import "github.com/agntchat/agntchat/internal/id"

// The first guard: this many messages of agents in a row, without a person, and
// the next one wakes nobody (decision 9).
const (
	GroupLimit  = 12
	DirectLimit = 8
)

// Kind is who wrote.
type Kind uint8

// The kinds of writers.
const (
	Person Kind = iota
	Agent
	System
)

// Member is one seat in the room, in the order in which they came.
type Member struct {
	ID     id.Participant
	Agent  bool
	Awake  bool // may be woken: active and no observer
	Writer bool // wrote this message
}

// Facts is what a decision needs.
type Facts struct {
	Direct    bool
	Huddle    bool           // a side conversation
	Opener    id.Participant // of a huddle
	Report    bool           // says what came of something elsewhere: it wakes only whom it mentions
	Writer    Kind
	Type      string // message type; "" is text
	Quiet     bool   // the writer asked to wake nobody, or reports a failure
	Members   []Member
	Mentioned []id.Participant // resolved, in order
	Streak    int              // agent messages in a row before this one
	Noticed   bool             // the notice of the guard was shown for this streak
}

// Decision is who is woken, and what the room remembers.
type Decision struct {
	Wake    []id.Participant // in order of mention, else the one who answers by default
	Streak  int
	Noticed bool
	Notice  bool // post the notice of the guard now
	Limit   int  // the limit that holds in this room
}

// Decide says who is woken. Notices, receipts, system lines and failures wake
// nobody; no message wakes its author; a person's message wakes the agents it
// mentions, else the first agent of the room; an agent's message wakes only whom
// it mentions, in a direct room of two agents the other one. A huddle was opened for
// exactly those who sit in it: there an agent that mentions nobody speaks to who
// opened it, and who opened it speaks to all (ADR 20).
func Decide(f Facts) Decision {
	d := Decision{Streak: f.Streak, Noticed: f.Noticed, Limit: GroupLimit}
	if f.Direct {
		d.Limit = DirectLimit
	}
	switch f.Writer {
	case System:
		return d
	case Person:
		d.Streak, d.Noticed = 0, false
	case Agent:
		if Silent(f.Type) || f.Quiet {
			return d
		}
		d.Streak++
	}
	if Silent(f.Type) || f.Quiet {
		return d
	}
	if f.Writer == Agent && f.Streak >= d.Limit {
		if !d.Noticed && anotherAgent(f.Members) {
			d.Notice, d.Noticed = true, true
		}
		return d
	}
	d.Wake = mentioned(f)
	switch {
	case len(d.Wake) > 0 || f.Report:
	case f.Writer == Person || f.Direct:
		d.Wake = first(f.Members)
	case f.Huddle:
		d.Wake = called(f)
	}
	return d
}

// called is whom an agent speaks to in a huddle when it mentions nobody.
func called(f Facts) []id.Participant {
	opened := false
	for _, m := range f.Members {
		opened = opened || (m.Writer && m.ID == f.Opener)
	}
	var out []id.Participant
	for _, m := range f.Members {
		if m.Agent && m.Awake && !m.Writer && (opened || m.ID == f.Opener) {
			out = append(out, m.ID)
		}
	}
	return out
}

func anotherAgent(ms []Member) bool {
	for _, m := range ms {
		if m.Agent && m.Awake && !m.Writer {
			return true
		}
	}
	return false
}

func mentioned(f Facts) []id.Participant {
	if len(f.Mentioned) == 0 {
		return nil
	}
	can := make(map[id.Participant]bool, len(f.Members))
	for _, m := range f.Members {
		can[m.ID] = m.Agent && m.Awake && !m.Writer
	}
	var out []id.Participant
	for _, p := range f.Mentioned {
		if can[p] {
			out = append(out, p)
			can[p] = false
		}
	}
	return out
}

func first(ms []Member) []id.Participant {
	for _, m := range ms {
		if m.Agent && m.Awake && !m.Writer {
			return []id.Participant{m.ID}
		}
	}
	return nil
}

// Hidden reports message types that are stored and never listed (desktop 5.3).
func Hidden(messageType string) bool {
	switch messageType {
	case "EndTurn", "TaskReassign", "TaskDeclined", "TurnDirective", "CapabilityUpdate", "capability_negotiation", "ContextBriefing":
		return true
	default:
		return false
	}
}

// Silent reports message types that wake nobody: hidden ones, failures, status
// and receipts (field 21).
func Silent(messageType string) bool {
	switch messageType {
	case "ErrorReport", "StatusUpdate", "status_update", "TaskAck", "TaskProgress", "TaskAccept", "TaskReject", "TaskComplete", "TaskFail",
		"CompactionSummary", "ToolCall", "tool_call", "ToolResult", "tool_result", "Notice":
		return true
	default:
		return Hidden(messageType)
	}
}
