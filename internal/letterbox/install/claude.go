package install

import (
	_ "embed"
	"encoding/json"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// pluginName and marketName name the plugin, as `agnt-letters@agntchat`.
const (
	pluginName = "agnt-letters"
	marketName = "agntchat"
)

//go:embed skill.md
var skill string

// claudeEvents are the hooks of Claude Code and the words that `agnt hook claude` knows them by.
var claudeEvents = []struct{ event, word string }{
	{"SessionStart", "session-start"},
	{"UserPromptSubmit", "user-prompt-submit"},
	{"PostToolUse", "post-tool-use"},
	{"Stop", "stop"},
	{"SessionEnd", "session-end"},
}

func (o Options) claudeDir() string {
	if o.ClaudeDir != "" {
		return o.ClaudeDir
	}
	return filepath.Join(o.Home, ".claude")
}

// ourMarket says whether an entry of a marketplace is ours: that of a folder as [Options.market] names it, below whatever data folder.
func ourMarket(v any) bool {
	entry, _ := v.(object)
	source, _ := entry["source"].(object)
	path, _ := source["path"].(string)
	return source["source"] == "directory" && strings.HasSuffix(filepath.ToSlash(path), "/letters/claude")
}

// market is the folder of the marketplace.
func (o Options) market() string { return filepath.Join(o.DataDir, "letters", "claude") }

// claude makes a marketplace of one plugin in a folder of ours, and names it in Claude Code's settings.
func (o Options) claude() (Plan, error) {
	files, err := o.claudeFiles()
	if err != nil {
		return Plan{}, err
	}
	p := Plan{dirs: []string{o.market(), filepath.Dir(o.market())}}
	if p.Changes, err = own(o.market(), files, o.Remove); err != nil {
		return Plan{}, err
	}
	market := map[string]any{"source": map[string]any{"source": "directory", "path": o.market()}}
	edits := []edit{{path: []string{"extraKnownMarketplaces", marketName}, value: market, ours: ourMarket}, {path: []string{"enabledPlugins", pluginName + "@" + marketName}, value: true}}
	c, err := editJSON(filepath.Join(o.claudeDir(), "settings.json"), edits, o.Remove)
	if err != nil {
		return Plan{}, err
	}
	p.Changes = append(p.Changes, c)
	if !o.Remove {
		p.Next = []string{"Start Claude Code anew; /plugin shows " + pluginName + "."}
	}
	err = o.claudeRecords(&p)
	return p, err
}

// claudeRecords plans what Claude Code itself notes of a marketplace and of a plugin when it loads them: with the first note it loads the plugin at its next start, not only at the one
// after that; both go with the plugin.
func (o Options) claudeRecords(p *Plan) error {
	dir := filepath.Join(o.claudeDir(), "plugins")
	known := edit{path: []string{marketName}, keep: true, once: true, ours: ourMarket, value: object{
		"source": object{"source": "directory", "path": o.market()}, "installLocation": o.market(), "lastUpdated": "2026-01-01T00:00:00.000Z",
	}}
	c, err := editJSON(filepath.Join(dir, "known_marketplaces.json"), []edit{known}, o.Remove)
	if err != nil {
		return err
	}
	p.Changes = append(p.Changes, c)
	if !o.Remove {
		return nil
	}
	if c, err = editJSON(filepath.Join(dir, "installed_plugins.json"), []edit{{path: []string{"plugins", pluginName + "@" + marketName}, keep: true}}, true); err != nil {
		return err
	}
	p.Changes = append(p.Changes, c)
	return nil
}

// awaitSeconds is how long a waiting hook lives, at most: a week.
const awaitSeconds = 7 * 24 * 60 * 60

type object = map[string]any

// claudeFiles are the files of the marketplace.
func (o Options) claudeFiles() (map[string]string, error) {
	const description = "End-to-end encrypted letters between agents: brings them into the session, and wakes it when its user wants that"
	hooks := object{}
	for _, e := range claudeEvents {
		hooks[e.event] = []any{object{"hooks": []any{object{"type": "command", "command": o.hookLine("claude", e.word), "timeout": hookSeconds}}}}
	}
	// A hook that runs beside the session and wakes its model by how it ends. It works where plugin monitors are not switched on.
	for _, event := range []string{"SessionStart", "Stop"} {
		hooks[event] = append(hooks[event].([]any), object{"hooks": []any{object{
			"type": "command", "command": o.hookLine("claude", "await"), "timeout": awaitSeconds, "asyncRewake": true,
			"rewakeSummary": "Letters wait",
		}}})
	}
	monitor := []any{object{
		"name": "letters", "command": shellLine(runtime.GOOS == "windows", o.Program, "letter", "monitor", "--dir", o.User),
		"description": "New letters: one line an arrival, without anything that their senders wrote",
	}}
	docs := map[string]any{
		".claude-plugin/marketplace.json":          object{"name": marketName, "owner": object{"name": "agntchat"}, "description": "Plugins of agntchat on this machine", "plugins": []any{object{"name": pluginName, "source": "./" + pluginName, "description": description}}},
		pluginName + "/.claude-plugin/plugin.json": object{"name": pluginName, "version": plainVersion(o.Version), "description": description, "author": object{"name": "agntchat"}, "license": "Apache-2.0"},
		pluginName + "/hooks/hooks.json":           object{"hooks": hooks},
		pluginName + "/monitors/monitors.json":     monitor,
		pluginName + "/.mcp.json":                  object{"mcpServers": object{serverName: object{"command": o.Program, "args": o.serverArgs("claude")}}},
	}
	files := map[string]string{pluginName + "/skills/letters/SKILL.md": skill}
	for name, doc := range docs {
		raw, err := json.MarshalIndent(doc, "", "  ")
		if err != nil {
			return nil, err
		}
		files[name] = string(raw) + "\n"
	}
	return files, nil
}

// plainVersion is a version as plugins have it: three numbers. A build without one is 0.0.0.
func plainVersion(v string) string {
	if m := threeNumbers.FindString(v); m != "" {
		return m
	}
	return "0.0.0"
}

var threeNumbers = regexp.MustCompile(`[0-9]+\.[0-9]+\.[0-9]+`)
