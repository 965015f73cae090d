// Package alarmcli is the part of `agnt letter …` and `agnt hook …` by which letters reach the agents of other programs: hooks, the monitor, pulling by hand, the server
// of tools, and their installation. What it does with letters is package alarm's.
package alarmcli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/agntchat/agntchat/internal/bridge/hook"
	"github.com/agntchat/agntchat/internal/letterbox/alarm"
	"github.com/agntchat/agntchat/internal/letterbox/cli"
	"github.com/agntchat/agntchat/internal/letterbox/post"
	"github.com/agntchat/agntchat/internal/letterbox/spool"
	"github.com/agntchat/agntchat/internal/letterbox/store"
)

// Runner holds what the commands take from the machine.
type Runner struct {
	Registry    *spool.Registry
	Session     string // of the host that started the program, from its environment; empty when none did
	Interactive bool   // that host has a person at its terminal
	Program     string // absolute path of agnt
	Version     string // of agnt
	Places      Places // where hosts keep their settings
	Now         func() time.Time
	Env         []string // for programs that are started
}

// Places are folders of hosts, named for their environment variables; empty ones are at their defaults.
type Places struct {
	UserHome        string
	ClaudeConfigDir string
	CodexHome       string
	PiDir           string
	ConfigHome      string // XDG_CONFIG_HOME
	AgntHome        string // AGNT_HOME
}

// Commands are the commands for cli.Run.
func (r *Runner) Commands() []cli.Command {
	session := cli.Flag{Names: []string{"--session"}, Value: "ID", Help: "session of the agent's program (default: the one that runs this command)"}
	return append([]cli.Command{
		{
			Name: "unread", Summary: "hand over the letters that wait for a session", Run: first(r.unread),
			Help:  "Prints the letters that the session has not seen, quoted for a model, and marks them as read; without a session those that no session has seen. With --json one line each as it stands in the spool.",
			Flags: []cli.Flag{session, {Names: []string{"--keep"}, Help: "do not mark them as read"}},
		},
		{
			Name: "monitor", Summary: "print a line when letters wait for a session", Run: first(r.monitor),
			Help:  "Runs until it is stopped and prints a fixed line whenever letters of verified contacts may wake the session. Nothing that a sender wrote is in it.",
			Flags: []cli.Flag{session},
		},
		{
			Name: "mcp", Summary: "tools for agents over MCP, on standard input and output", Run: first(r.mcp),
			Help:  "Offers letters_unread, letters_read, letters_send, letters_contacts and letters_address to the program that starts it. A host that names no session gets one for as long as it runs.",
			Flags: []cli.Flag{session, {Names: []string{"--host"}, Value: "HOST", Help: "claude, codex or another name"}},
		},
		{
			Name: "wake", Usage: "[on|off|show]", Summary: "may letters wake sessions", Run: first(r.wake), Max: 1, Words: []string{"on", "off", "show"},
			Help:  "Without `on` letters wait for the next prompt. With it those of verified contacts keep a turn going and wake an idle Claude Code, within the limits of alarms.json. --codex also wakes an idle Codex over its control socket.",
			Flags: []cli.Flag{{Names: []string{"--codex"}, Help: "with on: an idle Codex too"}},
		},
		{
			Name: "watch-codex", Summary: "run by agnt hook codex", Hidden: true, Run: first(r.watchCodex), Flags: []cli.Flag{session},
			Help: "Wakes an idle Codex over its control socket when letters may wake its session. It ends with the session.",
		},
	}, r.installCommands()...)
}

// first puts the context where functions have it.
func first(run func(context.Context, *cli.Call) error) func(*cli.Call, context.Context) error {
	return func(c *cli.Call, ctx context.Context) error { return run(ctx, c) }
}

// user is the folder whose spools the call is about.
func (r *Runner) user(c *cli.Call) (spool.User, error) {
	dir, err := c.Dir()
	if err != nil {
		return spool.User{}, err
	}
	if !store.Exists(dir) {
		return spool.User{}, fmt.Errorf("no identity at %s: create one with `agnt letter init`", dir)
	}
	return spool.Of(dir)
}

func (r *Runner) sessionOf(c *cli.Call) string {
	if c.Has("--session") {
		return c.Get("--session")
	}
	return r.Session
}

func (r *Runner) unread(ctx context.Context, c *cli.Call) error {
	session := r.sessionOf(c)
	user, known := spool.User{}, false
	if session != "" {
		user, known = r.Registry.Lookup(session)
	}
	if !known {
		var err error
		if user, err = r.user(c); err != nil {
			return err
		}
	}
	if !known {
		if session != "" {
			return fmt.Errorf("session %s is not registered; leave --session away for the letters that no session has seen", post.Printable(session, 80))
		}
		return r.waiting(ctx, c, user)
	}
	d, err := alarm.OpenDesk(user, session, r.Now)
	if err != nil {
		return err
	}
	if c.Has("--json") || c.Has("--keep") {
		return r.lines(ctx, c, user, session, d)
	}
	quote, _, err := d.Take(ctx, alarm.ByHand)
	if err != nil {
		return err
	}
	return show(c, quote)
}

func show(c *cli.Call, quote string) error {
	if quote == "" {
		_, err := fmt.Fprintln(c.Err, "No letters wait.")
		return err
	}
	_, err := fmt.Fprintln(c.Out, quote)
	return err
}

// lines prints unread letters without or before marking them.
func (r *Runner) lines(ctx context.Context, c *cli.Call, user spool.User, session string, d *alarm.Desk) error {
	reader, err := user.Reader(session, spool.Messages)
	if err != nil {
		return err
	}
	limit := spool.Limit{Lines: d.Settings().MaxAtOnce}
	var b spool.Batch
	if c.Has("--keep") {
		b, err = reader.Next(limit)
	} else {
		b, err = reader.Take(ctx, limit)
	}
	if err != nil {
		return err
	}
	return printLines(c, b.Lines, d.Settings().MaxCharacters)
}

func printLines(c *cli.Call, lines []spool.Line, limit int) error {
	if !c.Has("--json") {
		return show(c, alarm.QuoteLines(lines, limit))
	}
	for _, l := range lines {
		if _, err := fmt.Fprintf(c.Out, "%s\n", l.JSON); err != nil {
			return err
		}
	}
	return nil
}

// waiting prints what no session has seen. It stays unread: the next session gets it.
func (r *Runner) waiting(ctx context.Context, c *cli.Call, user spool.User) error {
	settings, err := alarm.LoadSettings(user.Dir())
	if err != nil {
		return err
	}
	b, err := user.Unread(ctx, r.Registry, "", spool.Messages, spool.Limit{})
	if err != nil {
		return err
	}
	return printLines(c, b.Lines, settings.MaxCharacters)
}

func (r *Runner) monitor(ctx context.Context, c *cli.Call) error {
	user, err := r.user(c)
	if err != nil {
		return err
	}
	return alarm.Monitor(ctx, user, r.Registry, r.sessionOf(c), r.Now, hostAlive(), c.Out)
}

func (r *Runner) wake(_ context.Context, c *cli.Call) error {
	user, err := r.user(c)
	if err != nil {
		return err
	}
	s, err := alarm.LoadSettings(user.Dir())
	if err != nil {
		return err
	}
	switch c.Pos(0) {
	case "on":
		s.Wake, s.WakeCodexIdle = true, c.Has("--codex")
	case "off":
		s.Wake, s.WakeCodexIdle = false, false
	case "show", "":
		return showSettings(c, s)
	default:
		return errors.New("it is on, off or show")
	}
	if err := alarm.SaveSettings(user.Dir(), s); err != nil {
		return err
	}
	said := "Letters wake no session from now on."
	if s.Wake {
		said = "Letters of verified contacts may wake sessions from now on."
	}
	c.Say("%s The limits are in %s.", said, filepath.Join(user.Dir(), alarm.SettingsFile))
	if c.Has("--json") {
		return showSettings(c, s)
	}
	return nil
}

func showSettings(c *cli.Call, s alarm.Settings) error {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Out, "%s\n", raw)
	return err
}

// Hook runs `agnt hook HOST MOMENT --dir DIR`. The program succeeds whatever happens, but for [alarm.ErrWoken]; other errors are for whoever debugs.
func (r *Runner) Hook(ctx context.Context, host, moment, dir string, in io.Reader, out io.Writer) error {
	o := alarm.HookOptions{Host: host, Moment: alarm.Moment(moment), Identity: dir, Registry: r.Registry, In: in, Out: out, Now: r.Now}
	if host == "codex" {
		o.Started = r.startWatcher
	}
	if o.Moment != alarm.Waiting {
		return alarm.Hook(ctx, o)
	}
	if !r.Interactive { // the host would wait for it before it ends
		return nil
	}
	return alarm.Await(ctx, o, hostAlive())
}

// hostAlive says whether the host that started this process, through a shell or not, is still there. A host that is killed leaves its shells behind.
func hostAlive() func() bool {
	parent, host := os.Getppid(), hook.Host()
	return func() bool { return os.Getppid() == parent && (host == 0 || hook.Running(host)) }
}
