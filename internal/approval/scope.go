package approval

import (
	"encoding/json"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/publicsuffix"
)

// ScopeKind says by what a standing yes recognises an action (desktop 5.8).
type ScopeKind string

// The kinds. Every one but ScopeAny is bound to a tool and a facet of its input.
const (
	ScopeExec   ScopeKind = "exec"   // a program, or a program and its subcommand
	ScopeDir    ScopeKind = "dir"    // files below a folder
	ScopeHost   ScopeKind = "host"   // one host
	ScopeDomain ScopeKind = "domain" // a host and what is below it
	ScopeExact  ScopeKind = "exact"  // this very action
	ScopeAny    ScopeKind = "any"    // the tool, whatever its input
)

// Scope is what "always" would mean for an action. Facet is empty for exact.
type Scope struct {
	Kind  ScopeKind
	Facet string
}

// ScopeOf derives the scope of a call from its tool and canonical input. What
// cannot be recognised safely is exact: a pattern must never cover more than the
// person saw. So the one thing that a pattern looks at has to be the only one that
// says where the call goes.
func ScopeOf(tool string, input json.RawMessage) Scope {
	var in map[string]any
	if json.Unmarshal(input, &in) != nil {
		return Scope{Kind: ScopeExact}
	}
	switch {
	case slices.Contains(shellTools, tool):
		if p, ok := program(only(in, "command")); ok && within(in, shellInputs) {
			return Scope{ScopeExec, p}
		}
	case slices.Contains(fileTools, tool):
		if p, ok := folder(only(in, "file_path", "notebook_path", "path")); ok {
			return Scope{ScopeDir, p}
		}
	case in["url"] != nil:
		if h, ok := hostOf(only(in, "url", "host")); ok {
			return Scope{ScopeDomain, h}
		}
	case in["host"] != nil:
		if h, ok := plainHost(only(in, "url", "host")); ok {
			return Scope{ScopeHost, h}
		}
	}
	return Scope{Kind: ScopeExact}
}

// only is the text under the one of these keys that is there; "" when there are
// several, or it is no text: the tool and we could look at different ones.
func only(in map[string]any, keys ...string) string {
	var found []any
	for _, k := range keys {
		if v, ok := in[k]; ok {
			found = append(found, v)
		}
	}
	if len(found) != 1 {
		return ""
	}
	s, _ := found[0].(string)
	return s
}

// within reports that the input has no other keys.
func within(in map[string]any, keys []string) bool {
	for k := range in {
		if !slices.Contains(keys, k) {
			return false
		}
	}
	return true
}

var (
	shellTools = []string{"Bash", "shell", "exec_command"}
	// shellInputs do not change what a command does. Others do: dangerouslyDisableSandbox.
	shellInputs = []string{"command", "description", "timeout", "run_in_background", "cwd"}
	// fileTools are the CLI's tools that touch one file.
	fileTools = []string{"Write", "Edit", "MultiEdit", "NotebookEdit", "Read"}
)

// plainPrograms are those that do what their name says, whatever their arguments
// are. A yes to any other program could be a yes to everything: interpreters, what
// runs other programs or what a project or a package says (npm install, make), what
// destroys (rm, cp), and whatever we do not know.
var plainPrograms = []string{
	"ls", "pwd", "cat", "head", "tail", "wc", "stat", "file", "du", "df", "date", "whoami", "id", "uname", "uptime", "ps", "free", "which", "echo", "basename", "dirname", "realpath", "readlink",
	"tree", "diff", "cmp", "comm", "sort", "uniq", "cut", "tr", "nl", "od", "strings", "cksum", "md5sum", "sha1sum", "sha256sum", "sha512sum", "grep", "egrep", "fgrep", "rg", "jq", "mkdir", "touch",
}

// subcommands are programs of which a yes covers one subcommand: those that run
// nothing but the program itself.
var subcommands = map[string][]string{
	"git":       {"add", "blame", "branch", "cat-file", "commit", "describe", "diff", "fetch", "log", "ls-files", "merge", "pull", "push", "remote", "rev-parse", "shortlog", "show", "stash", "status", "switch", "tag"},
	"go":        {"build", "doc", "fmt", "list", "mod", "version", "vet"},
	"gh":        {"issue", "pr", "release", "repo", "run", "search", "workflow"},
	"npm":       {"ls", "list", "outdated", "view", "why"},
	"pip":       {"check", "freeze", "list", "show"},
	"cargo":     {"metadata", "tree"},
	"systemctl": {"is-active", "list-units", "status"},
}

// nested are subcommands with subcommands of their own: gh pr view is not gh pr merge.
var nested = []string{"git remote", "git stash", "go mod", "gh issue", "gh pr", "gh release", "gh repo", "gh run", "gh search", "gh workflow"}

// program is the facet of a shell command: its program, the subcommand where it
// has one, and its options, for an option can change what a command does (git
// fetch --upload-pack=…). Only plain commands have a facet: nothing that chains,
// substitutes, redirects or sets, and only programs that we know.
func program(command string) (string, bool) {
	words, ok := plainWords(command)
	if !ok {
		return "", false
	}
	name, rest := words[0], words[1:]
	facet := []string{name}
	if subs, has := subcommands[name]; has {
		if len(rest) == 0 || !slices.Contains(subs, rest[0]) {
			return "", false
		}
		facet, rest = append(facet, rest[0]), rest[1:]
		if slices.Contains(nested, name+" "+facet[1]) && len(rest) > 0 {
			if !lowerWord(rest[0]) {
				return "", false
			}
			facet, rest = append(facet, rest[0]), rest[1:]
		}
	} else if !slices.Contains(plainPrograms, name) {
		return "", false
	}
	for n, w := range rest {
		if !strings.HasPrefix(w, "-") {
			continue
		}
		if n+1 < len(rest) && !strings.HasPrefix(rest[n+1], "-") && mayName(w) {
			return "", false
		}
		facet = append(facet, w)
	}
	return strings.Join(facet, " "), true
}

// mayName reports an option whose value, the word behind it, could be a program, a
// file to write or a setting: rg --pre, sort -o, go build -toolexec. The value is
// not in the facet, so there is none.
func mayName(option string) bool {
	long, is := strings.CutPrefix(option, "--")
	if !is {
		return strings.ContainsAny(option, "ceoxCIT")
	}
	for _, w := range []string{"exec", "program", "command", "cmd", "pre", "pager", "editor", "tool", "plugin", "hook", "wrapper", "pack", "output", "config", "file", "template"} {
		if strings.Contains(long, w) {
			return true
		}
	}
	return false
}

// plainWords splits a command that has no shell syntax at all. A shell parts words
// at blanks only, so what else looks like one is no plain command.
func plainWords(command string) ([]string, bool) {
	for _, r := range command {
		if r < 0x20 || r == 0x7f || (r != ' ' && !unicode.IsGraphic(r)) || (r > 0x7f && unicode.IsSpace(r)) || strings.ContainsRune("`$;&|<>(){}[]*?!#~\\\"'^%", r) {
			return nil, false
		}
	}
	words := strings.Fields(command)
	return words, len(words) > 0
}

func lowerWord(s string) bool {
	return s != "" && s[0] >= 'a' && s[0] <= 'z' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz-") == ""
}

// folder is the folder of an absolute path without dots; the root has no facet, and
// a path that some system parts at another sign neither.
func folder(file string) (string, bool) {
	if !strings.HasPrefix(file, "/") || path.Clean(file) != file || strings.ContainsAny(file, "\\\x00") {
		return "", false
	}
	dir := path.Dir(file)
	return dir, dir != "/"
}

// hostOf is the host of a web address. What is below a host belongs to whoever has
// it only where the host is not one that everybody gets a part of: com, github.io.
func hostOf(address string) (string, bool) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.User != nil {
		return "", false
	}
	h, ok := plainHost(u.Host)
	name, _, _ := strings.Cut(h, ":")
	if shared, _ := publicsuffix.PublicSuffix(name); shared == name {
		return "", false
	}
	return h, ok
}

// plainHost is a host name, with its port when it names one.
func plainHost(s string) (string, bool) {
	s = strings.TrimSuffix(strings.ToLower(s), ".")
	return s, strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789.-:[]") == "" && strings.Trim(s, ".-:[]") != ""
}

// covers reports that a standing yes of this scope includes a call. The tool and,
// for exact, the hash are compared by the caller.
func (s Scope) covers(tool string, input json.RawMessage) bool {
	if s.Kind == ScopeAny {
		return true
	}
	got := ScopeOf(tool, input)
	if got.Kind != s.Kind || s.Facet == "" {
		return false
	}
	switch s.Kind {
	case ScopeDir:
		return got.Facet == s.Facet || strings.HasPrefix(got.Facet, s.Facet+"/")
	case ScopeDomain:
		return got.Facet == s.Facet || strings.HasSuffix(got.Facet, "."+s.Facet)
	case ScopeExec, ScopeHost:
		return got.Facet == s.Facet
	default:
		return false
	}
}

// RiskOf classes a call of a CLI's own tool for people to see. It decides nothing.
func RiskOf(tool string, input json.RawMessage) Risk {
	switch tool {
	case "Read", "Glob", "Grep", "LS", "WebFetch", "WebSearch":
		return Low
	case "Write", "Edit", "MultiEdit", "NotebookEdit":
		return Medium
	}
	s := ScopeOf(tool, input)
	if s.Kind == ScopeExec || s.Kind == ScopeDomain || s.Kind == ScopeHost {
		return Medium
	}
	return High
}
