package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/agntchat/agntchat/internal/pg"
)

// ownConns is the size of River's own pool on the direct address: one connection
// listens, the others fetch and complete in batches.
const ownConns = 6

// Client works jobs.
type Client struct {
	river *river.Client[pgx.Tx]
	pool  *pgxpool.Pool // our own, or nil when the DB's pool is used
}

// NewClient prepares River. With a direct address (DirectURL, or a URL that is
// not pooled) it gets a small pool of its own there and LISTENs for what other
// processes do; through a transaction pooler it uses the DB's pool and hears only
// this process's nudges, with polling as the net. It connects in Start.
func NewClient(ctx context.Context, cfg Config, ins *Inserter) (*Client, error) {
	cfg = cfg.withDefaults()
	c := &Client{}
	pool, listens, err := c.choosePool(ctx, cfg.DB)
	if err != nil {
		return nil, fmt.Errorf("prepare job client: %w", err)
	}
	faults := &faultMapper{log: cfg.Logger}
	c.river, err = river.NewClient[pgx.Tx](driver{Driver: riverpgxv5.New(pool), nudges: ins.nudges, listens: listens}, &river.Config{
		CancelledJobRetentionPeriod: 24 * time.Hour,
		CompletedJobRetentionPeriod: time.Hour, // the table stays small, and fetches fast
		DiscardedJobRetentionPeriod: 7 * 24 * time.Hour,
		ErrorHandler:                faults,
		FetchCooldown:               cfg.FetchCooldown,
		FetchPollInterval:           cfg.FetchPollInterval,
		JobTimeout:                  cfg.JobTimeout,
		Logger:                      slog.New(calm{cfg.Logger.Handler()}),
		MaxAttempts:                 maxAttempts,
		Middleware:                  []rivertype.Middleware{faults},
		PeriodicJobs:                cfg.Periodic,
		Queues:                      cfg.Queues,
		SoftStopTimeout:             cfg.SoftStopTimeout,
		Workers:                     cfg.Workers,
	})
	if err != nil {
		c.closePool()
		return nil, fmt.Errorf("prepare job client: %w", err)
	}
	return c, nil
}

func (c *Client) choosePool(ctx context.Context, db *pg.DB) (pool *pgxpool.Pool, listens bool, err error) {
	url := db.Config().DirectURL
	if url == "" && !db.Pooled() {
		url = db.Config().URL
	}
	if url == "" {
		return db.Pool(), false, nil
	}
	pc, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, false, errors.New("DATABASE_DIRECT_URL is not a valid Postgres address")
	}
	pc.MaxConns = ownConns
	pc.MaxConnLifetime = 30 * time.Minute
	pc.ConnConfig.RuntimeParams["application_name"] = "agntchat jobs"
	c.pool, err = pgxpool.NewWithConfig(ctx, pc)
	return c.pool, true, err
}

// River is the client itself, for its web interface.
func (c *Client) River() *river.Client[pgx.Tx] { return c.river }

// Start begins to work jobs and returns. Add all workers before. Cancelling ctx
// does not stop it: call Stop.
func (c *Client) Start(ctx context.Context) error {
	if err := c.river.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start job client: %w", err)
	}
	return nil
}

// Stop fetches no more jobs, waits for the running ones, cancels them after
// SoftStopTimeout (they go back to the queue without losing an attempt), and
// returns when all have ended or ctx does.
func (c *Client) Stop(ctx context.Context) error {
	err := c.river.Stop(ctx)
	if err != nil {
		return fmt.Errorf("stop job client: %w", err) // its pool is still in use
	}
	c.closePool()
	return nil
}

func (c *Client) closePool() {
	if c.pool != nil {
		c.pool.Close()
	}
}

// driver is River's with a listener that also hears this process.
type driver struct {
	*riverpgxv5.Driver
	nudges  *nudges
	listens bool
}

// GetListener is called once per client.
func (d driver) GetListener(p *riverdriver.GetListenenerParams) riverdriver.Listener {
	l := &listener{nudges: d.nudges, schema: p.Schema}
	if d.listens {
		l.remote = d.Driver.GetListener(p)
	}
	return l
}
