// Package claudecode runs turns in the Claude Code CLI: one long-lived process
// per conversation, spoken to in stream-json, its session resumed after a
// crash. It owns those processes; accounts and keys are the CLI's own affair.
package claudecode

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os/exec"
	"sync"
	"time"

	"github.com/agntchat/agntchat/internal/bridge/backend"
	"github.com/agntchat/agntchat/internal/bridge/mcpserve"
	"github.com/agntchat/agntchat/internal/bridge/proc"
	"github.com/agntchat/agntchat/internal/bridge/workdir"
)

// Options configure the backend. Zero durations mean the defaults named.
type Options struct {
	Path       string   // the CLI
	Env        []string // the bridge's environment; only known variables are passed on
	Set        map[string]string
	Dir        *workdir.Dir
	Log        *slog.Logger
	Idle       time.Duration // an unused process ends after this; 10 minutes
	MaxIdle    int           // processes that may wait for another question; 4
	Silence    time.Duration // no line for this long is a hang; 10 minutes
	RetryLimit time.Duration // how long the CLI may retry an overloaded provider; 90 seconds
}

// Backend keeps one process per conversation.
type Backend struct {
	opt Options

	mu     sync.Mutex
	tools  *mcpserve.Server
	hooks  *hookServer
	convs  map[string]*conversation
	closed bool
}

// New makes the backend; processes start with the first turn.
func New(opt Options) *Backend {
	if opt.Idle <= 0 {
		opt.Idle = 10 * time.Minute
	}
	if opt.MaxIdle <= 0 {
		opt.MaxIdle = 4
	}
	if opt.Silence <= 0 {
		opt.Silence = 10 * time.Minute
	}
	if opt.RetryLimit <= 0 {
		opt.RetryLimit = 90 * time.Second
	}
	return &Backend{opt: opt, convs: map[string]*conversation{}}
}

// Name is backend.ClaudeCLI.
func (*Backend) Name() string { return backend.ClaudeCLI }

// passed are the variables of the user's that reach the CLI, beside the known.
var passed = []string{
	"ANTHROPIC_*", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_USE_*", "CLAUDE_CODE_SKIP_*",
	"AWS_*", "CLOUD_ML_REGION", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "VERTEX_*", "IS_SANDBOX",
	"DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING",
}

func (b *Backend) env() []string {
	set := map[string]string{
		"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1", "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_CRON": "1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
		// The session is on disk before the model is asked: a kill loses nothing of it.
		"CLAUDE_CODE_EAGER_FLUSH": "1",
		// The tool server is this process: waiting for it is right, even on a busy machine.
		"MCP_CONNECTION_NONBLOCKING": "0", "MCP_CONNECT_TIMEOUT_MS": "30000", "MCP_TIMEOUT": "30000", "MCP_TOOL_TIMEOUT": "120000",
	}
	for k, v := range b.opt.Set {
		set[k] = v
	}
	return proc.Environment(b.opt.Env, passed, set)
}

// Check asks the CLI whether it is signed in. A key in the environment, or a
// cloud provider, counts as signed in.
func (b *Backend) Check(ctx context.Context) error {
	env := b.env()
	for _, k := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"} {
		if proc.Get(env, k) != "" {
			return nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.opt.Path, "auth", "status")
	cmd.Env, cmd.Dir, cmd.WaitDelay = env, b.opt.Dir.Work(), time.Second
	out, err := cmd.Output()
	var st struct {
		LoggedIn *bool `json:"loggedIn"`
	}
	if json.Unmarshal(out, &st) == nil && st.LoggedIn != nil {
		if !*st.LoggedIn {
			return backend.Errorf(backend.CodeAuth, "Claude Code is installed but not signed in. Run `claude` once and sign in, or set ANTHROPIC_API_KEY.")
		}
		return nil
	}
	if err != nil && ctx.Err() != nil {
		return &backend.Error{Code: backend.CodeTimeout, Message: "Claude Code did not answer.", Cause: err}
	}
	if err != nil {
		return &backend.Error{Code: backend.CodeMissing, Message: "Claude Code could not be started.", Cause: err}
	}
	return nil
}

// Close ends all processes and waits for them.
func (b *Backend) Close() error {
	b.mu.Lock()
	b.closed = true
	convs, tools, hooks := b.convs, b.tools, b.hooks
	b.convs = map[string]*conversation{}
	b.mu.Unlock()
	var wg sync.WaitGroup
	for _, c := range convs {
		wg.Go(c.end)
	}
	wg.Wait()
	var err error
	if tools != nil {
		err = tools.Close()
	}
	if hooks != nil {
		err = errors.Join(err, hooks.at.Close())
	}
	return err
}

// hookServer starts the hook server with the first turn that has a gate.
func (b *Backend) hookServer() (*hookServer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.hooks == nil {
		h, err := startHooks()
		if err != nil {
			return nil, err
		}
		b.hooks = h
	}
	return b.hooks, nil
}

// toolServer starts the tool server with the first turn that has tools.
func (b *Backend) toolServer() (*mcpserve.Server, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tools == nil {
		s, err := mcpserve.Start()
		if err != nil {
			return nil, err
		}
		b.tools = s
	}
	return b.tools, nil
}
