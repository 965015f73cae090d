package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpapi"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/view"
)

// LocalAgents runs bridges for agents on this machine as child processes, like
// any other bridge: they know only the public address and their key. It exists in
// `dev` only. Which agents it runs is kept, with their keys, in one file that
// only the server's user may read.
type LocalAgents struct {
	Dir      string   // data folder
	Agnt     string   // path of the agnt program
	Environ  []string // environment to hand on, without the server's own secrets
	Identity *flow.Identity
	Log      *slog.Logger

	mu      sync.Mutex
	baseURL string
	agents  []localAgent
	running map[string]context.CancelFunc
	wg      sync.WaitGroup
	life    context.Context //nolint:containedctx // children live from Start to Stop
	cancel  context.CancelFunc
}

type localAgent struct {
	AgentID string `json:"agentId"`
	APIKey  string `json:"apiKey"`
	Backend string `json:"backend"`
	Demo    bool   `json:"demo,omitempty"`
}

const (
	localFile      = "local-agents.json"
	firstRestart   = time.Second
	longestRestart = time.Minute
	childGrace     = 10 * time.Second
)

// offers are the backends that a person can start here with one click: what must
// be on this machine for each, in the order in which they are offered.
var offers = []struct{ backend, label, program, key string }{
	{"claude_cli", "Claude Code", "claude", ""},
	{"codex_cli", "Codex", "codex", ""},
	{"anthropic", "Anthropic API", "", "ANTHROPIC_API_KEY"},
	{"openai", "OpenAI API", "", "OPENAI_API_KEY"},
}

// Start reads the file and starts a bridge for each agent in it.
func (l *LocalAgents) Start(baseURL string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.baseURL, l.running = baseURL, map[string]context.CancelFunc{}
	l.life, l.cancel = context.WithCancel(context.Background())
	b, err := os.ReadFile(filepath.Join(l.Dir, localFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("local agents: %w", err)
	}
	if len(b) > 0 {
		if err := json.Unmarshal(b, &l.agents); err != nil {
			return fmt.Errorf("local agents: %s: %w", localFile, err)
		}
	}
	for _, a := range l.agents {
		l.run(a)
	}
	return nil
}

// Stop ends all children and waits for them.
func (l *LocalAgents) Stop() {
	l.cancel()
	l.wg.Wait()
}

// Demo is the id of the demo agent; "" when there is none.
func (l *LocalAgents) Demo() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.agents {
		if a.Demo {
			return a.AgentID
		}
	}
	return ""
}

// Offers lists the backends found on this machine.
func (l *LocalAgents) Offers(context.Context) []httpapi.LocalOffer {
	var out []httpapi.LocalOffer
	for _, o := range offers {
		found := o.key != "" && l.lookup(o.key) != ""
		if o.program != "" {
			_, err := exec.LookPath(o.program)
			found = err == nil
		}
		if found {
			out = append(out, httpapi.LocalOffer{Backend: o.backend, Label: o.label})
		}
	}
	return out
}

func (l *LocalAgents) lookup(key string) string {
	for _, kv := range l.Environ {
		if v, ok := strings.CutPrefix(kv, key+"="); ok {
			return v
		}
	}
	return ""
}

// Create makes an agent of the caller with a backend found here and starts its bridge.
func (l *LocalAgents) Create(ctx context.Context, actor access.Actor, backend, name string) (view.Agent, error) {
	n := slices.IndexFunc(l.Offers(ctx), func(o httpapi.LocalOffer) bool { return o.Backend == backend })
	if n < 0 {
		return view.Agent{}, fault.New(fault.Invalid, "backend_missing", "This was not found on the server's machine.").With("backend", "missing", "not found here")
	}
	if name == "" {
		name = l.Offers(ctx)[n].Label
	}
	config, err := json.Marshal(map[string]string{"backend": backend})
	if err != nil {
		return view.Agent{}, err
	}
	a, key, err := l.Identity.CreateAgent(ctx, actor, flow.NewAgent{DisplayName: name, ModelConfig: config})
	if err != nil {
		return view.Agent{}, err
	}
	return a, l.add(localAgent{AgentID: a.ID.String(), APIKey: key, Backend: backend})
}

// AddDemo makes the demo agent of an account: a script that says so and needs no key.
func (l *LocalAgents) AddDemo(ctx context.Context, owner access.Actor) (id.Participant, error) {
	a, key, err := l.Identity.CreateAgent(ctx, owner, flow.NewAgent{
		DisplayName: "Demo", Description: "A script, not a model: it shows what agents can do here.",
		SoulMD: "I am a script that shows what agntchat can do. I say so whenever somebody could take me for more.",
	})
	if err != nil {
		return id.Participant{}, err
	}
	return a.ID, l.add(localAgent{AgentID: a.ID.String(), APIKey: key, Backend: "scripted", Demo: true})
}

func (l *LocalAgents) add(a localAgent) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.agents = append(l.agents, a)
	if err := l.save(); err != nil {
		return err
	}
	l.run(a)
	return nil
}

// save replaces the file in one step, so that a crash leaves the old or the new one.
func (l *LocalAgents) save() error {
	b, err := json.MarshalIndent(l.agents, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(l.Dir, localFile+".*") // 0600
	if err != nil {
		return fmt.Errorf("local agents: %w", err)
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(l.Dir, localFile))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("local agents: %w", err)
	}
	return nil
}

// run keeps one child alive: it is started again with growing pauses, and not
// when its key was refused, since only a person can mend that.
func (l *LocalAgents) run(a localAgent) {
	ctx, cancel := context.WithCancel(l.life)
	l.running[a.AgentID] = cancel
	log := l.Log.With(slog.String("agent_id", a.AgentID), slog.String("backend", a.Backend))
	l.wg.Go(func() {
		defer cancel()
		pause := firstRestart
		for {
			began := time.Now()
			err := l.once(ctx, a, log)
			if ctx.Err() != nil {
				return
			}
			if code := exitCode(err); code == exitRefused {
				log.Warn("local bridge was refused; its agent was deleted or its key changed", slog.Int("exit_code", code))
				return
			}
			if time.Since(began) > longestRestart {
				pause = firstRestart
			}
			log.Warn("local bridge ended and is started again", slog.Any("error", err), slog.Duration("pause", pause))
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			pause = min(2*pause, longestRestart)
		}
	})
}

// exitRefused is the exit code of a bridge whose key was refused (bridge 1.2).
const exitRefused = 1

func exitCode(err error) int {
	if ee, ok := errors.AsType[*exec.ExitError](err); ok {
		return ee.ExitCode()
	}
	return -1
}

func (l *LocalAgents) once(ctx context.Context, a localAgent, log *slog.Logger) error {
	cmd := exec.CommandContext(ctx, l.Agnt, "bridge", "--url", l.baseURL, "--agent-id", a.AgentID, "--backend", a.Backend)
	cmd.Dir = l.Dir
	cmd.Env = append(slices.Clone(l.Environ), "AGENT_API_KEY="+a.APIKey, "AGNT_HOME="+filepath.Join(l.Dir, "agnt"))
	out := &lineLog{log: log}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = childGrace
	cmd.Cancel = func() error { return interrupt(cmd) }
	return runTied(cmd)
}

// lineLog passes a child's lines on to our log, cut to a sane length.
type lineLog struct {
	log *slog.Logger
	buf []byte
}

func (w *lineLog) Write(b []byte) (int, error) {
	w.buf = append(w.buf, b...)
	for {
		n := slices.Index(w.buf, '\n')
		if n < 0 {
			if len(w.buf) > 8192 {
				w.buf = w.buf[:0]
			}
			return len(b), nil
		}
		if line := strings.TrimSpace(string(w.buf[:min(n, 2000)])); line != "" {
			w.log.Debug("bridge output", slog.String("line", line))
		}
		w.buf = w.buf[n+1:]
	}
}
