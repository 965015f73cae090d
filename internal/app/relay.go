package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/agntchat/agntchat/internal/config"
	"github.com/agntchat/agntchat/internal/httpapi"
	"github.com/agntchat/agntchat/internal/letter"
	"github.com/agntchat/agntchat/internal/obs"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/relay"
)

// relayPrefix is where `serve` and `dev` mount the relay of letters.
const relayPrefix = "/relay"

// newRelay builds a relay of the configuration, known by these addresses.
func newRelay(c config.Relay, db *pg.DB, log *slog.Logger, reg prometheus.Registerer, audiences []string) *relay.Relay {
	return relay.New(relay.Config{
		Office: &letter.Office{DB: db, Limits: letter.Limits{
			Mailbox: c.MaxMailbox, PerSender: c.MaxMailboxPerSender, MailboxBytes: c.MaxMailboxBytes, OneTimeKeys: c.MaxOneTimeKeys, Refusals: c.MaxRefused,
			LetterTTL: c.LetterTTL, RefusedTTL: c.RefusedTTL, MailboxTTL: c.MailboxTTL, Lease: c.Lease,
		}},
		Audiences: audiences, Address: httpapi.Address, Log: log, Metrics: reg,
		MaxBody: c.MaxBody, RatePerMinute: c.RateLimit, RateBurst: c.Burst(), AddressPerMin: c.AddressRate, FailuresPerMin: c.Failures, NewBoxesPerHour: c.NewMailboxes, Timeout: c.Timeout,
		MaxGroupSize: c.MaxGroupSize, AdminPassword: c.AdminPassword, RequireAPIKey: c.RequireAPIKey,
		Streams: c.Streams, StreamsOfAddress: c.StreamsPerAddress, StreamsOfSender: c.StreamsPerSender,
	})
}

// relay runs a relay of letters alone: no chat, no accounts. Its Postgres is
// DATABASE_URL, or one of its own in the data folder.
func (p Program) relay(ctx context.Context, args []string) error {
	cfg, log, err := p.load()
	if err != nil {
		return err
	}
	fset := p.flags("relay")
	addr := fset.String("addr", cfg.Relay.Addr, "")
	dir := fset.String("data-dir", ".relay", "")
	relayFlags(fset, &cfg.Relay)
	if err := p.parse(fset, args); err != nil {
		return err
	}
	if err := cfg.Relay.Check(); err != nil {
		return &UsageError{"agntchat relay: " + err.Error()}
	}
	// An occupied port is told before anything is started; the listener that serves
	// opens when there is something to serve.
	probe, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *addr)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", *addr, err)
	}
	cfg.Addr = *addr
	if strings.HasSuffix(cfg.Addr, ":0") {
		cfg.Addr = probe.Addr().String()
	}
	_ = probe.Close()
	p.optionalMetrics(ctx, &cfg, log)
	if *dir, err = filepath.Abs(*dir); err != nil {
		return err
	}
	stop, err := ownDatabase(ctx, *dir, &cfg, log)
	if err != nil {
		return err
	}
	defer stop()
	db, err := pg.Open(ctx, pg.Config{URL: cfg.DatabaseURL, MaxConns: cfg.DatabaseMaxConns, Logger: log})
	if err != nil {
		return err
	}
	defer db.Close()

	if len(cfg.Relay.Audiences) == 0 {
		cfg.Relay.Audiences = []string{localURL(cfg.Addr)}
	}
	reg := obs.NewRegistry()
	r := newRelay(cfg.Relay, db, log, reg, cfg.Relay.Audiences)
	health := &obs.Health{}
	health.Require("database", db.Ping)
	servers := newServers(log)
	if err := servers.openMetrics(ctx, cfg.MetricsAddr, reg); err != nil {
		return err
	}
	if _, err := servers.open(ctx, cfg.Addr, relayRoutes(r, health, obs.NewHTTPMetrics(reg), cfg, log)); err != nil {
		return errors.Join(err, servers.shutdown(ctx))
	}
	sweepCtx, endSweep := context.WithCancel(ctx)
	swept := make(chan struct{})
	go func() { defer close(swept); r.Run(sweepCtx) }()
	log.InfoContext(ctx, "relay is ready", slog.String("addr", cfg.Addr), slog.String("version", p.Version), slog.Any("relay", cfg.Relay))
	fmt.Fprintf(p.Stdout, "ready %s\n", localURL(cfg.Addr))
	select {
	case <-ctx.Done():
		err = nil
	case err = <-servers.failed:
	}
	health.Drain()
	r.Close()
	dctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.DrainTimeout)
	defer cancel()
	err = errors.Join(err, servers.shutdown(dctx))
	endSweep()
	<-swept
	return err
}

// relayRoutes is everything a relay alone serves: it answers every path.
func relayRoutes(r *relay.Relay, health *obs.Health, metrics *obs.HTTPMetrics, cfg config.Config, log *slog.Logger) http.Handler {
	router := chi.NewRouter()
	router.Use(httpapi.WithRequestID, httpapi.WithRecovery(log, metrics.Observe), httpapi.WithAddress(cfg.TrustedProxyHeader))
	router.Get("/healthz", health.Alive)
	router.Get("/readyz", health.Ready)
	router.Handle("/*", r)
	return router
}

// relayFlags are those of the retalk server, and ours for what it does not have.
// What is not given stays as the environment says.
func relayFlags(fset *flag.FlagSet, c *config.Relay) {
	fset.Func("audience", "", func(s string) error {
		c.Audiences = strings.Split(s, ",")
		return nil
	})
	fset.Int64Var(&c.MaxBody, "max-body", c.MaxBody, "")
	fset.IntVar(&c.RateLimit, "rate-limit", c.RateLimit, "")
	fset.IntVar(&c.RateBurst, "rate-burst", c.RateBurst, "")
	fset.IntVar(&c.AddressRate, "address-rate", c.AddressRate, "")
	fset.IntVar(&c.MaxGroupSize, "max-group-size", c.MaxGroupSize, "")
	fset.IntVar(&c.MaxMailbox, "max-mailbox", c.MaxMailbox, "")
	fset.IntVar(&c.MaxMailboxPerSender, "max-mailbox-per-sender", c.MaxMailboxPerSender, "")
	fset.Int64Var(&c.MaxMailboxBytes, "max-mailbox-bytes", c.MaxMailboxBytes, "")
	fset.IntVar(&c.MaxRefused, "max-refused", c.MaxRefused, "")
	fset.IntVar(&c.NewMailboxes, "new-mailboxes", c.NewMailboxes, "")
	seconds(fset, "timeout", &c.Timeout)
	seconds(fset, "refused-ttl", &c.RefusedTTL)
	seconds(fset, "letter-ttl", &c.LetterTTL)
	seconds(fset, "lease", &c.Lease)
	fset.BoolVar(&c.RequireAPIKey, "require-api-key", c.RequireAPIKey, "")
}

// seconds is a duration that may be a plain number of seconds, as retalk has it.
func seconds(fset *flag.FlagSet, name string, to *time.Duration) {
	fset.Func(name, "", func(s string) error {
		if n, err := strconv.ParseUint(s, 10, 31); err == nil {
			*to = time.Duration(n) * time.Second
			return nil
		}
		d, err := time.ParseDuration(s)
		if err == nil && d < 0 {
			err = errors.New("it is negative")
		}
		*to = d
		return err
	})
}

// ownDatabase makes cfg name a migrated database: Postgres in the data folder when
// none is configured. stop ends what was started; it is never nil when err is.
func ownDatabase(ctx context.Context, dir string, cfg *config.Config, log *slog.Logger) (stop func(), err error) {
	stop = func() {}
	if cfg.DatabaseURL == "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("data folder: %w", err)
		}
		if stop, err = startPostgres(ctx, dir, cfg, log); err != nil {
			return nil, err
		}
	}
	direct := cfg.DatabaseDirectURL
	if direct == "" {
		direct = cfg.DatabaseURL
	}
	if err := pg.Migrate(ctx, direct, pg.MigrateConfig{Logger: log}); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}
