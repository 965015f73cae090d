package pg_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/pg/pgtest"
)

type seen struct {
	lane string
	seq  int64
}

func (s seen) Topic() string { return s.lane }

// recorder is a bus that notes what it gets.
type recorder struct {
	mu  sync.Mutex
	got []event.Event
}

func (r *recorder) Deliver(_ context.Context, evs []event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, evs...)
}

// counters makes one row per lane whose number a transaction takes under its row lock.
func counters(t *testing.T, db *pg.DB, lanes int) {
	t.Helper()
	if _, err := db.Exec(t.Context(), `CREATE TABLE counters (lane text PRIMARY KEY, n bigint NOT NULL DEFAULT 0)`); err != nil {
		t.Fatal(err)
	}
	for i := range lanes {
		if _, err := db.Exec(t.Context(), `INSERT INTO counters (lane) VALUES ($1)`, fmt.Sprintf("lane:%d", i)); err != nil {
			t.Fatal(err)
		}
	}
}

func bump(ctx context.Context, tx *pg.Tx, lane string) error {
	var n int64
	err := tx.QueryRow(ctx, `UPDATE counters SET n = n + 1 WHERE lane = $1 RETURNING n`, lane).Scan(&n)
	if err != nil {
		return err
	}
	tx.Publish(lane, seen{lane, n})
	return nil
}

func TestInTxDeliversInCommitOrder(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	const lanes, writers, each = 3, 8, 60
	counters(t, db, lanes)
	var bus recorder
	db.SetDeliverer(&bus)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				first, second := fmt.Sprintf("lane:%d", (w+i)%lanes), fmt.Sprintf("lane:%d", (w+i+1)%lanes)
				if first > second { // rows are locked in one order, as the house rule asks
					first, second = second, first
				}
				err := db.InTx(t.Context(), func(ctx context.Context, tx *pg.Tx) error {
					return errors.Join(bump(ctx, tx, first), bump(ctx, tx, second))
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	last := map[string]int64{}
	for _, e := range bus.got {
		s := e.(seen)
		if s.seq != last[s.lane]+1 {
			t.Fatalf("%s: %d came after %d", s.lane, s.seq, last[s.lane])
		}
		last[s.lane] = s.seq
	}
	if len(bus.got) != 2*writers*each {
		t.Fatalf("%d events delivered", len(bus.got))
	}
}

func TestInTxRollsBackAndDeliversNothing(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	counters(t, db, 1)
	var bus recorder
	db.SetDeliverer(&bus)
	hinted := false
	boom := errors.New("boom")
	err := db.InTx(t.Context(), func(ctx context.Context, tx *pg.Tx) error {
		tx.AfterCommit(func() { hinted = true })
		return errors.Join(bump(ctx, tx, "lane:0"), boom)
	})
	var n int64
	if err2 := db.QueryRow(t.Context(), `SELECT n FROM counters`).Scan(&n); err2 != nil {
		t.Fatal(err2)
	}
	if !errors.Is(err, boom) || n != 0 || len(bus.got) != 0 || hinted {
		t.Fatalf("err %v, n %d, events %d, hinted %v", err, n, len(bus.got), hinted)
	}
}

func TestInTxPanicRollsBackAndHintPanicDoesNot(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t, func(c *pg.Config) { c.MaxConns = 1 })
	counters(t, db, 1)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = db.InTx(t.Context(), func(ctx context.Context, tx *pg.Tx) error {
			_ = bump(ctx, tx, "lane:0")
			panic("in fn")
		})
	}()
	err := db.InTx(t.Context(), func(ctx context.Context, tx *pg.Tx) error { // the only connection and the lane are free
		tx.AfterCommit(func() { panic("in hint") })
		return bump(ctx, tx, "lane:0")
	})
	var n int64
	if err2 := db.QueryRow(t.Context(), `SELECT n FROM counters`).Scan(&n); err != nil || err2 != nil || n != 1 {
		t.Fatalf("n %d, %v, %v", n, err, err2)
	}
}

func TestInTxRefusesNesting(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	err := db.InTx(t.Context(), func(ctx context.Context, _ *pg.Tx) error {
		if err := db.InTx(ctx, func(context.Context, *pg.Tx) error { return nil }); !errors.Is(err, pg.ErrNested) {
			t.Errorf("nested InTx: %v", err)
		}
		_, execErr := db.Exec(ctx, `SELECT 1`)
		_, queryErr := db.Query(ctx, `SELECT 1`)
		rowErr := db.QueryRow(ctx, `SELECT 1`).Scan(new(int))
		for _, err := range []error{execErr, queryErr, rowErr} {
			if !errors.Is(err, pg.ErrNested) {
				t.Errorf("use of db inside: %v", err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestInTxRetriesDeadlock(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	counters(t, db, 2)
	var met sync.WaitGroup
	met.Add(2)
	var wg sync.WaitGroup
	runs := make([]int, 2)
	for i, order := range [][2]string{{"lane:0", "lane:1"}, {"lane:1", "lane:0"}} {
		wg.Go(func() {
			err := db.InTx(t.Context(), func(ctx context.Context, tx *pg.Tx) error {
				runs[i]++
				if err := bump(ctx, tx, order[0]); err != nil {
					return err
				}
				if runs[i] == 1 { // both hold their first row before either asks for its second
					met.Done()
					met.Wait()
				}
				return bump(ctx, tx, order[1])
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var sum int64
	if err := db.QueryRow(t.Context(), `SELECT sum(n)::bigint FROM counters`).Scan(&sum); err != nil || sum != 4 {
		t.Fatalf("sum %d, %v", sum, err)
	}
	if runs[0]+runs[1] != 3 {
		t.Fatalf("ran %v times: want one retry", runs)
	}
}

func TestInTxSurvivesAConnectionThatIsCut(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	counters(t, db, 1)
	runs := 0
	err := db.InTx(t.Context(), func(ctx context.Context, tx *pg.Tx) error {
		if runs++; runs == 1 { // cut after the work, before COMMIT is sent
			_ = bump(ctx, tx, "lane:0")
			_, err := tx.Exec(ctx, `SELECT pg_terminate_backend(pg_backend_pid())`)
			if err == nil {
				t.Error("the backend survived")
			}
			return err
		}
		return bump(ctx, tx, "lane:0")
	})
	var n int64
	if err2 := db.QueryRow(t.Context(), `SELECT n FROM counters`).Scan(&n); err2 != nil {
		t.Fatal(err2)
	}
	if err != nil || runs != 2 || n != 1 {
		t.Fatalf("err %v, runs %d, n %d", err, runs, n)
	}
}

// TestIdleConnectionsThatWereCutAreNotUsed ends all idle connections, as a restart
// of Postgres does, and expects that nobody notices.
func TestIdleConnectionsThatWereCutAreNotUsed(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	admin, err := pgx.Connect(t.Context(), db.Config().DirectURL)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(context.WithoutCancel(t.Context()))
	for range 5 {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if _, err := db.Exec(t.Context(), `SELECT pg_sleep(0.01)`); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for others := 1; others > 0; {
			err := admin.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
				WHERE datname = current_database() AND pid <> pg_backend_pid()`).Scan(&others)
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestInTxStopsWaitingForALaneWhenCancelled(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	counters(t, db, 1)
	entered, leave := make(chan struct{}), make(chan struct{})
	db.SetDeliverer(deliverFunc(func() { close(entered); <-leave }))
	first := make(chan error, 1)
	go func() {
		first <- db.InTx(context.Background(), func(ctx context.Context, tx *pg.Tx) error { return bump(ctx, tx, "lane:0") })
	}()
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := db.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		tx.Publish("lane:0", seen{"lane:0", 0})
		return nil
	})
	close(leave)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err %v", err)
	}
	if err := <-first; err != nil {
		t.Error(err)
	}
}

type deliverFunc func()

func (f deliverFunc) Deliver(context.Context, []event.Event) { f() }

func TestUnreachableDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	_, err := pg.Open(t.Context(), pg.Config{URL: "postgres://x@/x?host=/nonexistent", WaitTimeout: 30 * time.Millisecond})
	if !pg.IsUnavailable(err) || fault.KindOf(err) != fault.Unavailable {
		t.Fatalf("err %v", err)
	}
	db, err := pg.Open(t.Context(), pg.Config{URL: "postgres://x@/x?host=/nonexistent", Link: pg.LinkDirect, WaitTimeout: 30 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.InTx(t.Context(), func(context.Context, *pg.Tx) error { return nil }); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("InTx: %v", err)
	}
	if _, err := db.Exec(t.Context(), `SELECT 1`); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("Exec: %v", err)
	}
}

func TestExhaustedPoolIsUnavailable(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t, func(c *pg.Config) { c.MaxConns = 1; c.WaitTimeout = 2 * time.Second }) // a busy machine needs that for the first connection
	rows, err := db.Query(t.Context(), `SELECT generate_series(1, 10)`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(t.Context(), `SELECT 1`); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("err %v", err)
	}
	rows.Close()
	if _, err := db.Exec(t.Context(), `SELECT 1`); err != nil {
		t.Errorf("after close: %v", err)
	}
}

func TestErrorsKeepTheirKind(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	counters(t, db, 1)
	_, err := db.Exec(t.Context(), `INSERT INTO counters (lane) VALUES ('lane:0')`)
	if !pg.IsUnique(err, "counters_pkey") || !pg.IsUnique(err, "") || pg.IsUnique(err, "other") || pg.IsUnavailable(err) {
		t.Errorf("unique: %v", err)
	}
	err = db.QueryRow(t.Context(), `SELECT n FROM counters WHERE lane = 'none'`).Scan(new(int))
	if !pg.IsNotFound(err) {
		t.Errorf("not found: %v", err)
	}
	for _, unstorable := range []string{`INSERT INTO counters (lane) VALUES ($1::text)`, `SELECT ('"' || replace($1::text, 'x', '\u0000') || '"')::jsonb`} {
		text := "x"
		if unstorable[0] == 'I' {
			text = "a\x00b"
		}
		direct := func() error { _, err := db.Exec(t.Context(), unstorable, text); return err }
		inTx := func() error {
			return db.InTx(t.Context(), func(ctx context.Context, tx *pg.Tx) error { _, err := tx.Exec(ctx, unstorable, text); return err })
		}
		for _, do := range []func() error{direct, inTx} {
			if err := do(); fault.KindOf(err) != fault.Invalid {
				t.Errorf("a character that cannot be stored: %v", err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := db.Exec(ctx, `SELECT 1`); !errors.Is(err, context.Canceled) || pg.IsUnavailable(err) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestTimesComeBackInUTC(t *testing.T) {
	t.Parallel()
	var at time.Time
	if err := pgtest.DB(t).QueryRow(t.Context(), `SELECT now()`).Scan(&at); err != nil || at.Location() != time.UTC {
		t.Fatalf("%v in %v, err %v", at, at.Location(), err)
	}
}

func TestTimeoutsAreSetOnEveryLink(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	err := db.InTx(t.Context(), func(ctx context.Context, tx *pg.Tx) error {
		var statement, idle string
		err := tx.QueryRow(ctx, `SELECT current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout')`).Scan(&statement, &idle)
		if statement != "30s" || idle != "15s" {
			t.Errorf("statement %s, idle %s", statement, idle)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
