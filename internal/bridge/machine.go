package bridge

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/agntchat/agntchat/internal/bridge/backend"
	"github.com/agntchat/agntchat/internal/bridge/scripted"
	"github.com/agntchat/agntchat/internal/bridge/session"
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
	case "":
		return nil, backend.Errorf(backend.CodeMissing, "%s", noBackend)
	}
	return nil, backend.Errorf(backend.CodeMissing, "This bridge does not know the backend %q. It knows claude, codex, anthropic, openai and scripted.", name)
}
