// Package tool defines the tools that an agent is offered: names, schemas, how a
// bridge carries them out (bridge contract 4.5, 5.1). It does not carry anything
// out: SDK tools are REST calls of the bridge, the others are handlers in flow
// (tool_*.go).
package tool

import "encoding/json"

// Names of the tools.
const (
	SendMessage = "send_message"
	GetMessages = "get_messages"
	GetProfile  = "get_profile"
	EndTurn     = "end_turn"
)

// Definition is one entry of the catalogue. ExecutorMethod names a method of the
// bridge's SDK; without one the call is passed to POST /api/mcp/call.
type Definition struct {
	Name           string
	Description    string
	InputSchema    json.RawMessage
	ExecutorMethod string
	Category       string
	AlwaysLoad     bool
}

// Holder is what a catalogue depends on.
type Holder struct {
	AgentType string
}

// ForAgent is the agent's catalogue, always in the same order: a changed byte of
// it is billed again (bridge contract 6.1).
func ForAgent(Holder) []Definition {
	return []Definition{sendMessage(), getMessages(), getProfile(), endTurn()}
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

func sendMessage() Definition {
	return Definition{
		Name:           SendMessage,
		ExecutorMethod: SendMessage,
		Category:       "messaging",
		Description: "Post a message in a conversation you are a member of. Your final answer of this turn is posted by itself: " +
			"use this only for another conversation, or for something to say before you are done.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{` +
			`"conversation_id":{"type":"string","description":"Id of the conversation; \"current\" is the one of this turn."},` +
			`"content":{"type":"string","description":"The text, Markdown allowed."}},"required":["conversation_id","content"]}`),
	}
}

func getMessages() Definition {
	return Definition{
		Name:           GetMessages,
		ExecutorMethod: GetMessages,
		Category:       "messaging",
		Description:    "Read the newest messages of a conversation you are a member of, newest first.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{` +
			`"conversation_id":{"type":"string","description":"Id of the conversation; \"current\" is the one of this turn."},` +
			`"limit":{"type":"integer","minimum":1,"maximum":100,"default":20,"description":"How many."}},"required":["conversation_id"]}`),
	}
}

func getProfile() Definition {
	return Definition{
		Name:           GetProfile,
		ExecutorMethod: GetProfile,
		Category:       "identity",
		Description:    "Read your own profile: name, role, owner, settings.",
		InputSchema:    json.RawMessage(`{"type":"object","properties":{}}`),
	}
}

func endTurn() Definition {
	return Definition{
		Name:       EndTurn,
		Category:   "conversation",
		AlwaysLoad: true,
		Description: "End this turn explicitly. no_action_needed: you have nothing to add and stay silent; refused when a person wrote to you. " +
			"task_complete, awaiting_input, blocked: your text is still posted.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{` +
			`"reason":{"type":"string","enum":["no_action_needed","task_complete","awaiting_input","blocked"],"description":"Why the turn ends."},` +
			`"message":{"type":"string","description":"A short note for the record; it is not posted."}},"required":["reason"]}`),
	}
}
