package follow

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/lockfile"
	"github.com/agntchat/agntchat/internal/letterbox/spool"
	"github.com/agntchat/agntchat/internal/letterbox/store"
)

// Place is where a follower of an identity keeps its lock, what is known of it, and its control socket.
type Place struct {
	identity string
	user     spool.User
}

// At is the place of the follower of the identity in a folder.
func At(identity string) (Place, error) {
	user, err := spool.Of(identity)
	if err != nil {
		return Place{}, err
	}
	abs, err := filepath.Abs(identity)
	return Place{abs, user}, err
}

// User is the folder of the spools.
func (p Place) User() spool.User { return p.user }

// lock is beside the identity's store, whatever the folder of the spools is.
func (p Place) lock() string { return filepath.Join(p.identity, store.FileName+".follow.lock") }

func (p Place) in(name string) string { return filepath.Join(p.user.Dir(), name) }

// LogPath is the follower's log, named as the scripts of agent-talk name it (contract letters 4.1).
func (p Place) LogPath() string { return p.in("follow.err") }

// ErrRunning is a follower that runs already.
var ErrRunning = errors.New("a follower of this identity runs already")

// known is what is written down of a follower: by it, and for others to find it. It says nothing about whether it runs.
type known struct {
	PID     int    `json:"pid"`
	Started string `json:"started"` // what tells the process from another one with its id; empty where the system does not say
	Socket  string `json:"socket"`
	Version string `json:"version,omitempty"`
	Report  Report `json:"report"`
}

// Status is what is found out about a follower.
type Status struct {
	Running bool   `json:"running"`
	PID     int    `json:"pid,omitempty"`
	Silent  bool   `json:"silent,omitempty"` // it runs and does not answer
	Version string `json:"version,omitempty"`
	Report  Report `json:"report"` // when it does not run: the last one; its State is empty when there never was one
}

// probe is longer than anybody holds the lock who only looks whether it is held.
const probe = 300 * time.Millisecond

// Alone takes the identity's follower lock for as long as the process lives or until release. Errors: [ErrRunning].
func (p Place) Alone(ctx context.Context) (release func(), err error) {
	within, cancel := context.WithTimeoutCause(ctx, probe, ErrRunning)
	defer cancel()
	f, err := lockfile.Open(within, p.lock(), true)
	if errors.Is(err, ErrRunning) {
		return nil, ErrRunning
	}
	if err != nil {
		return nil, fmt.Errorf("lock follower: %w", err)
	}
	return func() { _ = f.Close() }, nil
}

// killed is why a follower stopped that said nothing of stopping. Since is then when it last said something.
const killed = "it was killed, or the machine went down"

// Status finds out about the follower. The lock says whether it runs; what it is doing it says itself.
func (p Place) Status(ctx context.Context) (Status, error) {
	k, now, err := p.reach(ctx, "status")
	switch {
	case err == nil:
		return Status{Running: true, PID: now.PID, Version: now.Version, Report: now.Report}, nil
	case !errors.Is(err, errNotRunning):
		if held, err := lockfile.Held(p.lock()); err != nil || held {
			return Status{Running: true, Silent: true, PID: k.PID, Version: k.Version, Report: k.Report}, err
		}
	}
	if k, err = p.read(); err != nil {
		return Status{}, err
	}
	if k.Report.State != Stopped && k.Report.State != "" {
		k.Report.State, k.Report.Reason = Stopped, killed
	}
	k.Report.Push = false
	return Status{Report: k.Report}, nil
}

// errNotRunning is nobody who holds the lock.
var errNotRunning = errors.New("no follower runs")

// reach asks the follower that holds the lock. One that has only just taken it is waited for: what is written down is of another one
// until it listens. k is the last that was written down. Errors: [errNotRunning], and that it does not answer.
func (p Place) reach(ctx context.Context, do string) (k known, a answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for {
		held, err := lockfile.Held(p.lock())
		if err != nil {
			return k, a, fmt.Errorf("lock follower: %w", err)
		}
		if !held {
			return k, a, errNotRunning
		}
		if k, err = p.read(); err != nil {
			return k, a, err
		}
		err = errors.New("it has not said how to reach it")
		if k.Socket != "" && k.Report.State != Stopped {
			if err = p.ask(ctx, k, do, &a); err == nil {
				return k, a, nil
			}
		}
		select {
		case <-ctx.Done():
			return k, a, err
		case <-look.C:
		}
	}
}

// Times of stopping.
const (
	askTimeout  = 5 * time.Second
	stopTimeout = 20 * time.Second
	lookAgain   = 20 * time.Millisecond
)

// Stop ends the follower and waits until it has ended. It says whether one ran. One that does not listen is killed when it is proven
// to be the process that wrote itself down. Errors: it goes on running.
func (p Place) Stop(ctx context.Context) (ran bool, err error) {
	k, _, asked := p.reach(ctx, "stop")
	if errors.Is(asked, errNotRunning) {
		p.tidy()
		return false, nil
	}
	if asked == nil {
		if p.ended(ctx, stopTimeout) {
			return true, nil
		}
		asked = errors.New("it goes on running")
	}
	if now, err := started(k.PID); err != nil || k.Started == "" || now != k.Started {
		return true, fmt.Errorf("the follower does not listen (%w), and which process it is cannot be proven", asked)
	}
	proc, err := os.FindProcess(k.PID)
	if err == nil {
		err = proc.Kill()
	}
	if err != nil {
		return true, fmt.Errorf("end the follower: %w", err)
	}
	if !p.ended(ctx, stopTimeout) {
		return true, errors.New("the follower was killed and has not ended")
	}
	p.tidy()
	return true, nil
}

// ended waits until nobody holds the lock.
func (p Place) ended(ctx context.Context, most time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for {
		if held, err := lockfile.Held(p.lock()); err == nil && !held {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-look.C:
		}
	}
}

// tidy removes what a killed follower left, unless another one began meanwhile. What it last said of itself stays.
func (p Place) tidy() {
	release, err := p.Alone(context.Background())
	if err != nil {
		return
	}
	defer release()
	p.clear()
}

// clear removes what a follower left that was killed. The lock is ours.
func (p Place) clear() {
	k, err := p.read()
	if err != nil {
		return
	}
	if k.Socket != "" {
		removeSocket(k.Socket)
	}
	p.removePIDFiles(k.PID)
}

func (p Place) state() string { return p.in("follow.json") }

// read gives what is written down, nothing when there is nothing or it is damaged.
func (p Place) read() (k known, err error) {
	b, err := os.ReadFile(p.state())
	if errors.Is(err, os.ErrNotExist) {
		return k, nil
	}
	if err != nil {
		return k, fmt.Errorf("state of the follower: %w", err)
	}
	if json.Unmarshal(b, &k) != nil {
		return known{}, nil //nolint:nilerr // a half or foreign file says nothing
	}
	return k, nil
}

// write replaces what is written down.
func (p Place) write(k known) error {
	b, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return err
	}
	return replace(p.state(), append(b, '\n'))
}

// replace writes a file whole or not at all; only its owner reads it.
func replace(path string, b []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".follow-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	_, err = tmp.Write(b)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), errors.Join(err, os.Remove(tmp.Name())))
	}
	return nil
}

var plain = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// pidFiles are the files by which the scripts of agent-talk know a follower (contract letters 4.1): of its peers, and of contact
// requests.
func (p Place) pidFiles(words []string, invites bool) (names []string) {
	if len(words) > 0 {
		clean := make([]string, len(words))
		for i, w := range words {
			clean[i] = plain.ReplaceAllString(w, "_")
		}
		joined := strings.Join(clean, "+")
		if len(joined) > 200 {
			joined = joined[:200]
		}
		names = append(names, p.in("follow."+joined+".pid"))
	}
	if invites {
		names = append(names, p.in("invite-watch.pid"))
	}
	return names
}

// removePIDFiles removes those of a follower of ours, whatever has its id now, and of processes that have ended. Others belong to a
// follower of agent-talk.
func (p Place) removePIDFiles(own int) {
	names, err := filepath.Glob(filepath.Join(escape(p.user.Dir()), "follow.*.pid"))
	if err != nil {
		return // only for a bad pattern
	}
	for _, name := range append(names, p.in("invite-watch.pid")) {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err == nil && pid != own && alive(pid) {
			continue
		}
		_ = os.Remove(name)
	}
}

var special = regexp.MustCompile(`([\\*?\[])`)

// escape makes a folder's name mean itself in a pattern.
func escape(dir string) string { return special.ReplaceAllString(dir, `\$1`) }

// Daemon is a running follower with its lock, its control socket and its files.
type Daemon struct {
	place   Place
	log     *slog.Logger
	known   known
	mu      sync.Mutex // of known
	release func()
	socket  net.Listener
}

// Open takes the lock and listens. Errors: [ErrRunning].
func (p Place) Open(ctx context.Context, version string, log *slog.Logger) (*Daemon, error) {
	if err := os.MkdirAll(p.user.Dir(), 0o700); err != nil {
		return nil, fmt.Errorf("follower: %w", err)
	}
	release, err := p.Alone(ctx)
	if err != nil {
		return nil, err
	}
	d := &Daemon{place: p, log: log, release: release, known: known{PID: os.Getpid(), Version: version}}
	if d.known.Started, err = started(d.known.PID); err != nil {
		log.Warn("a follower that hangs could not be ended by `stop`", "error", err.Error())
	}
	p.clear()
	if d.socket, d.known.Socket, err = p.listen(ctx); err != nil {
		release()
		return nil, err
	}
	return d, nil
}

// maxSocketPath is what every system takes as the address of a socket.
const maxSocketPath = 100

const socketDir = "agnt-follow-"

// listen opens the control socket, in the user's folder, or in one of its own where that name would be too long.
func (p Place) listen(ctx context.Context) (net.Listener, string, error) {
	path := p.in("follow.sock")
	if len(path) > maxSocketPath {
		dir, err := os.MkdirTemp("", socketDir) // mode 0700
		if err != nil {
			return nil, "", fmt.Errorf("control socket: %w", err)
		}
		path = filepath.Join(dir, "s")
	}
	_ = os.Remove(path) // the lock is ours: what is there is left over
	var c net.ListenConfig
	l, err := c.Listen(ctx, "unix", path)
	if err != nil {
		return nil, "", fmt.Errorf("control socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, "", errors.Join(fmt.Errorf("control socket: %w", err), l.Close())
	}
	return l, path, nil
}

// removeSocket removes a socket, with its folder when it has one of its own.
func removeSocket(path string) {
	_ = os.Remove(path)
	if dir := filepath.Dir(path); strings.HasPrefix(filepath.Base(dir), socketDir) {
		_ = os.Remove(dir)
	}
}

// Close removes what says that it runs, keeps its last words, and gives the lock back.
func (d *Daemon) Close() {
	_ = d.socket.Close()
	removeSocket(d.known.Socket)
	d.place.removePIDFiles(d.known.PID)
	d.release()
}

// Tell writes a report down.
func (d *Daemon) Tell(r Report) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known.Report = r
	if err := d.place.write(d.known); err != nil {
		d.log.Warn("state could not be written", "error", err.Error())
	}
}

// Run serves the control socket and follows until ctx ends or somebody says stop. Errors: those of [Follower.Run].
func (d *Daemon) Run(ctx context.Context, f *Follower) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	d.Tell(f.Report())
	for _, name := range d.place.pidFiles(f.c.Words, f.c.Invites) {
		if err := replace(name, []byte(strconv.Itoa(d.known.PID)+"\n")); err != nil {
			d.log.Warn("file for scripts could not be written", "error", err.Error())
		}
	}
	var serving sync.WaitGroup
	serving.Go(func() { d.serve(ctx, f, stop) })
	d.log.Info("follows", "pid", d.known.PID, "peers", len(f.c.Words), "invites", f.c.Invites)
	err := f.Run(ctx)
	stop()
	_ = d.socket.Close()
	serving.Wait()
	return err
}

// maxAsk bounds a question in bytes.
const maxAsk = 4 << 10

// question and answer are one line of JSON each.
type question struct {
	Do string `json:"do"` // status, look or stop
}

type answer struct {
	PID     int    `json:"pid"`
	Version string `json:"version,omitempty"`
	Report  Report `json:"report"`
	Error   string `json:"error,omitempty"`
}

func (d *Daemon) serve(ctx context.Context, f *Follower, stop func()) {
	for {
		conn, err := d.socket.Accept()
		if err != nil {
			if ctx.Err() == nil {
				d.log.Warn("the control socket has ended", "error", err.Error())
			}
			return
		}
		// One at a time: questions are short, and who asks waits no longer than a line takes.
		d.answer(conn, f, stop)
	}
}

func (d *Daemon) answer(conn net.Conn, f *Follower, stop func()) {
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(askTimeout / 2))
	line, err := bufio.NewReader(io.LimitReader(conn, maxAsk)).ReadBytes('\n')
	if err != nil {
		return
	}
	a := answer{PID: d.known.PID, Version: d.known.Version}
	var q question
	if json.Unmarshal(line, &q) != nil {
		q.Do = ""
	}
	switch q.Do {
	case "status":
	case "look":
		f.Look()
	case "stop":
		defer stop()
	default:
		a.Error = "status, look and stop are what can be asked"
	}
	a.Report = f.Report()
	b, err := json.Marshal(a)
	if err != nil {
		return
	}
	_, _ = conn.Write(append(b, '\n')) // who asked has gone, or has it
}

// ask asks a running follower.
func (p Place) ask(ctx context.Context, k known, do string, into *answer) error {
	if k.Socket == "" {
		return errors.New("it has not said how to reach it")
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var dial net.Dialer
	conn, err := dial.DialContext(ctx, "unix", k.Socket)
	if err != nil {
		return fmt.Errorf("control socket: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if t, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(t)
	}
	b, err := json.Marshal(question{do})
	if err != nil {
		return err
	}
	if _, err := conn.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("control socket: %w", err)
	}
	line, err := bufio.NewReader(io.LimitReader(conn, 1<<20)).ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("control socket: %w", err)
	}
	if err := json.Unmarshal(line, into); err != nil {
		return fmt.Errorf("control socket: %w", err)
	}
	if into.Error != "" {
		return errors.New(into.Error)
	}
	return nil
}

// Look makes a running follower look now; nothing happens when none runs.
func (p Place) Look(ctx context.Context) error {
	if _, _, err := p.reach(ctx, "look"); !errors.Is(err, errNotRunning) {
		return err
	}
	return nil
}
