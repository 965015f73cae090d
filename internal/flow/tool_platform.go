package flow

import (
	"context"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/outbound"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/websearch"
)

// PlatformTools are the tools that every server has. Each method that gives a Tool
// stands in the file of that tool.
type PlatformTools struct {
	DB       *pg.DB
	Chat     *Chat
	Gateway  *Gateway
	Identity *Identity
	Files    *Files
	Fetch    *outbound.Client   // for what agents name
	Robots   *outbound.Robots   // over Fetch
	Search   websearch.Provider // nil: no search is offered
}

// List is all of them, in the order of the catalogue.
func (p *PlatformTools) List() []Tool {
	list := []Tool{
		p.sendMessage(), p.getMessages(), p.getProfile(), p.endTurn(), p.searchMessages(), p.listMembers(), p.findContacts(), p.findOrCreateDM(),
		p.readSoul(), p.updateSoul(), p.getSoulTemplate(), p.shareFile(), p.readAttachment(), p.createDocument(), p.webFetch(), p.completeHuddle(),
	}
	if p.Search != nil {
		list = append(list, p.webSearch())
	}
	return append(list, p.getOwnerLocation(), p.updateInputSchema())
}

// MayRead is the rule for what a tool may read of a room: the agent must be a
// member, and so must the person on whose behalf the turn runs, unless it is the
// room of the turn, where what is read is also said.
func (c ToolCaller) MayRead(ctx context.Context, q pg.Querier, room id.Conversation) error {
	return c.both(ctx, q, room, access.ReadRoom)
}

// both asks a rule about a room for the agent and, outside of the room of the turn,
// for the person too. Nobody may do nothing elsewhere.
func (c ToolCaller) both(ctx context.Context, q pg.Querier, room id.Conversation, may func(access.Actor, access.RoomFacts) error) error {
	asked := []access.Actor{c.Agent}
	if room != c.Room {
		asked = append(asked, c.Person)
	}
	for _, who := range asked {
		role, err := chat.Role(ctx, q, room, who.ID)
		if err == nil && role == "" && who.IsPerson() {
			if role, err = chat.ReaderRole(ctx, q, room, who.ID); role != "" { // a huddle below a room of theirs: they may look in, and take a seat
				role = chat.Member
			}
		}
		if err != nil {
			return err
		}
		if err := may(who, access.RoomFacts{ID: room, Role: role}); err != nil {
			return err
		}
	}
	return nil
}

// RoomArg reads an id of a room; placeholders have been filled in before.
func (a ToolArgs) RoomArg(key string) (id.Conversation, error) {
	c, err := id.Parse[id.Conversation](a.Text(key))
	if err != nil {
		return c, fault.New(fault.Invalid, "missing_conversation_id", "Name the conversation: "+key+" is not a known id.")
	}
	return c, nil
}
