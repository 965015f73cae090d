// Package codex runs turns in the Codex CLI: one app-server process per agent,
// spoken to in JSON-RPC over its pipes, one thread per conversation, resumed
// after a crash. It owns that process; accounts are the CLI's own affair.
package codex

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/agntchat/agntchat/internal/bridge/backend"
	"github.com/agntchat/agntchat/internal/bridge/mcpserve"
	"github.com/agntchat/agntchat/internal/bridge/proc"
	"github.com/agntchat/agntchat/internal/bridge/workdir"
)

// cli names this backend's threads on disk.
const cli = "codex"

// Names of the variables by which secrets reach the CLI: its configuration
// names the variable, never the value.
const (
	toolTokenVar = "AGNT_TOOL_TOKEN"
	modelKeyVar  = "AGNT_MODEL_KEY"
)

// Options configure the backend. Zero durations mean the defaults named.
type Options struct {
	Path    string
	Env     []string
	Dir     *workdir.Dir
	Log     *slog.Logger
	BaseURL string        // a provider that speaks Responses; empty: the CLI's own
	Key     string        // its key; empty: the CLI's own sign-in
	Silence time.Duration // no message for this long is a hang; 10 minutes
}

// Backend keeps one app-server.
type Backend struct {
	opt Options

	mu     sync.Mutex
	server *server
	tools  *mcpserve.Server
	closed bool
	rooms  map[string]*sync.Mutex
	turns  map[string]running // that go on now, by conversation
}

// New makes the backend; the process starts with the first turn.
func New(opt Options) *Backend {
	if opt.Silence <= 0 {
		opt.Silence = 10 * time.Minute
	}
	return &Backend{opt: opt, rooms: map[string]*sync.Mutex{}, turns: map[string]running{}}
}

// Name is backend.CodexCLI.
func (*Backend) Name() string { return backend.CodexCLI }

func (b *Backend) env(toolToken string) []string {
	set := map[string]string{}
	if toolToken != "" {
		set[toolTokenVar] = toolToken
	}
	if b.opt.Key != "" {
		set[modelKeyVar] = b.opt.Key
		set["CODEX_API_KEY"] = b.opt.Key
	} else if b.opt.BaseURL != "" {
		set[modelKeyVar] = "none"
	}
	return proc.Environment(b.opt.Env, []string{"CODEX_HOME", "CODEX_API_KEY", "RUST_LOG"}, set)
}

// Check asks the CLI whether it is signed in; a key counts as signed in.
func (b *Backend) Check(ctx context.Context) error {
	if b.opt.Key != "" || b.opt.BaseURL != "" || proc.Get(b.opt.Env, "CODEX_API_KEY") != "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.opt.Path, "login", "status")
	cmd.Env, cmd.Dir, cmd.WaitDelay = b.env(""), b.opt.Dir.Work(), time.Second
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return nil
	case strings.Contains(string(out), "Not logged in"):
		return backend.Errorf(backend.CodeAuth, "Codex is installed but not signed in. Run `codex login`, or set OPENAI_API_KEY.")
	case ctx.Err() != nil:
		return &backend.Error{Code: backend.CodeTimeout, Message: "Codex did not answer.", Cause: err}
	}
	return &backend.Error{Code: backend.CodeMissing, Message: "Codex could not be started.", Cause: err}
}

// Close ends the process and waits for it.
func (b *Backend) Close() error {
	b.mu.Lock()
	b.closed = true
	s, tools := b.server, b.tools
	b.server = nil
	b.mu.Unlock()
	if s != nil {
		s.stop(time.Second)
	}
	if tools != nil {
		return tools.Close()
	}
	return nil
}

// room is the lock of one conversation.
func (b *Backend) room(id string) *sync.Mutex {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rooms[id] == nil {
		b.rooms[id] = &sync.Mutex{}
	}
	return b.rooms[id]
}

// running returns the app-server, started and initialised if there is none.
func (b *Backend) running(ctx context.Context) (*server, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return nil, backend.Errorf(backend.CodeException, "The bridge is stopping.")
	case b.server != nil && b.server.alive():
		return b.server, nil
	}
	if b.tools == nil {
		tools, err := mcpserve.Start()
		if err != nil {
			return nil, err
		}
		b.tools = tools
	}
	args := []string{"app-server"}
	for _, kv := range b.config() {
		args = append(args, "-c", kv)
	}
	s, err := startServer(ctx, proc.Spec{Path: b.opt.Path, Args: args, Env: b.env(b.tools.Token()), Dir: b.opt.Dir.Work()}, b.opt.Log)
	if err != nil {
		return nil, err
	}
	b.server = s
	return s, nil
}

// config are settings for the whole process; none of them is secret.
func (b *Backend) config() []string {
	kv := []string{`web_search="disabled"`}
	if b.opt.BaseURL != "" || b.opt.Key != "" {
		base := b.opt.BaseURL
		if base == "" {
			base = "https://api.openai.com/v1"
		}
		kv = append(kv, `model_provider="agnt"`, fmt.Sprintf(
			`model_providers.agnt={name="Provider",base_url=%s,env_key=%q,wire_api="responses",request_max_retries=1,stream_max_retries=1}`,
			tomlString(base), modelKeyVar))
	}
	return kv
}

func tomlString(s string) string {
	raw, _ := json.Marshal(s) // a JSON string is a TOML basic string
	return string(raw)
}

// toolKey is the path segment of a conversation's tools.
func toolKey(conversationID string) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(conversationID)).String()
}
