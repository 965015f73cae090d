package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/agntchat/agntchat/internal/bridge"
	"github.com/agntchat/agntchat/internal/bridge/hook"
	"github.com/agntchat/agntchat/internal/letterbox/alarm"
)

const hookHelp = `agnt hook is run by Claude Code and Codex themselves; agnt connect --session puts it into their settings.

  agnt hook claude --home FOLDER --agent ID            as a hook, with the event on standard input
  agnt hook codex --home FOLDER --agent ID [EVENT]     as a hook, with the event on standard input; or as the notify program
  agnt hook HOST MOMENT --dir FOLDER                   for letters, see agnt letter install: HOST is claude, codex, pi or opencode,
                                                       MOMENT session-start, user-prompt-submit, post-tool-use, stop, session-end or await

It reports the session, shows it in its room and brings messages in. It never fails and never waits for long.

Flags:
`

// errRewake ends a hook that waited for letters. Claude Code wakes its model by the exit code 2 of a hook that ran in the background.
var errRewake = errors.New("letters wait")

// runHook succeeds whatever happens: a hook that fails stops a person's work. What
// went wrong is told only with AGNT_HOOK_DEBUG=1, on standard error.
func runHook(ctx context.Context, args []string, env environment, in io.Reader, out, errOut io.Writer) error {
	if len(args) == 0 || args[0] == "--help" || args[0] == "-h" {
		_, _ = fmt.Fprint(errOut, hookHelp)
		return nil
	}
	if len(args) > 1 && alarm.IsMoment(args[1]) {
		err := runAlarm(ctx, args, env, in, out)
		switch {
		case errors.Is(err, alarm.ErrWoken):
			_, _ = fmt.Fprintln(errOut, alarm.WakeText)
			return fmt.Errorf("%w: %w", errRewake, errShown)
		case err != nil && env.hookDebug:
			_, _ = fmt.Fprintln(errOut, "agnt hook:", err)
		}
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

// runAlarm brings letters into a session.
func runAlarm(ctx context.Context, args []string, env environment, in io.Reader, out io.Writer) error {
	fs := flag.NewFlagSet("agnt hook", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	dir := fs.String("dir", "", "folder of the letters' user")
	if err := fs.Parse(args[2:]); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if *dir == "" {
		return fmt.Errorf("%w: --dir is needed", errUsage)
	}
	return alarms(env).Hook(ctx, args[0], args[1], *dir, in, out)
}
