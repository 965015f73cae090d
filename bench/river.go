package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/riverqueue/river"

	"github.com/agntchat/agntchat/internal/jobs"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/pg/pgembed"
)

const riverSection = "river"

type jobArgs struct {
	Number int `json:"number"`
}

func (jobArgs) Kind() string { return "bench" }

type jobWorker struct {
	river.WorkerDefaults[jobArgs]
	started func(number int)
}

func (w *jobWorker) Work(_ context.Context, j *river.Job[jobArgs]) error {
	w.started(j.Args.Number)
	return nil
}

// rig is internal/jobs with its shipped settings on one database.
type rig struct {
	db     *pg.DB
	ins    *jobs.Inserter
	client *jobs.Client
}

func (h *house) newRig(ctx context.Context, cfg pg.Config, workers int, started func(int)) (*rig, error) {
	db, err := pg.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	ins, err := jobs.NewInserter()
	if err != nil {
		return nil, err
	}
	ws := river.NewWorkers()
	jc := jobs.Config{DB: db, Workers: ws}
	if workers > 0 {
		jc.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}}
	}
	c, err := jobs.NewClient(ctx, jc, ins)
	if err != nil {
		return nil, err
	}
	river.AddWorker(ws, &jobWorker{started: started})
	return &rig{db, ins, c}, nil
}

func (r *rig) stop(ctx context.Context) error {
	sctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	err := r.client.Stop(sctx)
	r.db.Close()
	return err
}

func (h *house) river(ctx context.Context) error {
	address, err := h.database(ctx)
	if err != nil {
		return err
	}
	ways := []struct {
		what, goal string
		cfg        pg.Config
	}{{"insert to start, direct", "p50 ≤ 5 ms, p99 ≤ 15 ms", pg.Config{URL: address, DirectURL: address}}}
	pooled, stop, err := h.startBouncer(ctx, address)
	if err != nil {
		progress("river: no pooled line: %v", err)
	} else {
		defer stop()
		ways = append(ways, struct {
			what, goal string
			cfg        pg.Config
		}{"insert to start, through pgbouncer (transaction mode)", "p50 ≤ 10 ms, p99 ≤ 20 ms", pg.Config{URL: pooled, Link: pg.LinkTransaction}})
	}
	n := 100
	if h.quick {
		n = 20
	}
	for round := 0; h.again(round); round++ {
		progress("river: round %d", round+1)
		for _, w := range ways {
			if err := h.latency(ctx, w.what, w.goal, w.cfg, n); err != nil {
				return fmt.Errorf("%s: %w", w.what, err)
			}
		}
		if err := h.throughput(ctx, pg.Config{URL: address, DirectURL: address, MaxConns: 20}); err != nil {
			return err
		}
	}
	return nil
}

// latency inserts one job at a time, in a transaction of its own, 20 to 40 ms apart.
func (h *house) latency(ctx context.Context, what, goal string, cfg pg.Config, n int) error {
	begun := make(chan time.Time, 1)
	r, err := h.newRig(ctx, cfg, 0, func(int) { begun <- time.Now() })
	if err != nil {
		return err
	}
	if err := r.client.Start(ctx); err != nil {
		return err
	}
	var all []float64
	for i := range n + 5 {
		time.Sleep(time.Duration(20+i*7%20) * time.Millisecond)
		at := time.Now()
		err := r.db.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error { return r.ins.InsertTx(ctx, tx, jobArgs{i}, nil) })
		if err != nil {
			return errors.Join(err, r.stop(ctx))
		}
		select {
		case t := <-begun:
			if i >= 5 { // the first find cold connections
				all = append(all, float64(t.Sub(at).Microseconds())/1000)
			}
		case <-time.After(20 * time.Second):
			return errors.Join(errors.New("a job did not start"), r.stop(ctx))
		}
	}
	slices.Sort(all)
	at := func(q float64) float64 { return all[min(int(q*float64(len(all))), len(all)-1)] }
	row := h.table.at(riverSection, what).add(colP50, at(.5)).add(colP99, at(.99))
	row.goal = goal
	row.note = fmt.Sprintf("from before the insert's transaction to the worker; p95 %.1f in the last round; %d jobs a round", at(.95), n)
	return r.stop(ctx)
}

// throughput works off a stock of empty jobs with 500 workers.
func (h *house) throughput(ctx context.Context, cfg pg.Config) error {
	stock := 30_000
	if h.quick {
		stock = 4000
	}
	var done atomic.Int64
	end := make(chan struct{})
	r, err := h.newRig(ctx, cfg, 500, func(int) {
		if done.Add(1) == int64(stock) {
			close(end)
		}
	})
	if err != nil {
		return err
	}
	params := make([]river.InsertManyParams, 1000)
	for n := 0; n < stock; n += len(params) {
		for i := range params {
			params[i] = river.InsertManyParams{Args: jobArgs{n + i}}
		}
		if _, err := r.client.River().InsertManyFast(ctx, params); err != nil {
			return errors.Join(err, r.stop(ctx))
		}
	}
	family := h.postgres.PID()
	own, postgres, begun := cpuOf(pidSelf), cpuOfFamily(family), time.Now()
	if err := r.client.Start(ctx); err != nil {
		return err
	}
	select {
	case <-end:
	case <-time.After(60 * time.Second):
		return errors.Join(fmt.Errorf("%d of %d jobs were worked", done.Load(), stock), r.stop(ctx))
	}
	row := h.table.at(riverSection, "jobs with 500 workers, direct").add(colRate, float64(stock)/time.Since(begun).Seconds()).
		add(colCPU, micros(cpuOf(pidSelf)-own, int64(stock))).add(colPG, micros(cpuOfFamily(family)-postgres, int64(stock)))
	row.goal, row.note = "≥ 12,000 jobs/s", "empty jobs from stock, shipped fetch settings"
	return r.stop(ctx)
}

// startBouncer runs a real pgbouncer in transaction mode before the database.
func (h *house) startBouncer(ctx context.Context, address string) (pooled string, stop func(), err error) {
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program = "/usr/sbin/pgbouncer"; !isFile(program) {
			return "", nil, err
		}
	}
	host, port, name, err := socketOf(address)
	if err != nil {
		return "", nil, err
	}
	dir := filepath.Join(h.dir, "bouncer")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", nil, err
	}
	const bouncerPort = "6432"
	ini := filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf("[databases]\n%s = host=%s port=%s user=postgres\n[pgbouncer]\nlisten_addr =\nlisten_port = %s\nunix_socket_dir = %s\nauth_type = any\n"+
		"pool_mode = transaction\nmax_client_conn = 500\ndefault_pool_size = 20\nlog_connections = 0\nlog_disconnections = 0\n", name, host, port, bouncerPort, dir)
	if err := os.WriteFile(ini, []byte(text), 0o644); err != nil {
		return "", nil, err
	}
	owner := pgembed.OwnerFor(dir)
	if err := owner.Chown(dir); err != nil {
		return "", nil, err
	}
	cmd := owner.Command(program, "-q", ini)
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}
	for deadline := time.Now().Add(10 * time.Second); !isSocket(filepath.Join(dir, ".s.PGSQL."+bouncerPort)); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) || ctx.Err() != nil {
			stop()
			return "", nil, errors.New("pgbouncer did not start")
		}
	}
	return pgembed.URL(dir, name) + "&port=" + bouncerPort, stop, nil
}
