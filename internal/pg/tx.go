package pg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/agntchat/agntchat/internal/event"
)

const (
	maxAttempts     = 6                // of one unit of work that Postgres refused for concurrency
	cleanupTimeout  = 5 * time.Second  // for ROLLBACK after the caller's context has ended
	commitTimeout   = 15 * time.Second // COMMIT is never cancelled by the caller: its outcome must be known
	retryBase       = 2 * time.Millisecond
	retryConnection = 20 * time.Millisecond
)

// ErrNested is the answer to InTx inside InTx, and in strict mode to any use of
// the DB inside its own InTx: it would take a second connection while holding one.
var ErrNested = errors.New("pg: the database is used inside its own transaction: use tx")

type txKey struct{}

// Tx is the unit of work: rows, River jobs (through Raw) and events. It is not
// safe for concurrent use.
type Tx struct {
	raw    pgx.Tx    // nil while it has not begun
	conn   *pgx.Conn // on which begin is sent
	begin  []string
	lanes  map[string]struct{}
	events []event.Event
	after  []func()
}

// NewTx makes a unit of work of a transaction that somebody else began and ends.
// Its events and AfterCommit functions are recorded and never run: it is for
// pgtest, which rolls back.
func NewTx(raw pgx.Tx) *Tx { return &Tx{raw: raw} }

// Raw is the pgx transaction, for River's InsertTx.
func (tx *Tx) Raw(ctx context.Context) (pgx.Tx, error) {
	err := tx.begun(ctx)
	return tx.raw, err
}

// begun begins the transaction in a round trip of its own, unless a statement did.
func (tx *Tx) begun(ctx context.Context) error {
	if tx.raw != nil {
		return nil
	}
	raw, err := tx.conn.BeginTx(ctx, pgx.TxOptions{BeginQuery: strings.Join(tx.begin, "; ")})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	tx.raw = raw
	return nil
}

// Exec runs one statement in the transaction.
func (tx *Tx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if err := checkJSON(sql, args); err != nil {
		return pgconn.CommandTag{}, err
	}
	if tx.raw != nil {
		return tx.raw.Exec(ctx, sql, args...)
	}
	rows, err := tx.first(ctx, sql, args)
	rows.Close()
	return rows.CommandTag(), errors.Join(err, rows.Err())
}

// Query runs one statement in the transaction; close the rows before the next.
func (tx *Tx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if err := checkJSON(sql, args); err != nil {
		return failedRows{err: err}, err
	}
	if tx.raw != nil {
		return tx.raw.Query(ctx, sql, args...)
	}
	return tx.first(ctx, sql, args)
}

// QueryRow runs one statement in the transaction.
func (tx *Tx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if err := checkJSON(sql, args); err != nil {
		return failedRows{err: err}
	}
	if tx.raw != nil {
		return tx.raw.QueryRow(ctx, sql, args...)
	}
	rows, _ := tx.first(ctx, sql, args) // its error is in the rows
	return oneRow{rows}
}

// first runs the first statement of the transaction together with what begins it.
func (tx *Tx) first(ctx context.Context, sql string, args []any) (pgx.Rows, error) {
	whole := tx.beginning()
	whole.Queue(sql, args...)
	results := tx.conn.SendBatch(ctx, whole)
	tx.raw = results.Tx()
	for range tx.begin {
		if _, err := results.Exec(); err != nil {
			err = fmt.Errorf("begin: %w", errors.Join(err, results.Close()))
			return failedRows{err: err}, err
		}
	}
	rows, err := results.Query()
	if err != nil {
		_ = results.Close() // the same error
		return failedRows{err: err}, err
	}
	return &firstRows{Rows: rows, batch: results}, nil
}

// beginning is a batch that begins the transaction.
func (tx *Tx) beginning() *pgx.Batch {
	var b pgx.Batch
	b.BeginTx(pgx.TxOptions{BeginQuery: tx.begin[0]})
	for _, sql := range tx.begin[1:] {
		b.Queue(sql)
	}
	return &b
}

// runBatch sends a batch; the first one of the transaction begins it.
func (tx *Tx) runBatch(ctx context.Context, b *pgx.Batch) error {
	if tx.raw != nil {
		return tx.raw.SendBatch(ctx, b).Close()
	}
	whole := tx.beginning()
	whole.QueuedQueries = append(whole.QueuedQueries, b.QueuedQueries...)
	results := tx.conn.SendBatch(ctx, whole)
	tx.raw = results.Tx()
	return results.Close()
}

// Publish records events that are delivered after COMMIT, in the order of the
// calls. Transactions that name the same lane deliver in the order in which they
// commit. Use one lane per conversation: "conversation:<id>". A crash between
// COMMIT and delivery loses the events and nothing else.
func (tx *Tx) Publish(lane string, events ...event.Event) {
	if tx.lanes == nil {
		tx.lanes = make(map[string]struct{}, 1)
	}
	tx.lanes[lane] = struct{}{}
	tx.events = append(tx.events, events...)
}

// AfterCommit records a hint that runs after delivery, when no lane is held: to
// wake a dispatcher, to nudge the job listener. It must not block and may be lost
// by a crash.
func (tx *Tx) AfterCommit(hint func()) { tx.after = append(tx.after, hint) }

// Events are the events published so far, for tests.
func (tx *Tx) Events() []event.Event { return tx.events }

// InTx runs fn in a transaction (READ COMMITTED) and commits when it returns nil.
// An error of fn rolls back and is returned. fn runs again, at most five times,
// when Postgres refused it for concurrency (40001, 40P01) or when the connection
// was lost before COMMIT was sent; so fn must have no effect outside tx. A
// connection lost during COMMIT is not retried: the error is a fault of kind
// Unavailable with code "commit_unknown".
//
// It blocks for the lanes of the published topics, at most as long as other
// commits of these lanes take. The context given to fn is marked: InTx refuses it.
func (db *DB) InTx(ctx context.Context, fn func(ctx context.Context, tx *Tx) error) error {
	if ctx.Value(txKey{}) == db {
		return ErrNested
	}
	deadline := time.Now().Add(db.cfg.WaitTimeout)
	for attempt := 1; ; attempt++ {
		err := db.runTx(ctx, fn)
		if err == nil {
			return nil
		}
		delay := rand.N(retryBase << attempt)
		switch {
		case attempt == maxAttempts || ctx.Err() != nil:
			return mapErr(err)
		case IsRetryable(err):
		case errors.As(err, new(lostError)) && time.Now().Before(deadline):
			delay = retryConnection
		default:
			return mapErr(err)
		}
		if !sleep(ctx, delay) {
			return mapErr(err)
		}
	}
}

// lostError says that the connection broke while nothing was committed.
type lostError struct{ err error }

func (e lostError) Error() string { return "connection lost: " + e.err.Error() }
func (e lostError) Unwrap() error { return e.err }

func (db *DB) runTx(ctx context.Context, fn func(ctx context.Context, tx *Tx) error) error {
	conn, err := db.acquireWithin(ctx, db.cfg.WaitTimeout)
	if err != nil {
		return err
	}
	defer conn.Release()
	tx := &Tx{conn: conn.Conn(), begin: db.beginQueries()}
	open := true
	defer func() { // also when fn panics or ends its goroutine
		if open && tx.raw != nil {
			rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
			defer cancel()
			_ = tx.raw.Rollback(rctx) // a connection that cannot roll back is closed by pgx
		}
	}()
	if err := fn(context.WithValue(ctx, txKey{}, db), tx); err != nil {
		if conn.Conn().IsClosed() && ctx.Err() == nil {
			return lostError{err}
		}
		return err
	}
	unlock, err := db.lanes.lock(ctx, tx.lanes)
	if err != nil {
		return fmt.Errorf("wait for lane: %w", err)
	}
	defer func() { unlock() }()
	open = false
	if tx.raw != nil { // else nothing was asked of the database
		if err := commit(ctx, tx.raw); err != nil {
			return err
		}
	}
	db.deliver(ctx, tx)
	unlock()
	for _, hint := range tx.after {
		db.hint(ctx, hint)
	}
	return nil
}

// commit sends COMMIT. The caller's cancellation no longer counts, for a COMMIT
// that was cut off may have happened.
func commit(ctx context.Context, raw pgx.Tx) error {
	if ctx.Err() != nil {
		rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		_ = raw.Rollback(rctx)
		return fmt.Errorf("commit: %w", context.Cause(ctx))
	}
	cctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	err := raw.Commit(cctx)
	if err == nil {
		return nil
	}
	if _, answered := errors.AsType[*pgconn.PgError](err); answered || errors.Is(err, pgx.ErrTxCommitRollback) {
		return fmt.Errorf("commit: %w", err)
	}
	return errCommitUnknown.Because(err)
}

// deliver hands the events over. A panic there must not look like a failed
// transaction: the rows are committed.
func (db *DB) deliver(ctx context.Context, tx *Tx) {
	d := db.deliverer.Load()
	if d == nil || len(tx.events) == 0 {
		return
	}
	defer db.recovered(ctx, "delivery of events")
	(*d).Deliver(context.WithoutCancel(ctx), tx.events)
}

func (db *DB) hint(ctx context.Context, f func()) {
	defer db.recovered(ctx, "after-commit hint")
	f()
}

func (db *DB) recovered(ctx context.Context, in string) {
	if p := recover(); p != nil {
		db.cfg.Logger.ErrorContext(ctx, "panic after a commit", slog.String("in", in), slog.Any("panic", p))
	}
}

// beginQueries set the timeouts in the same round trip where a pooler forbids
// startup parameters.
func (db *DB) beginQueries() []string {
	if !db.pooled {
		return []string{"BEGIN"}
	}
	return []string{
		"BEGIN", "SET LOCAL statement_timeout = " + millis(db.cfg.StatementTimeout),
		"SET LOCAL idle_in_transaction_session_timeout = " + millis(db.cfg.IdleInTxTimeout),
	}
}

func (db *DB) checkNested(ctx context.Context) error {
	if ctx.Value(txKey{}) != db {
		return nil
	}
	if db.cfg.Strict {
		return ErrNested
	}
	db.cfg.Logger.WarnContext(ctx, "database used inside its own transaction")
	return nil
}
