package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/file"
	"github.com/agntchat/agntchat/internal/tool"
)

// shareFile is share_file (bridge contract 5.3): the bridge reads a file where it
// runs and sends it by the addresses of 3.3. Only agents whose bridge does that see it.
func (p *PlatformTools) shareFile() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "share_file", ExecutorMethod: "share_file", Category: "files",
				Description: "Share a file of the machine where you run in a conversation, at most 25 MiB.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"path":{"type":"string","description":"Where the file is."},` +
					`"conversation_id":{"type":"string","description":"Id of the conversation; \"current\" is the one of this turn."},` +
					`"caption":{"type":"string","description":"Words that go with the file."},` +
					`"filename":{"type":"string","description":"Another name for it."}},"required":["path","conversation_id"]}`),
			},
			DisplayName: "Share a file", Tags: []string{"files"}, Relevant: func(f tool.Facts) bool { return f.LocalFiles },
		},
		Handle: p.runShareFile,
	}
}

// runShareFile answers a bridge of ours that has read the file, which it says by the
// size, and wants to know whether it may go to the room for the person of this turn.
func (p *PlatformTools) runShareFile(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	size := args.Int("size_bytes", 0)
	switch {
	case size <= 0:
		return ToolResult{}, fault.New(fault.Invalid, "local_tool", "share_file reads a file where you run, which the server cannot. Use create_document for text.")
	case size > file.MaxBytes:
		return ToolResult{}, fault.New(fault.Invalid, "invalid_arguments", "A file may have at most 25 MiB.")
	}
	room, err := args.RoomArg("conversation_id")
	if err != nil {
		return ToolResult{}, err
	}
	if err := p.mayPost(ctx, c, room); err != nil {
		return ToolResult{}, err
	}
	return ToolJSON(map[string]any{"conversation_id": room, "status": "allowed"})
}
