package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/tool"
)

// completeHuddle is complete_huddle (bridge contract 5.3).
func (p *PlatformTools) completeHuddle() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "complete_huddle", ExecutorMethod: "complete_huddle", Category: "messaging",
				Description: "Close a huddle that you take part in when it has come to something, or to nothing. It is read-only from then on; content, or the summary, is posted once " +
					"in the conversation above it, under your name. Do it deliberately: nobody else will.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"huddle_id":{"type":"string","description":"Id of the huddle; \"current\" is the one of this turn."},` +
					`"summary":{"type":"string","minLength":1,"maxLength":4000,"description":"What came of it, in a few sentences."},` +
					`"outcome":{"type":"string","enum":["resolved","agreed","blocked","deferred","abandoned"],"description":"How it ended."},` +
					`"content":{"type":"string","maxLength":100000,"description":"What the conversation above reads, if that is more than the summary. Name with @ whom it should wake."}},` +
					`"required":["huddle_id","summary","outcome"]}`),
			},
			DisplayName: "Close a huddle", Tags: []string{"messaging"}, Limits: tool.Limits{PerMinute: 20},
		},
		Handle: p.runCompleteHuddle,
	}
}

func (p *PlatformTools) runCompleteHuddle(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	huddle, err := args.RoomArg("huddle_id")
	if err != nil {
		return ToolResult{}, err
	}
	if huddle != c.Room { // on behalf of somebody who may at least look into it
		if c.Person.ID.IsZero() {
			return ToolResult{}, fault.ErrNotFound
		}
		if _, err := p.Chat.Readable(ctx, p.DB, c.Person, huddle); err != nil {
			return ToolResult{}, err
		}
	}
	done, err := p.Chat.CloseHuddle(ctx, c.Agent, HuddleEnd{HuddleID: huddle, Outcome: args.Text("outcome"), Summary: args.Text("summary"), Content: args.Text("content")})
	if err != nil {
		return ToolResult{}, err
	}
	return ToolJSON(map[string]any{"huddle_id": done.HuddleID, "status": done.Huddle.Status, "outcome": done.Huddle.Outcome, "reported": !done.MessageID.IsZero()})
}
