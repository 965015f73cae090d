package present

import (
	"strings"

	"github.com/agntchat/agntchat/internal/external"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

func externalSession(s *view.ExternalSession) *wire.ExternalSession {
	if s == nil {
		return nil
	}
	out := &wire.ExternalSession{
		ID: s.ID.String(), SessionKey: s.SessionKey, Tool: s.Tool, State: s.State, Cwd: s.Cwd, Repo: s.Repo, Branch: s.Branch, Hostname: s.Hostname,
		Stats:     wire.SessionStats{Prompts: s.Prompts, ToolCalls: s.ToolCalls, Tools: s.Tools},
		StartedAt: wire.At(s.StartedAt), LastEventAt: wire.At(s.LastEventAt), EndedAt: wire.AtOrNil(s.EndedAt),
	}
	if out.Stats.Tools == nil {
		out.Stats.Tools = map[string]int{}
	}
	if s.ConversationID != nil {
		out.DMConversationID = idPtr(*s.ConversationID)
	}
	return out
}

// Inbox groups what waits by room, in the order of the newest message of each.
func Inbox(in flow.Inbox) wire.Inbox {
	out := wire.Inbox{Unread: []wire.InboxRoom{}, Tasks: []wire.InboxTask{}, CommandsTypeable: in.Typeable}
	at := map[string]int{}
	for _, m := range in.Messages {
		room := m.ConversationID.String()
		i, seen := at[room]
		if !seen {
			i = len(out.Unread)
			at[room] = i
			out.Unread = append(out.Unread, wire.InboxRoom{ConversationID: room, Type: m.Type, Title: m.Title, Count: m.Unread, OwnerDM: m.OwnerDM})
		}
		content := m.Content
		if m.ContentType != "file" && len(m.Attachments) > 0 { // a message that is a file says it in its content
			content = withFiles(content, m.Attachments)
		}
		out.Unread[i].Messages = append(out.Unread[i].Messages, wire.InboxMessage{
			ID: m.MessageID.String(), SenderName: m.SenderName, SenderType: m.SenderKind, Content: content, ContentType: m.ContentType,
			InsertedAt: wire.At(m.InsertedAt), Command: in.Command(m),
		})
	}
	for _, t := range in.Tasks {
		out.Tasks = append(out.Tasks, wire.InboxTask{ID: t.ID.String(), Title: t.Title, Status: t.Status, ConversationID: t.ConversationID.String()})
	}
	return out
}

// Invite is an invite for its creator; code is "" but in the answer that made it.
func Invite(i external.Invite, code string) wire.Invite {
	return wire.Invite{
		ID: i.ID.String(), Code: code, DisplayName: i.DisplayName, Description: i.Description, Capabilities: i.Capabilities, AgentID: idPtr(i.AgentID),
		Status: i.State(), MaxUses: i.MaxUses, Uses: i.Uses, ExpiresAt: wire.At(i.ExpiresAt), InsertedAt: wire.At(i.InsertedAt), LastUsedAt: wire.AtOrNil(i.LastUsedAt),
	}
}

// InviteInfo is what whoever has the code may know.
func InviteInfo(i external.Invite, creator string) wire.InviteInfo {
	return wire.InviteInfo{
		DisplayName: i.DisplayName, Description: i.Description, Capabilities: i.Capabilities, Status: i.State(), CreatorName: creator,
		Creator: wire.InviteCreator{DisplayName: creator}, ExpiresAt: wire.At(i.ExpiresAt), MaxUses: i.MaxUses, Uses: i.Uses,
	}
}

// InviteClaimed is what the new agent gets. publicURL has no trailing slash.
func InviteClaimed(c flow.Claimed, publicURL string) wire.InviteClaimed {
	out := wire.InviteClaimed{
		AgentID: c.Agent.ID.String(), APIKey: c.Key, Agent: Agent(c.Agent, false, true), GatewayURL: strings.TrimRight(publicURL, "/") + "/api/gateway",
	}
	if !c.Executor.IsZero() {
		out.Executor = &wire.ClaimedExecutor{ID: c.Executor.String()}
	}
	return out
}
