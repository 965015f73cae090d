package memory

import "encoding/json"

// change is what became of one key of a room's memory, in the column diff.
type change struct {
	From any `json:"from,omitempty"`
	To   any `json:"to,omitempty"`
}

// object is what stands in a tag: the arguments of save_agent_memory.
type object struct {
	Category    string          `json:"category"`
	Key         string          `json:"key"`
	Content     string          `json:"content"`
	Confidence  *float64        `json:"confidence"`
	Description *string         `json:"description"`
	Tags        *[]string       `json:"tags"`
	Metadata    json.RawMessage `json:"metadata"`
}
