package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
)

// claudeInput is what Claude Code says to a hook.
type claudeInput struct {
	SessionID            string `json:"session_id"`
	Event                string `json:"hook_event_name"`
	Cwd                  string `json:"cwd"`
	TranscriptPath       string `json:"transcript_path"`
	Prompt               string `json:"prompt"`
	ToolName             string `json:"tool_name"`
	NotificationType     string `json:"notification_type"`
	LastAssistantMessage string `json:"last_assistant_message"`
	Model                string `json:"model"`
}

// Claude runs as a hook of Claude Code. An error is for tests: the program says
// nothing and succeeds, whatever happened.
func Claude(ctx context.Context, opt Options) error {
	ctx, cancel := context.WithTimeout(ctx, Budget)
	defer cancel()
	raw, err := ReadAll(ctx, io.LimitReader(opt.In, maxInput))
	if err != nil {
		return fmt.Errorf("read hook: %w", err)
	}
	var in claudeInput
	if err := json.Unmarshal(raw, &in); err != nil || in.SessionID == "" {
		return fmt.Errorf("read hook: no session: %w", err)
	}
	r := &run{opt: opt, client: newClient(opt.Credentials, opt.Dir), tool: "claude_code", session: in.SessionID, cwd: in.Cwd}
	return r.claude(ctx, in)
}

func (r *run) claude(ctx context.Context, in claudeInput) error {
	switch in.Event {
	case "SessionStart":
		if err := r.room(ctx); err != nil {
			return err
		}
		more := r.place()
		if in.Model != "" {
			more["model"] = clip(in.Model, 200)
		}
		if err := r.event(ctx, "session_start", more); err != nil {
			return err
		}
		return r.keepAlive()
	case "UserPromptSubmit":
		more := r.place()
		for k, v := range text(in.Prompt) {
			more[k] = v
		}
		if err := r.event(ctx, "prompt", more); err != nil {
			return err
		}
		if err := r.keepAlive(); err != nil {
			return err
		}
		box, err := r.unread(ctx)
		if err != nil {
			return err
		}
		if said := box.messages() + box.tasks(); said != "" {
			return r.say(map[string]any{"hookSpecificOutput": map[string]any{"hookEventName": "UserPromptSubmit", "additionalContext": said}})
		}
		return nil
	case "PreToolUse":
		return r.event(ctx, "tool_start", map[string]any{"toolName": clip(in.ToolName, maxToolName)})
	case "PostToolUse":
		return r.event(ctx, "tool_end", map[string]any{"toolName": clip(in.ToolName, maxToolName)})
	case "Notification":
		switch in.NotificationType {
		case "permission_prompt", "idle_prompt", "elicitation_dialog":
			return r.event(ctx, "waiting", map[string]any{"notificationType": in.NotificationType})
		}
		return nil
	case "Stop":
		return r.claudeStop(ctx, in)
	case "SessionEnd":
		forget(r.opt.Dir, r.session)
		return r.event(ctx, "session_end", nil)
	}
	return nil
}

// claudeStop shows the answer and goes on when somebody has written meanwhile. Tasks
// never make a turn go on.
func (r *run) claudeStop(ctx context.Context, in claudeInput) error {
	if more := text(in.LastAssistantMessage); more != nil {
		if err := r.event(ctx, "assistant_message", more); err != nil {
			return err
		}
	}
	box, err := r.unread(ctx)
	if err != nil {
		return err
	}
	if said := box.messages(); said != "" {
		return r.say(map[string]any{"decision": "block", "reason": said})
	}
	return r.event(ctx, "stop", nil)
}
