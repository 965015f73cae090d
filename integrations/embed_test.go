package integrations_test

import (
	"encoding/json"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/integrations"
)

// A host loads what its folder holds and nothing else, so everything that a piece imports has to be there or be the host's own.
func TestL5_PiecesAreWhole(t *testing.T) {
	t.Parallel()
	imports := regexp.MustCompile(`(?m)^(?:import|export)\s([^;]*?)\sfrom "([^"]+)"`)
	for host, entry := range map[string]string{"pi": "extensions/agnt-letters.ts", "opencode": "plugins/agnt-letters.ts"} {
		files := integrations.For(host)
		if files[entry] == "" {
			t.Fatalf("%s has no %s", host, entry)
		}
		for name, text := range files {
			if name == integrations.SettingsFile || !fs.ValidPath(name) {
				t.Errorf("%s: %s is no name of a piece", host, name)
			}
			found := imports.FindAllStringSubmatch(text, -1)
			if len(found) == 0 && !strings.HasSuffix(name, "/letters.ts") {
				t.Errorf("%s: %s imports nothing: is this test still reading it?", host, name)
			}
			for _, m := range found {
				switch what, from := m[1], m[2]; {
				case strings.HasPrefix(from, "."):
					if files[path.Join(path.Dir(name), from)] == "" {
						t.Errorf("%s: %s imports %s, which is not installed", host, name, from)
					}
				case strings.HasPrefix(from, "node:"), strings.HasPrefix(what, "type "): // types are gone when it runs
				default:
					t.Errorf("%s: %s needs the package %s", host, name, from)
				}
			}
		}
	}
	if integrations.For("claude") != nil {
		t.Error("there are pieces for a host that has none")
	}
}

func TestL5_PiecesKnowTheirSettings(t *testing.T) {
	t.Parallel()
	text, err := integrations.Settings(`C:\agnt.exe`, `/home/"me"/ü`)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got["agnt"] != `C:\agnt.exe` || got["user"] != `/home/"me"/ü` {
		t.Errorf("got %v", got)
	}
	// It is looked for beside the module that reads it.
	if dir := path.Dir(integrations.SettingsFile); integrations.For("pi")[dir+"/session.ts"] == "" {
		t.Errorf("%s is beside no session.ts", integrations.SettingsFile)
	}
}
