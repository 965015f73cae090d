// Package bridge is the agent's side of agntchat: one process that brings any
// number of agents online and runs their turns. It is a client; it reaches the
// server over its public edges only and imports nothing of it.
//
// It owns the choice of a backend, the folders on this machine and the life of
// the process. What happens on the wire is session's, what happens in a model
// is each backend's.
package bridge

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/agntchat/agntchat/internal/bridge/backend"
	"github.com/agntchat/agntchat/internal/bridge/session"
)

// Agent is one agent to serve.
type Agent struct {
	URL         string
	ID          string
	Key         string
	ExecutorKey string // empty: one of this folder's own, see placeKey
	Backend     string // "claude", "codex", a stored name, or empty
	Model       string
	BaseURL     string // provider address for anthropic and openai
	ProviderKey string // provider key given on this machine
	SkipPerms   bool
	MaxTokens   int64
	Letters     Letters
}

// Config is one bridge process.
type Config struct {
	Agents        []Agent
	Home          string // folder for state, 0700
	DeviceName    string
	Version       string
	MaxConcurrent int
	Machine       Machine
	// LetterPassphraseFile protects letter identities; empty: they have no passphrase, and the folder's mode protects them.
	LetterPassphraseFile string
	Log                  *slog.Logger
	Timing               session.Timing
}

// ErrNoAgents means that there is nothing to serve.
var ErrNoAgents = errors.New("no agent is set up here: run `agnt connect`, or set AGENT_ID and AGENT_API_KEY")

// Run serves all agents until ctx ends; each then drains. It returns when all
// have ended, with the errors of those that could not go on. One agent's
// refused key does not stop the others.
func Run(ctx context.Context, c Config) error {
	if len(c.Agents) == 0 {
		return ErrNoAgents
	}
	errs := make([]error, len(c.Agents))
	var wg sync.WaitGroup
	for i, a := range c.Agents {
		wg.Go(func() {
			err := session.New(c.options(a)).Run(ctx)
			if err != nil && !errors.Is(err, context.Canceled) {
				c.Log.Error("agent ended", "agent_id", a.ID, "error", err)
				errs[i] = fmt.Errorf("agent %s: %w", a.ID, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (c Config) options(a Agent) session.Options {
	key := a.ExecutorKey
	if key == "" {
		key = c.placeKey(a.ID)
	}
	aside, local := c.letters(a)
	return session.Options{
		URL: a.URL, AgentID: a.ID, Key: a.Key, ExecutorKey: key,
		Backend: backend.Canonical(a.Backend), Model: a.Model, MaxConcurrent: c.MaxConcurrent, SkipPerms: a.SkipPerms,
		DeviceName: c.DeviceName, Version: c.Version, Dir: AgentDir(c.Home, a.ID),
		NewBackend: func(ctx context.Context, need session.Need) (backend.Backend, error) {
			return c.Machine.backend(ctx, a, need, c.Log)
		},
		Log: c.Log, Timing: c.Timing, Aside: aside, Local: local,
	}
}

// placeKey names this place among the agent's bridges, and stays the same as long as
// its folder does: the server gives kept runs back to the key that had them. A bridge
// elsewhere has another one, so that the two work side by side; one that is started
// twice here takes over. A folder from before places had names keeps the name it had.
func (c Config) placeKey(agentID string) string {
	const before = "agnt"
	dir := AgentDir(c.Home, agentID)
	file := filepath.Join(dir, "executor-key")
	if text, err := os.ReadFile(file); err == nil {
		if key := strings.TrimSpace(string(text)); key != "" {
			return key
		}
	}
	key := before
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		key = before + "-" + strings.ToLower(rand.Text()[:8])
	}
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.WriteFile(file, []byte(key+"\n"), 0o600)
	}
	if err != nil {
		c.Log.Warn("the name of this place is not kept", "error", err)
		return before
	}
	return key
}

// AgentDir is the private folder of an agent below the state folder.
func AgentDir(home, agentID string) string {
	return filepath.Join(home, "agents", filepath.Base(agentID))
}
