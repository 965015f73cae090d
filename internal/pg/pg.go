// Package pg owns the way to Postgres: the pool, the unit of work (InTx, with
// ordered lanes for events), the classification of database errors, and the
// migrations. It knows no table of any feature: SQL lives in the domains'
// queries.go. pgtest makes test databases, pgembed runs the dev server.
//
// Everything here works through a transaction-mode pooler: no prepared statement,
// no session setting and no LISTEN on that address (design: infra A2).
package pg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/agntchat/agntchat/internal/event"
)

// Querier runs statements: a *DB outside a transaction, a *Tx inside. Reads take
// a Querier, writes take a *Tx.
type Querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	runBatch(ctx context.Context, b *pgx.Batch) error
}

// Deliverer takes the events of a committed transaction, in order. It must only
// enqueue: the lanes of the transaction stay locked while it runs. It must not
// use the database.
type Deliverer interface {
	Deliver(ctx context.Context, events []event.Event)
}

// Config says where Postgres is and how it is used. Zero fields take the defaults
// that stand with them.
type Config struct {
	// URL is the address for everything but migrations and LISTEN; it may lead to a
	// transaction-mode pooler. `default_query_exec_mode` in it outranks detection.
	URL string
	// DirectURL is a session or direct address, or empty. pg itself does not use it;
	// it is kept for jobs (LISTEN).
	DirectURL string
	// Link says what stands between us and Postgres, where that is known. Empty: Open
	// finds out whether it is a pooler.
	Link Link
	// MaxConns bounds the pool. Default 10.
	MaxConns int32
	// StatementTimeout bounds one statement on the server. Default 30 s.
	StatementTimeout time.Duration
	// IdleInTxTimeout ends a transaction that does nothing. Default 15 s.
	IdleInTxTimeout time.Duration
	// WaitTimeout is how long a call waits for a Postgres that is restarting, and
	// for a free connection, before it fails as Unavailable. Default 5 s.
	WaitTimeout time.Duration
	// Strict makes the use of the DB inside its own InTx an error, not only a
	// warning in the log. On in tests and dev.
	Strict bool
	// Tracer hears of every statement of the pool; it may also be a pgx.BatchTracer.
	// Nil hears nothing.
	Tracer pgx.QueryTracer
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.MaxConns == 0 {
		c.MaxConns = 10
	}
	if c.StatementTimeout == 0 {
		c.StatementTimeout = 30 * time.Second
	}
	if c.IdleInTxTimeout == 0 {
		c.IdleInTxTimeout = 15 * time.Second
	}
	if c.WaitTimeout == 0 {
		c.WaitTimeout = 5 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// DB is the pool. It is a Querier for single statements outside a transaction.
type DB struct {
	cfg       Config
	pool      *pgxpool.Pool
	pooled    bool // a pooler is in between: no startup parameters
	lanes     lanes
	deliverer atomic.Pointer[Deliverer]
}

// Open checks the address, finds out whether a pooler is in between, and returns
// the pool. It waits up to WaitTimeout for a Postgres that is starting; after
// that the error is a fault of kind Unavailable.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	cfg = cfg.withDefaults()
	pc, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("parse database url: %w", redact(err))
	}
	pooled, err := detectPooler(ctx, pc.ConnConfig, cfg)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if !modeIsGiven(cfg.URL) {
		pc.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
		if pooled {
			pc.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		}
	}
	if !pooled {
		setDefault(pc.ConnConfig.RuntimeParams, "application_name", "agntchat")
		setDefault(pc.ConnConfig.RuntimeParams, "statement_timeout", millis(cfg.StatementTimeout))
		setDefault(pc.ConnConfig.RuntimeParams, "idle_in_transaction_session_timeout", millis(cfg.IdleInTxTimeout))
	}
	pc.ConnConfig.Tracer = cfg.Tracer
	pc.MaxConns = cfg.MaxConns
	pc.MaxConnLifetime = 30 * time.Minute
	pc.MaxConnLifetimeJitter = 5 * time.Minute
	pc.MaxConnIdleTime = 5 * time.Minute
	pc.HealthCheckPeriod = 30 * time.Second
	if pc.ConnConfig.ConnectTimeout == 0 {
		pc.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	pc.AfterConnect = func(_ context.Context, c *pgx.Conn) error {
		registerTypes(c)
		return nil
	}
	// A connection that Postgres has closed since it was used last is never handed out.
	pc.ShouldPing = func(_ context.Context, p pgxpool.ShouldPingParams) bool {
		return p.IdleDuration > time.Second || !isQuiet(p.Conn.PgConn().Conn())
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return &DB{cfg: cfg, pool: pool, pooled: pooled}, nil
}

// Close closes the pool. It waits for connections that are in use.
func (db *DB) Close() { db.pool.Close() }

// Config is what Open was given, with defaults filled in.
func (db *DB) Config() Config { return db.cfg }

// Pooled reports whether a pooler is between us and Postgres.
func (db *DB) Pooled() bool { return db.pooled }

// Pool is the raw pool, for River and for metrics. Nothing else should need it.
func (db *DB) Pool() *pgxpool.Pool { return db.pool }

// SetDeliverer sets the bus. Events of transactions that commit before it is set
// are dropped, as after a crash: clients heal.
func (db *DB) SetDeliverer(d Deliverer) { db.deliverer.Store(&d) }

// Ping asks Postgres for an answer within ctx, for /readyz. It does not wait for
// a restart.
func (db *DB) Ping(ctx context.Context) error {
	return mapErr(db.pool.Ping(ctx))
}

// acquire takes a connection. Nothing has been executed when it fails, so it
// waits out a Postgres that restarts.
func (db *DB) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	if err := db.checkNested(ctx); err != nil {
		return nil, err
	}
	return db.acquireWithin(ctx, db.cfg.WaitTimeout)
}

func (db *DB) acquireWithin(ctx context.Context, wait time.Duration) (*pgxpool.Conn, error) {
	waitCtx, cancel := context.WithTimeoutCause(ctx, wait, errPoolBusy)
	defer cancel()
	for delay := 5 * time.Millisecond; ; delay = min(2*delay, 100*time.Millisecond) {
		c, err := db.pool.Acquire(waitCtx)
		if err == nil {
			return c, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("acquire connection: %w", context.Cause(ctx))
		}
		if waitCtx.Err() != nil {
			return nil, unavailable(errors.Join(err, context.Cause(waitCtx)))
		}
		if !isConnectionTrouble(err) {
			return nil, fmt.Errorf("acquire connection: %w", err)
		}
		if !sleep(waitCtx, delay) && ctx.Err() == nil {
			return nil, unavailable(err)
		}
	}
}

// Exec runs one statement.
func (db *DB) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if err := checkJSON(sql, args); err != nil {
		return pgconn.CommandTag{}, err
	}
	c, err := db.acquire(ctx)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	defer c.Release()
	tag, err := c.Exec(ctx, sql, args...)
	return tag, mapErr(err)
}

// Query runs one statement; the connection is held until the rows are closed.
func (db *DB) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if err := checkJSON(sql, args); err != nil {
		return failedRows{err: err}, err
	}
	c, err := db.acquire(ctx)
	if err != nil {
		return failedRows{err: err}, err
	}
	r, err := c.Conn().Query(ctx, sql, args...)
	if err != nil {
		c.Release()
		return failedRows{err: mapErr(err)}, mapErr(err)
	}
	return &poolRows{Rows: r, conn: c}, nil
}

// QueryRow runs one statement; the connection is held until Scan.
func (db *DB) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if err := checkJSON(sql, args); err != nil {
		return failedRows{err: err}
	}
	c, err := db.acquire(ctx)
	if err != nil {
		return failedRows{err: err}
	}
	return &poolRow{row: c.Conn().QueryRow(ctx, sql, args...), conn: c}
}

func (db *DB) runBatch(ctx context.Context, b *pgx.Batch) error {
	c, err := db.acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	return mapErr(c.Conn().SendBatch(ctx, b).Close())
}
