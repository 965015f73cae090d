package codex

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/agntchat/agntchat/internal/bridge/backend"
)

// Requests by which the CLI asks before it acts.
const (
	execApproval = "item/commandExecution/requestApproval"
	fileApproval = "item/fileChange/requestApproval"
)

// approvals names the tool of each, as people read it.
var approvals = map[string]string{execApproval: "shell", fileApproval: "apply_patch"}

// gated says that the CLI's own tools are asked about.
func (r *run) gated() bool { return r.turn.Gate != nil && !r.turn.SkipPerms }

// approve answers one request for approval. A call that waits for people ends the
// turn: nothing has to live until they have decided.
func (r *run) approve(ctx context.Context, m message) {
	c, ok := r.call(m)
	v := backend.Verdict{Text: "This bridge cannot show that call to anybody."}
	switch {
	case r.waits:
		v.Text = "One gated call at a time: another call waits for an approval."
	case ok:
		v = r.turn.Gate.Ask(ctx, c)
	}
	word := "decline"
	switch {
	case v.Decision == backend.Allow && (len(v.Input) == 0 || bytes.Equal(v.Input, c.Input)):
		word = "accept"
	case v.Decision == backend.Allow:
		v.Text = "People have changed the call. " + exactly(c.Tool, v.Input)
	case v.Decision == backend.Defer:
		word, r.waits = "cancel", true
	}
	if word == "decline" {
		r.steer(ctx, v.Text) // before the refusal, so that the model reads both together
	}
	r.s.answer(map[string]any{"id": m.ID, "result": map[string]any{"decision": word}})
}

// call reads what would run. The input holds everything that decides what happens,
// so that an approval of it is one of exactly that.
func (r *run) call(m message) (backend.GatedCall, bool) {
	var p struct {
		ItemID  string          `json:"itemId"`
		Kind    string          `json:"kind"`
		Command *string         `json:"command"`
		Cwd     string          `json:"cwd"`
		Reason  string          `json:"reason"`
		Root    *string         `json:"grantRoot"`
		Network json.RawMessage `json:"networkApprovalContext"`
		More    json.RawMessage `json:"additionalPermissions"`
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return backend.GatedCall{}, false
	}
	input := map[string]any{}
	switch m.Method {
	case execApproval:
		if p.Command == nil || (p.Kind != "" && p.Kind != "command") || given(p.Network) || given(p.More) {
			return backend.GatedCall{}, false
		}
		input["command"], input["cwd"] = *p.Command, p.Cwd
	case fileApproval:
		if !given(r.changes[p.ItemID]) || p.Root != nil {
			return backend.GatedCall{}, false
		}
		input["changes"] = r.changes[p.ItemID]
	}
	raw, err := json.Marshal(input)
	if err != nil {
		return backend.GatedCall{}, false
	}
	return backend.GatedCall{RunID: r.thread + ":" + r.turnID, CallID: p.ItemID, Tool: approvals[m.Method], Input: raw, Reason: p.Reason}, true
}

func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// steer tells the model something in the turn that runs.
func (r *run) steer(ctx context.Context, text string) {
	if text == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	params := map[string]any{"threadId": r.thread, "expectedTurnId": r.turnID, "input": []any{map[string]any{"type": "text", "text": "(" + text + ")"}}}
	if err := r.s.call(ctx, "turn/steer", params, nil); err != nil {
		r.b.opt.Log.Warn("codex was not told why", "conversation_id", r.turn.ConversationID, "error", err)
	}
}

func exactly(tool string, input json.RawMessage) string {
	return "Make exactly this call, unchanged and nothing else before it: " + tool + " " + string(input)
}

// Resume goes on in the thread whose turn ended for the call: the model is told what
// people decided and makes the call again, which the gate compares with the approval.
func (b *Backend) Resume(ctx context.Context, t backend.Turn, a backend.Approval, emit func(backend.Event)) (backend.Result, error) {
	text := "People have decided about the call that you asked for: it was not approved."
	if a.Allowed {
		text = "People have approved the call that you asked for. " + exactly(a.Tool, a.Input)
		if a.Edited {
			text = "People have changed and approved the call that you asked for. " + exactly(a.Tool, a.Input)
		}
	}
	if a.Text != "" {
		text += " They say: " + strings.TrimSpace(a.Text)
	}
	t.Input = []backend.Message{{Text: "(" + text + " Then go on, and give your answer.)"}}
	t.History = nil
	return b.Run(ctx, t, emit)
}
