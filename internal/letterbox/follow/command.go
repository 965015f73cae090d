package follow

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/cli"
	"github.com/agntchat/agntchat/internal/letterbox/lockfile"
	"github.com/agntchat/agntchat/internal/letterbox/post"
	"github.com/agntchat/agntchat/internal/letterbox/spool"
)

// Commands are `agnt letter follow` and `agnt letter session`.
func Commands(version string) []cli.Command {
	f := command{version}
	return []cli.Command{
		{
			Name: "follow", Usage: "[start|stop|status] [--peer PEER …]", Summary: "fetch letters in the background, for agent sessions", Run: first(f.run), Max: 1,
			Words: []string{"start", "stop", "status"},
			Help: "Fetches the letters of the chosen senders, of nobody else, and keeps them in files that agent sessions read (see `agnt letter session`). Without a word it does so in the foreground; " +
				"start does it in the background, where it outlives the terminal; stop ends it; status says what it is doing, and why it fails.\n" +
				"Without --peer the senders are those named in the file receive-from of the identity's folder, one a line. `*contacts*` stands for all contacts, also those to come. " +
				"It looks when the relay says that letters have come, and every --interval seconds where the relay cannot say so, more often while letters come. Failures are tried again, later each time.\n" +
				"PIN MISMATCH (exit code 1) ends it: the relay gave keys that are not a sender's.",
			Flags: []cli.Flag{
				{Names: []string{"--peer"}, Value: "PEER", Help: "letters of this sender; may be given several times; '*contacts*' for all contacts"},
				{Names: []string{"--interval"}, Value: "SECONDS", Help: "pause between two looks at a relay without push, at least 5 (default 60)"},
				{Names: []string{"--invites"}, Help: "also answer contact requests by their invite codes, as `invite watch` does"},
				{Names: []string{"--no-inbox", "--no-legacy"}, Help: "do not also keep in inbox.ndjson what a session's file takes"},
				{Names: []string{"--save"}, Help: "keep a sealed copy for `history` and `show` (or set RETALK_SAVE_MESSAGE=1)"},
				{Names: []string{"--peers-only"}, Help: "refuse letters of senders that are no contacts"},
				{Names: []string{"--no-save-contacts"}, Help: "do not keep shared contacts for `import --inbox`"},
				{Names: []string{"--announce"}, Help: "print one line of JSON when it follows or cannot, then nothing more, and log to follow.err: for what starts it"},
				{Names: []string{"--session"}, Value: "ID", Help: "with status: show the letters of this session"},
				{Names: []string{"--quiet", "-q"}, Help: "say nothing on stderr but warnings and errors"},
			},
		},
		{
			Name: "session", Usage: "start|end|list|gc", Summary: "agent sessions that letters are kept for", Run: first(f.session), Max: 1,
			Words: []string{"start", "end", "list", "gc"},
			Help: "start registers a session: from now on letters are also written to sessions/ID.ndjson of the identity's folder, beginning with those that no session has read. end forgets it; what it has not " +
				"read goes to the next one. The id comes from --session, or from the member session_id of a JSON object on standard input, as hooks of Claude Code and Codex have it. list prints the sessions, " +
				"gc removes the files of those that have ended, and of those that nothing was written to for 14 days.",
			Flags: []cli.Flag{{Names: []string{"--session"}, Value: "ID", Help: "the session, instead of a hook's input on standard input"}},
		},
	}
}

type command struct{ version string }

type call = cli.Call

// first puts the context where functions have it.
func first(run func(context.Context, *call) error) func(*call, context.Context) error {
	return func(c *call, ctx context.Context) error { return run(ctx, c) }
}

func (f command) run(ctx context.Context, c *call) error {
	switch c.Pos(0) {
	case "":
		return f.foreground(ctx, c)
	case "start":
		return f.start(ctx, c)
	case "stop":
		return f.stop(ctx, c)
	case "status":
		return f.status(ctx, c)
	}
	return cli.Usagef("follow takes start, stop, status or nothing")
}

func place(c *call) (Place, error) {
	dir, err := c.Dir()
	if err != nil {
		return Place{}, err
	}
	return At(dir)
}

// interval reads --interval.
func interval(c *call) (time.Duration, error) {
	if !c.Has("--interval") {
		return DefaultInterval, nil
	}
	s, err := strconv.ParseFloat(c.Get("--interval"), 64)
	if err != nil || !(s >= MinInterval.Seconds()) || s > maxInterval.Seconds() {
		return 0, cli.Usagef("--interval takes seconds, from %.0f to %.0f", MinInterval.Seconds(), maxInterval.Seconds())
	}
	return time.Duration(s * float64(time.Second)), nil
}

const maxWords = 64 << 10

// words are the chosen senders: --peer, or else the file receive-from.
func words(c *call, p Place) ([]string, error) {
	list := c.All("--peer")
	if len(list) == 0 {
		f, err := os.Open(p.in("receive-from"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("receive-from: %w", err)
		}
		if err == nil {
			defer func() { _ = f.Close() }()
			b, err := io.ReadAll(io.LimitReader(f, maxWords))
			if err != nil {
				return nil, fmt.Errorf("receive-from: %w", err)
			}
			list = strings.Split(string(b), "\n")
		}
	}
	var out []string
	for _, w := range list {
		if w = strings.TrimSpace(w); w != "" && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	if len(out) == 0 && !c.Has("--invites") {
		return nil, cli.Usagef("follow needs --peer PEER (as often as you like), a file %s, or --invites", p.in("receive-from"))
	}
	return out, nil
}

// announcement is the line of --announce.
type announcement struct {
	State  State  `json:"state"` // following, failing or stopped
	PID    int    `json:"pid"`
	Reason string `json:"reason,omitempty"`
}

// firstLook is how long --announce waits for the first look to end.
const firstLook = 5 * time.Second

func (f command) foreground(ctx context.Context, c *call) error {
	announce := func(State, string) {}
	if c.Has("--announce") {
		out := c.Out
		announce = func(s State, reason string) {
			if out == nil {
				return
			}
			if b, err := json.Marshal(announcement{s, os.Getpid(), reason}); err == nil {
				_, _ = out.Write(append(b, '\n'))
			}
			if file, ok := out.(*os.File); ok {
				_ = file.Close()
			}
			out = nil
		}
	}
	err := f.follow(ctx, c, announce)
	if err != nil {
		announce(Stopped, err.Error())
	}
	return cli.Serious(err)
}

func (f command) follow(ctx context.Context, c *call, announce func(State, string)) error {
	p, err := place(c)
	if err != nil {
		return err
	}
	every, err := interval(c)
	if err != nil {
		return err
	}
	chosen, err := words(c, p)
	if err != nil {
		return err
	}
	out := c.Err
	if c.Has("--announce") {
		l, err := openLog(p.LogPath())
		if err != nil {
			return err
		}
		defer func() { _ = l.Close() }()
		out = l
	}
	level := slog.LevelInfo
	if c.Has("--quiet") && !c.Has("--announce") {
		level = slog.LevelWarn
	}
	log := slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level}))
	inner := *c
	inner.Err = out
	b, _, done, err := inner.Box(ctx)
	if err != nil {
		return err
	}
	defer done()
	if _, missing, err := Peers(ctx, b, chosen); err != nil {
		return err
	} else if len(missing) > 0 {
		return fmt.Errorf("%w '%s': add it first, or give its 32 hexadecimal characters", post.ErrUnknownPeer, strings.Join(missing, "', '"))
	}
	d, err := p.Open(ctx, f.version, log)
	if err != nil {
		return err
	}
	defer d.Close()
	registry := spool.OpenRegistry(c.Env.UserHome)
	looked := make(chan Report, 1)
	follower := New(Config{
		Box: b, Spool: spool.NewWriter(p.User(), registry, spool.WriterOptions{NoInbox: c.Has("--no-inbox")}),
		Options: post.ReceiveOptions{PeersOnly: c.Has("--peers-only"), DropContacts: c.Has("--no-save-contacts"), Save: c.Saves()},
		Words:   chosen, Invites: c.Has("--invites"), Interval: every, Log: log,
		Collect: func(ctx context.Context) error {
			_, err := spool.GC(ctx, registry, p.User(), time.Now())
			return err
		},
	}, func(r Report) {
		d.Tell(r)
		if r.State != Starting {
			select {
			case looked <- r:
			default: // only the first is of interest
			}
		}
	})
	ran := make(chan error, 1)
	go func() { ran <- d.Run(ctx, follower) }()
	slow := time.NewTimer(firstLook)
	defer slow.Stop()
	select {
	case err := <-ran:
		return err
	case r := <-looked:
		if r.State != Stopped { // Run says what happened
			announce(r.State, r.Reason)
		}
	case <-slow.C:
		announce(Starting, "")
	}
	return <-ran
}

// passed are the flags that start hands to the process that it starts. What is secret goes through the environment, where other
// users cannot see it.
var passed = []string{"--dir", "--user", "--relay", "--passphrase-file", "--no-passphrase", "--peer", "--interval", "--invites", "--no-inbox", "--save", "--peers-only", "--no-save-contacts"}

var switches = []string{"--no-passphrase", "--invites", "--no-inbox", "--save", "--peers-only", "--no-save-contacts"}

func (f command) start(ctx context.Context, c *call) error {
	p, err := place(c)
	if err != nil {
		return err
	}
	if _, err := interval(c); err != nil {
		return err
	}
	if _, err := words(c, p); err != nil {
		return err
	}
	if s, err := p.Status(ctx); err != nil {
		return err
	} else if s.Running {
		return said(c, s, "already following %s (pid %d)", orNobody(s.Report.Peers), s.PID)
	}
	a, err := f.spawn(ctx, c, p)
	if err != nil {
		return err
	}
	if a.State == Stopped {
		if s, err := p.Status(ctx); err == nil && s.Running { // another one was faster
			return said(c, s, "already following %s (pid %d)", orNobody(s.Report.Peers), s.PID)
		}
		if strings.Contains(a.Reason, post.ErrPinMismatch.Error()) {
			return cli.Serious(fmt.Errorf("%w%s", post.ErrPinMismatch, strings.TrimPrefix(a.Reason, post.ErrPinMismatch.Error())))
		}
		return errors.New(a.Reason)
	}
	s, err := p.Status(ctx)
	if err != nil {
		return err
	}
	if a.State == Failing {
		c.Say("[retalk] it tries again by itself: %s", a.Reason)
	}
	return said(c, s, "following %s (pid %d)", orNobody(s.Report.Peers), a.PID)
}

// spawn starts a follower of its own session and waits for what it announces.
func (f command) spawn(ctx context.Context, c *call, p Place) (a announcement, err error) {
	self, err := os.Executable()
	if err != nil {
		return a, fmt.Errorf("find this program: %w", err)
	}
	args := []string{"letter", "follow", "--announce"}
	for _, name := range passed {
		for _, v := range c.All(name) {
			if slices.Contains(switches, name) {
				args = append(args, name)
				break
			}
			args = append(args, name+"="+v)
		}
	}
	if err := os.MkdirAll(p.User().Dir(), 0o700); err != nil {
		return a, fmt.Errorf("follower: %w", err)
	}
	// What a crash of the program itself says; the log proper is opened by its name.
	crash, err := os.OpenFile(p.LogPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY|lockfile.NoFollow, 0o600)
	if err != nil {
		return a, fmt.Errorf("open log: %w", err)
	}
	defer func() { _ = crash.Close() }()
	// It must outlive this call.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), self, args...)
	cmd.Stderr, cmd.SysProcAttr = crash, detached()
	cmd.Env = cmd.Environ()
	if c.Has("--passphrase") {
		cmd.Env = append(cmd.Env, "RETALK_PASSPHRASE_FILE=", "RETALK_PASSPHRASE="+c.Get("--passphrase"))
	}
	if c.Has("--api-key") {
		cmd.Env = append(cmd.Env, "RETALK_API_KEY="+c.Get("--api-key"))
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return a, fmt.Errorf("start follower: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return a, fmt.Errorf("start follower: %w", err)
	}
	line, err := bufio.NewReader(io.LimitReader(out, 1<<20)).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &a) != nil {
		return a, fmt.Errorf("the follower ended before it began; see %s", p.LogPath())
	}
	if a.State == Stopped {
		_ = cmd.Wait() // so that its lock is free when we look
		return a, nil
	}
	return a, cmd.Process.Release()
}

// said prints what happened, or the status with --json.
func said(c *call, s Status, format string, args ...any) error {
	if c.Has("--json") {
		return printJSON(c, s)
	}
	_, err := fmt.Fprintf(c.Out, format+"\n", args...)
	return err
}

func printJSON(c *call, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = c.Out.Write(append(b, '\n'))
	return err
}

func orNobody(peers []string) string {
	if len(peers) == 0 {
		return "contact requests"
	}
	clean := make([]string, len(peers))
	for i, p := range peers {
		clean[i] = post.Printable(p, 80)
	}
	return strings.Join(clean, "+")
}

func (f command) stop(ctx context.Context, c *call) error {
	p, err := place(c)
	if err != nil {
		return err
	}
	ran, err := p.Stop(ctx)
	if err != nil {
		return err
	}
	s, err := p.Status(ctx)
	if err != nil {
		return err
	}
	if ran {
		return said(c, s, "stopped following")
	}
	return said(c, s, "not following")
}
