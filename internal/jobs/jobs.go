// Package jobs is the way to River: what must happen after a transaction is a job
// that the same transaction inserts. It owns the client's settings, the mapping of
// faults to cancel, snooze and retry, and the nudge that starts a job a few
// milliseconds after its commit. It owns no kind of job: arguments live with the
// domains, workers in internal/worker.
package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/agntchat/agntchat/internal/pg"
)

// maxAttempts makes the last attempt come about half a day after the first: River
// waits attempt⁴ seconds.
const maxAttempts = 12

// Inserter puts jobs into transactions. It works before any client is started, so
// services can be built before workers (architecture 4). It is safe for concurrent use.
type Inserter struct {
	client *river.Client[pgx.Tx]
	nudges *nudges
}

// NewInserter makes an inserter. Give it to NewClient, so that its jobs start at once.
func NewInserter() (*Inserter, error) {
	c, err := river.NewClient(quietDriver{riverpgxv5.New(nil)}, &river.Config{
		MaxAttempts: maxAttempts,
		Logger:      slog.New(slog.DiscardHandler), // it only inserts; errors are returned
	})
	if err != nil {
		return nil, fmt.Errorf("prepare job inserter: %w", err)
	}
	return &Inserter{client: c, nudges: newNudges()}, nil
}

// quietDriver saves the round trip of pg_notify: there is one process, and it is
// nudged directly.
type quietDriver struct{ *riverpgxv5.Driver }

func (quietDriver) SupportsListenNotify() bool { return false }
func (quietDriver) SupportsListener() bool     { return false }

// InsertTx adds a job to the transaction. It runs some milliseconds after the
// commit, or never if the transaction rolls back. opts may be nil; a unique job
// that is there already is not an error.
func (i *Inserter) InsertTx(ctx context.Context, tx *pg.Tx, args river.JobArgs, opts *river.InsertOpts) error {
	raw, err := tx.Raw(ctx)
	if err != nil {
		return err
	}
	res, err := i.client.InsertTx(ctx, raw, args, opts)
	if err != nil {
		return fmt.Errorf("insert job %s: %w", args.Kind(), err)
	}
	if queue := res.Job.Queue; !res.UniqueSkippedAsDuplicate && res.Job.State == rivertype.JobStateAvailable {
		tx.AfterCommit(func() { i.nudges.add(queue) })
	}
	return nil
}

// Config tunes the client. Zero fields take the defaults that stand with them.
type Config struct {
	DB      *pg.DB
	Workers *river.Workers // workers may be added until Start
	// Queues and their worker counts. Default: "default" with 100.
	Queues   map[string]river.QueueConfig
	Periodic []*river.PeriodicJob
	Logger   *slog.Logger
	// SoftStopTimeout is how long running jobs may go on after Stop before their
	// contexts are cancelled. Default 15 s.
	SoftStopTimeout time.Duration
	// FetchCooldown is the pause between two fetches of a queue; a queue works at most
	// workers ÷ cooldown jobs per second. Default 5 ms.
	FetchCooldown time.Duration
	// FetchPollInterval is the safety net for lost nudges. Default 500 ms.
	FetchPollInterval time.Duration
	// JobTimeout cancels the context of a job. Default 1 min.
	JobTimeout time.Duration
}

func (c Config) withDefaults() Config {
	if c.Queues == nil {
		c.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 100}}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.SoftStopTimeout = or(c.SoftStopTimeout, 15*time.Second)
	c.FetchCooldown = or(c.FetchCooldown, 5*time.Millisecond)
	c.FetchPollInterval = or(c.FetchPollInterval, 500*time.Millisecond)
	c.JobTimeout = or(c.JobTimeout, time.Minute)
	return c
}

func or(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}
