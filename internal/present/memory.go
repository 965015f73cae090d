package present

import (
	"strings"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/memory"
	"github.com/agntchat/agntchat/internal/wire"
)

// RoomMemory is the memory of a room; diff is of a write.
func RoomMemory(conv id.Conversation, m memory.Room, diff []byte) wire.ConversationMemory {
	out := wire.ConversationMemory{ConversationID: conv.String(), Memory: m.Memory, Version: m.Version, Diff: wire.Map(diff)}
	if m.Version > 0 {
		out.UpdatedAt = new(wire.At(m.UpdatedAt))
	}
	if !m.UpdatedBy.IsZero() {
		out.UpdatedBy = m.UpdatedBy.String()
	}
	return out
}

// RoomMemoryHistory is a page of its changes.
func RoomMemoryHistory(conv id.Conversation, list []memory.RoomChange, more bool) wire.ConversationMemoryHistory {
	out := wire.ConversationMemoryHistory{ConversationID: conv.String(), History: make([]wire.ConversationMemoryChange, len(list)), HasMore: more}
	for n, c := range list {
		out.History[n] = wire.ConversationMemoryChange{
			Version: c.Version, Kind: c.Kind, Diff: c.Diff, Reason: c.Reason, ChangedBy: idTextOrNil(c.ChangedBy), ChangedByName: c.ChangedByName, InsertedAt: wire.At(c.InsertedAt),
		}
	}
	return out
}

// Brief is a room in brief.
func Brief(b flow.Brief) wire.Brief {
	out := wire.Brief{
		ConversationID: b.Room.ID.String(), Title: b.Room.Title, Type: b.Room.Type, Memory: b.Memory.Memory, MemoryVersion: b.Memory.Version,
		MessageCount: b.Room.MessageSeq, LastMessageAt: wire.AtOrNil(b.Room.LastMessageAt),
		Participants: make([]wire.BriefMember, len(b.Room.Members)), LatestMessages: make([]wire.BriefLine, len(b.Latest)), OpenTasks: make([]wire.BriefTask, len(b.Tasks)),
	}
	for n, m := range b.Room.Members {
		out.Participants[n] = wire.BriefMember{ParticipantID: m.ParticipantID.String(), DisplayName: m.DisplayName, Type: m.Kind, Role: m.Role}
	}
	for n, m := range b.Latest {
		text := m.Content
		if m.ContentType != "text" || m.MessageType != nil {
			text = ReadableText(m)
		}
		out.LatestMessages[n] = wire.BriefLine{SenderName: m.SenderName, Text: beginning(text, 300), InsertedAt: wire.At(m.InsertedAt)}
	}
	for n, t := range b.Tasks {
		out.OpenTasks[n] = wire.BriefTask{ID: t.ID.String(), Title: t.Title, Status: t.Status, AssignedTo: orNone(t.AssignedTo)}
	}
	return out
}

func beginning(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// Memory is one of an agent or of a family.
func Memory(m memory.Memory) wire.Memory {
	out := wire.Memory{
		ID: m.ID.String(), OrganizationID: idTextOrNil(m.OrganizationID), LastWrittenByID: idTextOrNil(m.LastWrittenBy), Category: m.Category, Key: m.Key, Content: m.Content,
		Confidence: confidence(m.Confidence), Description: m.Description, Tags: orNone(m.Tags), Metadata: object(m.Metadata), RelatedIDs: []string{},
		SourceConversationID: idTextOrNil(m.SourceConversationID), Untrusted: m.Untrusted, InsertedAt: wire.At(m.InsertedAt), UpdatedAt: wire.At(m.UpdatedAt),
	}
	if !m.AgentID.IsZero() {
		out.AgentID = m.AgentID.String()
	}
	if !m.OwnerID.IsZero() {
		out.FamilyRootID = m.OwnerID.String()
	}
	return out
}

// confidence is stored in single precision.
func confidence(c float64) float64 { return float64(int(c*1000+0.5)) / 1000 }

// Memories is a page.
func Memories(list []memory.Memory, total, offset int) wire.Memories {
	out := wire.Memories{Memories: make([]wire.Memory, len(list)), Total: total, HasMore: offset+len(list) < total}
	for n, m := range list {
		out.Memories[n] = Memory(m)
	}
	return out
}

// MemorySearch is what a person finds.
func MemorySearch(h flow.MemoryHits) wire.MemorySearch {
	out := wire.MemorySearch{Results: []wire.MemoryHit{}}
	add := func(kind string, list []memory.Memory) {
		for _, m := range list {
			out.Results = append(out.Results, wire.MemoryHit{
				Type: kind, ID: m.ID.String(), AgentID: idTextOrNil(m.AgentID), Title: new(m.Key), Snippet: new(beginning(strings.TrimSpace(m.Content), 200)), UpdatedAt: new(wire.At(m.UpdatedAt)),
			})
		}
	}
	add("memory", h.Agents)
	add("family_memory", h.Family)
	return out
}

// MemorySaved tells an owner what an agent keeps.
func MemorySaved(e flow.MemorySaved) wire.MemorySavedEvent {
	m := e.Memory
	out := wire.MemorySavedEvent{
		Scope: "agent", MemoryID: m.ID.String(), Category: m.Category, Key: m.Key, Content: m.Content, OrganizationID: idTextOrNil(m.OrganizationID),
		ConversationID: idTextOrNil(m.SourceConversationID), AgentID: e.Agent.ID.String(), AgentName: new(e.Agent.DisplayName),
	}
	if !m.OwnerID.IsZero() {
		out.Scope = "family"
	}
	return out
}

// WarmRooms is what an agent is told in its rooms.
func WarmRooms(list []flow.WarmRoom) wire.Warmup {
	out := wire.Warmup{Conversations: make([]wire.WarmRoom, len(list))}
	for n, r := range list {
		out.Conversations[n] = wire.WarmRoom{ConversationID: r.ConversationID.String(), Directives: Directives(r.Directives)}
	}
	return out
}
