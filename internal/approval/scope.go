package approval

import (
	"encoding/json"
	"net/url"
	"path"
	"slices"
	"strings"
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
// person saw.
func ScopeOf(tool string, input json.RawMessage) Scope {
	var in map[string]any
	if json.Unmarshal(input, &in) != nil {
		return Scope{Kind: ScopeExact}
	}
	text := func(key string) string { s, _ := in[key].(string); return s }
	switch {
	case tool == "Bash" || tool == "shell" || tool == "exec_command":
		if p, ok := program(text("command")); ok {
			return Scope{ScopeExec, p}
		}
	case slices.Contains(fileTools, tool):
		for _, key := range []string{"file_path", "notebook_path", "path"} {
			if p, ok := folder(text(key)); ok {
				return Scope{ScopeDir, p}
			}
		}
	case text("url") != "":
		if h, ok := hostOf(text("url")); ok {
			return Scope{ScopeDomain, h}
		}
	case text("host") != "":
		if h, ok := plainHost(text("host")); ok {
			return Scope{ScopeHost, h}
		}
	}
	return Scope{Kind: ScopeExact}
}

// fileTools are the CLI's tools that touch one file.
var fileTools = []string{"Write", "Edit", "MultiEdit", "NotebookEdit", "Read"}

// runners run other programs, or whatever their arguments say: a yes to "python"
// would be a yes to everything.
var runners = []string{
	"sh", "bash", "zsh", "fish", "dash", "ksh", "csh", "tcsh", "pwsh", "powershell", "cmd", "env", "sudo", "doas", "su", "xargs", "eval", "exec", "source", ".", "command", "builtin",
	"nohup", "nice", "ionice", "timeout", "time", "watch", "setsid", "stdbuf", "script", "ssh", "scp", "rsync", "sshpass", "parallel", "find", "fd", "awk", "gawk", "sed", "perl", "python", "python3", "python2", "pypy",
	"ruby", "node", "nodejs", "deno", "bun", "php", "lua", "tclsh", "osascript", "rscript", "julia", "java", "make", "cmake", "just", "docker", "podman", "kubectl", "nsenter", "chroot", "unshare", "systemd-run",
	"curl", "wget", "nc", "ncat", "socat", "telnet", "vim", "vi", "nvim", "emacs", "ed", "ex", "less", "more", "man", "gdb", "strace", "ltrace", "busybox", "npx", "uvx", "pipx", "tee", "dd", "crontab", "at", "batch",
}

// destroyers end data for good; each call of theirs is looked at.
var destroyers = []string{"rm", "rmdir", "shred", "mkfs", "fdisk", "parted", "shutdown", "reboot", "halt", "poweroff", "kill", "pkill", "killall", "truncate", "chown", "chmod", "mv"}

// subcommands are programs of which a yes covers one subcommand. Others of their
// kind that run what a project says are in runners.
var subcommands = []string{"git", "go", "npm", "pnpm", "yarn", "cargo", "pip", "pip3", "uv", "brew", "apt", "apt-get", "gh", "systemctl", "terraform", "helm", "aws", "gcloud", "az", "fly", "bundle", "gem", "mix", "dotnet"}

// carriers are subcommands that run other programs.
var carriers = []string{
	"go run", "go generate", "go test", "go tool", "npm run", "npm exec", "npm x", "npm start", "npm test", "pnpm run", "pnpm exec", "pnpm dlx", "yarn run", "yarn exec", "yarn dlx", "cargo run", "cargo test",
	"uv run", "uv tool", "bundle exec", "gem exec", "mix run", "dotnet run", "git config", "git rebase", "git bisect", "git filter-branch", "git submodule", "gh extension", "gh api", "gh alias", "terraform console",
}

// program is the facet of a shell command: its program, the subcommand where it
// has one, and its options, for an option can change what a command does (git
// fetch --upload-pack=…). Only plain commands have a facet: nothing that chains,
// substitutes, redirects or sets, and no program that runs others.
func program(command string) (string, bool) {
	words, ok := plainWords(command)
	if !ok {
		return "", false
	}
	name, rest := words[0], words[1:]
	if strings.ContainsAny(name, "=/~") || slices.Contains(runners, name) || slices.Contains(destroyers, name) {
		return "", false
	}
	facet := []string{name}
	if slices.Contains(subcommands, name) {
		if len(rest) == 0 || !lowerWord(rest[0]) || slices.Contains(carriers, name+" "+rest[0]) {
			return "", false
		}
		facet, rest = append(facet, rest[0]), rest[1:]
	}
	for _, w := range rest {
		if strings.HasPrefix(w, "-") {
			facet = append(facet, w)
		}
	}
	return strings.Join(facet, " "), true
}

// plainWords splits a command that has no shell syntax at all.
func plainWords(command string) ([]string, bool) {
	for _, r := range command {
		if r < 0x20 || r == 0x7f || strings.ContainsRune("`$;&|<>(){}[]*?!#~\\\"'^%", r) {
			return nil, false
		}
	}
	words := strings.Fields(command)
	return words, len(words) > 0
}

func lowerWord(s string) bool {
	return s != "" && s[0] >= 'a' && s[0] <= 'z' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz-") == ""
}

// folder is the folder of an absolute path without dots; the root has no facet.
func folder(file string) (string, bool) {
	if !strings.HasPrefix(file, "/") || path.Clean(file) != file {
		return "", false
	}
	dir := path.Dir(file)
	return dir, dir != "/"
}

func hostOf(address string) (string, bool) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.User != nil {
		return "", false
	}
	return plainHost(u.Host)
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
