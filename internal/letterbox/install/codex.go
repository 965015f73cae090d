package install

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// codexEvents are the hooks of Codex and the words that `agnt hook codex` knows them by (contract letters 5.2).
var codexEvents = []struct{ event, word, status string }{
	{"SessionStart", "session-start", "Looking for letters"},
	{"UserPromptSubmit", "user-prompt-submit", "Looking for letters"},
	{"PostToolUse", "post-tool-use", "Looking for letters"},
	{"Stop", "stop", "Looking for letters"},
}

// hookSeconds is after how long a host gives up a hook that hangs nevertheless.
const hookSeconds = 10

func (o Options) codexDir() string {
	if o.CodexDir != "" {
		return o.CodexDir
	}
	return filepath.Join(o.Home, ".codex")
}

// codex adds hooks and the server of tools to config.toml, between marks.
func (o Options) codex() (Plan, error) {
	c := Change{File: filepath.Join(o.codexDir(), "config.toml"), mode: 0o600}
	var err error
	if c.Before, err = read(c.File); err != nil {
		return Plan{}, err
	}
	var tables []string
	if !o.Remove {
		tables = o.codexTables()
	}
	text, err := setTables(string(c.Before), tables)
	if err != nil {
		return Plan{}, fmt.Errorf("%s: %w; it was left as it is", c.File, err)
	}
	if c.After = []byte(text); o.Remove && strings.TrimSpace(text) == "" && len(c.Before) > 0 {
		c.After = nil // there was nothing else in it
	}
	if c.Before == nil && text == "" {
		c.After = nil
	}
	p := Plan{Changes: []Change{c}}
	if !o.Remove {
		p.Next = []string{"Codex runs a hook only after you trusted it: start codex, type /hooks, and trust those of agnt letters. Do it again whenever this command changes them."}
	}
	return p, nil
}

func (o Options) codexTables() []string {
	list := []string{fmt.Sprintf("[mcp_servers.%s]\ncommand = %s\nargs = %s\n", serverName, tomlString(o.Program), tomlList(o.serverArgs("codex")))}
	for _, e := range codexEvents {
		list = append(list, fmt.Sprintf("[[hooks.%s]]\n[[hooks.%s.hooks]]\ntype = \"command\"\ncommand = %s\nasync = false\ntimeout = %d\nstatusMessage = %s\n",
			e.event, e.event, tomlString(o.hookLine("codex", e.word)), hookSeconds, tomlString(e.status)))
	}
	return list
}

// hookLine is the command of a hook.
func (o Options) hookLine(host, word string) string {
	return shellLine(runtime.GOOS == "windows", o.Program, "hook", host, word, "--dir", o.User)
}

// serverName is what the server of tools is called in a host's configuration.
const serverName = "agnt_letters"

// serverArgs start the server of tools.
func (o Options) serverArgs(host string) []string {
	args := []string{"letter", "mcp", "--dir", o.User, "--host", host}
	if o.Secret != "" {
		args = append(args, "--passphrase-file", o.Secret)
	}
	return args
}
