package app

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/agntchat/agntchat/internal/config"
	"github.com/agntchat/agntchat/internal/obs"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/secret"
)

// Program is one run of the command line program.
type Program struct {
	Args    []string
	Environ []string
	Stdin   io.Reader // a terminal where `dev` is asked for more start links; nil when nobody types
	Stdout  io.Writer
	Stderr  io.Writer
	Version string
}

// UsageError is a wrong command line: exit code 2.
type UsageError struct{ text string }

// Error is the text to print.
func (e *UsageError) Error() string { return e.text }

const usage = `agntchat is a chat server for people and AI agents.

  agntchat serve                 run the server; configuration from the environment
  agntchat dev [flags]           run everything on this machine, Postgres included
      --addr HOST:PORT           where to listen (127.0.0.1:4000)
      --data-dir DIR             where everything is kept (.data)
      --demo=false               start with no account and no agent
  agntchat relay [flags]         run a relay of encrypted letters alone (docs/relay.md)
      --addr HOST:PORT           where to listen (127.0.0.1:8766)
      --data-dir DIR             where letters are kept until they are collected (.relay)
      --audience URL,…           the addresses by which clients know it (http://<addr>)
  agntchat migrate up|status     apply migrations, or tell where they are
      --direct                   vouch that DATABASE_URL is a direct address
  agntchat admin new-secret-key  print a new key for AGNTCHAT_SECRET_KEY
  agntchat version

The environment variables are listed in docs/configuration.md.`

// Main runs one command and returns when it has ended; ctx's end means stop.
func Main(ctx context.Context, p Program) error {
	err := p.run(ctx)
	if errors.Is(err, flag.ErrHelp) {
		_, err = fmt.Fprintln(p.Stdout, usage)
	}
	return err
}

func (p Program) run(ctx context.Context) error {
	if len(p.Args) == 0 {
		return &UsageError{usage}
	}
	cmd, args := p.Args[0], p.Args[1:]
	switch cmd {
	case "help", "-h", "--help":
		return flag.ErrHelp
	case "version", "--version":
		_, err := fmt.Fprintln(p.Stdout, p.Version)
		return err
	case "serve":
		return p.serve(ctx, args)
	case "dev":
		return p.dev(ctx, args)
	case "relay":
		return p.relay(ctx, args)
	case "migrate":
		return p.migrate(ctx, args)
	case "admin":
		if len(args) == 1 && args[0] == "new-secret-key" {
			_, err := fmt.Fprintln(p.Stdout, secret.Generate())
			return err
		}
		return &UsageError{"agntchat admin: say what: agntchat admin new-secret-key"}
	}
	return &UsageError{fmt.Sprintf("agntchat: no such command: %s\n\n%s", strings.Join(p.Args, " "), usage)}
}

func (p Program) flags(name string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	return fs
}

// parse reads flags; extra words and unknown flags are usage errors.
func (p Program) parse(fs *flag.FlagSet, args []string) error {
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return &UsageError{fmt.Sprintf("agntchat %s: %v\n\n%s", fs.Name(), err, usage)}
	}
	if fs.NArg() > 0 {
		return &UsageError{fmt.Sprintf("agntchat %s: unexpected %q\n\n%s", fs.Name(), fs.Arg(0), usage)}
	}
	return nil
}

func (p Program) load() (config.Config, *slog.Logger, error) {
	cfg, err := config.Load(p.Environ)
	if err != nil {
		return cfg, nil, err
	}
	return cfg, obs.NewLogger(p.Stderr, cfg.LogFormat, cfg.LogLevel), nil
}

// serve runs the server on an existing, migrated database. It never migrates.
func (p Program) serve(ctx context.Context, args []string) error {
	if err := p.parse(p.flags("serve"), args); err != nil {
		return err
	}
	cfg, log, err := p.load()
	if missing := cfg.Missing(); len(missing) > 0 {
		err = errors.Join(fmt.Errorf("the configuration is not complete. Set:\n  %s", strings.Join(missing, "\n  ")), err)
	}
	if err != nil {
		return err
	}
	if err := runAs(cfg.RunAs, cmp.Or(cfg.FilesDir, filesDir)); err != nil {
		return err
	}
	if err := keepsFiles(cmp.Or(cfg.FilesDir, filesDir)); err != nil {
		return err
	}
	log.InfoContext(ctx, "starting", slog.String("version", p.Version), slog.Any("config", cfg))
	a, err := New(ctx, Options{Config: cfg, Log: log, Version: p.Version})
	if err != nil {
		return err
	}
	return a.Run(ctx)
}

// keepsFiles makes the folder of files and tries it: better no start than uploads that fail.
func keepsFiles(folder string) error {
	err := os.MkdirAll(folder, 0o700)
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(folder, ".try-*"); err == nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("AGNTCHAT_FILES_DIR: files cannot be kept in %s: %w", folder, err)
	}
	return nil
}

func (p Program) migrate(ctx context.Context, args []string) error {
	var what string
	if len(args) > 0 {
		what = args[0]
	}
	switch what {
	case "up", "status":
	case "help", "-h", "--help":
		return flag.ErrHelp
	default:
		return &UsageError{"agntchat migrate: say what: agntchat migrate up, or agntchat migrate status"}
	}
	fs := p.flags("migrate")
	direct := fs.Bool("direct", false, "")
	if err := p.parse(fs, args[1:]); err != nil {
		return err
	}
	cfg, log, err := p.load()
	if err != nil {
		return err
	}
	url := cfg.DatabaseDirectURL
	if url == "" && *direct {
		url = cfg.DatabaseURL
	}
	switch {
	case url == "" && cfg.DatabaseURL == "":
		return errors.New("set DATABASE_DIRECT_URL to the database to migrate")
	case url == "" && what == "up":
		return errors.New("set DATABASE_DIRECT_URL to a direct address of the database, or say --direct if DATABASE_URL is one: migrations through a transaction-mode pooler break")
	case url == "":
		url = cfg.DatabaseURL
	}
	if what == "up" {
		if err := pg.Migrate(ctx, url, pg.MigrateConfig{Logger: log}); err != nil {
			return err
		}
	}
	return p.printStatus(ctx, url)
}

func (p Program) printStatus(ctx context.Context, url string) error {
	db, err := pg.Open(ctx, pg.Config{URL: url, MaxConns: 2})
	if err != nil {
		return err
	}
	defer db.Close()
	current, have, want, err := pg.SchemaCurrent(ctx, db)
	if err != nil {
		return err
	}
	word := "up to date"
	if !current {
		word = "migrations are missing: run `agntchat migrate up`"
	}
	_, err = fmt.Fprintf(p.Stdout, "schema %d of %d: %s\n", have, want, word)
	return err
}
