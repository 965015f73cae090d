// Package integrations holds the letters' pieces for hosts that load TypeScript themselves, pi and opencode: one entry file each,
// and the modules that both share. It owns nothing but the files; who writes them into a host's folder is the installer.
package integrations

import (
	"embed"
	"encoding/json"
	"io/fs"
	"path"
)

// Files are the shipped files: agnt-letters (shared), pi and opencode.
//
//go:embed agnt-letters/*.ts pi/*.ts opencode/*.ts
var Files embed.FS

// SettingsFile is where the shared modules look for their settings, below the host's folder.
const SettingsFile = "agnt-letters/settings.json"

// entries are where a host looks for its entry file, below its folder: ~/.pi/agent or a project's .pi for pi, ~/.config/opencode or a
// project's .opencode for opencode.
var entries = map[string]string{
	"pi":       "extensions/agnt-letters.ts",
	"opencode": "plugins/agnt-letters.ts",
}

// For gives the text of a host's files by their slash-separated names below the host's folder, without settings. It is nil for a host
// that has none.
func For(host string) map[string]string {
	entry, ok := entries[host]
	if !ok {
		return nil
	}
	files := map[string]string{entry: text(path.Join(host, "agnt-letters.ts"))}
	shared, err := fs.Glob(Files, "agnt-letters/*.ts")
	if err != nil {
		panic("integrations: " + err.Error()) // the pattern is a constant
	}
	for _, name := range shared {
		files[name] = text(name)
	}
	return files
}

func text(name string) string {
	b, err := Files.ReadFile(name)
	if err != nil {
		panic("integrations: " + err.Error()) // the names are of embedded files
	}
	return string(b)
}

// Settings is the text of the settings file: the absolute paths of agnt, which the pieces run as a hook, and of the user folder whose
// letters the sessions get.
func Settings(program, user string) (string, error) {
	b, err := json.MarshalIndent(struct {
		Agnt string `json:"agnt"`
		User string `json:"user"`
	}{program, user}, "", "  ")
	return string(b) + "\n", err
}
