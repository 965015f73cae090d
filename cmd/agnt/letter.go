package main

import (
	"context"
	"io"
	"os"

	"github.com/agntchat/agntchat/internal/letterbox/cli"
	"github.com/agntchat/agntchat/internal/letterbox/store"
)

// runLetter runs `agnt letter …`, which has exit codes of its own.
func runLetter(ctx context.Context, args []string, env environment, in io.Reader, out, errOut io.Writer) int {
	terminal := false
	if f, ok := out.(*os.File); ok {
		st, err := f.Stat()
		terminal = err == nil && st.Mode()&os.ModeCharDevice != 0
	}
	return cli.Run(ctx, args, env.letter, cli.Streams{In: in, Out: out, Err: errOut, Terminal: terminal}, store.DefaultCost)
}
