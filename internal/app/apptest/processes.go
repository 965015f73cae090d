package apptest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/pg/pgembed"
	"github.com/agntchat/agntchat/internal/secret"
)

// Processes is the shipped server and its Postgres as processes of their own,
// reached through relays that watch the traffic: a Trap springs at a named point
// inside it (decision 33). Code and settings are production's; durations are given.
type Processes struct {
	URL    string // of the server, through the watching relay; the same after a restart
	Direct string // of the server itself
	DB     *pg.DB // for assertions, past the relay
	Trap   *Trap
	Server *Child

	t   testing.TB
	dir string
	bin string
	env []string
	pg  *pgembed.Server

	killed    atomic.Int64 // the process that KillPostgres killed last
	pgOptions pgembed.Options
}

// Process starts Postgres, migrates it and starts the server; env is added to the
// server's environment.
func Process(t testing.TB, env ...string) *Processes {
	t.Helper()
	p := &Processes{t: t, bin: Programs(t), dir: DataDir(t), Trap: &Trap{}}
	var err error
	p.pgOptions = pgembed.Options{DataDir: p.dir, Logger: slog.New(NewLog(t, true))}
	if p.pg, err = pgembed.Start(t.Context(), p.pgOptions); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.pg.Stop(context.Background()) })
	direct, err := url.Parse(p.pg.URL())
	if err != nil {
		t.Fatal(err)
	}
	socket := pgembed.SocketPath(direct.Query().Get("host"))
	relayed := newRelay(t, "unix", socket, pgTaps(p.Trap))
	addr := FreeAddr(t)
	public := newRelay(t, "tcp", addr, httpTaps(p.Trap))
	p.URL, p.Direct = "http://"+public.addr(), "http://"+addr
	p.env = append([]string{
		"DATABASE_URL=postgres://" + direct.User.Username() + "@" + relayed.addr() + direct.Path + "?sslmode=disable", "DATABASE_DIRECT_URL=" + p.pg.URL(),
		"AGNTCHAT_ADDR=" + addr, "AGNTCHAT_METRICS_ADDR=off", "AGNTCHAT_PUBLIC_URL=" + p.URL, "AGNTCHAT_SECRET_KEY=" + secret.Generate(),
		"AGNTCHAT_PASSWORD_MEMORY_KIB=64", "AGNTCHAT_PASSWORD_PASSES=1",
	}, env...)
	migrate := Start(t, "agntchat migrate", p.dir, p.env, filepath.Join(p.bin, "agntchat"), "migrate", "up")
	ctx, cancel := context.WithTimeout(t.Context(), StartTimeout)
	defer cancel()
	if code, err := migrate.Wait(ctx); err != nil || code != 0 {
		t.Fatalf("migrate: exit code %d, %v\n%s", code, err, migrate.Output())
	}
	if p.DB, err = pg.Open(t.Context(), pg.Config{URL: p.pg.URL(), Link: pg.LinkDirect, MaxConns: 3, WaitTimeout: 2 * time.Second}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.DB.Close)
	if err := p.StartServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// DataDir is a new folder, on the RAM disk when there is one.
func DataDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "agntchat-app-")
	if err != nil {
		if dir, err = os.MkdirTemp("", "agntchat-app-"); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// FreeAddr is an address on loopback where nothing listens.
func FreeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// StartServer starts the server and waits until it is ready. While the database
// recovers the server refuses to start, as under any supervisor: it is started again.
func (p *Processes) StartServer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, StartTimeout)
	defer cancel()
	for {
		p.Server = Start(p.t, "agntchat serve", p.dir, p.env, filepath.Join(p.bin, "agntchat"), "serve")
		err := WaitReady(ctx, p.Direct, p.Server.Done())
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("server: %w\n%s", err, p.Server.Output())
		}
	}
}

// KillPostgres is kill -9 of Postgres's main process, of which all others end; it
// is started again by itself.
func (p *Processes) KillPostgres() {
	if pid := p.pg.PID(); pid > 0 {
		p.killed.Store(int64(pid))
		_ = syscall.Kill(pid, syscall.SIGKILL) // dead already is as good
	}
}

// WaitPostgres blocks until Postgres takes connections. Its supervision gives up
// when it is killed ten times within moments: then it is started anew.
func (p *Processes) WaitPostgres(ctx context.Context) error {
	for {
		select {
		case <-p.pg.Done():
			again, err := pgembed.Start(ctx, p.pgOptions)
			if err != nil {
				return err
			}
			p.pg = again
		default:
		}
		if pid := p.pg.PID(); pid == 0 || int64(pid) == p.killed.Load() {
			wait := time.NewTimer(10 * time.Millisecond) // its death is not noticed yet; old backends may still answer
			select {
			case <-wait.C:
				continue
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		var one int
		err := p.DB.QueryRow(ctx, `SELECT 1`).Scan(&one)
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

// Bridge starts `agnt bridge` with the scripted backend. Its state survives in a
// folder by executor key, as that of a restarted bridge does.
func (p *Processes) Bridge(agentID, key, executor string) *Child {
	return Start(p.t, "agnt bridge "+executor, p.dir, []string{"AGENT_API_KEY=" + key, "AGNT_HOME=" + filepath.Join(p.dir, "home-"+executor)},
		filepath.Join(p.bin, "agnt"), "bridge", "--url", p.URL, "--agent-id", agentID, "--backend", "scripted", "--executor-key", executor)
}

// ErrEnded says that what was waited for has ended instead.
var ErrEnded = errors.New("the process ended")

// WaitReady polls /readyz until it answers 200.
func WaitReady(ctx context.Context, base string, ended <-chan struct{}) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if code, _, err := Get(ctx, base+"/readyz"); err == nil && code == http.StatusOK {
			return nil
		}
		select {
		case <-tick.C:
		case <-ended:
			return ErrEnded
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w", base, ctx.Err())
		}
	}
}

// Get is one plain request on a connection of its own.
func Get(ctx context.Context, address string) (status int, body string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, "", fmt.Errorf("get: %w", err)
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", fmt.Errorf("get: %w", err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	return res.StatusCode, string(b), err
}
