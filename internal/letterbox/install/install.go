// Package install puts the pieces by which letters reach an agent's program into that program's folders, and takes them out again. It first makes
// a plan, which can be shown, and then carries it out. What others wrote stays byte for byte, where the format allows it.
package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Host is a program that runs agents.
type Host string

// The hosts.
const (
	Claude   Host = "claude"
	Codex    Host = "codex"
	Pi       Host = "pi"
	Opencode Host = "opencode"
	MCP      Host = "mcp" // any program that reads an mcpServers file
)

// Hosts are all hosts, in the order of the help.
var Hosts = []Host{Claude, Codex, Pi, Opencode, MCP}

// Options say what is to be put where.
type Options struct {
	Program string // absolute path of agnt
	User    string // absolute path of the user folder; empty to let each session's folder decide
	Secret  string // absolute path of the passphrase's file, for the tools that send; empty for none
	Version string // of agnt
	Remove  bool

	Home      string // home folder of the person
	ClaudeDir string // CLAUDE_CONFIG_DIR; empty for its default
	CodexDir  string // CODEX_HOME
	PiDir     string // PI_CODING_AGENT_DIR
	ConfigDir string // XDG_CONFIG_HOME
	DataDir   string // where own folders go; empty for Home/.agnt
	File      string // for MCP: the file to change
}

// Change is one file before and after. A nil text is a file that is not there.
type Change struct {
	File   string
	Before []byte
	After  []byte
	mode   fs.FileMode // of a file that is made
	own    bool        // a file that nobody else writes: its lines are not shown
}

// Plan is what is to be done for a host.
type Plan struct {
	Host    Host
	Changes []Change
	Next    []string // what the person has to do themselves, one sentence each
	dirs    []string // folders of ours; they go when they are empty
}

// Make plans the pieces of a host, or with Remove their removal. Nothing is changed. Errors: a file that cannot be read, or whose content would be lost.
func Make(h Host, o Options) (Plan, error) {
	if o.DataDir == "" {
		o.DataDir = filepath.Join(o.Home, ".agnt")
	}
	var p Plan
	var err error
	switch h {
	case Claude:
		p, err = o.claude()
	case Codex:
		p, err = o.codex()
	case Pi:
		p, err = o.pi()
	case Opencode:
		p, err = o.opencode()
	case MCP:
		p, err = o.mcp()
	default:
		err = fmt.Errorf("unknown host %q", h)
	}
	p.Host = h
	p.Changes = slices.DeleteFunc(p.Changes, func(c Change) bool {
		return (c.Before == nil) == (c.After == nil) && bytes.Equal(c.Before, c.After)
	})
	return p, err
}

// Show writes what a plan changes: of files that others write too each line, as diff does.
func (p Plan) Show(w io.Writer) error {
	var b bytes.Buffer
	for _, c := range p.Changes {
		if _, _ = fmt.Fprintf(&b, "%s %s", c.verb(), c.File); c.own {
			_, _ = fmt.Fprintf(&b, " (%d lines)\n", max(len(lines(string(c.Before))), len(lines(string(c.After)))))
			continue
		}
		b.WriteString("\n")
		for _, l := range diff(string(c.Before), string(c.After)) {
			b.WriteString("  " + l + "\n")
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// ShowJSON is [Plan.Show] for programs: one object a change, with the member lines where those are shown.
func (p Plan) ShowJSON(w io.Writer) error {
	for _, c := range p.Changes {
		line := struct {
			Change string   `json:"change"` // new, change or remove
			File   string   `json:"file"`
			Lines  []string `json:"lines,omitempty"`
		}{Change: c.verb(), File: c.File}
		if !c.own {
			line.Lines = diff(string(c.Before), string(c.After))
		}
		if err := json.NewEncoder(w).Encode(line); err != nil {
			return fmt.Errorf("show changes: %w", err)
		}
	}
	return nil
}

func (c Change) verb() string {
	switch {
	case c.Before == nil:
		return "new"
	case c.After == nil:
		return "remove"
	}
	return "change"
}

// Apply carries a plan out, file by file, each in one step. A file that changed since the plan was made ends it with an error; Apply may be repeated with a new plan.
func (p Plan) Apply() error {
	for _, c := range p.Changes {
		if err := c.apply(); err != nil {
			return err
		}
	}
	for _, dir := range p.dirs {
		prune(dir)
	}
	return nil
}

func (c Change) apply() error {
	now, err := read(c.File)
	if err != nil {
		return err
	}
	if (now == nil) != (c.Before == nil) || !bytes.Equal(now, c.Before) {
		return fmt.Errorf("%s was changed meanwhile; it was left as it is", c.File)
	}
	if c.After == nil {
		if err := os.Remove(c.File); err != nil {
			return fmt.Errorf("remove: %w", err)
		}
		return nil
	}
	return write(c.File, c.After, c.mode)
}

// read gives nil for a file that is not there.
func read(name string) ([]byte, error) {
	raw, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	if raw == nil {
		raw = []byte{}
	}
	return raw, nil
}

// write replaces a file in one step, with the mode that it had. A link is followed: people keep such files elsewhere.
func write(name string, raw []byte, mode fs.FileMode) error {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	if st, err := os.Stat(name); err == nil {
		mode = st.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".agnt-*")
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	_, err = f.Write(raw)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// prune removes a folder of ours and those in it, as far as they are empty.
func prune(root string) {
	var dirs []string
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return nil
	})
	for _, d := range slices.Backward(dirs) {
		_ = os.Remove(d) // fails for one that holds anything
	}
}

// own plans a folder whose files are all ours, by their names in it.
func own(root string, files map[string]string, remove bool) ([]Change, error) {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	var list []Change
	for _, name := range names {
		c := Change{File: filepath.Join(root, filepath.FromSlash(name)), mode: 0o600, own: true}
		var err error
		if c.Before, err = read(c.File); err != nil {
			return nil, err
		}
		if !remove {
			c.After = []byte(files[name])
		}
		list = append(list, c)
	}
	return list, nil
}

// diff gives the lines of two texts that differ, with "- " and "+ " before them. Equal lines between two differences are shown once more with two spaces when
// there are at most three of them, else as "…".
func diff(before, after string) []string {
	a, b := lines(before), lines(after)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	a, b = a[head:len(a)-tail], b[head:len(b)-tail]
	if len(a)*len(b) > 4_000_000 { // too long to compare: show both whole
		return append(marked("- ", a), marked("+ ", b)...)
	}
	// longest common subsequence, from the end
	n := make([][]int32, len(a)+1)
	for i := range n {
		n[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				n[i][j] = n[i+1][j+1] + 1
			} else {
				n[i][j] = max(n[i+1][j], n[i][j+1])
			}
		}
	}
	var out, same []string
	flush := func() {
		if len(same) > 3 {
			same = []string{"…"}
		} else {
			same = marked("  ", same)
		}
		out, same = append(out, same...), nil
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			same = append(same, a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && n[i+1][j] >= n[i][j+1]:
			flush()
			out = append(out, "- "+a[i])
			i++
		default:
			flush()
			out = append(out, "+ "+b[j])
			j++
		}
	}
	return out
}

func marked(mark string, list []string) []string {
	out := make([]string, len(list))
	for i, l := range list {
		out[i] = mark + l
	}
	return out
}

func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// shellLine quotes a command for the shell that runs hooks.
func shellLine(windows bool, command ...string) string {
	parts := make([]string, len(command))
	for i, c := range command {
		switch {
		case c != "" && strings.Trim(c, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@+") == "":
			parts[i] = c
		case windows:
			parts[i] = `"` + c + `"`
		default:
			parts[i] = "'" + strings.ReplaceAll(c, "'", `'\''`) + "'"
		}
	}
	return strings.Join(parts, " ")
}
