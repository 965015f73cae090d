package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/memory"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/tool"
)

// forgetMemory is ours: what is not true any more does not stay, and an agent that
// remembers as much as it may makes room.
func (t *MemoryTools) forgetMemory() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "forget_memory", Category: "memory",
				Description: "Forget something that you remember and that is not true or not needed any more.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"category":{"type":"string","enum":["fact","preference","learning","relationship","skill"]},"key":{"type":"string","minLength":1,"maxLength":200}},"required":["category","key"]}`),
			},
			DisplayName: "Forget", Tags: []string{"memory"}, Risk: tool.High, Limits: tool.Limits{PerMinute: 30},
		},
		Handle: t.runForgetMemory,
	}
}

func (t *MemoryTools) runForgetMemory(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	if c.Person.ID != c.Agent.OwnerID {
		return ToolResult{}, fault.New(fault.Forbidden, "forbidden", "Only for your owner you forget something.")
	}
	m := t.Memories
	err := m.forget(ctx, func(ctx context.Context, tx *pg.Tx) (int, error) {
		mid, err := memory.FindTx(ctx, tx, c.Agent.ID, args.Text("category"), args.Text("key"))
		if err != nil {
			return 0, err
		}
		return memory.DeleteTx(ctx, tx, c.Agent.ID, []id.Memory{mid})
	})
	if err != nil {
		return ToolResult{}, err
	}
	return ToolJSON(map[string]any{"status": "forgotten"})
}
