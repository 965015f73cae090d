package cli_test

import (
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/letterbox/cli"
)

// FuzzArgs: any command line is understood or refused, and never has more positionals than allowed.
func FuzzArgs(f *testing.F) {
	f.Add("text --peer bob -u alice")
	f.Add("--peer=bob -np -- -x")
	f.Add("-pu - -5 --=")
	f.Fuzz(func(t *testing.T, line string) {
		a, err := cli.Parse(strings.Split(line, " "))
		if err == nil && a.Count() > 1 && !a.Has("--help") {
			t.Fatalf("%q: %d positionals", line, a.Count())
		}
	})
}
