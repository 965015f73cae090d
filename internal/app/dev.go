package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agntchat/agntchat/internal/config"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg/pgembed"
	"github.com/agntchat/agntchat/internal/secret"
)

// startLinkLife is how long the printed address signs in.
const startLinkLife = 24 * time.Hour

const demoGreeting = "Hello. I am **Demo**, a script and not a model, and I run as a bridge on this machine like any other agent.\n\n" +
	"Write `help` to see what I can show you: streaming, Markdown, code, a slow answer you can stop, a failure that says why. " +
	"When you want a real agent, make one under *Agents*.\n\n你好，我是演示脚本，不是模型。发送“帮助”看看我能展示什么。"

// dev runs everything on this machine: Postgres in the data folder, migrations,
// server, first account and demo agent.
func (p Program) dev(ctx context.Context, args []string) error {
	fset := p.flags("dev")
	addr := fset.String("addr", "", "")
	dir := fset.String("data-dir", ".data", "")
	demo := fset.Bool("demo", true, "")
	if err := p.parse(fset, args); err != nil {
		return err
	}
	cfg, log, err := p.load()
	if err != nil {
		return err
	}
	if *addr != "" {
		cfg.Addr = *addr
	}
	if *dir, err = filepath.Abs(*dir); err != nil {
		return err
	}
	if err := os.MkdirAll(*dir, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	if cfg.SecretKey == "" {
		if cfg.SecretKey, err = keptSecret(filepath.Join(*dir, "secret.key")); err != nil {
			return err
		}
	}
	if cfg.PublicURL == "" {
		cfg.PublicURL = localURL(cfg.Addr)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Addr) // an occupied port is told before anything is started
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", cfg.Addr, err)
	}
	if strings.HasSuffix(cfg.Addr, ":0") {
		cfg.PublicURL = localURL(listener.Addr().String())
	}
	_ = listener.Close()
	if strings.HasSuffix(cfg.Addr, ":0") {
		cfg.Addr = listener.Addr().String()
	}

	if cfg.FilesDir == "" {
		cfg.FilesDir = filepath.Join(*dir, "files")
	}
	p.optionalMetrics(ctx, &cfg, log)
	// Postgres outlives the server's own stop: it is ended last.
	stopPostgres, err := ownDatabase(ctx, *dir, &cfg, log)
	if err != nil {
		return err
	}
	defer stopPostgres()

	local := &LocalAgents{Dir: *dir, Agnt: agntProgram(), Environ: childEnviron(p.Environ), Log: log}
	a, err := New(ctx, Options{Config: cfg, Log: log, Version: p.Version, Local: local, Strict: true})
	if err != nil {
		return err
	}
	runCtx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- a.Run(runCtx) }()
	select {
	case err := <-done:
		return err
	case <-a.Ready():
	}
	err = p.welcome(ctx, a, local, cfg, *demo)
	if err != nil {
		stop()
	} else {
		go p.moreLinks(runCtx, a, cfg)
	}
	return errors.Join(err, <-done)
}

// optionalMetrics turns metrics off when nobody asked for their port and it is
// taken: another server on this machine may have it.
func (p Program) optionalMetrics(ctx context.Context, cfg *config.Config, log *slog.Logger) {
	if slices.ContainsFunc(p.Environ, func(kv string) bool { return strings.HasPrefix(kv, "AGNTCHAT_METRICS_ADDR=") }) {
		return
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.MetricsAddr)
	if err == nil {
		_ = l.Close()
		return
	}
	log.WarnContext(ctx, "no metrics: the address is taken", slog.String("addr", cfg.MetricsAddr))
	cfg.MetricsAddr = "off"
}

// startPostgres runs Postgres in the data folder and makes cfg name it.
func startPostgres(ctx context.Context, dir string, cfg *config.Config, log *slog.Logger) (stop func(), err error) {
	server, err := pgembed.Start(context.WithoutCancel(ctx), pgembed.Options{DataDir: dir, BinDir: cfg.PGBinDir, Logger: log})
	if err != nil {
		return nil, err
	}
	cfg.DatabaseURL, cfg.DatabaseDirectURL = server.URL(), server.URL()
	return func() {
		sctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if err := server.Stop(sctx); err != nil {
			log.WarnContext(sctx, "postgres did not stop cleanly", slog.Any("error", err))
		}
	}, nil
}

// moreLinks prints another start link for each line typed: a link signs in one
// browser. Nobody waits for it, since a read of a terminal cannot be ended.
func (p Program) moreLinks(ctx context.Context, a *App, cfg config.Config) {
	if p.Stdin == nil {
		return
	}
	for lines := bufio.NewScanner(p.Stdin); lines.Scan() && ctx.Err() == nil; {
		link, err := p.link(ctx, a, cfg)
		if err != nil {
			fmt.Fprintf(p.Stderr, "no link: %v\n", err)
			continue
		}
		fmt.Fprint(p.Stdout, link)
	}
}

// welcome makes the first account and the demo agent, starts local bridges and
// prints where to go.
func (p Program) welcome(ctx context.Context, a *App, local *LocalAgents, cfg config.Config, demo bool) error {
	if err := local.Start(cfg.PublicURL); err != nil {
		return err
	}
	if demo {
		owner, first, err := a.Identity.FirstAccount(ctx, "you@localhost", ownName())
		if err != nil {
			return fmt.Errorf("first account: %w", err)
		}
		if first {
			if err := a.greet(ctx, owner.ID, local); err != nil {
				return fmt.Errorf("demo agent: %w", err)
			}
		}
	}
	link, err := p.link(ctx, a, cfg) // before others are told that they may sign up
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "ready %s\n%s", cfg.PublicURL, link)
	return nil
}

// ownName is what the first account is called until its person says otherwise: as this
// machine calls who runs it. Agents and other people read it.
func ownName() string {
	u, err := user.Current()
	if err != nil || u.Username == "root" || u.Uid == "0" {
		return "Owner"
	}
	for _, name := range []string{u.Name, u.Username} { // u.Name is the full name, where one is kept
		if name = strings.TrimSpace(name); name != "" && len(name) <= 60 {
			return name
		}
	}
	return "Owner"
}

// link says the address that signs the first administrator in, once; it is empty while
// there is no account: the plain address opens the sign-up page.
func (p Program) link(ctx context.Context, a *App, cfg config.Config) (string, error) {
	admin, err := a.Identity.OldestAdmin(ctx)
	if err != nil {
		return "", nil //nolint:nilerr // no account yet
	}
	code, err := a.Identity.MakeOneTimeCode(ctx, admin.ID, startLinkLife)
	if err != nil {
		return "", err
	}
	hint := "Ctrl-C stops everything"
	if p.Stdin != nil {
		hint = "Enter prints a link for another browser; " + hint
	}
	return fmt.Sprintf("\n  Open %s/login#token=%s\n  (signs you in; %s)\n\n", cfg.PublicURL, code, hint), nil
}

// greet makes the demo agent, its room with the first person, and its first words.
func (a *App) greet(ctx context.Context, owner id.Participant, local *LocalAgents) error {
	person, err := a.Identity.ActorOf(ctx, owner)
	if err != nil {
		return err
	}
	agentID, err := local.AddDemo(ctx, person)
	if err != nil {
		return err
	}
	conv, _, err := a.Chat.CreateConversation(ctx, person, flow.NewConversation{Type: "direct", MemberIDs: []id.Participant{agentID}})
	if err != nil {
		return err
	}
	agent, err := a.Identity.ActorOf(ctx, agentID)
	if err != nil {
		return err
	}
	_, err = a.Chat.Post(ctx, agent, flow.Post{ConversationID: conv.ID, Content: demoGreeting})
	return err
}

// keptSecret reads the master key, or makes it once. It appears under its name whole or
// not at all: a start that is cut off, or a second one at the same moment, must not leave
// a key that nobody can use, or two.
func keptSecret(path string) (string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := placeSecret(path, secret.Generate()); err != nil {
			return "", fmt.Errorf("secret key: %w", err)
		}
		b, err = os.ReadFile(path)
	}
	if err != nil {
		return "", fmt.Errorf("secret key: %w", err)
	}
	key := strings.TrimSpace(string(b))
	if _, err := secret.ParseRing(key); err != nil {
		return "", fmt.Errorf("%s is damaged (%w). Put it back from a backup. Without one remove it: a new one is made, and agents' keys and stored model keys have to be given anew", path, err)
	}
	return key, nil
}

// placeSecret writes a file under another name and gives it its own, unless somebody did
// so first.
func placeSecret(path, key string) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.WriteString(key + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return os.Rename(f.Name(), path) // a file system without links
}

func localURL(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "http://" + addr
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// agntProgram is the agent-side program: beside our own, else in PATH.
func agntProgram() string {
	if self, err := os.Executable(); err == nil {
		if beside := filepath.Join(filepath.Dir(self), "agnt"); isProgram(beside) {
			return beside
		}
	}
	if p, err := exec.LookPath("agnt"); err == nil {
		return p
	}
	return "agnt"
}

func isProgram(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

// childEnviron leaves out what only the server may know.
func childEnviron(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return strings.HasPrefix(name, "DATABASE_") || strings.HasPrefix(name, "AGNTCHAT_") || strings.HasPrefix(name, "AGENT_") || strings.HasPrefix(name, "PG")
	})
}
