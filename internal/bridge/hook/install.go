package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

type hookEvent struct {
	name  string
	async bool
}

// claudeEvents are the moments at which Claude Code runs the hook. At a tool it does
// not wait for it.
var claudeEvents = []hookEvent{
	{"SessionStart", false},
	{"UserPromptSubmit", false},
	{"PreToolUse", true},
	{"PostToolUse", true},
	{"Notification", true},
	{"Stop", false},
	{"SessionEnd", false},
}

// codexEvents are those of Codex (contract letters 5.2). It knows no asynchronous ones.
var codexEvents = []hookEvent{{"SessionStart", false}, {"UserPromptSubmit", false}, {"Stop", false}}

// hookSeconds is after how long a CLI gives a hook up that hangs nevertheless.
const hookSeconds = 5

// Installed says what was changed in which file; nothing when all was as it should be.
type Installed struct {
	File    string
	Changes []string
	Next    string // what the person has to do; "" for nothing
}

// InstallClaude puts the hook into settings.json of Claude Code's configuration
// folder, or with remove takes it out. Doing it twice changes nothing; hooks and
// settings of others stay.
func InstallClaude(configDir string, command []string, remove bool) (Installed, error) {
	out := Installed{File: filepath.Join(configDir, "settings.json")}
	var err error
	out.Changes, err = installHooks(out.File, claudeEvents, "claude", command, remove)
	return out, err
}

// installHooks puts a command hook for each event into a JSON file of the form that both
// CLIs have, and says what it changed.
func installHooks(file string, events []hookEvent, cli string, command []string, remove bool) (changes []string, err error) {
	raw, err := readConfig(file)
	if err != nil {
		return nil, err
	}
	settings := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(raw)) > 0 {
		if err := json.Unmarshal(raw, &settings); err != nil {
			return nil, fmt.Errorf("%s is no JSON object; it was left as it is", file)
		}
	}
	hooks := map[string][]json.RawMessage{}
	if h, ok := settings["hooks"]; ok {
		if err := json.Unmarshal(h, &hooks); err != nil {
			return nil, fmt.Errorf("%s: hooks have an unknown form; the file was left as it is", file)
		}
	}
	for _, e := range events {
		entry := map[string]any{"type": "command", "command": shellLine(command), "timeout": hookSeconds}
		if e.async {
			entry["async"] = true
		}
		want, err := plain(map[string]any{"hooks": []any{entry}})
		if err != nil {
			return nil, fmt.Errorf("write settings: %w", err)
		}
		kept := slices.DeleteFunc(slices.Clone(hooks[e.name]), ours(cli))
		had := len(hooks[e.name]) - len(kept)
		same := had == 1 && slices.ContainsFunc(hooks[e.name], func(g json.RawMessage) bool { return sameJSON(g, want) })
		switch {
		case remove && had > 0:
			changes = append(changes, "- hooks."+e.name)
			hooks[e.name] = kept
		case !remove && !same:
			changes = append(changes, "+ hooks."+e.name)
			hooks[e.name] = append(kept, want)
		}
		if len(hooks[e.name]) == 0 {
			delete(hooks, e.name)
		}
	}
	if len(changes) == 0 {
		return nil, nil
	}
	delete(settings, "hooks")
	if len(hooks) > 0 {
		if settings["hooks"], err = plain(hooks); err != nil {
			return nil, fmt.Errorf("write settings: %w", err)
		}
	}
	raw, err = plain(settings)
	if err != nil {
		return nil, fmt.Errorf("write settings: %w", err)
	}
	var text bytes.Buffer
	if err := json.Indent(&text, raw, "", "  "); err != nil {
		return nil, fmt.Errorf("write settings: %w", err)
	}
	return changes, writeConfig(file, text.Bytes())
}

// plain leaves <, > and & as people wrote them.
func plain(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// ours recognises a group of hooks that installHooks wrote, of whatever agent.
func ours(cli string) func(group json.RawMessage) bool {
	return func(group json.RawMessage) bool {
		var g struct {
			Hooks []struct {
				Command string `json:"command"`
			} `json:"hooks"`
		}
		return json.Unmarshal(group, &g) == nil && len(g.Hooks) == 1 && strings.Contains(g.Hooks[0].Command, " hook "+cli+" --home ")
	}
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	xs, err1 := json.Marshal(x)
	ys, err2 := json.Marshal(y)
	return err1 == nil && err2 == nil && bytes.Equal(xs, ys)
}

// shellLine quotes a command for the shell that runs hooks.
func shellLine(command []string) string {
	parts := make([]string, len(command))
	for i, c := range command {
		switch {
		case c != "" && strings.Trim(c, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:") == "":
			parts[i] = c
		case runtime.GOOS == "windows":
			parts[i] = `"` + c + `"`
		default:
			parts[i] = "'" + strings.ReplaceAll(c, "'", `'\''`) + "'"
		}
	}
	return strings.Join(parts, " ")
}

// ErrNotifyTaken means that Codex has another notify program: it knows only one.
var ErrNotifyTaken = errors.New("Codex runs another notify program already, and knows only one; take `notify` out of its configuration first")

// InstallCodex puts the notify program into config.toml of Codex' folder and the hooks
// into hooks.json beside it, or with remove takes them out. Everything else in
// config.toml stays as it is, byte for byte. Hooks bring messages in, and run once the
// person has trusted them; the notify program shows the session from the start.
func InstallCodex(configDir string, command []string, remove bool) (Installed, error) {
	out, err := installNotify(configDir, command, remove)
	if err != nil {
		return out, err
	}
	file := filepath.Join(configDir, "hooks.json")
	changes, err := installHooks(file, codexEvents, "codex", command, remove)
	for _, c := range changes {
		out.Changes = append(out.Changes, c+" ("+file+")")
	}
	if len(changes) > 0 && !remove {
		out.Next = "Codex runs a hook only after you trusted it: start codex, type /hooks, and trust those of agnt hook. Until then messages wait in the inbox."
	}
	if err == nil && remove && len(changes) > 0 {
		err = dropEmpty(file)
	}
	return out, err
}

// dropEmpty removes a file of hooks in which nothing is left.
func dropEmpty(file string) error {
	raw, err := readConfig(file)
	if err != nil || strings.TrimSpace(string(raw)) != "{}" {
		return err
	}
	if err := os.Remove(file); err != nil {
		return fmt.Errorf("remove configuration: %w", err)
	}
	return nil
}

func installNotify(configDir string, command []string, remove bool) (Installed, error) {
	out := Installed{File: filepath.Join(configDir, "config.toml")}
	raw, err := readConfig(out.File)
	if err != nil {
		return out, err
	}
	quoted, err := json.Marshal(command) // a TOML array of basic strings
	if err != nil {
		return out, fmt.Errorf("write configuration: %w", err)
	}
	want := "notify = " + string(quoted)
	lines := strings.SplitAfter(string(raw), "\n")
	at := -1
	for i, line := range lines {
		t := strings.TrimSpace(line)
		if strings.HasPrefix(t, "[") { // tables follow: notify stands before them
			break
		}
		if key, _, ok := strings.Cut(t, "="); ok && strings.TrimSpace(key) == "notify" {
			at = i
			break
		}
	}
	own := at >= 0 && strings.Contains(lines[at], `"hook","codex","--home"`)
	switch {
	case at >= 0 && !own && remove:
		return out, nil
	case at >= 0 && !own:
		return out, ErrNotifyTaken
	case remove && at < 0, !remove && own && strings.TrimSpace(lines[at]) == want:
		return out, nil
	case remove:
		lines = slices.Delete(lines, at, at+1)
		out.Changes = []string{"- notify"}
	case own:
		lines[at] = want + "\n"
		out.Changes = []string{"+ notify"}
	default:
		lines = slices.Insert(lines, 0, want+"\n")
		out.Changes = []string{"+ notify"}
	}
	return out, writeConfig(out.File, []byte(strings.Join(lines, "")))
}

func readConfig(name string) ([]byte, error) {
	raw, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return raw, nil
}

// writeConfig replaces a file of the CLI in one step, with the mode that it had. A
// link is followed: people keep such files in their dotfiles.
func writeConfig(name string, raw []byte) error {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	mode := os.FileMode(0o600)
	if st, err := os.Stat(name); err == nil {
		mode = st.Mode().Perm()
	}
	return replaceFile(name, raw, mode)
}
