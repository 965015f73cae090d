package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
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

// codexEvent is what Codex says to a hook (contract letters 5.2). It speaks as Claude
// Code does, and names its turns.
type codexEvent struct {
	claudeInput
	TurnID string `json:"turn_id"`
}

// Codex runs as a hook of Codex, with the event on standard input, or as its notify
// program, with what it has to say as an argument.
func Codex(ctx context.Context, opt Options) error {
	ctx, cancel := context.WithTimeout(ctx, Budget)
	defer cancel()
	if opt.Arg != "" {
		return codexNotify(ctx, opt)
	}
	raw, err := ReadAll(ctx, io.LimitReader(opt.In, maxInput))
	if err != nil {
		return fmt.Errorf("read hook: %w", err)
	}
	var in codexEvent
	if err := json.Unmarshal(raw, &in); err != nil || in.SessionID == "" {
		return fmt.Errorf("read hook: no session: %w", err)
	}
	r := &run{opt: opt, client: newClient(opt.Credentials, opt.Dir), tool: "codex", session: in.SessionID, cwd: in.Cwd}
	if in.Event == "UserPromptSubmit" {
		if err := r.room(ctx); err != nil {
			return err
		}
		if err := r.noteTurn(in.TurnID); err != nil { // before it is shown: rather once too few than twice
			return err
		}
	}
	return r.claude(ctx, in.claudeInput)
}

// turnPath is sessions/<hash>.turn: the turn that the hooks of the session show.
func turnPath(dir, session string) string {
	return strings.TrimSuffix(notePath(dir, session), ".json") + ".turn"
}

func (r *run) noteTurn(turn string) error {
	if turn == "" {
		return nil
	}
	return writePrivate(turnPath(r.opt.Dir, r.session), []byte(turn))
}

// codexNotify reports what was asked and answered after each turn, unless hooks did.
// Codex takes nothing back from it.
func codexNotify(ctx context.Context, opt Options) error {
	var in codexInput
	if err := json.Unmarshal([]byte(opt.Arg), &in); err != nil || in.ThreadID == "" {
		return fmt.Errorf("read notification: no session: %w", err)
	}
	if in.Type != "agent-turn-complete" {
		return nil
	}
	r := &run{opt: opt, client: newClient(opt.Credentials, opt.Dir), tool: "codex", session: in.ThreadID, cwd: in.Cwd}
	if shown, err := os.ReadFile(turnPath(opt.Dir, in.ThreadID)); err == nil && string(shown) == in.TurnID {
		return r.keepAlive()
	}
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
