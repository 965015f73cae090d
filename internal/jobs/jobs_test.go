package jobs_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/jobs"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/pg/pgtest"
)

type args struct {
	Say string `json:"say"`
}

func (args) Kind() string { return "jobs_test" }

type worker struct {
	river.WorkerDefaults[args]
	work func(ctx context.Context, say string) error
}

func (w *worker) Work(ctx context.Context, j *river.Job[args]) error { return w.work(ctx, j.Args.Say) }

// rig is a started client whose polling is so slow that only nudges start jobs.
type rig struct {
	db     *pg.DB
	ins    *jobs.Inserter
	client *jobs.Client
	events <-chan *river.Event
}

func start(t *testing.T, db *pg.DB, work func(ctx context.Context, say string) error) rig {
	t.Helper()
	ins, err := jobs.NewInserter()
	if err != nil {
		t.Fatal(err)
	}
	workers := river.NewWorkers()
	c, err := jobs.NewClient(t.Context(), jobs.Config{
		DB: db, Workers: workers, FetchPollInterval: time.Hour, SoftStopTimeout: 50 * time.Millisecond,
	}, ins)
	if err != nil {
		t.Fatal(err)
	}
	river.AddWorker(workers, &worker{work: work}) // last, as the house does it
	events, unsubscribe := c.River().Subscribe(river.EventKindJobCompleted, river.EventKindJobCancelled, river.EventKindJobFailed, river.EventKindJobSnoozed)
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		unsubscribe()
		if err := c.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return rig{db: db, ins: ins, client: c, events: events}
}

func (r rig) insert(t *testing.T, say string) {
	t.Helper()
	err := r.db.InTx(t.Context(), func(ctx context.Context, tx *pg.Tx) error { return r.ins.InsertTx(ctx, tx, args{say}, nil) })
	if err != nil {
		t.Fatal(err)
	}
}

// first is the first event of a job; retries of earlier jobs come in between.
func (r rig) first(t *testing.T, say string) *river.Event {
	t.Helper()
	for {
		if e := wait(t, r.events); strings.Contains(string(e.Job.EncodedArgs), `"`+say+`"`) {
			return e
		}
	}
}

func wait[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(20 * time.Second):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

// links are the two ways in which the client reaches Postgres.
func links(t *testing.T) map[string]*pg.DB {
	t.Helper()
	pooled := pgtest.DB(t, func(c *pg.Config) {
		c.URL, c.DirectURL, c.Link = pgtest.PoolerURL(t, *c), "", pg.LinkTransaction
	})
	return map[string]*pg.DB{"direct": pgtest.DB(t), "pooler": pooled}
}

func TestJobsStartByNudge(t *testing.T) {
	t.Parallel()
	for name, db := range links(t) {
		t.Run(name, func(t *testing.T) {
			said := make(chan string, 10)
			r := start(t, db, func(_ context.Context, say string) error { said <- say; return nil })
			for _, say := range []string{"one", "two", "three"} {
				r.insert(t, say)
				if got := wait(t, said); got != say {
					t.Fatalf("got %q", got)
				}
			}
			err := r.db.InTx(t.Context(), func(ctx context.Context, tx *pg.Tx) error {
				return errors.Join(r.ins.InsertTx(ctx, tx, args{"a"}, nil), r.ins.InsertTx(ctx, tx, args{"b"}, nil))
			})
			got := []string{wait(t, said), wait(t, said)}
			slices.Sort(got)
			if err != nil || got[0] != "a" || got[1] != "b" {
				t.Fatal(got, err)
			}
		})
	}
}

// TestJobsOfOtherProcessesStartByListen inserts as another process does, with pg_notify.
func TestJobsOfOtherProcessesStartByListen(t *testing.T) {
	t.Parallel()
	said := make(chan string, 1)
	r := start(t, pgtest.DB(t), func(_ context.Context, say string) error { said <- say; return nil })
	r.insert(t, "awake") // the listener is connected once this has run
	wait(t, said)
	other, err := river.NewClient(riverpgxv5.New(r.db.Pool()), &river.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Insert(t.Context(), args{"from elsewhere"}, nil); err != nil {
		t.Fatal(err)
	}
	if got := wait(t, said); got != "from elsewhere" {
		t.Fatalf("got %q", got)
	}
}

func TestRolledBackJobsDoNotRun(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	ins, err := jobs.NewInserter()
	if err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	err = db.InTx(t.Context(), func(ctx context.Context, tx *pg.Tx) error {
		return errors.Join(ins.InsertTx(ctx, tx, args{"never"}, nil), boom)
	})
	var n int
	if err2 := db.QueryRow(t.Context(), `SELECT count(*) FROM river_job`).Scan(&n); !errors.Is(err, boom) || err2 != nil || n != 0 {
		t.Fatalf("%d jobs, %v, %v", n, err, err2)
	}
}

func TestFaultsDecideWhatBecomesOfAJob(t *testing.T) {
	t.Parallel()
	kinds := map[string]struct {
		err  error
		want river.EventKind
	}{
		"invalid":     {fault.New(fault.Invalid, "x", "x"), river.EventKindJobCancelled},
		"forbidden":   {fault.ErrForbidden, river.EventKindJobCancelled},
		"not found":   {fault.ErrNotFound, river.EventKindJobCancelled},
		"conflict":    {fault.New(fault.Conflict, "x", "x"), river.EventKindJobCancelled},
		"exhausted":   {fault.New(fault.Exhausted, "x", "x").After(time.Hour), river.EventKindJobSnoozed},
		"unavailable": {pg.ErrUnavailable, river.EventKindJobFailed},
		"internal":    {errors.New("bug"), river.EventKindJobFailed},
		"snooze":      {river.JobSnooze(time.Hour), river.EventKindJobSnoozed},
		"fine":        {nil, river.EventKindJobCompleted},
	}
	r := start(t, pgtest.DB(t), func(_ context.Context, say string) error {
		if say == "panic" {
			panic("in a job")
		}
		return kinds[say].err
	})
	for say, k := range kinds {
		r.insert(t, say)
		e := r.first(t, say)
		if e.Kind != k.want {
			t.Errorf("%s: %s", say, e.Kind)
		}
		if say == "exhausted" && time.Until(e.Job.ScheduledAt) < 50*time.Minute {
			t.Errorf("snoozed until %v", e.Job.ScheduledAt)
		}
	}
	r.insert(t, "panic")
	if e := r.first(t, "panic"); e.Kind != river.EventKindJobFailed || e.Job.State == rivertype.JobStateCancelled {
		t.Errorf("panic: %+v", e.Job)
	}
}

func TestStopGivesRunningJobsBack(t *testing.T) {
	t.Parallel()
	running := make(chan string, 1)
	r := start(t, pgtest.DB(t), func(ctx context.Context, say string) error {
		running <- say
		<-ctx.Done()
		return ctx.Err()
	})
	r.insert(t, "long")
	wait(t, running)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := r.client.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	var state string
	var attempt int
	err := r.db.QueryRow(t.Context(), `SELECT state::text, attempt FROM river_job`).Scan(&state, &attempt)
	if err != nil || (state != "available" && state != "retryable") {
		t.Fatalf("state %s, attempt %d, %v", state, attempt, err)
	}
}

func TestInsertTxWorksInARolledBackTest(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	ins, err := jobs.NewInserter()
	if err != nil {
		t.Fatal(err)
	}
	unique := &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}}
	for range 2 {
		if err := ins.InsertTx(t.Context(), tx, args{"once"}, unique); err != nil {
			t.Fatal(err)
		}
	}
	rows, _ := tx.Query(t.Context(), `SELECT args->>'say' FROM river_job WHERE kind = 'jobs_test'`)
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || strings.Join(got, ",") != "once" {
		t.Fatal(got, err)
	}
}
