package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/agntchat/agntchat/internal/bridge/backend"
)

// toolbox runs the platform tools of one turn (contract 5). A message that the
// model sends to the room it is answering becomes part of the answer: it is
// posted once, together with the end of the turn, and never twice.
type toolbox struct {
	agent *Agent
	item  Item
	tools []backend.Tool
	defs  map[string]ToolDef
	local []Local

	mu    sync.Mutex
	said  []string
	done  bool
	quiet bool
	await bool // end_turn said that the run waits for somebody
}

func (a *Agent) newToolbox(it Item, p Profile) *toolbox {
	b := &toolbox{agent: a, item: it, defs: map[string]ToolDef{}}
	for _, d := range p.ResolvedTools {
		if d.Category == "server_tool" || d.Name == "" {
			continue
		}
		schema := d.InputSchema
		if len(schema) == 0 || string(schema) == "null" {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		b.defs[d.Name] = d
		b.tools = append(b.tools, backend.Tool{Name: d.Name, Description: d.Description, Schema: schema})
	}
	b.addLocal(a.opt.Local)
	return b
}

// allow keeps only the tools of a list; an empty one keeps all.
func (b *toolbox) allow(names []string) {
	if len(names) == 0 {
		return
	}
	b.tools = slices.DeleteFunc(b.tools, func(t backend.Tool) bool { return !slices.Contains(names, t.Name) })
	b.local = slices.DeleteFunc(b.local, func(l Local) bool { return !slices.Contains(names, l.Name) })
	for n := range b.defs {
		if !slices.Contains(names, n) {
			delete(b.defs, n)
		}
	}
}

// waits says that the model ended its run to wait for somebody.
func (b *toolbox) waits() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.await
}

// Tools is the catalogue, in the server's order.
func (b *toolbox) Tools() []backend.Tool { return b.tools }

// Done says that the model has ended its turn by a tool.
func (b *toolbox) Done() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.done
}

func (b *toolbox) silent() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.quiet && len(b.said) == 0
}

// answer joins what was said by tool with the model's closing text.
func (b *toolbox) answer(text string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	parts := append([]string(nil), b.said...)
	if text = strings.TrimSpace(text); text != "" {
		known := false
		for _, s := range parts {
			known = known || strings.Contains(s, text)
		}
		if !known {
			parts = append(parts, text)
		}
	}
	return strings.TrimSpace(storable(strings.Join(parts, "\n\n")))
}

// Call runs one tool under its own time limit. Errors are results for the
// model, never errors of the turn.
func (b *toolbox) Call(ctx context.Context, name string, args json.RawMessage) backend.ToolResult {
	def, ok := b.defs[name]
	if !ok {
		if r, ok := b.callLocal(ctx, name, args); ok {
			return r
		}
		return toolError("Unknown tool: " + name)
	}
	limit := b.agent.opt.Timing.Tool
	if def.ExecutorMethod == "share_file" {
		limit = max(limit, uploadTime)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var in map[string]any
	if len(args) > 0 {
		if err := json.Unmarshal(args, &in); err != nil {
			return toolError("The arguments are not a JSON object.")
		}
	}
	if in == nil {
		in = map[string]any{}
	}
	if missing := missingArgs(def.InputSchema, in); missing != "" {
		return toolError("Missing argument: " + missing)
	}
	method := def.ExecutorMethod
	if method == "" {
		method = name
	}
	switch method {
	case "send_message":
		return b.sendMessage(ctx, in)
	case "share_file":
		return b.shareFile(ctx, in)
	}
	_, r := b.dispatch(ctx, name, in, nil)
	return r
}

func toolError(text string) backend.ToolResult {
	raw, _ := json.Marshal(map[string]string{"error": text})
	return backend.ToolResult{Text: string(raw), IsError: true}
}

// missingArgs names a required argument that is absent. conversation_id and
// task_id are filled in by the bridge and never missing.
func missingArgs(schema json.RawMessage, in map[string]any) string {
	var s struct {
		Required []string `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return ""
	}
	for _, r := range s.Required {
		if _, ok := in[r]; !ok && r != "conversation_id" && r != "task_id" && r != "user_id" {
			return r
		}
	}
	return ""
}

// conversation replaces the placeholders that models write for "this room".
func (b *toolbox) conversation(in map[string]any) string {
	v, _ := in["conversation_id"].(string)
	if placeholder(v, "current", "this", "this_conv", "this_conversation", "conversation_id", "conv_id") {
		return b.item.ConversationID
	}
	return v
}

func placeholder(v string, words ...string) bool {
	v = strings.ToLower(strings.Trim(strings.TrimSpace(v), "<>"))
	if v == "" || (strings.HasPrefix(v, "{{") && strings.HasSuffix(v, "}}")) {
		return true
	}
	for _, w := range words {
		if v == w {
			return true
		}
	}
	return false
}

func (b *toolbox) sendMessage(ctx context.Context, in map[string]any) backend.ToolResult {
	content, _ := in["content"].(string)
	if strings.TrimSpace(content) == "" {
		return toolError("content is empty")
	}
	conv := b.conversation(in)
	if conv == b.item.ConversationID {
		b.mu.Lock()
		b.said = append(b.said, strings.TrimSpace(content))
		b.mu.Unlock()
		return backend.ToolResult{Text: `{"status":"accepted","note":"This is the conversation you are answering: the text is posted as your reply when the turn ends. Do not repeat it."}`}
	}
	// A turn that runs again after a crash says the same thing once.
	header := map[string]string{"Idempotency-Key": onceKey(b.item.ID, conv, content)}
	_, r := b.dispatch(ctx, "send_message", in, header)
	return r
}

// onceKey names what a turn says or shares, by the turn and all that it is.
func onceKey(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return "agnt-" + hex.EncodeToString(sum[:16])
}

// context says what a call belongs to: keys that are not known are left out.
func (b *toolbox) context() map[string]string {
	cc := map[string]string{
		"conversation_id": b.item.ConversationID, "active_conversation_id": b.item.ConversationID,
		"source_message_id": b.item.MessageID, "task_id": b.item.ActiveTaskID, "last_seen_message_id": lastSeen(b.item),
	}
	for k, v := range cc {
		if v == "" {
			delete(cc, k)
		}
	}
	return cc
}

// dispatch lets the server run the tool (contract 3.8, 5.5): there the agent and the
// person on whose behalf the turn runs must both be allowed. text is the result of
// a call that was carried out.
func (b *toolbox) dispatch(ctx context.Context, name string, in map[string]any, header map[string]string) (text string, r backend.ToolResult) {
	if v, ok := in["conversation_id"].(string); ok {
		if placeholder(v, "current", "this", "this_conv", "this_conversation", "conversation_id", "conv_id") {
			in["conversation_id"] = b.item.ConversationID
		}
	}
	var out struct {
		OK      *bool           `json:"ok"`
		Error   json.RawMessage `json:"error"`
		IsError bool            `json:"isError"`
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
	}
	body := map[string]any{"tool_name": name, "args": in, "context": b.context()}
	if err := b.agent.api.callHeader(ctx, "POST", "/api/mcp/call", header, body, &out); err != nil {
		if ctx.Err() != nil {
			return "", toolError("The tool did not answer in time.")
		}
		return "", toolError(err.Error())
	}
	var texts []string
	for _, c := range out.Content {
		if c.Type == "text" && c.Text != "" {
			texts = append(texts, c.Text)
		}
	}
	r = backend.ToolResult{Text: strings.Join(texts, "\n")}
	if r.Text == "" {
		r.Text = `{"ok":true}`
		if out.OK != nil && !*out.OK {
			r.Text = fmt.Sprintf(`{"error":%s}`, orNull(out.Error))
		}
	}
	r.IsError = out.IsError || (out.OK != nil && !*out.OK) || hasError(r.Text)
	if name == "end_turn" && !r.IsError {
		b.endTurn(in)
	}
	return strings.Join(texts, "\n"), r
}

func orNull(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return `"refused"`
	}
	return string(raw)
}

func hasError(text string) bool {
	var v struct {
		Error json.RawMessage `json:"error"`
	}
	return json.Unmarshal([]byte(text), &v) == nil && len(v.Error) > 0 && string(v.Error) != "null"
}

func (b *toolbox) endTurn(in map[string]any) {
	reason, _ := in["reason"].(string)
	message, _ := in["message"].(string)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done = true
	switch reason {
	case "task_complete", "awaiting_input", "blocked":
		b.await = reason != "task_complete"
		if m := strings.TrimSpace(message); m != "" {
			b.said = append(b.said, m)
		}
	default:
		b.quiet = true
	}
}
