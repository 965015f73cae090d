// Package cli is `agnt letter …`: the commands, flags, output and exit codes of contract letters section 3, so that what was
// written for retalk runs with it. Data goes to stdout, one JSON object or bare id a line; everything for people goes to
// stderr. It decides nothing about letters: that is package post.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/agntchat/agntchat/internal/letterbox/post"
	"github.com/agntchat/agntchat/internal/letterbox/store"
	"github.com/agntchat/agntchat/internal/wire/letter"
)

// Exit codes (contract letters section 3).
const (
	exitOK      = 0
	exitSerious = 1 // a false key while letters go or come, a damaged store
	exitFailed  = 2 // wrong usage, a refusal, a relay that fails or cannot be reached
)

// Env is what the commands take from the environment. Fields are named for their variables, RETALK_HOME and so on.
type Env struct {
	Home           string // RETALK_HOME; empty for UserHome/.retalk
	User           string
	Dir            string // folder of the identity, where none is named otherwise: what agent-talk's server of tools is told it by
	WatchPeer      string // whose letters the server of tools tells its host of
	Relay          string
	APIKey         string
	Passphrase     string
	PassphraseFile string
	SaveMessage    string
	UserAgent      string
	UserHome       string // home folder of the person
	Login          string // the person's login name
	Session        string // of the agent's program that runs the command; empty for none
}

// Streams are the three of a process.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	Terminal bool // Out is one
}

// Command is one word after `agnt letter`.
type Command struct {
	Name    string
	Summary string // for the list of commands
	Usage   string // what follows the name, for example "TEXT --peer PEER"
	Help    string // sentences below the usage
	Flags   []Flag // beside the common ones
	Bare    bool   // takes no common flags
	Max     int    // how many positionals it takes
	Words   []string
	Hidden  bool // run by our own programs: neither help nor completion names it
	Run     func(*Call, context.Context) error
}

// Call is one run of a command.
type Call struct {
	Streams
	Args
	Env  Env
	Cost store.Cost // of the keys of new stores

	commands []Command
	command  Command
}

// usageError is wrong usage: exit code 2, with a hint to the help.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// errQuiet is an exit code 2 whose reason was printed already.
var errQuiet = errors.New("already said")

// Run runs one command and gives its exit code. more are commands of other packages. cost is what guessing the passphrase of a
// new store costs, store.DefaultCost outside tests.
func Run(ctx context.Context, args []string, env Env, s Streams, cost store.Cost, more ...Command) int {
	commands := append(table(), more...)
	if len(args) == 0 {
		_, _ = fmt.Fprint(s.Err, overview(commands))
		return exitFailed
	}
	if args[0] == "help" && len(args) > 1 {
		args = []string{args[1], "--help"}
	}
	if args = commandFirst(args); args[0] == "--help" || args[0] == "-h" || args[0] == "help" {
		_, _ = fmt.Fprint(s.Out, overview(commands))
		return exitOK
	}
	cmd, ok := find(commands, args[0])
	if !ok {
		return report(s.Err, unknown(commands, args[0]))
	}
	flags := cmd.Flags
	if !cmd.Bare {
		flags = append(flags[:len(flags):len(flags)], common...)
	}
	parsed, err := parse(append(flags[:len(flags):len(flags)], everywhere...), cmd.Max, args[1:])
	if err != nil {
		return report(s.Err, fmt.Errorf("%w; see `agnt letter %s --help`", err, cmd.Name))
	}
	if parsed.Has("--help") {
		_, _ = fmt.Fprint(s.Out, help(cmd))
		return exitOK
	}
	return report(s.Err, cmd.Run(&Call{Streams: s, Args: parsed, Env: env, Cost: cost, commands: commands, command: cmd}, ctx))
}

// commandFirst puts the command before the common flags that stand before it. Without a command it gives the flag for the help, or
// what is wrong.
func commandFirst(args []string) []string {
	flags := slices.Concat(common, everywhere)
	for i := 0; i < len(args); i++ {
		if !looksLikeFlag(args[i]) {
			return slices.Concat(args[i:i+1], args[:i], args[i+1:])
		}
		f, _, attached, err := match(flags, args[i])
		if err != nil || f.Names[0] == "--help" {
			return args[i:]
		}
		if f.Value != "" && !attached {
			i++
		}
	}
	return args
}

// unknown is the error of a word that is no command. One that is almost a command is taken for a slip.
func unknown(commands []Command, word string) error {
	if looksLikeFlag(word) {
		return usagef("a command is missing; `agnt letter --help` lists them")
	}
	for _, c := range commands {
		if !c.Hidden && slip(word, c.Name) {
			return usagef("unknown command '%s'; did you mean `agnt letter %s`?", post.Printable(word, 40), c.Name)
		}
	}
	return usagef("unknown command '%s'; `agnt letter --help` lists them", post.Printable(word, 40))
}

// slip says whether a word is a name with one character too many, too few or another one, or with two exchanged.
func slip(word, name string) bool {
	n := 0
	for n < len(word) && n < len(name) && word[n] == name[n] {
		n++
	}
	a, b := word[n:], name[n:] // from where they differ
	switch len(a) - len(b) {
	case 1:
		return a[1:] == b
	case -1:
		return a == b[1:]
	case 0:
		return len(a) > 0 && (a[1:] == b[1:] || len(a) > 1 && a[0] == b[1] && a[1] == b[0] && a[2:] == b[2:])
	}
	return false
}

func find(commands []Command, name string) (Command, bool) {
	for _, c := range commands {
		if c.Name == name {
			return c, true
		}
	}
	return Command{}, false
}

// report prints an error and gives its exit code.
func report(w io.Writer, err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errQuiet):
		return exitFailed
	}
	_, _ = fmt.Fprintf(w, "[retalk] %s\n", strings.TrimSpace(err.Error()))
	if strings.Contains(err.Error(), letter.TextStale) {
		_, _ = fmt.Fprintf(w, "[retalk] the clock of this machine and the relay's differ by more than %d seconds\n", letter.ClockWindow)
	}
	if _, ok := errors.AsType[seriousError](err); ok || errors.Is(err, store.ErrDamaged) {
		return exitSerious
	}
	return exitFailed
}

// seriousError is one that ends with exit code 1.
type seriousError struct{ error }

func (e seriousError) Unwrap() error { return e.error }

// serious marks a false key as what stops letters (contract letters 2.8): exit code 1 instead of 2.
func serious(err error) error {
	if errors.Is(err, post.ErrPinMismatch) {
		return seriousError{err}
	}
	return err
}

// say prints a line for people.
func (c *Call) say(format string, args ...any) { _, _ = fmt.Fprintf(c.Err, format+"\n", args...) }

// none tells a person at a terminal why nothing is printed, and what would change that.
func (c *Call) none(count int, why string) {
	if count == 0 && c.Terminal && !c.Has("--json") {
		c.say("%s", why)
	}
}

// line prints a line of data. It is written at once and whole.
func (c *Call) line(b []byte) error {
	_, err := c.Out.Write(append(b, '\n'))
	return err
}

// done tells programs, when --json asks for it, what was done to what.
func (c *Call) done(name, value, did string) error {
	if !c.Has("--json") {
		return nil
	}
	return c.line(post.Object{}.Add(name, value).Add(did, true).Bytes())
}

func (c *Call) printf(format string, args ...any) error {
	return c.line(fmt.Appendf(nil, format, args...))
}

func (c *Call) log() *slog.Logger {
	return slog.New(slog.NewTextHandler(c.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
}
