package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/letterbox/cli"
)

// Flags of all commands may stand before the command; `help COMMAND` is its help; a slip of the keyboard is answered with the command
// that was meant.
func TestL2_CommandsAsPeopleTypeThem(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	for _, args := range [][]string{{"-u", "alice", "-np", "send", "one", "--peer", "bob"}, {"--json", "--user=alice", "send", "--peer", "bob", "two"}, {"-ualice", "send", "--peer", "bob", "--", "-u"}} {
		if r := w.run("alice", args...); r.code != 0 {
			t.Errorf("%q: %s", args, r.err)
		}
	}
	equal(t, "texts", texts(w.receive("bob", "alice")), []string{"one", "two", "-u"})
	equal(t, "help send", w.run("alice", "help", "send").out, w.run("alice", "send", "--help").out)
	equal(t, "-u alice --help", w.run("alice", "-u", "alice", "--help").out, w.run("alice", "help").out)
	for line, want := range map[string]string{
		"sned": "did you mean `agnt letter send`?", "sen": "`agnt letter send`", "sends": "`agnt letter send`", "histroy": "`agnt letter history`", "sxnd": "`agnt letter send`",
		"dispatch": "`agnt letter --help` lists them", "": "lists them", "-u alice": "a command is missing", "--bogus send": "a command is missing", "-u alice sned": "did you mean `agnt letter send`?",
	} {
		args := strings.Split(line, " ")
		if r := w.run("alice", args...); r.code != 2 || !strings.Contains(r.err, want) || r.out != "" {
			t.Errorf("%q: exit code %d, %s", line, r.code, r.err)
		}
	}
	contains(t, w.run("alice", "send", "--help").out, "--passphrase-path FILE\n"+strings.Repeat(" ", 35)+"file that holds")
}

// Adding an address again forgets its keys (contract letters 2.8), and says so.
func TestL2_AddingAgainTellsWhatIsForgotten(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	w.do("alice", "verify", "bob")
	r := w.do("alice", "add", w.ids["bob"], "--peer", "robert")
	contains(t, r.err, "added robert", "It was saved as bob before.", "forgotten now: agnt letter verify "+w.ids["bob"])
	equal(t, "stdout", r.out, "")
	r = w.do("alice", "add", w.ids["bob"], "--verify")
	if strings.Contains(r.err, "before") || strings.Contains(r.err, "forgotten") {
		t.Error(r.err)
	}
	contains(t, w.do("alice", "contacts").out, "robert\t"+w.ids["bob"]+"\tverified")
}

// An empty list says at a terminal why it is empty; what programs read stays empty.
func TestL2_EmptyListsSayWhyAtATerminal(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice")
	env := w.env("alice")
	env.User = "alice"
	for line, want := range map[string]string{
		"contacts": "agnt letter add", "group list": "agnt letter group create", "block --list": "Nobody", "invite list": "agnt letter invite new", "import --inbox --list": "shared",
		"outbox": "acknowledged", "history": "--save", "receive --all": "No new letters.",
	} {
		for terminal, want := range map[bool]string{true: want, false: ""} {
			var out, err bytes.Buffer
			code := cli.Run(t.Context(), strings.Split(line, " "), env, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &err, Terminal: terminal}, cheap)
			said := err.String()
			if _, after, found := strings.Cut(said, "using "); found {
				_, said, _ = strings.Cut(after, "\n")
			}
			if code != 0 || out.Len() > 0 || !strings.Contains(said, want) || want == "" && said != "" {
				t.Errorf("%s at a terminal %v: exit code %d, %q, %q", line, terminal, code, &out, &err)
			}
		}
	}
}

// What is told of a letter that did not go out says whether it is kept; a name that leads out of the folder of identities makes none.
func TestL2_WhatWentWrongIsSaid(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	r := w.want(2, "alice", "send", "--peer", "bob", "x", "-r", "http://127.0.0.1:1")
	contains(t, r.err, "[retalk] nothing was sent: the relay cannot be reached")
	equal(t, "outbox", w.outbox("alice"), []string(nil))
	for _, name := range []string{"../elsewhere", "a/b", "/tmp/x", "..", "."} {
		contains(t, w.want(2, name, "init", "-np").err, "no name for an identity")
	}
}
