package hook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The times of the detached process: a heartbeat a minute (contract 8.2), a look at
// the CLI's process more often, and an end however long a CLI stays open.
const (
	beatEvery  = 60 * time.Second
	lookEvery  = 5 * time.Second
	longestRun = 7 * 24 * time.Hour
)

// note is sessions/<hash>.json: which process keeps a session alive.
type note struct {
	Session string `json:"session"`
	Tool    string `json:"tool"`
	PID     int    `json:"pid"` // of the detached process
	CLI     int    `json:"cli"` // of the person's CLI; 0 when it could not be told
}

func notePath(dir, session string) string {
	h := sha256.Sum256([]byte(session))
	return filepath.Join(dir, "sessions", hex.EncodeToString(h[:12])+".json")
}

func readNote(dir, session string) (n note, ok bool) {
	raw, err := os.ReadFile(notePath(dir, session))
	return n, err == nil && json.Unmarshal(raw, &n) == nil && n.Session == session
}

// forget lets the detached process of a session end.
func forget(dir, session string) {
	_ = os.Remove(notePath(dir, session))
	_ = os.Remove(turnPath(dir, session))
}

// keepAlive starts the detached process of the session unless it runs.
func (r *run) keepAlive() error {
	if len(r.opt.Self) == 0 {
		return nil
	}
	if n, ok := readNote(r.opt.Dir, r.session); ok && running(n.PID) {
		return nil
	}
	cmd := exec.CommandContext(context.Background(), r.opt.Self[0], append(r.opt.Self[1:len(r.opt.Self):len(r.opt.Self)], "--session", r.session, "--tool", r.tool, "--cli", strconv.Itoa(cliProcess()))...)
	cmd.Dir = r.opt.Dir // a folder of ours: the process must not hold the person's
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start heartbeat: %w", err)
	}
	raw, err := json.Marshal(note{Session: r.session, Tool: r.tool, PID: cmd.Process.Pid})
	if err != nil {
		return fmt.Errorf("note session: %w", err)
	}
	err = writePrivate(notePath(r.opt.Dir, r.session), raw)
	return errors.Join(err, cmd.Process.Release())
}

// Beat is the detached process of a session. It ends with the session: when the
// hook has forgotten it, when the CLI's process is gone (it then says so), or when
// the server does not want it any more.
func Beat(ctx context.Context, opt Options, session, tool string, cli int) error {
	ctx, cancel := context.WithTimeout(ctx, longestRun)
	defer cancel()
	r := &run{opt: opt, client: newClient(opt.Credentials, opt.Dir), tool: tool, session: session}
	look, beat := time.NewTicker(lookEvery), time.NewTicker(beatEvery)
	defer look.Stop()
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
			if n, ok := readNote(opt.Dir, session); !ok || n.PID != os.Getpid() {
				return nil
			}
			if cli != 0 && !running(cli) {
				forget(opt.Dir, session)
				return r.within(ctx, "session_end")
			}
		case <-beat.C:
			err := r.within(ctx, "heartbeat")
			if code, ok := errors.AsType[refused](err); ok && (code == http.StatusUnauthorized || code == http.StatusNotFound) {
				forget(opt.Dir, session)
				return err
			}
		}
	}
}

func (r *run) within(ctx context.Context, kind string) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	return r.event(ctx, kind, nil)
}

// cliProcess is the process of the person's CLI: the nearest ancestor that is no
// shell. 0 when it cannot be told.
func cliProcess() int {
	pid := os.Getppid()
	for range 6 {
		if pid <= 1 {
			return 0
		}
		parent, name, ok := ancestor(pid)
		if !ok {
			return 0
		}
		switch strings.TrimPrefix(name, "-") {
		case "sh", "bash", "dash", "zsh", "fish", "busybox", "ksh":
			pid = parent
		default:
			return pid
		}
	}
	return 0
}

// ancestor asks ps, which is there wherever these CLIs run.
func ancestor(pid int) (parent int, name string, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ps", "-o", "ppid=,comm=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0, "", false
	}
	first, rest, found := strings.Cut(strings.TrimSpace(string(out)), " ")
	parent, err = strconv.Atoi(first)
	return parent, filepath.Base(strings.TrimSpace(rest)), found && err == nil
}
