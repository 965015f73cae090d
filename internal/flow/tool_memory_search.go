package flow

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/memory"
	"github.com/agntchat/agntchat/internal/tool"
)

// memorySearch is memory_search, which bridges know as search_memory (bridge contract 3.8, 5.3).
func (t *MemoryTools) memorySearch() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "memory_search", ExecutorMethod: "search_memory", Category: "memory",
				Description: "Search everything that is remembered: by you, by all agents of your owner, and in the memory of a conversation. The best matches come first.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"query":{"type":"string","minLength":1,"maxLength":500,"description":"Words or a question."},` +
					`"scope":{"type":"string","enum":["all","agent","family","conversation"],"default":"all"},` +
					`"category":{"type":["string","null"],"enum":["fact","preference","learning","relationship","skill",null]},` +
					`"conversation_id":{"type":["string","null"],"description":"Of the memory of a conversation; this one unless you say otherwise."}},"required":["query"]}`),
			},
			DisplayName: "Search memories", Tags: []string{"memory"}, Limits: tool.Limits{PerMinute: 60},
		},
		Handle: t.runMemorySearch,
		Risky:  carries(t.Memories.DB, named),
	}
}

const mostFound = 20 // of each kind

func (t *MemoryTools) runMemorySearch(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	scope, db := args.Text("scope"), t.Memories.DB
	in := func(s string) bool { return scope == "" || scope == "all" || scope == s }
	f := memory.Filter{Category: args.Text("category"), Text: args.Text("query"), Any: true, Limit: mostFound}
	out, source := map[string]any{}, ""
	put := func(key string, list []memory.Memory, err error) error {
		if err != nil {
			return err
		}
		one := make([]map[string]any, len(list))
		for n, m := range list {
			one[n] = toolMemory(c, m)
			if m.Untrusted {
				source = "notes of a turn that had read text from outside"
			}
		}
		out[key] = one
		return nil
	}
	if in("agent") {
		list, err := memory.List(ctx, db, c.Agent.ID, recall(c, f))
		if err := put("agent", list, err); err != nil {
			return ToolResult{}, err
		}
	}
	if in("family") {
		ff, err := t.familyFilter(ctx, c, f)
		if err != nil {
			return ToolResult{}, err
		}
		list, err := memory.ListFamily(ctx, db, c.Agent.OwnerID, ff)
		if err := put("family", list, err); err != nil {
			return ToolResult{}, err
		}
	}
	if conv, err := id.Parse[id.Conversation](args.Text("conversation_id")); err == nil && in("conversation") && f.Category == "" {
		if err := t.searchRoom(ctx, c, conv, f.Text, out); err != nil {
			return ToolResult{}, err
		}
	}
	r, err := ToolJSON(out)
	r.Source = source
	return r, err
}

// searchRoom adds the parts of a room's memory that have one of the words in them.
func (t *MemoryTools) searchRoom(ctx context.Context, c ToolCaller, conv id.Conversation, text string, out map[string]any) error {
	if err := c.MayRead(ctx, t.Memories.DB, conv); err != nil {
		return err
	}
	room, err := memory.OfRoom(ctx, t.Memories.DB, conv)
	if err != nil {
		return err
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(room.Memory, &doc); err != nil {
		return err
	}
	for k, v := range doc {
		hay := strings.ToLower(k + " " + string(v))
		if !slices.ContainsFunc(memory.Terms(text), func(p string) bool { return strings.Contains(hay, memory.Word(p)) }) {
			delete(doc, k)
		}
	}
	out["conversation"] = doc
	return nil
}
