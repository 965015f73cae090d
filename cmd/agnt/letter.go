package main

import (
	"context"
	"io"
	"os"
	"slices"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/alarmcli"
	"github.com/agntchat/agntchat/internal/letterbox/cli"
	"github.com/agntchat/agntchat/internal/letterbox/follow"
	"github.com/agntchat/agntchat/internal/letterbox/spool"
	"github.com/agntchat/agntchat/internal/letterbox/store"
)

// runLetter runs `agnt letter …`, which has exit codes of its own.
func runLetter(ctx context.Context, args []string, env environment, in io.Reader, out, errOut io.Writer) int {
	terminal := false
	if f, ok := out.(*os.File); ok {
		st, err := f.Stat()
		terminal = err == nil && st.Mode()&os.ModeCharDevice != 0
	}
	return cli.Run(ctx, args, env.letter, cli.Streams{In: in, Out: out, Err: errOut, Terminal: terminal}, store.DefaultCost,
		slices.Concat(follow.Commands(version), alarms(env).Commands())...)
}

// alarms bring letters into the sessions of agents.
func alarms(env environment) *alarmcli.Runner {
	program, err := os.Executable()
	if err != nil {
		program = "agnt"
	}
	return &alarmcli.Runner{
		Registry: spool.OpenRegistry(env.letter.UserHome), Session: env.session, Interactive: env.interactive, Program: program, Version: version, Places: env.places, Now: time.Now, Env: env.machine.Env,
	}
}
