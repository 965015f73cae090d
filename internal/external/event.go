package external

import (
	"time"
)

// Event is what a session reports (bridge 8.2). Empty strings say nothing about
// their field; Channel is nil when it is not known.
type Event struct {
	Kind      string
	Tool      string
	Hostname  string
	Cwd       string
	Branch    string
	Repo      string
	ToolName  string
	Model     string
	Effort    string
	BlockedOn string // notificationType
	Channel   *bool
}

// The kinds of events.
const (
	SessionStart     = "session_start"
	SessionEnd       = "session_end"
	Prompt           = "prompt"
	ToolStart        = "tool_start"
	ToolEnd          = "tool_end"
	AssistantMessage = "assistant_message"
	Stop             = "stop"
	Wait             = "waiting"
	Heartbeat        = "heartbeat"
	ModelSwitch      = "model_switch"
)

// Known reports a kind of event that there is.
func Known(kind string) bool { _, ok := effects[kind]; return ok }

// effect is what a kind does to a session.
type effect struct {
	state  string // "" stays
	opens  bool   // also begins again what had ended
	revive bool   // also takes back that it was lost
}

// effects are the transitions as data. An end is final for everything but what a
// person starts: hooks of one session run beside each other, and a late one must not
// bring it back.
var effects = map[string]effect{
	SessionStart:     {state: Running, opens: true, revive: true},
	Prompt:           {state: Running, opens: true, revive: true},
	ToolStart:        {state: Running, revive: true},
	ToolEnd:          {state: Running, revive: true},
	AssistantMessage: {state: Running, revive: true},
	Stop:             {state: Waiting, revive: true},
	Wait:             {state: Waiting, revive: true},
	Heartbeat:        {revive: true},
	ModelSwitch:      {revive: true},
	SessionEnd:       {state: Ended},
}

// Apply changes a session by one event of now. It reports whether the event counts:
// what comes late for a session that has ended does not.
func (s *Session) Apply(e Event, now time.Time) bool {
	f := effects[e.Kind]
	if s.State == Ended {
		lost := s.EndReason != nil && *s.EndReason == ReasonLost
		switch {
		case f.opens:
			s.begin(now)
		case f.revive && lost:
			s.State, s.EndReason, s.EndedAt = Waiting, nil, nil
		default:
			return false
		}
	} else if !s.Announced {
		s.StartedAt = now
	}
	s.LastEventAt = now
	s.Describe(e)
	switch e.Kind {
	case Prompt:
		s.Prompts++
	case ToolStart:
		s.count(e.ToolName)
	}
	switch f.state {
	case "":
	case Ended:
		s.end(ReasonEnded, now)
	default:
		s.State, s.BlockedOn = f.state, ""
	}
	if e.Kind == Wait {
		s.BlockedOn = e.BlockedOn
	}
	return true
}

// Lose ends a session that has been silent for too long; false when it has not.
func (s *Session) Lose() bool {
	if s.State == Ended || time.Since(s.LastEventAt) < Silence {
		return false
	}
	s.end(ReasonLost, s.LastEventAt)
	return true
}

func (s *Session) begin(now time.Time) {
	s.State, s.EndReason, s.EndedAt, s.StartedAt = Running, nil, nil, now
	s.Prompts, s.ToolCalls, s.Tools, s.Announced = 0, 0, map[string]int{}, false
}

func (s *Session) end(reason string, at time.Time) {
	s.State, s.EndReason, s.EndedAt, s.BlockedOn = Ended, &reason, &at, ""
}

func (s *Session) count(name string) {
	s.ToolCalls++
	if s.Tools == nil {
		s.Tools = map[string]int{}
	}
	if _, counted := s.Tools[name]; name != "" && (counted || len(s.Tools) < MaxTools) {
		s.Tools[name]++
	}
}

// Describe takes over what an event says of where the session runs.
func (s *Session) Describe(e Event) {
	for _, f := range []struct {
		to   *string
		from string
	}{{&s.Tool, e.Tool}, {&s.Hostname, e.Hostname}, {&s.Cwd, e.Cwd}, {&s.Branch, e.Branch}, {&s.Repo, e.Repo}, {&s.Model, e.Model}, {&s.Effort, e.Effort}} {
		if f.from != "" {
			*f.to = f.from
		}
	}
	if e.Channel != nil {
		s.Live = *e.Channel
	}
}
