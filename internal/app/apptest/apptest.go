package apptest

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/app"
	"github.com/agntchat/agntchat/internal/config"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/pg/pgtest"
	"github.com/agntchat/agntchat/internal/secret"
)

// StartTimeout bounds a start and a stop on a busy machine.
const StartTimeout = 60 * time.Second

// Option changes the configuration of the server of New.
type Option func(*config.Config)

// Server is the real server inside the test's process. It is drained when the
// test ends; a drain that fails, and an error in its log, fail the test.
type Server struct {
	URL string // http://127.0.0.1:port, the same after Restart
	App *app.App
	DB  *pg.DB // for assertions; not the server's own pool
	Log *Log

	t    testing.TB
	opts app.Options
	stop context.CancelFunc
	done chan error
}

// New starts a server and waits until it is ready. Passwords are hashed cheaply
// and the sweep runs often; leases are long enough for a busy machine.
func New(t testing.TB, opts ...Option) *Server {
	t.Helper()
	db := pgtest.DB(t)
	defaults, err := config.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	set := config.Config{
		Addr: "127.0.0.1:0", MetricsAddr: "off", PublicURL: "http://127.0.0.1:4000",
		DatabaseURL: db.Config().URL, DatabaseDirectURL: db.Config().DirectURL, DatabaseMaxConns: 10,
		SecretKey: secret.Generate(), Signup: "open",
		MessageLease: 60 * time.Second, MessageMaxLease: 10 * time.Minute, TaskLease: 60 * time.Second, TaskMaxLease: 10 * time.Minute, ExecutorTimeout: 60 * time.Second, SweepInterval: 200 * time.Millisecond,
		DrainTimeout: 30 * time.Second, PresenceGrace: 200 * time.Millisecond,
		PasswordMemoryKiB: 64, PasswordPasses: 1, FilesDir: t.TempDir(), PostPerSecond: 1000, PostBurst: 5000, LogLevel: slog.LevelWarn,
		Relay: defaults.Relay,
	}
	for _, o := range opts {
		o(&set)
	}
	s := &Server{t: t, DB: db, Log: NewLog(t, false)}
	s.opts = app.Options{Config: set, Log: slog.New(s.Log), Version: "test", Strict: true}
	if err := s.start(t.Context()); err != nil {
		t.Fatalf("start the server: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("stop the server: %v", err)
		}
	})
	return s
}

func (s *Server) start(ctx context.Context) error {
	a, err := app.New(context.WithoutCancel(ctx), s.opts)
	if err != nil {
		return err
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- a.Run(run) }()
	timeout := time.NewTimer(StartTimeout)
	defer timeout.Stop()
	select {
	case <-a.Ready():
	case err := <-done:
		stop()
		return fmt.Errorf("ended before it was ready: %w", err)
	case <-timeout.C:
		stop()
		return fmt.Errorf("not ready after %s", StartTimeout)
	}
	s.App, s.stop, s.done = a, stop, done
	s.URL = "http://" + a.Addr()
	s.opts.Config.Addr = a.Addr()
	return nil
}

// Stop drains the server and waits until it has ended. Further calls do nothing.
func (s *Server) Stop() error {
	if s.stop == nil {
		return nil
	}
	s.stop()
	s.stop = nil
	timeout := time.NewTimer(StartTimeout)
	defer timeout.Stop()
	select {
	case err := <-s.done:
		return err
	case <-timeout.C:
		return fmt.Errorf("still running %s after the stop", StartTimeout)
	}
}

// Restart stops the server and starts it again on the same port and database.
func (s *Server) Restart(ctx context.Context) error {
	if err := s.Stop(); err != nil {
		return err
	}
	return s.start(ctx)
}

// Count is the number that a query gives.
func (s *Server) Count(t testing.TB, sql string, args ...any) int {
	t.Helper()
	var n int
	if err := s.DB.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatalf("count: %v", err)
	}
	return n
}
