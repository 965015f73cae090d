package session

import (
	"slices"
	"strings"

	"github.com/agntchat/agntchat/internal/bridge/backend"
)

// buildTurn makes the backend's turn from a claimed item. The system prompt is
// the concatenation of the stable directives and nothing else, so that its
// bytes do not change between turns.
func (a *Agent) buildTurn(it Item, p Profile, box *toolbox) backend.Turn {
	t := backend.Turn{
		ID: it.ID, ConversationID: it.ConversationID,
		System:   strings.Join(it.Directives.PromptDirectives, ""),
		Volatile: strings.TrimSpace(strings.Join(it.Directives.VolatileContext, "")),
		Model:    p.ModelConfig.ModelID(), Effort: p.ModelConfig.Effort, MaxTokens: p.ModelConfig.MaxTokens,
		SkipPerms: a.opt.SkipPerms || p.ModelConfig.SkipPermissions,
		Toolbox:   box,
	}
	if a.opt.Model != "" {
		t.Model = a.opt.Model
	}
	if v := it.Directives.Behavioral.SkipPermissions; v != nil && !a.opt.SkipPerms {
		t.SkipPerms = *v
	}
	if o := it.TurnOverride; o != nil {
		if o.Model != "" {
			t.Model = o.Model
		}
		if slices.Contains([]string{"low", "medium", "high", "max"}, o.Effort) {
			t.Effort = o.Effort
		}
	}
	asked := it.messageIDs()
	for _, m := range it.RecentMessages {
		if !slices.Contains(asked, m.ID) && rendered(m) {
			t.History = append(t.History, a.render(m))
		}
	}
	for _, m := range it.Merged {
		t.Input = append(t.Input, a.render(Message{
			ID: m.MessageID, SenderID: m.SenderID, SenderName: m.SenderName, SenderType: m.SenderType, Content: m.Content,
		}))
	}
	t.Input = append(t.Input, a.render(Message{
		ID: it.MessageID, SenderID: it.SenderID, SenderName: it.SenderName, SenderType: it.SenderType,
		Content: it.Content, ReadableText: it.ReadableText,
	}))
	return t
}

// rendered says whether a message belongs in a prompt (contract 4.1).
func rendered(m Message) bool {
	switch m.ContentType {
	case "", "text", "file", "structured", "status_update":
	default:
		return false
	}
	return m.MessageType != "EndTurn" && strings.TrimSpace(m.Content+m.ReadableText) != ""
}

func (a *Agent) render(m Message) backend.Message {
	text := m.ReadableText
	if text == "" {
		text = m.Content
	}
	if m.SenderID == a.opt.AgentID {
		return backend.Message{ID: m.ID, Assistant: true, Text: text}
	}
	name, kind := m.SenderName, m.SenderType
	if name == "" {
		name = m.Sender.DisplayName
	}
	if kind == "" {
		kind = m.Sender.Type
	}
	if name == "" {
		name = "Someone"
	}
	label := "[" + name + "]"
	switch kind {
	case "human":
		label = "[Human: " + name + "]"
	case "agent":
		label = "[Agent: " + name + "]"
	}
	return backend.Message{ID: m.ID, Speaker: label, Text: text}
}
