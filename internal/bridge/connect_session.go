package bridge

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"

	"github.com/agntchat/agntchat/internal/bridge/hook"
	"github.com/agntchat/agntchat/internal/bridge/proc"
	"github.com/agntchat/agntchat/internal/bridge/session"
)

// SessionSetup is what `agnt connect --session` needs beside credentials.
type SessionSetup struct {
	Tool    string // claude | codex
	Program string // the path of agnt itself
	Remove  bool
}

// ExternalTool is the contract's name of a tool (desktop 5.4).
func (s SessionSetup) ExternalTool() string {
	if s.Tool == "codex" {
		return "codex"
	}
	return "claude_code"
}

func (s SessionSetup) command(home, agentID string) []string {
	return []string{s.Program, "hook", s.Tool, "--home", home, "--agent", agentID}
}

// configDir is where the tool keeps its settings.
func (s SessionSetup) configDir(env []string) string {
	name, dir := "CLAUDE_CONFIG_DIR", ".claude"
	if s.Tool == "codex" {
		name, dir = "CODEX_HOME", ".codex"
	}
	if d := proc.Get(env, name); d != "" {
		return d
	}
	home := proc.Get(env, "HOME")
	if home == "" {
		home = proc.Get(env, "USERPROFILE")
	}
	return filepath.Join(home, dir)
}

// ConnectSession makes the person's own CLI speak as an agent: it claims the invite
// if there is one, proves the key, stores the credentials and puts the hook into the
// CLI's settings. It tells every change. With Remove it takes the hook out again; the
// agent and its credentials stay.
func ConnectSession(ctx context.Context, home string, c Credentials, invite string, set SessionSetup, conf Config, out io.Writer) error {
	home, err := filepath.Abs(home)
	if err != nil {
		return fmt.Errorf("find folder: %w", err)
	}
	if !set.Remove {
		base, err := CleanURL(c.URL)
		if err != nil {
			return err
		}
		c.URL = base
		if invite != "" {
			claimed, err := claim(ctx, base, invite, map[string]any{"runtime": "external", "externalTool": set.ExternalTool()})
			if err != nil {
				return err
			}
			c = c.Fill(claimed)
			if err := Save(home, c); err != nil { // an invite works once
				return err
			}
		}
		conf.Log, conf.Timing = slog.New(slog.DiscardHandler), session.DefaultTiming()
		need, err := session.Probe(ctx, conf.options(c.Agent()))
		if err != nil {
			return explain(base, err)
		}
		if need.Profile.DisplayName != "" {
			c.DisplayName = need.Profile.DisplayName
		}
		if err := Save(home, c); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(out, "Connected: %s (%s) at %s.\n", c.DisplayName, c.AgentID, c.URL)
	}
	install := hook.InstallClaude
	if set.Tool == "codex" {
		install = hook.InstallCodex
	}
	done, err := install(set.configDir(conf.Machine.Env), set.command(home, c.AgentID), set.Remove)
	if err != nil {
		return err
	}
	if len(done.Changes) == 0 {
		_, _ = fmt.Fprintf(out, "%s: nothing to change.\n", done.File)
	} else {
		_, _ = fmt.Fprintf(out, "%s:\n", done.File)
		for _, line := range done.Changes {
			_, _ = fmt.Fprintln(out, " ", line)
		}
	}
	if done.Next != "" {
		_, _ = fmt.Fprintln(out, done.Next)
	}
	if set.Remove {
		_, _ = fmt.Fprintln(out, "New sessions are no longer shown. The agent and its key stay; delete the agent in agntchat.")
		return nil
	}
	_, _ = fmt.Fprintln(out, "What you type in new sessions, and what is answered, is shown in rooms that you and the agent share. Take it out again with: agnt connect --session --remove")
	return nil
}
