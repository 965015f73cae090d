// Command bench measures the shipped binary over its public socket and REST, and
// the claim statement, the jobs and Postgres below it. It asserts nothing about
// time: it prints one table of medians of interleaved rounds, with ratios to
// references of the same run and CPU per operation of the server alone.
//
//	make bench                              everything, under six minutes
//	go run ./bench -quick -only fanout      a first look at one section
//
// Sections: fanout, idle, claim, river, post, task, token, letters, directive, dispatch, start. It needs
// Linux, a built bin/agntchat (make bin) and Debian's postgresql; pgbouncer for the pooled line.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/agntchat/agntchat/bench/load"
)

func main() {
	if os.Getenv(roleLoad) != "" {
		if err := load.Main(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "load generator:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s  "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
}

// again says whether another round begins; the first always does.
func (h *house) again(round int) bool {
	if round > 0 && round < h.rounds && time.Since(h.begun) > h.budget {
		h.short = true
		return false
	}
	return round < h.rounds
}

func micros(d time.Duration, ops int64) float64 {
	if ops == 0 {
		return 0
	}
	return float64(d.Nanoseconds()) / 1000 / float64(ops)
}

func run(ctx context.Context, args []string) (err error) {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	only := fs.String("only", "fanout,idle,claim,river,post,task,token,letters,directive,dispatch,start", "sections, comma-separated")
	rounds := fs.Int("rounds", 3, "interleaved rounds")
	quick := fs.Bool("quick", false, "smaller and shorter, one round: to see that it works, not for figures")
	budget := fs.Duration("budget", 330*time.Second, "after this long no section begins another round")
	match := fs.String("match", "", "measure only the fan-out lines that this regular expression finds")
	profile := fs.String("profile", "", "write a CPU profile of the server during the fan-out's rounds to this file")
	binary := fs.String("binary", "bin/agntchat", "the program to measure")
	against := fs.String("against", "", "another build, measured in turns with ours on the lines of one room")
	if err := fs.Parse(args); err != nil {
		return err
	}
	lines, err := regexp.Compile(*match)
	if err != nil {
		return fmt.Errorf("-match: %w", err)
	}
	h := &house{quick: *quick, rounds: *rounds, table: newTable(), begun: time.Now(), budget: *budget, match: lines, profile: *profile}
	if h.quick {
		h.rounds = 1
	}
	if h.binary, err = filepath.Abs(*binary); err != nil {
		return err
	}
	if *against != "" {
		if h.rival, err = filepath.Abs(*against); err != nil {
			return err
		}
	}
	if _, err := os.Stat(h.binary); err != nil {
		return fmt.Errorf("build it first (make bin): %w", err)
	}
	sections := []struct {
		name string
		run  func(context.Context) error
	}{{"fanout", h.fanOut}, {"idle", h.idle}, {"claim", h.claims}, {"river", h.river}, {"post", h.posts}, {"task", h.tasks}, {"token", h.tokens}, {"letters", h.letters}, {"directive", h.directives}, {"dispatch", h.dispatch}, {"start", h.starts}}
	chosen := map[string]bool{}
	for name := range strings.SplitSeq(*only, ",") {
		chosen[name] = true
	}
	for _, s := range sections {
		delete(chosen, s.name)
	}
	for name := range chosen {
		return fmt.Errorf("no such section: %q", name)
	}
	if h.dir, err = os.MkdirTemp("", "agntchat-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(h.dir)) }()
	if err := os.Chmod(h.dir, 0o755); err != nil { // Postgres runs as somebody else when we are root
		return err
	}
	if err := h.open(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.postgres.Stop(context.WithoutCancel(ctx))) }()
	where := machine(h.version)
	if h.crowd, err = startCrowd(); err != nil {
		return err
	}
	defer h.crowd.stop()
	var failed error
	for _, s := range sections {
		if !strings.Contains(","+*only+",", ","+s.name+",") {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		progress("%s", s.name)
		if err := s.run(ctx); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", s.name, err))
		}
	}
	fmt.Printf("%s; medians of %d interleaved rounds", where, h.rounds)
	if h.short {
		fmt.Print(" (fewer where time ran out)")
	}
	if h.quick {
		fmt.Print("; QUICK: not for comparison")
	}
	fmt.Printf("; took %s, load %s at the end\n\n", time.Since(h.begun).Round(time.Second), load1())
	h.table.print(os.Stdout)
	return failed
}
