package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/agntchat/agntchat/internal/bridge"
	"github.com/agntchat/agntchat/internal/bridge/hook"
)

const hookHelp = `agnt hook is run by Claude Code and Codex themselves; agnt connect --session puts it into their settings.

  agnt hook claude --home FOLDER --agent ID            as a hook, with the event on standard input
  agnt hook codex --home FOLDER --agent ID EVENT       as the notify program

It reports the session, shows it in its room and brings messages in. It never fails and never waits for long.

Flags:
`

// runHook succeeds whatever happens: a hook that fails stops a person's work. What
// went wrong is told only with AGNT_HOOK_DEBUG=1, on standard error.
func runHook(ctx context.Context, args []string, env environment, in io.Reader, out, errOut io.Writer) error {
	if len(args) == 0 || args[0] == "--help" || args[0] == "-h" {
		_, _ = fmt.Fprint(errOut, hookHelp)
		return nil
	}
	fs := flag.NewFlagSet("agnt hook", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	home := fs.String("home", env.home, "folder for credentials")
	agent := fs.String("agent", "", "id of the agent")
	session := fs.String("session", "", "heartbeat only: the session")
	tool := fs.String("tool", "", "heartbeat only: its tool")
	cli := fs.Int("cli", 0, "heartbeat only: the process whose end is the session's")
	err := fs.Parse(args[1:])
	if err == nil {
		var c bridge.Credentials
		if c, err = bridge.Load(*home, *agent); err == nil {
			opt := hook.Options{
				Credentials: hook.Credentials{URL: c.URL, AgentID: c.AgentID, APIKey: c.APIKey}, Dir: bridge.AgentDir(*home, *agent), Host: env.device,
				In: in, Arg: fs.Arg(fs.NArg() - 1), Out: out,
			}
			if self, e := os.Executable(); e == nil {
				opt.Self = []string{self, "hook", "heartbeat", "--home", *home, "--agent", *agent}
			}
			switch args[0] {
			case "claude":
				err = hook.Claude(ctx, opt)
			case "codex":
				err = hook.Codex(ctx, opt)
			case "heartbeat":
				err = hook.Beat(ctx, opt, *session, *tool, *cli)
			}
		}
	}
	if err != nil && env.hookDebug {
		_, _ = fmt.Fprintln(errOut, "agnt hook:", err)
	}
	return nil
}
