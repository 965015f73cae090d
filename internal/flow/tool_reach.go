package flow

import (
	"context"
	"fmt"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/tool"
	"github.com/agntchat/agntchat/internal/view"
)

// carries is the danger of reading in a room what is then said in the room of the turn:
// where somebody listens who cannot look into the first one, a person is asked
// (field.md 35). from finds the room that a call reads; a zero one is left to the handler.
func carries(db *pg.DB, from func(ctx context.Context, c ToolCaller, args ToolArgs) (id.Conversation, error)) func(context.Context, ToolCaller, ToolArgs) (Danger, error) {
	return func(ctx context.Context, c ToolCaller, args ToolArgs) (Danger, error) {
		room, err := from(ctx, c, args)
		if err != nil || room.IsZero() || c.Room.IsZero() || room == c.Room {
			return Danger{}, err
		}
		if err := c.MayRead(ctx, db, room); err != nil {
			return Danger{}, nil //nolint:nilerr // the handler refuses it: nobody is asked
		}
		open, err := view.ListensOutside(ctx, db, c.Room, room, c.Agent.OwnerID)
		if err != nil || !open {
			return Danger{}, err
		}
		r, err := view.OneConversation(ctx, db, room, c.Agent.ID)
		if err != nil {
			return Danger{}, err
		}
		title := "a direct conversation"
		if r.Title != nil && *r.Title != "" {
			title = fmt.Sprintf("%q", *r.Title)
		}
		return Danger{Risk: tool.Critical, Why: "What would be read is from " + title + ", and not everybody here can see that."}, nil
	}
}

// named is the room that the argument conversation_id names; zero for none.
func named(_ context.Context, _ ToolCaller, args ToolArgs) (id.Conversation, error) {
	c, _ := id.Parse[id.Conversation](args.Text("conversation_id")) // anything else is refused by the handler
	return c, nil
}
