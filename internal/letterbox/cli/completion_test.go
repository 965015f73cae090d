package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The completion of bash knows commands, flags and words, and the names of contacts and groups where a flag wants one. Whoever named a
// contact: nothing of a name is run.
func TestL2_CompletionOffersNames(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	script := w.run("alice", "completion", "bash").out
	dir := t.TempDir()
	const agnt = `agnt() { [ "$2" = contacts ] && printf '%s\tx\n' bob "$(printf '%s' '$(touch${IFS}run)')" '` + "`touch run`" + `' 'a;b' 'two words' 李雷; [ "$2 $3" = 'group list' ] && printf 'team\tx\n'; true; }
compopt() { COMPREPLY+=("$*"); }
COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); _agnt_letter; printf '%s ' "${COMPREPLY[@]}"`
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{""}, "bridge connect letter version help "}, {[]string{"letter", "se"}, "send "}, {[]string{"letter", "send", "hi", "--gr"}, "--group "},
		{[]string{"letter", "invite", "n"}, "new "}, {[]string{"letter", "send", "--peer", ""}, "bob 李雷 "}, {[]string{"letter", "send", "--peer", "b"}, "bob "},
		{[]string{"letter", "send", "--group", ""}, "team "}, {[]string{"letter", "add", "--peer", ""}, " "}, {[]string{"letter", "padding", "on", "--peer", "b"}, "bob "},
		{[]string{"letter", "send", "--passphrase-file", ""}, "-o default "}, {[]string{"letter", "send", "--dir", ""}, "-o dirnames "},
	} {
		shell := exec.CommandContext(t.Context(), "bash", append([]string{"-c", script + agnt, "bash", "agnt"}, c.words...)...)
		shell.Dir, shell.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
		out, err := shell.CombinedOutput()
		if err != nil || string(out) != c.want {
			t.Errorf("%q: %q, want %q (%v)", c.words, out, c.want, err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Fatalf("a name was run: %v, %v", left, err)
	}
}
