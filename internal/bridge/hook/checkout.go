package hook

import (
	"os"
	"path/filepath"
	"strings"
)

// checkout reads branch and repository ("org/name") of the git checkout around a
// folder from its files; empty when there is none. No program runs: a hook has
// little time, and the folder is not ours.
func checkout(dir string) (branch, repo string) {
	for at := dir; at != ""; {
		git := filepath.Join(at, ".git")
		if st, err := os.Stat(git); err == nil {
			if !st.IsDir() { // a worktree
				raw := small(git)
				git = strings.TrimSpace(strings.TrimPrefix(raw, "gitdir:"))
				if !filepath.IsAbs(git) {
					git = filepath.Join(at, git)
				}
			}
			head := strings.TrimSpace(small(filepath.Join(git, "HEAD")))
			branch, _ = strings.CutPrefix(head, "ref: refs/heads/")
			if branch == head {
				branch = "" // detached
			}
			common := git
			if rel := strings.TrimSpace(small(filepath.Join(git, "commondir"))); rel != "" {
				common = filepath.Join(git, rel)
			}
			return branch, origin(small(filepath.Join(common, "config")))
		}
		up := filepath.Dir(at)
		if up == at {
			break
		}
		at = up
	}
	return "", ""
}

// origin is org/name of the remote "origin" in a git configuration. Nothing else of
// the address is told: it may hold a password.
func origin(config string) string {
	inOrigin := false
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			inOrigin = line == `[remote "origin"]`
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !inOrigin || !ok || strings.TrimSpace(key) != "url" {
			continue
		}
		path := strings.TrimSuffix(strings.TrimRight(strings.TrimSpace(value), "/"), ".git")
		parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == ':' })
		if len(parts) < 2 || strings.Contains(parts[len(parts)-2], "@") {
			return ""
		}
		return parts[len(parts)-2] + "/" + parts[len(parts)-1]
	}
	return ""
}

// small reads a file of at most 256 KiB; anything else is empty.
func small(name string) string {
	if st, err := os.Stat(name); err != nil || !st.Mode().IsRegular() || st.Size() > 256<<10 {
		return ""
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(raw)
}
