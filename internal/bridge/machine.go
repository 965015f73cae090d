package bridge

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agntchat/agntchat/internal/bridge/anthropic"
	"github.com/agntchat/agntchat/internal/bridge/backend"
	"github.com/agntchat/agntchat/internal/bridge/claudecode"
	"github.com/agntchat/agntchat/internal/bridge/codex"
	"github.com/agntchat/agntchat/internal/bridge/openai"
	"github.com/agntchat/agntchat/internal/bridge/proc"
	"github.com/agntchat/agntchat/internal/bridge/scripted"
	"github.com/agntchat/agntchat/internal/bridge/session"
	"github.com/agntchat/agntchat/internal/bridge/workdir"
)

// Machine is what this computer offers to run models with. It is filled from
// the environment by the command, so that nothing else reads it.
type Machine struct {
	Env            []string // the process environment, KEY=VALUE
	ClaudePath     string   // override of the search in PATH
	CodexPath      string
	AnthropicKey   string
	AnthropicURL   string
	AnthropicModel string
	OpenAIKey      string
	OpenAIURL      string
	OpenAIModel    string
}

// find looks for a CLI: the override first, then PATH. Empty means it is not
// installed.
func find(override, name string) string {
	if override != "" {
		if abs, err := filepath.Abs(override); err == nil {
			override = abs
		}
		if st, err := os.Stat(override); err == nil && !st.IsDir() {
			return override
		}
		return ""
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// Default is the backend of this machine when nobody chose one: an installed
// CLI first, then a provider key, then a local OpenAI-compatible server. Empty
// means there is none.
func (m Machine) Default() string {
	switch {
	case find(m.ClaudePath, "claude") != "":
		return backend.ClaudeCLI
	case find(m.CodexPath, "codex") != "":
		return backend.CodexCLI
	case m.AnthropicKey != "":
		return backend.Anthropic
	case m.OpenAIKey != "" || m.OpenAIURL != "":
		return backend.OpenAI
	}
	return ""
}

const noBackend = "There is no model to run on this machine. Install Claude Code (`npm install -g @anthropic-ai/claude-code`) or Codex " +
	"(`npm install -g @openai/codex`) and sign in, or set ANTHROPIC_API_KEY or OPENAI_API_KEY."

// backend makes the backend an agent needs. Errors are *backend.Error.
func (m Machine) backend(ctx context.Context, a Agent, need session.Need, log *slog.Logger) (backend.Backend, error) {
	name := need.Name
	if name == "" {
		name = m.Default()
	}
	switch name {
	case backend.Scripted:
		return scripted.New(), nil
	case backend.Anthropic:
		key := first(a.ProviderKey, m.AnthropicKey)
		if key == "" {
			key = stored(ctx, need, "anthropic", log)
		}
		return anthropic.New(anthropic.Options{Key: key, BaseURL: first(a.BaseURL, m.AnthropicURL), Model: m.AnthropicModel, MaxTokens: a.MaxTokens}), nil
	case backend.OpenAI:
		key := first(a.ProviderKey, m.OpenAIKey)
		if key == "" {
			key = stored(ctx, need, "openai", log)
		}
		return openai.New(openai.Options{Key: key, BaseURL: first(a.BaseURL, m.OpenAIURL), Model: m.OpenAIModel, MaxTokens: a.MaxTokens}), nil
	case backend.ClaudeCLI:
		return m.claude(ctx, need, log)
	case backend.CodexCLI:
		return m.codex(ctx, need, log)
	case "":
		return nil, backend.Errorf(backend.CodeMissing, "%s", noBackend)
	}
	return nil, backend.Errorf(backend.CodeMissing, "This bridge does not know the backend %q. It knows claude, codex, anthropic, openai and scripted.", name)
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// stored asks the server for the owner's key of a provider; without one the
// backend's own check says what to do.
func stored(ctx context.Context, need session.Need, provider string, log *slog.Logger) string {
	key, err := need.Credential(ctx, provider)
	if err != nil {
		log.Warn("stored provider key not available", "provider", provider, "error", err)
	}
	return key
}

// claude prepares Claude Code with the connection the profile names.
func (m Machine) claude(ctx context.Context, need session.Need, log *slog.Logger) (backend.Backend, error) {
	path := find(m.ClaudePath, "claude")
	if path == "" {
		return nil, backend.Errorf(backend.CodeMissing, "Claude Code is not installed on this machine. Install it with `npm install -g @anthropic-ai/claude-code`, then run `claude` and sign in.")
	}
	dir, err := workdir.Open(need.Dir)
	if err != nil {
		return nil, err
	}
	opt := claudecode.Options{Path: path, Env: m.Env, Dir: dir, Log: log, Set: map[string]string{}}
	c := need.Profile.ModelConfig
	if c.CLIConnection != "" {
		// The profile chose the way to the provider: the machine's switches do not count.
		opt.Env = without(opt.Env, "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX")
	}
	switch c.CLIConnection {
	case "subscription":
		opt.Env = without(opt.Env, "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
	case "bedrock", "vertex":
		if c.RuntimeAPIID == "" {
			return nil, backend.Errorf(backend.CodeMissing, "This agent uses %s, which needs the platform's own model id in its profile.", c.CLIConnection)
		}
	}
	switch c.CLIConnection {
	case "bedrock":
		opt.Set["CLAUDE_CODE_USE_BEDROCK"], opt.Set["AWS_REGION"] = "1", c.AWSRegion
	case "vertex":
		opt.Set["CLAUDE_CODE_USE_VERTEX"], opt.Set["CLOUD_ML_REGION"], opt.Set["ANTHROPIC_VERTEX_PROJECT_ID"] = "1", c.VertexRegion, c.VertexProject
	case "anthropic":
		if m.AnthropicKey == "" {
			if key := stored(ctx, need, "anthropic", log); key != "" {
				opt.Set["ANTHROPIC_API_KEY"] = key
			}
		}
	}
	return claudecode.New(opt), nil
}

// codex prepares Codex; a base URL becomes a provider of its own.
func (m Machine) codex(ctx context.Context, need session.Need, log *slog.Logger) (backend.Backend, error) {
	path := find(m.CodexPath, "codex")
	if path == "" {
		return nil, backend.Errorf(backend.CodeMissing, "Codex is not installed on this machine. Install it with `npm install -g @openai/codex`, then run `codex login`.")
	}
	dir, err := workdir.Open(need.Dir)
	if err != nil {
		return nil, err
	}
	opt := codex.Options{Path: path, Env: m.Env, Dir: dir, Log: log, BaseURL: m.OpenAIURL}
	connection := need.Profile.ModelConfig.CLIConnection
	// The CLI's own sign-in goes before a key that happens to lie in the
	// environment, unless the profile or an own address says otherwise.
	if opt.BaseURL != "" || (connection != "subscription" && (connection != "" || !m.codexSignedIn())) {
		opt.Key = m.OpenAIKey
	}
	if opt.Key == "" && connection == "openai" {
		opt.Key = stored(ctx, need, "openai", log)
	}
	return codex.New(opt), nil
}

// codexSignedIn says whether the CLI holds a sign-in of its own.
func (m Machine) codexSignedIn() bool {
	home := proc.Get(m.Env, "CODEX_HOME")
	if home == "" {
		home = filepath.Join(proc.Get(m.Env, "HOME"), ".codex")
	}
	_, err := os.Stat(filepath.Join(home, "auth.json"))
	return err == nil
}

// without drops variables from an environment.
func without(env []string, keys ...string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		k, _, _ := strings.Cut(kv, "=")
		return slices.Contains(keys, k)
	})
}
