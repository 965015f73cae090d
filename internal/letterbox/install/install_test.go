package install_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/agntchat/agntchat/internal/letterbox/install"
)

func options(t *testing.T) install.Options {
	t.Helper()
	home := t.TempDir()
	return install.Options{
		Program: "/opt/my tools/agnt", User: filepath.Join(home, ".retalk", "alice"), Secret: filepath.Join(home, "it's secret"), Version: "v1.2.3-4-gabcdef", Home: home,
		File: filepath.Join(home, "host.json"),
	}
}

func apply(t *testing.T, h install.Host, o install.Options) (shown string, changes int) {
	t.Helper()
	p, err := install.Make(h, o)
	if err != nil {
		t.Fatalf("%s: %v", h, err)
	}
	var b bytes.Buffer
	if err := p.Show(&b); err != nil {
		t.Fatal(err)
	}
	if err := p.Apply(); err != nil {
		t.Fatalf("%s: %v", h, err)
	}
	return b.String(), len(p.Changes)
}

// tree is every file below a folder, with its mode.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		st, err := os.Stat(path)
		if err != nil {
			return err
		}
		raw, err := os.ReadFile(path)
		files[path] = st.Mode().String() + " " + string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func same(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for path, text := range want {
		if got[path] != text {
			t.Errorf("%s: %s is\n%s\nnot\n%s", what, path, got[path], text)
		}
	}
	for path, text := range got {
		if _, ok := want[path]; !ok {
			t.Errorf("%s: %s is new: %s", what, path, text)
		}
	}
}

func put(t *testing.T, name, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// Whatever a host's files hold: installing changes nothing of others, a second time changes nothing at all, and removing gives back each byte and mode.
func TestL5_InstallAndRemoveExactly(t *testing.T) {
	t.Parallel()
	claude := map[string]string{
		"nothing":  "",
		"indented": "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n",
		"tabs":     "{\n\t\"a\": {\n\t\t\"b\": \"<&>\"\n\t}\n}",
		"one line": `{"model":"opus","enabledPlugins":{"other@x":true},"extraKnownMarketplaces":{"x":{"source":{"source":"github","repo":"a/b"}}}}`,
		"comments": "// mine\n{\n  \"model\": \"opus\", // why\n  /* and */ \"enabledPlugins\": {\n    \"other@x\": false, // off\n  },\n}\n",
	}
	codex := map[string]string{
		"nothing":     "",
		"no end":      "model = \"x\" # mine",
		"hooks":       "# mine\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"true\"\n\n[mcp_servers.other]\ncommand = \"x\"\n",
		"empty lines": "model = \"x\"\n\n\n",
		"marks":       "text = \"\"\"\n# agnt letters are nice\n\"\"\"\n",
	}
	for _, h := range install.Hosts {
		texts := map[string]string{"nothing": ""}
		switch h {
		case install.Claude, install.MCP:
			texts = claude
		case install.Codex:
			texts = codex
		}
		for name, text := range texts {
			t.Run(string(h)+"/"+name, func(t *testing.T) {
				t.Parallel()
				o := options(t)
				file := map[install.Host]string{install.Claude: filepath.Join(o.Home, ".claude", "settings.json"), install.Codex: filepath.Join(o.Home, ".codex", "config.toml"), install.MCP: o.File}[h]
				if text != "" {
					put(t, file, text, 0o640)
				}
				before := tree(t, o.Home)
				shown, n := apply(t, h, o)
				if n == 0 || !strings.Contains(shown, "agnt") {
					t.Fatalf("nothing is shown: %s", shown)
				}
				installed := tree(t, o.Home)
				for path, text := range before {
					if h == install.Codex && !strings.HasPrefix(installed[path], text) {
						t.Errorf("changed more: %s", installed[path])
					}
				}
				if shown, n := apply(t, h, o); n != 0 {
					t.Fatalf("a second time: %s", shown)
				}
				same(t, "a second time", tree(t, o.Home), installed)
				other := o // another program and user take the place of the first
				other.Program, other.User, other.Secret = "/usr/bin/agnt", filepath.Join(o.Home, ".retalk", "work"), ""
				apply(t, h, other)
				for path, text := range tree(t, o.Home) {
					if strings.Contains(text, "/opt/my tools") {
						t.Errorf("%s still has the first: %s", path, text)
					}
				}
				apply(t, h, o)
				same(t, "the first again", tree(t, o.Home), installed)
				gone := install.Options{Home: o.Home, File: o.File, Remove: true} // who removes need not know what was installed
				if shown, n := apply(t, h, gone); n == 0 {
					t.Fatalf("nothing is removed: %s", shown)
				}
				after := tree(t, o.Home)
				if name == "comments" { // all but the comma behind the last member of an object
					after[file], before[file] = withoutLayout(after[file]), withoutLayout(before[file])
				}
				same(t, "removed", after, before)
				if shown, n := apply(t, h, gone); n != 0 {
					t.Fatalf("removed twice: %s", shown)
				}
			})
		}
	}
}

func withoutLayout(s string) string {
	s = strings.Join(strings.Fields(s), "")
	return strings.NewReplacer(",}", "}", ",//", "//").Replace(s)
}

// Codex writes its own tables, between ours too; they stay.
func TestL5_RemovalLeavesWhatCodexPutBetween(t *testing.T) {
	t.Parallel()
	o := options(t)
	file := filepath.Join(o.Home, ".codex", "config.toml")
	put(t, file, "model = \"x\"\n", 0o600)
	apply(t, install.Codex, o)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := toml.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	parts := strings.SplitAfter(string(raw), "\n\n")
	for i := 1; i < len(parts); i++ {
		mixed := strings.Join(parts[:i], "") + "[projects.\"/x\"]\ntrust_level = \"trusted\"\n" + strings.Join(parts[i:], "")
		put(t, file, mixed, 0o600)
		apply(t, install.Codex, install.Options{Home: o.Home, Remove: true})
		after, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(after); strings.Contains(text, "agnt") || !strings.Contains(text, "[projects.\"/x\"]\ntrust_level = \"trusted\"\n") || !strings.HasPrefix(text, "model = \"x\"\n") {
			t.Errorf("after part %d: %s", i, text)
		}
	}
}

// What cannot be read, or was changed by hand, is left as it is, and said.
func TestL5_InstallLeavesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		host install.Host
		file string
		text string
		want string
	}{
		"no JSON":          {install.Claude, ".claude/settings.json", `{ "model": `, "left as it is"},
		"a list":           {install.Claude, ".claude/settings.json", `[]`, "no JSON object"},
		"a list within":    {install.Claude, ".claude/settings.json", `{"enabledPlugins": []}`, "no object"},
		"no TOML":          {install.Codex, ".codex/config.toml", `model = `, "no valid TOML already"},
		"hooks are closed": {install.Codex, ".codex/config.toml", `hooks = { Stop = [] }`, "do not go together"},
		"same server":      {install.Codex, ".codex/config.toml", "[mcp_servers.agnt_letters]\ncommand = \"mine\"\n", "do not go together"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t)
			put(t, filepath.Join(o.Home, tt.file), tt.text, 0o600)
			before := tree(t, o.Home)
			if _, err := install.Make(tt.host, o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v", err)
			}
			same(t, "left", tree(t, o.Home), before)
		})
	}
	t.Run("changed by hand", func(t *testing.T) {
		t.Parallel()
		o := options(t)
		file := filepath.Join(o.Home, ".codex", "config.toml")
		apply(t, install.Codex, o)
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		put(t, file, strings.Replace(string(raw), "timeout = 10", "timeout = 99", 1), 0o600)
		o.Remove = true
		if _, err := install.Make(install.Codex, o); err == nil || !strings.Contains(err.Error(), "changed by hand") {
			t.Fatal(err)
		}
	})
	t.Run("changed meanwhile", func(t *testing.T) {
		t.Parallel()
		o := options(t)
		p, err := install.Make(install.Codex, o)
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(o.Home, ".codex", "config.toml"), "model = \"new\"\n", 0o600)
		if err := p.Apply(); err == nil || !strings.Contains(err.Error(), "changed meanwhile") {
			t.Fatal(err)
		}
	})
}

// A link is followed, because people keep such files elsewhere; new files are private.
func TestL5_InstallFollowsLinks(t *testing.T) {
	t.Parallel()
	o := options(t)
	kept := filepath.Join(o.Home, "dotfiles", "settings.json")
	put(t, kept, `{"model":"opus"}`, 0o644)
	link := filepath.Join(o.Home, ".claude", "settings.json")
	if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(kept, link); err != nil {
		t.Fatal(err)
	}
	apply(t, install.Claude, o)
	if st, err := os.Lstat(link); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Fatalf("the link is gone: %v %v", st, err)
	}
	var v struct {
		EnabledPlugins map[string]bool `json:"enabledPlugins"`
	}
	raw, err := os.ReadFile(kept)
	if err != nil || json.Unmarshal(raw, &v) != nil || !v.EnabledPlugins["agnt-letters@agntchat"] {
		t.Fatalf("%v %s", err, raw)
	}
	for path, text := range tree(t, filepath.Join(o.Home, ".agnt")) {
		if !strings.HasPrefix(text, "-rw------- ") {
			t.Errorf("%s: %.20s", path, text)
		}
	}
}

func FuzzTables(f *testing.F) {
	for _, s := range []string{"", "a = 1", "a = 1\n", "\n\n", "[x]\na = '''\n# agnt letters: 3\n'''\n", "# agnt letters: 1 lines, 000000000000\n"} {
		f.Add(s)
	}
	tables := []string{"[ours]\na = 1\n", "[[ours.list]]\nb = 2\n"}
	f.Fuzz(func(t *testing.T, text string) {
		once, err := install.SetTables(text, tables)
		if err != nil {
			return // no TOML, or with a mark of ours
		}
		if again, err := install.SetTables(once, tables); err != nil || again != once {
			t.Fatalf("%v: %q %q", err, once, again)
		}
		if back, err := install.SetTables(once, nil); err != nil || back != text {
			t.Fatalf("%v: %q became %q", err, text, back)
		}
	})
}
