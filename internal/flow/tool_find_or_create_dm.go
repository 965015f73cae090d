package flow

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/tool"
)

// findOrCreateDM is find_or_create_dm (bridge contract 5.3): a huddle below the
// conversation of the turn, or a direct conversation.
func (p *PlatformTools) findOrCreateDM() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "find_or_create_dm", ExecutorMethod: "find_or_create_dm", Category: "messaging",
				Description: "Talk to some people or agents apart from this conversation, and say something there if message is given. It opens a huddle below this conversation, " +
					"whose members can look into it, or finds the open one with the same members and topic. For a direct conversation with one peer that nobody else sees, " +
					"set source_conversation_id to \"none\". Find ids with find_contacts or list_members.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"peer_id":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":9}],"description":"Id of the person or agent, or a list of them."},` +
					`"source_conversation_id":{"type":"string","description":"The conversation that the huddle lies below: this one when left out; \"none\" for a direct conversation."},` +
					`"source_message_id":{"type":"string","description":"The message that the huddle belongs to: the one you answer when left out."},` +
					`"topic":{"type":"string","maxLength":200,"description":"What the huddle is about, in a few words."},` +
					`"goal":{"type":"string","maxLength":2000,"description":"What it should come to."},` +
					`"opened_by_task_id":{"type":"string","description":"The task for which it is opened."},` +
					`"message":{"type":"string","maxLength":100000,"description":"What to say there."}},"required":["peer_id"]}`),
			},
			DisplayName: "Talk to somebody apart", Tags: []string{"messaging"}, Limits: tool.Limits{PerMinute: 20},
		},
		Handle: p.runFindOrCreateDM,
	}
}

func (p *PlatformTools) runFindOrCreateDM(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	var peers []id.Participant
	for _, s := range args.Texts("peer_id") {
		peer, err := id.Parse[id.Participant](s)
		if err != nil {
			return ToolResult{}, fault.ErrNotFound
		}
		peers = append(peers, peer)
	}
	n := NewHuddle{Peers: peers, Topic: args.Text("topic"), Goal: args.Text("goal"), Message: args.Text("message"), ClientKey: c.Key}
	if source := args.Text("source_conversation_id"); source != "" && !strings.EqualFold(source, "none") {
		var err error
		if n.Source, err = args.RoomArg("source_conversation_id"); err != nil {
			return ToolResult{}, err
		}
		if m, err := id.Parse[id.Message](args.Text("source_message_id")); err == nil {
			if _, here, err := chat.SeqOf(ctx, p.DB, n.Source, m); err != nil {
				return ToolResult{}, err
			} else if here { // of a turn in another room it is no anchor here
				n.Anchor = m
			}
		}
		n.OpenedByTask, _ = id.Parse[id.Task](args.Text("opened_by_task_id")) // filled in for the model; anything else is none
	}
	room, err := p.Chat.TalkApart(ctx, c, n)
	if err != nil {
		return ToolResult{}, err
	}
	return ToolJSON(map[string]any{"id": room.ID, "type": room.Type, "huddle": room.IsHuddle(), "said": n.Message != ""})
}
