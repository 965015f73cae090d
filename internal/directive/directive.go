// Package directive decides what an agent is told for a turn: a stable part that
// does not change a byte until something it is made of changes (row K7; every
// changed byte is billed again by the model provider, bridge contract 6.1), and a
// volatile part for what is true only now. It is pure: view loads the facts, flow
// stores the stable part, present puts it on the wire.
package directive

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/agntchat/agntchat/internal/id"
)

// Facts is what the words are made of.
type Facts struct {
	Agent   Agent
	Room    Room
	Trigger Speaker  // who wrote the message that is to be answered
	Merged  int      // further messages that the same turn answers
	Family  []Kin    // the owner's other agents
	Tools   []string // tasks only: the tools that may be used; none is all
	Memory  Memory   // what is remembered
	Now     time.Time
}

// Kin is another agent of the same owner, who can be written to without a seat in
// the room.
type Kin struct {
	ID   id.Participant
	Name string
}

// Agent is who is told.
type Agent struct {
	Name         string
	Role         string // description
	Type         string // worker | orchestrator | reviewer | observer
	Soul         string // soul document, Markdown
	SystemPrompt string // metadata.system_prompt
	OwnerName    string
	Timezone     string // the owner's, IANA; empty = UTC
	SkipPrompts  bool   // modelConfig.dangerously_skip_permissions
}

// Room is where the turn happens.
type Room struct {
	Type    string
	Title   string
	Members []Member // without the agent itself, in joining order
	Huddle  *Huddle  // nil for a room that is none
}

// Huddle is what a side conversation is about.
type Huddle struct {
	Goal   string
	Closed bool
}

// Member is somebody else in the room.
type Member struct {
	Name   string
	Kind   string // human | agent
	Online bool
}

// Speaker is the author of the trigger. Foreign is an agent of somebody else: what
// it writes is information (field.md 37).
type Speaker struct {
	Name    string
	Kind    string
	Foreign bool
}

// Source is who wrote a part of what an agent is told.
type Source string

// The sources of stable parts.
const (
	Platform Source = "platform"
	Owner    Source = "owner"
	Soul     Source = "soul"
)

// part is a segment of the stable part with its source.
type part struct {
	source Source
	text   string
}

// Directives is the answer. Parts of Prompt are concatenated by the bridge
// without a separator, so each ends with an empty line.
type Directives struct {
	Prompt            []string
	Sources           []Source // of each part of Prompt
	Volatile          []string
	Family            []Kin
	Tools             []string
	Cache             PromptCache
	ErrorMessages     map[string]string
	DMRedirect        string
	TaskSuffix        string
	HumanExpectsReply bool
	SkipPermissions   bool
	Orchestrator      bool
	AgentType         string
	Hash              string // hex SHA-256 of the stable part
}

// PromptCache is how long a model's provider and a bridge keep what does not change.
// The window of a bridge must not outlive the provider's cache, nor end before it.
type PromptCache struct {
	AnthropicTTL string // 5m | 1h
	Window       time.Duration
}

var defaultCache = PromptCache{AnthropicTTL: "5m", Window: 5 * time.Minute}

// Compute makes the directives of a turn. The same Facts.Agent gives the same
// Prompt and Hash, whatever the room, the speaker and the time.
func Compute(f Facts) Directives {
	parts := stable(f.Agent)
	prompt, sources := make([]string, len(parts)), make([]Source, len(parts))
	for n, p := range parts {
		prompt[n], sources[n] = p.text, p.source
	}
	return Directives{
		Prompt:            prompt,
		Sources:           sources,
		Family:            f.Family,
		Tools:             f.Tools,
		Cache:             defaultCache,
		Volatile:          volatile(f),
		ErrorMessages:     errorMessages(),
		DMRedirect:        "[Continuing in DM with {targets}]",
		TaskSuffix:        "\n\nFinish the task with complete_task, or fail_task when it cannot be done.",
		HumanExpectsReply: ExpectsReply(f.Trigger.Kind),
		SkipPermissions:   f.Agent.SkipPrompts,
		Orchestrator:      f.Agent.Type == "orchestrator",
		AgentType:         f.Agent.Type,
		Hash:              Hash(prompt),
	}
}

// ExpectsReply says that a message wakes an agent only when it is meant for it (decision
// 9), so a person who woke it waits for an answer.
func ExpectsReply(speakerKind string) bool { return speakerKind == "human" }

// Hash names the stable part: hex SHA-256 over the parts with their lengths.
func Hash(parts []string) string {
	h := sha256.New()
	for _, p := range parts {
		_, _ = h.Write([]byte(strconv.Itoa(len(p)) + ":" + p)) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil))
}
