package flow

import (
	"github.com/agntchat/agntchat/internal/memory"
	"github.com/agntchat/agntchat/internal/wire"
)

// MemoryTools are the tools by which agents read and keep what is worth knowing. Each
// method that gives a Tool stands in the file of that tool.
type MemoryTools struct{ Memories *Memories }

// List is all of them, in the order of the catalogue.
func (t *MemoryTools) List() []Tool {
	return []Tool{
		t.getContext(), t.getContextBrief(), t.getMemory(), t.updateMemory(), t.getAgentMemories(), t.saveAgentMemory(), t.forgetMemory(),
		t.getFamilyMemories(), t.saveFamilyMemory(), t.memorySearch(),
	}
}

// memorySchema describes what is remembered, for the tools that save.
const memorySchema = `"category":{"type":"string","enum":["fact","preference","learning","relationship","skill"]},` +
	`"key":{"type":"string","minLength":1,"maxLength":200,"description":"A short name; the same category and key replace what was there."},` +
	`"content":{"type":"string","minLength":1,"maxLength":8000,"description":"What to remember, understandable by itself. No secrets."},` +
	`"confidence":{"type":["number","null"],"minimum":0,"maximum":1},` +
	`"description":{"type":["string","null"],"maxLength":1000},` +
	`"tags":{"type":["array","null"],"items":{"type":"string","maxLength":50},"maxItems":20}`

// memoryWrite reads it.
func memoryWrite(args ToolArgs) memory.Write {
	w := memory.Write{Category: args.Text("category"), Key: args.Text("key"), Content: args.Text("content"), Metadata: args.Object("metadata")}
	if n, ok := args.Value("confidence").(float64); ok {
		w.Confidence = &n
	}
	if args.Has("description") {
		w.Description = new(args.Text("description"))
	}
	if args.Has("tags") {
		w.Tags = new(args.Texts("tags"))
	}
	return w
}

// toolMemory is a memory as a model reads it, with where it was learned and for whom.
func toolMemory(c ToolCaller, m memory.Memory) map[string]any {
	out := map[string]any{"category": m.Category, "key": m.Key, "content": m.Content, "confidence": m.Confidence, "tags": m.Tags, "updatedAt": wire.At(m.UpdatedAt)}
	if !m.SourceConversationID.IsZero() {
		out["source_conversation_id"] = m.SourceConversationID
	}
	switch {
	case m.CallerID == c.Agent.OwnerID:
		out["learned_for"] = "owner"
	case !m.CallerID.IsZero():
		out["learned_for"] = m.CallerID
	}
	return out
}

// toolMemories lists them. One that was written under the influence of strangers' text
// makes the whole result such a text.
func toolMemories(c ToolCaller, key string, list []memory.Memory) (ToolResult, error) {
	out, source := make([]map[string]any, len(list)), ""
	for n, m := range list {
		out[n] = toolMemory(c, m)
		if m.Untrusted {
			source = "notes of a turn that had read text from outside"
		}
	}
	r, err := ToolJSON(map[string]any{key: out})
	r.Source = source
	return r, err
}

// toolRoomMemory is the memory of a room as a model reads it.
func toolRoomMemory(room memory.Room, more map[string]any) (ToolResult, error) {
	out := map[string]any{"memory": room.Memory, "version": room.Version}
	for k, v := range more {
		out[k] = v
	}
	return ToolJSON(out)
}
