package install_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/letterbox/install"
)

// An entry of somebody else that has our name is neither replaced nor removed: whoever
// installs is told, and nothing is written.
func TestL5_InstallReplacesNobodysEntry(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		host       install.Host
		file, text string
	}{
		{install.Claude, ".claude/settings.json", `{"extraKnownMarketplaces":{"agntchat":{"source":{"source":"github","repo":"someone/agntchat"}}}}`},
		{install.Claude, ".claude/settings.json", `{"extraKnownMarketplaces":{"agntchat":{"source":{"source":"directory","path":"/srv/plugins"}}}}`},
		{install.Claude, ".claude/plugins/known_marketplaces.json", `{"agntchat":{"source":{"source":"github","repo":"someone/agntchat"}}}`},
		{install.MCP, "host.json", `{"mcpServers":{"agnt_letters":{"command":"/opt/other","args":["serve"]}}}`},
		{install.MCP, "host.json", `{"mcpServers":{"agnt_letters":{"url":"https://example.org/mcp"}}}`},
		{install.Codex, ".codex/config.toml", "[mcp_servers.agnt_letters]\ncommand = \"/opt/other\"\n"},
	} {
		o := options(t)
		name := filepath.Join(o.Home, filepath.FromSlash(c.file))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := install.Make(c.host, o); err == nil || !strings.Contains(err.Error(), c.file) {
			t.Errorf("%s %s: %v", c.host, c.text, err)
		}
		o.Remove = true
		apply(t, c.host, o)
		if raw, err := os.ReadFile(name); err != nil || string(raw) != c.text {
			t.Errorf("%s: removal leaves %s %v", c.host, raw, err)
		}
	}
}

// What an earlier version of ours put there, from another place, is replaced.
func TestL5_InstallReplacesItsOwnEntry(t *testing.T) {
	t.Parallel()
	o := options(t)
	old := `{"mcpServers":{"agnt_letters":{"command":"/old/agnt","args":["letter","mcp","--dir","/old"]}}}`
	if err := os.WriteFile(o.File, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	apply(t, install.MCP, o)
	if raw, err := os.ReadFile(o.File); err != nil || strings.Contains(string(raw), "/old") || !strings.Contains(string(raw), o.Program) {
		t.Errorf("%s %v", raw, err)
	}
}
