// Command agntchat is the server: serve, dev, relay, migrate and admin.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"golang.org/x/term"

	"github.com/agntchat/agntchat/internal/app"
)

// version is stamped by the build.
var version = ""

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the process at once
	}()
	p := app.Program{Args: os.Args[1:], Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr, Version: stamped()}
	if term.IsTerminal(int(os.Stdin.Fd())) {
		p.Stdin = os.Stdin
	}
	err := app.Main(ctx, p)
	if err == nil {
		return
	}
	var usage *app.UsageError
	if errors.As(err, &usage) {
		fmt.Fprintln(os.Stderr, usage.Error())
		os.Exit(2)
	}
	fmt.Fprintln(os.Stderr, "agntchat:", err)
	os.Exit(1)
}

func stamped() string {
	if version != "" {
		return version
	}
	if bi, ok := debug.ReadBuildInfo(); ok && bi.Main.Version != "" {
		return bi.Main.Version
	}
	return "dev"
}
