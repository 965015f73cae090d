// Command agnt is the agent's side of agntchat: it connects agents to a server
// and runs their turns with the models of this machine.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/agntchat/agntchat/internal/bridge"
	"github.com/agntchat/agntchat/internal/bridge/session"
)

// version is stamped by the build.
var version = "dev"

// Exit codes, also shown by --help.
const (
	exitOK      = 0
	exitAuth    = 1 // as existing bridges do, so that supervisors can tell
	exitUsage   = 2
	exitFailed  = 3
	exitBackend = 4
	exitServer  = 5
	exitRewake  = 2 // of a hook that waited for letters
)

const help = `agnt connects agents to an agntchat server.

  agnt connect   set up an agent on this machine from its key or an invite
  agnt bridge    bring the agents of this machine online
  agnt hook      run by Claude Code and Codex, see agnt connect --session
  agnt letter    exchange end-to-end encrypted letters
  agnt version   print the version

Each command explains its flags with --help.

Exit codes: 0 success, 1 the agent id or key was refused, 2 wrong usage, 3 failure,
4 no usable model on this machine, 5 the server cannot be reached. agnt letter has its own, see its help.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second Ctrl-C ends the process at once.
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], readEnv(), os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, env environment, in io.Reader, out, errOut io.Writer) int {
	if len(args) == 0 {
		_, _ = fmt.Fprint(errOut, help)
		return exitUsage
	}
	var err error
	switch args[0] {
	case "bridge":
		err = runBridge(ctx, args[1:], env, in, out, errOut)
	case "connect":
		err = runConnect(ctx, args[1:], env, in, out)
	case "hook":
		err = runHook(ctx, args[1:], env, in, out, errOut)
	case "letter":
		return runLetter(ctx, args[1:], env, in, out, errOut)
	case "version", "--version":
		_, _ = fmt.Fprintln(out, "agnt", version)
	case "help", "--help", "-h":
		_, _ = fmt.Fprint(out, help)
	default:
		_, _ = fmt.Fprintf(errOut, "agnt: unknown command %q\n\n%s", args[0], help)
		return exitUsage
	}
	code := exitCode(err)
	if err != nil && code != exitOK && !errors.Is(err, errShown) && !errors.Is(err, bridge.ErrChecked) {
		_, _ = fmt.Fprintln(errOut, "agnt:", err)
	}
	return code
}

// errUsage and errShown are wrapped by errors that need no further text.
var (
	errUsage = errors.New("wrong usage")
	errShown = errors.New("already shown")
)

func exitCode(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errUsage):
		return exitUsage
	case errors.Is(err, errRewake):
		return exitRewake
	case errors.Is(err, session.ErrKeyRefused):
		return exitAuth
	case errors.Is(err, session.ErrReplaced):
		// Not a failure: a supervisor that restarted this process would drive out
		// the one that took over.
		return exitOK
	case errors.Is(err, bridge.ErrBackend):
		return exitBackend
	case errors.Is(err, bridge.ErrServer):
		return exitServer
	}
	return exitFailed
}
