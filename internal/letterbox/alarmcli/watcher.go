package alarmcli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/agntchat/agntchat/internal/letterbox/alarm"
	"github.com/agntchat/agntchat/internal/letterbox/cli"
	"github.com/agntchat/agntchat/internal/letterbox/spool"
)

func (p Places) codexHome() string {
	if p.CodexHome != "" {
		return p.CodexHome
	}
	return filepath.Join(p.UserHome, ".codex")
}

// startWatcher starts the process that wakes an idle Codex, when the settings want one and none runs.
func (r *Runner) startWatcher(user spool.User, session string, s alarm.Settings) error {
	if alarm.CodexWatched(user, session, s) {
		return nil
	}
	cmd := exec.CommandContext(context.Background(), r.Program, "letter", "watch-codex", "--dir", user.Dir(), "--session", session)
	cmd.Dir = user.Dir() // a folder of ours: the process must not hold the person's
	cmd.Env = r.Env
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start watcher: %w", err)
	}
	return cmd.Process.Release()
}

// watchCodex is that process.
func (r *Runner) watchCodex(ctx context.Context, c *cli.Call) error {
	if c.Get("--dir") == "" || c.Get("--session") == "" {
		return errors.New("it is run by agnt hook codex")
	}
	user, err := spool.Of(c.Get("--dir"))
	if err != nil {
		return err
	}
	return alarm.WatchCodex(ctx, user, r.Registry, c.Get("--session"), r.Places.codexHome(), r.Now)
}
