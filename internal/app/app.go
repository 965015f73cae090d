// Package app builds the server out of its parts, runs it, and stops it in order.
// It is the only package that knows all of them.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/riverqueue/river"

	"github.com/agntchat/agntchat/internal/account"
	"github.com/agntchat/agntchat/internal/channel"
	"github.com/agntchat/agntchat/internal/config"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/jobs"
	"github.com/agntchat/agntchat/internal/limit"
	"github.com/agntchat/agntchat/internal/obs"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/realtime"
	"github.com/agntchat/agntchat/internal/realtime/presence"
	"github.com/agntchat/agntchat/internal/realtime/socket"
	"github.com/agntchat/agntchat/internal/realtime/stream"
	"github.com/agntchat/agntchat/internal/relay"
	"github.com/agntchat/agntchat/internal/secret"
	"github.com/agntchat/agntchat/internal/turn"
	"github.com/agntchat/agntchat/internal/worker"
)

// Options of an App.
type Options struct {
	Config  config.Config
	Log     *slog.Logger
	Version string
	Local   *LocalAgents // dev only
	Strict  bool         // misuse of transactions is an error
}

// App is the whole server.
type App struct {
	Identity  *flow.Identity
	Chat      *flow.Chat
	Gateway   *flow.Gateway
	Tasks     *flow.Tasks
	Approvals *flow.Approvals
	Tools     *flow.Tools
	Files     *flow.Files
	External  *flow.External
	Memories  *flow.Memories

	opts     Options
	log      *slog.Logger
	db       *pg.DB
	bus      *realtime.Bus
	sockets  *socket.Server
	streams  *stream.Streams
	people   *presence.Tracker
	jobs     *jobs.Client
	health   *obs.Health
	registry *prometheus.Registry
	router   chi.Router
	fileKeys [][]byte

	connections *flow.Connections
	river       *riverUI
	relay       *relay.Relay // nil: off
	local       *LocalAgents

	ready chan struct{}
	addr  string
}

// New opens the pool and builds everything; nothing listens and nothing runs
// before Run. The database must be migrated.
func New(ctx context.Context, o Options) (*App, error) {
	a := &App{opts: o, log: o.Log, health: &obs.Health{}, registry: obs.NewRegistry(), local: o.Local, ready: make(chan struct{})}
	ring, err := secret.ParseRing(o.Config.SecretKey)
	if err != nil {
		return nil, fmt.Errorf("AGNTCHAT_SECRET_KEY: %w", err)
	}
	a.db, err = pg.Open(ctx, pg.Config{
		URL: o.Config.DatabaseURL, DirectURL: o.Config.DatabaseDirectURL, MaxConns: o.Config.DatabaseMaxConns, Strict: o.Strict, Logger: o.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("DATABASE_URL: %w", err)
	}
	if err := a.build(ctx, ring); err != nil {
		a.db.Close()
		return nil, err
	}
	return a, nil
}

func (a *App) build(ctx context.Context, ring *secret.Ring) error {
	cfg, log := a.opts.Config, a.log
	inserter, err := jobs.NewInserter()
	if err != nil {
		return err
	}
	a.bus = realtime.NewBus(realtime.Config{Registerer: a.registry})
	a.streams = stream.New(a.bus, stream.Config{})
	rooms := channel.NewRooms()
	a.people = presence.New(presence.Config{Grace: cfg.PresenceGrace, OnChange: channel.PeopleChanged(context.WithoutCancel(ctx), a.db, a.bus, log)})

	hasher := account.NewHasher(cfg.PasswordMemoryKiB, cfg.PasswordPasses, 2)
	a.Identity = flow.NewIdentity(a.db, ring, hasher, flow.SignupMode(cfg.Signup), disconnecter{a}, log)
	a.Identity.Retire = func(ctx context.Context, tx *pg.Tx, agent id.Participant) error {
		return inserter.InsertTx(ctx, tx, turn.RetireArgs{AgentID: agent}, nil)
	}
	a.Chat = &flow.Chat{
		DB: a.db, Streams: a.streams, Posting: limit.New(cfg.PostPerSecond, cfg.PostBurst, 100_000), Log: log,
		Deliver: func(ctx context.Context, tx *pg.Tx, args turn.DeliverArgs) error {
			return inserter.InsertTx(ctx, tx, args, nil)
		},
	}
	a.Identity.Leave = a.Chat.LeaveGroups
	a.Gateway = flow.NewGateway(a.db, a.Chat, a.bus, log, flow.GatewayConfig{
		MessageLease: cfg.MessageLease, MostTurn: cfg.MessageMaxLease, ExecutorTimeout: cfg.ExecutorTimeout, Sweep: cfg.SweepInterval,
	})
	a.Chat.Turns = a.Gateway
	a.Tasks = flow.NewTasks(a.Gateway, a.Chat, flow.TaskConfig{Lease: cfg.TaskLease, Most: cfg.TaskMaxLease})
	a.Chat.Answered, a.Chat.Busy = a.Tasks.AnsweredByTx, a.Tasks.TellBusy
	a.Gateway.Finished = obs.NewTurnMetrics(a.registry, a.Gateway.Reachable).Observe
	a.Chat.Forget, a.Chat.Withdraw, a.Chat.Settle = a.Gateway.ForgetTx, a.Gateway.WithdrawTx, a.Gateway.SettleRoomTx

	a.buildApprovals(ring, inserter)
	if err := a.buildTools(ring); err != nil {
		return err
	}
	a.Tools.Gate = a.Approvals
	a.External = flow.NewExternal(a.db, a.Chat, a.Gateway, a.Identity, a.noExternal(), log)

	if cfg.Relay.Mount == "on" {
		a.relay = newRelay(cfg.Relay, a.db, log, a.registry, append([]string{cfg.PublicURL + relayPrefix}, cfg.Relay.Audiences...))
	}

	router := a.channels(rooms)
	a.sockets = socket.New(socket.Config{
		Bus: a.bus, Authenticate: a.authenticateSocket, Route: router.Route, Log: log, Origins: cfg.AllowedOrigins(),
		ErrorReply: channel.ErrorReply(func(err error) { log.Error("push failed", slog.Any("error", err)) }), Registerer: a.registry,
	})
	a.db.SetDeliverer(a.encoder(rooms))

	workers := river.NewWorkers()
	a.jobs, err = jobs.NewClient(ctx, jobs.Config{
		DB: a.db, Workers: workers, Logger: obs.AtLeast(log, slog.LevelWarn), SoftStopTimeout: cfg.DrainTimeout / 2, Periodic: []*river.PeriodicJob{worker.PrunePeriodically(), worker.PruneCallsPeriodically(), worker.TidyFilesPeriodically(), worker.ExpirePeriodically(), worker.SweepSessionsPeriodically()},
	}, inserter)
	if err != nil {
		return err
	}
	worker.Add(workers, a.Gateway, a.Chat, a.Approvals)
	worker.AddTools(workers, a.Tools)
	worker.AddFiles(workers, a.Files)
	worker.AddExternal(workers, a.External)
	if a.river, err = newRiverUI(a.jobs.River(), obs.AtLeast(log, slog.LevelWarn)); err != nil {
		return err
	}
	a.health.Require("database", a.db.Ping)
	a.health.Require("schema", func(ctx context.Context) error {
		current, _, _, err := pg.SchemaCurrent(ctx, a.db)
		if err == nil && !current {
			err = errSchema
		}
		return err
	})
	a.router = a.routes()
	return nil
}

var errSchema = errors.New("the schema is not current: run `agntchat migrate up`")

func (a *App) noExternal() bool { return a.opts.Config.ExternalAgents == "off" }

// Ready is closed when the server listens and /readyz answers 200.
func (a *App) Ready() <-chan struct{} { return a.ready }

// Addr is where the server listens; valid once it is ready.
func (a *App) Addr() string { return a.addr }

// Run starts the server, serves until ctx ends, drains, and stops everything in
// order: no new work, sockets told to reconnect, handlers waited for, jobs, pools.
// The listener opens only when everything else is ready: a bridge that is
// starting dies on a 5xx (decision 4).
func (a *App) Run(ctx context.Context) error {
	defer a.db.Close()
	if failed := a.health.Failed(ctx); len(failed) > 0 {
		if current, have, want, err := pg.SchemaCurrent(ctx, a.db); err == nil && !current {
			return fmt.Errorf("the database's schema is at %d, this program needs %d: run `agntchat migrate up`", have, want)
		}
		return fmt.Errorf("not ready: %v", failed)
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	if err := a.Gateway.Start(life); err != nil {
		return err
	}
	defer a.Gateway.Stop()
	if err := a.External.Start(life); err != nil {
		return err
	}
	streams := make(chan struct{})
	go func() { defer close(streams); a.streams.Run(life) }()
	swept := make(chan struct{})
	go func() {
		defer close(swept)
		if a.relay != nil {
			a.relay.Run(life)
		}
	}()
	if err := a.jobs.Start(life); err != nil {
		if a.opts.Config.DatabaseDirectURL != "" {
			err = fmt.Errorf("DATABASE_DIRECT_URL: %w", err)
		}
		return err
	}
	if err := a.river.start(life); err != nil {
		return err
	}
	servers, err := a.listen(ctx)
	if err != nil {
		return errors.Join(err, a.stopJobs(ctx))
	}
	a.log.InfoContext(ctx, "listening", slog.String("addr", a.addr), slog.String("version", a.opts.Version))
	close(a.ready)

	select {
	case <-ctx.Done():
		err = nil
	case err = <-servers.failed:
	}
	err = errors.Join(err, a.drain(ctx, servers))
	end()
	<-streams
	<-swept
	return err
}

func (a *App) drain(ctx context.Context, servers *servers) error {
	dctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.opts.Config.DrainTimeout)
	defer cancel()
	a.log.InfoContext(dctx, "draining")
	a.health.Drain()
	if a.local != nil && a.local.cancel != nil {
		a.local.Stop() // they release what they hold while we still answer
	}
	if a.relay != nil {
		a.relay.Close()
	}
	err := a.sockets.Drain(dctx)
	err = errors.Join(err, servers.shutdown(dctx))
	err = errors.Join(err, a.stopJobs(dctx))
	a.people.Close()
	a.bus.Wait()
	if err != nil {
		return fmt.Errorf("drain: %w", err)
	}
	a.log.InfoContext(dctx, "stopped")
	return nil
}

func (a *App) stopJobs(ctx context.Context) error {
	sctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.opts.Config.DrainTimeout)
	defer cancel()
	return a.jobs.Stop(sctx)
}

// servers are the public listener and the one for metrics.
type servers struct {
	log    *slog.Logger
	list   []*http.Server
	failed chan error
}

func newServers(log *slog.Logger) *servers { return &servers{log: log, failed: make(chan error, 2)} }

// open serves h at an address until shutdown.
func (s *servers) open(ctx context.Context, addr string, h http.Handler) (net.Addr, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", addr, err)
	}
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	s.list = append(s.list, srv)
	go func() {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- fmt.Errorf("serve %s: %w", addr, err)
		}
	}()
	return l.Addr(), nil
}

// openMetrics serves metrics and profiles; addr may be "off".
func (s *servers) openMetrics(ctx context.Context, addr string, reg *prometheus.Registry) error {
	if addr == "" || addr == "off" {
		return nil
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", obs.MetricsHandler(reg))
	mux.Handle("GET /debug/pprof/", obs.Profiles())
	_, err := s.open(ctx, addr, mux)
	return err
}

func (a *App) listen(ctx context.Context) (*servers, error) {
	s := newServers(a.log)
	if err := s.openMetrics(ctx, a.opts.Config.MetricsAddr, a.registry); err != nil {
		return nil, err
	}
	at, err := s.open(ctx, a.opts.Config.Addr, a.router)
	if err != nil {
		return nil, errors.Join(err, s.shutdown(ctx))
	}
	a.addr = at.String()
	return s, nil
}

func (s *servers) shutdown(ctx context.Context) error {
	var errs []error
	for _, srv := range s.list {
		errs = append(errs, srv.Shutdown(ctx))
	}
	return errors.Join(errs...)
}
