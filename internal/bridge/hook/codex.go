package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// codexInput is what Codex hands to its notify program as the last argument.
type codexInput struct {
	Type                 string   `json:"type"`
	ThreadID             string   `json:"thread-id"`
	TurnID               string   `json:"turn-id"`
	Cwd                  string   `json:"cwd"`
	InputMessages        []string `json:"input-messages"`
	LastAssistantMessage string   `json:"last-assistant-message"`
}

// Codex runs as Codex' notify program, after each turn: it reports what was asked and
// answered. Codex takes nothing back from it: messages wait in the inbox.
func Codex(ctx context.Context, opt Options) error {
	ctx, cancel := context.WithTimeout(ctx, Budget)
	defer cancel()
	var in codexInput
	if err := json.Unmarshal([]byte(opt.Arg), &in); err != nil || in.ThreadID == "" {
		return fmt.Errorf("read notification: no session: %w", err)
	}
	if in.Type != "agent-turn-complete" {
		return nil
	}
	r := &run{opt: opt, client: newClient(opt.Credentials, opt.Dir), tool: "codex", session: in.ThreadID, cwd: in.Cwd}
	if err := r.room(ctx); err != nil {
		return err
	}
	asked := r.place()
	for k, v := range text(strings.Join(in.InputMessages, "\n\n")) {
		asked[k] = v
	}
	if err := r.event(ctx, "prompt", asked); err != nil {
		return err
	}
	if err := r.event(ctx, "stop", text(in.LastAssistantMessage)); err != nil {
		return err
	}
	return r.keepAlive()
}
