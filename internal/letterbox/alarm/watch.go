package alarm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/lockfile"
	"github.com/agntchat/agntchat/internal/letterbox/spool"
)

// How a watcher looks: often at the files' sizes and times, which costs nothing, and at their content when those changed or after a while, since a limit may have passed.
const (
	lookEvery   = 500 * time.Millisecond
	anywayEvery = 10 * time.Second
	settleFor   = time.Second // after a change, so that a busy session's own hooks come first
)

// watch calls fn when letters or what was read of them changed, and now and then, until ctx ends, fn fails, or there is no sense in it any more (errEnded).
func (d *Desk) watch(ctx context.Context, sense func() bool, fn func(context.Context) error) error {
	path, err := d.user.Spool(d.session, spool.Messages)
	if err != nil {
		return err
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	before, due := "", time.Now()
	for {
		if !sense() {
			return errEnded
		}
		if now := prints(path, d.user.Sessions(), d.user.Dir()); now != before {
			before, due = now, time.Now().Add(settleFor)
		}
		if !time.Now().Before(due) {
			if err := fn(ctx); err != nil {
				return err
			}
			due = time.Now().Add(anywayEvery)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-look.C:
		}
	}
}

// prints tells versions of a session's files apart.
func prints(path, sessions, user string) string {
	var b strings.Builder
	for _, name := range []string{path, filepath.Join(sessions, ".codex-hook-state.json"), filepath.Join(user, SettingsFile)} {
		if st, err := os.Stat(name); err == nil {
			_, _ = fmt.Fprintf(&b, "%d %d ", st.Size(), st.ModTime().UnixNano())
		} else {
			b.WriteString("- ")
		}
	}
	return b.String()
}

// Monitor writes a line of fixed text whenever letters may wake the session, until ctx ends, out is closed, or alive says that the host is gone. A host makes a notice to its model of each line
// (contract letters 5.1). Without a session it only waits: a monitor that ends is an error to its host.
func Monitor(ctx context.Context, user spool.User, registry *spool.Registry, session string, now func() time.Time, alive func() bool, out io.Writer) error {
	if _, err := spool.Clean(session); err != nil {
		look := time.NewTicker(lookEvery)
		defer look.Stop()
		for alive() {
			select {
			case <-ctx.Done():
				return nil
			case <-look.C:
			}
		}
		return nil
	}
	for ctx.Err() == nil && alive() {
		if other, ok := registry.Lookup(session); ok {
			user = other
		}
		d, err := OpenDesk(user, session, now)
		if err != nil {
			return err
		}
		mine := func() bool { other, ok := registry.Lookup(session); return alive() && (!ok || other == user) }
		err = d.watch(ctx, mine, func(ctx context.Context) error {
			d.reload()
			woken, err := d.Wake(ctx, nil)
			if err != nil {
				note(user.Dir(), now(), "monitor: %v", err)
				return nil
			}
			if woken {
				_, err = io.WriteString(out, WakeText+"\n")
			}
			return err
		})
		if err != nil && ctx.Err() == nil && !errors.Is(err, errEnded) {
			return err
		}
	}
	return nil
}

// ErrWoken ends [Await]: letters may wake the session now.
var ErrWoken = errors.New("letters wait")

// Await blocks until letters may wake the session that names itself on in, and then gives [ErrWoken]. A host that lets a program of its own run in the background and wakes its model by
// how that ends can wait with it (Claude Code, hooks with asyncRewake). It gives nil when there is nothing to wait for: waking is off, another process waits for the session, the session ended, or alive says that the
// host is gone.
func Await(ctx context.Context, o HookOptions, alive func() bool) error {
	reading, cancel := context.WithTimeout(ctx, hookBudget)
	user, in, err := o.input(reading)
	cancel()
	if err != nil || in.AgentID != "" {
		return err
	}
	if other, ok := o.Registry.Lookup(in.SessionID); ok {
		user = other
	}
	d, err := OpenDesk(user, in.SessionID, o.Now)
	if err != nil || !d.settings.Wake {
		return err
	}
	if err := os.MkdirAll(user.Sessions(), 0o700); err != nil {
		return fmt.Errorf("await letters: %w", err)
	}
	lock, err := lockfile.Open(ctx, filepath.Join(user.Sessions(), awaitLock+d.session+lockEnd), false)
	if errors.Is(err, lockfile.ErrBusy) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("await letters: %w", err)
	}
	defer func() { _ = lock.Close() }()
	began, was := time.Now(), false
	sense := func() bool {
		owner, ok := o.Registry.Lookup(in.SessionID)
		was = was || ok
		// The hook that registers the session runs beside this one.
		return alive() && (ok && owner == user || !was && time.Since(began) < registerWithin)
	}
	err = d.watch(ctx, sense, func(ctx context.Context) error {
		if d.reload(); !d.settings.Wake {
			return errEnded
		}
		woken, err := d.Wake(ctx, nil)
		if err != nil {
			note(user.Dir(), o.Now(), "%s await: %v", o.Host, err)
			return nil
		}
		if woken {
			return ErrWoken
		}
		return nil
	})
	if errors.Is(err, errEnded) || ctx.Err() != nil {
		return nil
	}
	return err
}

// registerWithin is how long Await waits for a session to be registered.
const registerWithin = 10 * time.Second

// reload reads the settings again: a watcher lives long.
func (d *Desk) reload() {
	if s, err := LoadSettings(d.user.Dir()); err == nil {
		d.settings = s
	}
}

// A watcher of Codex ends after this many looks at a control socket that nobody answers, and after a week.
const (
	mostMisses = 3
	longest    = 7 * 24 * time.Hour
)

var errEnded = errors.New("the session ended")

// WatchCodex wakes an idle Codex over its control socket whenever letters may wake its session. It blocks until ctx ends, nobody listens there any more, the session is not
// registered for the user, or the settings do not want it. codexHome is its CODEX_HOME. There is one watcher of a session: another one returns at once. Failures are
// silent: the letters wait in the spool, and it tries again while they do.
func WatchCodex(ctx context.Context, user spool.User, registry *spool.Registry, session, codexHome string, now func() time.Time) error {
	d, err := OpenDesk(user, session, now)
	if err != nil {
		return err
	}
	lock, err := lockfile.Open(ctx, watcherLock(user, d.session), false)
	if errors.Is(err, lockfile.ErrBusy) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("watch codex: %w", err)
	}
	defer func() { _ = lock.Close() }()
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	misses := 0
	sense := func() bool { owner, ok := registry.Lookup(session); return ok && owner == user }
	err = d.watch(ctx, sense, func(ctx context.Context) error {
		if d.reload(); !d.settings.WakeCodexIdle {
			return errEnded
		}
		if misses++; reachable(ctx, codexHome) {
			misses = 0
		}
		if misses >= mostMisses {
			return errEnded
		}
		return d.wakeCodex(ctx, codexHome)
	})
	if errors.Is(err, errEnded) || ctx.Err() != nil {
		return nil
	}
	return err
}

// CodexWatched says whether a session of Codex has a watcher, or wants none.
func CodexWatched(user spool.User, session string, s Settings) bool {
	held, err := lockfile.Held(watcherLock(user, session))
	return held || err != nil || !s.Wake || !s.WakeCodexIdle
}

func watcherLock(user spool.User, session string) string {
	return filepath.Join(user.Sessions(), watchLock+session+lockEnd)
}

func reachable(ctx context.Context, codexHome string) bool {
	ctx, cancel := context.WithTimeout(ctx, wakeBudget)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", controlSocket(codexHome))
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

func (d *Desk) wakeCodex(ctx context.Context, codexHome string) error {
	marks, err := d.wakeMark()
	if err != nil || !marks.due {
		return err
	}
	woken, err := d.Wake(ctx, func(ctx context.Context) error { return nudgeCodex(ctx, codexHome, d.session, WakeText) })
	if err != nil {
		if !errors.Is(err, errStandDown) {
			note(d.user.Dir(), d.now(), "codex is not woken: %v", err)
		}
		return nil
	}
	if woken {
		return marks.set(ctx)
	}
	return nil
}

// Names of the locks by which one process waits for a session.
const (
	awaitLock = ".await-"
	watchLock = ".codex-watch-"
	lockEnd   = ".lock"
)

// sweep removes the locks of sessions that are not registered. Who holds one notices by that already.
func (d *Desk) sweep(registry *spool.Registry) {
	for _, begins := range []string{awaitLock, watchLock} {
		names, err := filepath.Glob(filepath.Join(d.user.Sessions(), begins+"*"+lockEnd))
		if err != nil {
			continue
		}
		for _, name := range names {
			session := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(name), begins), lockEnd)
			if _, ok := registry.Lookup(session); ok {
				continue
			}
			if held, err := lockfile.Held(name); err == nil && !held {
				_ = os.Remove(name)
			}
		}
	}
}

// NoticeText is what the host of a session is told when a letter of a sender came that its person chose. It has nothing of the letter in it.
const NoticeText = "[agnt letters] A letter waits for this session. Read it with the tool letters_unread."

// WatchSender calls fn when letters of a sender wait that were not there before, until ctx ends or the session is no longer registered for
// the user.
func (d *Desk) WatchSender(ctx context.Context, registry *spool.Registry, from string, fn func()) error {
	told := ""
	sense := func() bool { owner, ok := registry.Lookup(d.session); return ok && owner == d.user }
	err := d.watch(ctx, sense, func(context.Context) error {
		unread, err := d.Unread()
		if err != nil {
			note(d.user.Dir(), d.now(), "watch: %v", err)
			return nil
		}
		last := ""
		for _, m := range unread {
			if m.From == from {
				last = m.key()
			}
		}
		if last != "" && last != told {
			fn()
		}
		told = last
		return nil
	})
	if err != nil && ctx.Err() == nil && !errors.Is(err, errEnded) {
		return err
	}
	return nil
}
