package present

import (
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// Online tells who is online.
type Online func(id.Participant) bool

// Conversation is a room as its viewer sees it. A guest, who is no member of the
// room's workspace, gets organizationId null: clients show such a room in every
// workspace. online may be nil.
func Conversation(c view.Conversation, guest bool, online Online) wire.Conversation {
	out := wire.Conversation{
		ID: c.ID.String(), Type: c.Type, Title: c.Title, AvatarURL: c.AvatarURL, Metadata: object(c.Metadata),
		InsertedAt: wire.At(c.InsertedAt), UpdatedAt: wire.At(c.UpdatedAt), Members: make([]wire.ConversationMember, len(c.Members)),
		AgentsAddWithoutAsking: c.AgentsAddWithoutAsking, UnreadCount: c.Unread, MentionCount: c.MentionCount, LastReadSeq: c.LastReadSeq, Seq: c.Version,
	}
	if !c.CreatedBy.IsZero() {
		out.CreatedBy = new(c.CreatedBy.String())
	}
	if !c.ParentConversationID.IsZero() {
		out.ParentConversationID = new(c.ParentConversationID.String())
	}
	out.Huddle = huddle(c)
	if !guest && !c.OrganizationID.IsZero() {
		out.OrganizationID = new(c.OrganizationID.String())
	}
	for i, m := range c.Members {
		out.Members[i] = Member(m, online)
	}
	if c.LastMessage != nil {
		last := Updated(*c.LastMessage, nil).LastMessage
		out.LastMessage = &last
	}
	return out
}

// Member is a seat in a room.
func Member(m view.Member, online Online) wire.ConversationMember {
	p := wire.Participant{
		ID: m.ParticipantID.String(), Type: m.Kind, DisplayName: m.DisplayName, AvatarURL: m.AvatarURL, Status: m.Status,
		Description: m.Description, Capabilities: m.Capabilities, Online: online != nil && online(m.ParticipantID), InsertedAt: new(wire.At(m.InsertedAt)),
		ExternalTool: m.ExternalTool,
	}
	if !m.OwnerID.IsZero() {
		p.OwnerID = new(m.OwnerID.String())
	}
	return wire.ConversationMember{ParticipantID: p.ID, DisplayName: m.DisplayName, Role: m.Role, Participant: p}
}

func huddle(c view.Conversation) *wire.Huddle {
	h, ok := c.Huddle()
	if !ok {
		return nil
	}
	out := &wire.Huddle{Status: h.Status, Topic: h.Topic, Goal: h.Goal, Outcome: h.Outcome, Summary: h.Summary, MessageCount: c.MessageCount}
	if h.SourceMessageID != nil {
		out.SourceMessageID = new(h.SourceMessageID.String())
	}
	if h.ReportMessageID != nil {
		out.ReportMessageID = new(h.ReportMessageID.String())
	}
	if h.ClosedBy != nil {
		out.ClosedBy = new(h.ClosedBy.String())
	}
	if h.ClosedAt != nil {
		out.ClosedAt = new(wire.At(*h.ClosedAt))
	}
	return out
}
