package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agntchat/agntchat/internal/claim"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

const claimSection = "claim"

type item struct {
	claim.Row
	MessageID id.Message
}

// claimStage is a queue of the shape of queued_messages without its foreign keys.
type claimStage struct {
	*house
	address string
	db      *pg.DB
	queue   *claim.Queue[item]
	agents  []id.Participant
	me      id.Executor
	// pure is what row "per s" would be if nothing but claims were done: with one agent
	// what was claimed is finished in between.
	pure map[string]*row
}

// How many claims a cell makes, by claimers; enough for a second or so.
var claimers = []int{1, 8, 32}

const manyAgents = 1000

func (h *house) claims(ctx context.Context) error {
	s := &claimStage{house: h, me: id.New[id.Executor](), pure: map[string]*row{}}
	var err error
	if s.address, err = h.database(ctx); err != nil {
		return err
	}
	if s.db, err = pg.Open(ctx, pg.Config{URL: s.address, MaxConns: 40}); err != nil {
		return err
	}
	defer s.db.Close()
	if err := s.tables(ctx); err != nil {
		return err
	}
	for round := 0; h.again(round); round++ {
		progress("claim: round %d", round+1)
		if err := s.round(ctx, round); err != nil {
			return err
		}
	}
	s.ratios()
	return s.churn(ctx)
}

func (s *claimStage) tables(ctx context.Context) error {
	var options string // LIKE does not copy them
	if err := s.db.QueryRow(ctx, `SELECT array_to_string(reloptions, ', ') FROM pg_class WHERE relname = 'queued_messages'`).Scan(&options); err != nil {
		return err
	}
	million := 1_000_000
	if s.quick {
		million = 50_000
	}
	progress("claim: a table with %d claimed rows", million)
	for _, sql := range []string{
		`CREATE TABLE queue (LIKE queued_messages INCLUDING ALL) WITH (` + options + `)`,
		`CREATE TABLE churned (LIKE queued_messages INCLUDING ALL) WITH (` + options + `)`,
		`CREATE TABLE million (LIKE queued_messages INCLUDING DEFAULTS INCLUDING IDENTITY) WITH (` + options + `)`,
		fmt.Sprintf(`INSERT INTO million (agent_id, conversation_id, message_id, lease_until, executor_id, claimed_at, generation)
			SELECT md5('other' || n %% 20000)::uuid, gen_random_uuid(), gen_random_uuid(), now() + interval '1 hour', md5('x')::uuid, now(), 1 FROM generate_series(1, %d) AS n`, million),
		`ALTER TABLE million ADD PRIMARY KEY (id)`,
		`CREATE INDEX ON million (agent_id, seq)`,
		`CREATE INDEX ON million (conversation_id, agent_id, seq)`,
		`CREATE UNIQUE INDEX ON million (message_id, agent_id)`,
	} {
		conn, err := s.db.Pool().Acquire(ctx)
		if err != nil {
			return err
		}
		_, err = conn.Exec(ctx, `SET statement_timeout = 0`)
		if err == nil {
			_, err = conn.Exec(ctx, sql)
		}
		conn.Release()
		if err != nil {
			return fmt.Errorf("%.60s: %w", sql, err)
		}
	}
	s.db.Pool().Reset()
	s.queue = newQueue("queue")
	for n := range manyAgents {
		var a string
		if err := s.db.QueryRow(ctx, `SELECT md5('agent' || $1::int)::uuid::text`, n).Scan(&a); err != nil {
			return err
		}
		p, err := id.Parse[id.Participant](a)
		if err != nil {
			return err
		}
		s.agents = append(s.agents, p)
	}
	return nil
}

func newQueue(table string) *claim.Queue[item] {
	return claim.New[item](claim.Table{Name: table, Payload: []string{"message_id"}, Lease: time.Minute, MaxLease: time.Hour})
}

// fill gives each of the first agents so many open rows, all in rooms of their own.
// As in life, the rows of one agent do not lie side by side.
func (s *claimStage) fill(ctx context.Context, table string, agents, each int) error {
	if table != "million" {
		if _, err := s.db.Exec(ctx, `TRUNCATE `+table); err != nil {
			return err
		}
	}
	_, err := s.db.Exec(ctx, `INSERT INTO `+table+` (agent_id, conversation_id, message_id)
		SELECT md5('agent' || a)::uuid, gen_random_uuid(), gen_random_uuid() FROM generate_series(1, $2::int), generate_series(0, $1::int - 1) AS a`, agents, each)
	if err == nil {
		_, err = s.db.Exec(ctx, `VACUUM ANALYZE `+table)
	}
	return err
}

func cellName(limit, claimers, agents int) string {
	what := "single"
	if limit > 1 {
		what = fmt.Sprintf("batch of %d", limit)
	}
	return fmt.Sprintf("%s, claimers %d, agents %d", what, claimers, agents)
}

func (s *claimStage) ops(claimers int) int {
	n := 1200
	if claimers > 1 {
		n = 2400
	}
	if s.quick {
		n /= 8
	}
	return n
}

// round measures each cell once; Go and pgbench take turns in going first.
func (s *claimStage) round(ctx context.Context, round int) error {
	total := 0
	for _, c := range claimers {
		total += 2 * s.ops(c)
	}
	for _, agents := range []int{1, manyAgents} {
		each := total + 100
		if agents > 1 {
			each = 3*total/agents + 12 // pgbench chooses at random
		}
		if err := s.fill(ctx, "queue", agents, each); err != nil {
			return err
		}
		for _, c := range claimers {
			both := []func() error{
				func() error { return s.inGo(ctx, s.queue, cellName(1, c, agents), c, s.agents[:agents], 1, s.ops(c)) },
				func() error { return s.inPgbench(ctx, "pgbench: "+cellName(1, c, agents), c, agents, s.ops(c)) },
			}
			if err := errors.Join(both[round%2](), both[1-round%2]()); err != nil {
				return err
			}
		}
	}
	if err := s.batches(ctx); err != nil {
		return err
	}
	if err := s.fill(ctx, "million", manyAgents, 3); err != nil {
		return err
	}
	return s.inGo(ctx, newQueue("million"), besideMillion, 8, s.agents, 1, s.ops(8))
}

const besideMillion = "single, claimers 8, agents 1000, beside a million claimed rows of others"

func (s *claimStage) batches(ctx context.Context) error {
	ops := 300
	if s.quick {
		ops = 40
	}
	for _, limit := range []int{10, 50} {
		for _, agents := range []int{1, manyAgents} {
			each := 3*limit*ops + 3*limit
			if agents > 1 {
				each = limit
			}
			if err := s.fill(ctx, "queue", agents, each); err != nil {
				return err
			}
			for n, c := range claimers {
				from := 0
				if agents > 1 { // each agent is asked once
					from = n * ops
				}
				if err := s.inGo(ctx, s.queue, cellName(limit, c, agents), c, s.agents[from:from+min(agents, ops)], limit, ops); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// queryFinish ends some claims of an agent, whoever holds them. With one agent it
// follows every 20 claimed rows, so that what is claimed does not pile up: a row
// lives until its work is done.
const queryFinish = `DELETE FROM queue WHERE id = ANY(ARRAY(SELECT id FROM queue
	WHERE agent_id = $1::uuid AND lease_until IS NOT NULL ORDER BY seq LIMIT %d FOR UPDATE SKIP LOCKED))`

const finishEvery = 20

func (s *claimStage) inGo(ctx context.Context, q *claim.Queue[item], what string, workers int, agents []id.Participant, limit, ops int) error {
	var next, claimed, claiming atomic.Int64
	var wg sync.WaitGroup
	errs := make(chan error, workers)
	finish := fmt.Sprintf(queryFinish, max(finishEvery, limit))
	family := s.postgres.PID()
	before, own, begun := cpuOfFamily(family), cpuOf(pidSelf), time.Now()
	for range workers {
		wg.Go(func() {
			held := 0
			for n := next.Add(1) - 1; n < int64(ops); n = next.Add(1) - 1 {
				agent := agents[n%int64(len(agents))]
				asked := time.Now()
				got, err := q.Claim(ctx, s.db, agent, s.me, limit)
				claiming.Add(int64(time.Since(asked)))
				if err == nil && len(got) == 0 {
					err = errors.New("nothing to claim")
				}
				claimed.Add(int64(len(got)))
				switch held += len(got); {
				case err != nil || len(agents) > 1 || held < finishEvery:
				case limit >= finishEvery: // as the product does it
					held, err = 0, s.finish(ctx, q, got)
				default:
					held = 0
					_, err = s.db.Exec(ctx, finish, agent)
				}
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(begun)
	select {
	case err := <-errs:
		return fmt.Errorf("%s: %w", what, err)
	default:
	}
	if s.pure[what] == nil {
		s.pure[what] = &row{values: map[string][]float64{}}
	}
	s.pure[what].add(colRate, float64(claimed.Load())*float64(workers)/time.Duration(claiming.Load()).Seconds())
	s.table.at(claimSection, what).add(colRate, float64(claimed.Load())/took.Seconds()).
		add(colCPU, micros(cpuOf(pidSelf)-own, claimed.Load())).add(colPG, micros(cpuOfFamily(family)-before, claimed.Load()))
	return nil
}

// finish ends the claims of one batch.
func (s *claimStage) finish(ctx context.Context, q *claim.Queue[item], got []item) error {
	ids := make([]id.QueueItem, len(got))
	for n, i := range got {
		ids[n] = i.ID
	}
	return s.db.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		_, err := q.Remove(ctx, tx, ids...)
		return err
	})
}

// firstAgent is md5('agent0').
const firstAgent = "71e6ab59-88a0-709d-a605-aab8ab89e548"

func (s *claimStage) ratios() {
	t := func(what string) *row { return s.table.at(claimSection, what) }
	for _, agents := range []int{1, manyAgents} {
		for _, c := range claimers {
			r := t(cellName(1, c, agents))
			if base := t("pgbench: " + cellName(1, c, agents)).median(colRate); base > 0 {
				r.add(colRatio, r.median(colRate)/base)
			}
			r.goal, r.note = "ratio ≥ 0.65", "rows/s; ratio to pgbench -M prepared, same statement; µs of the Go client"
			for _, limit := range []int{10, 50} {
				b := t(cellName(limit, c, agents))
				batch, single := s.pure[cellName(limit, c, agents)], s.pure[cellName(1, c, agents)]
				b.add(colRatio, batch.median(colRate)/single.median(colRate))
				b.note = "rows/s; ratio to single claims"
				if agents == 1 { // the work of the others goes on meanwhile, the finishing too
					b.note += fmt.Sprintf(", claims alone on both sides: %.0f rows/s; per s and µs are with what is finished", batch.median(colRate))
				}
				if limit == 50 {
					b.goal = "ratio ≥ 10"
				}
			}
		}
	}
	m := t(besideMillion)
	m.add(colRatio, m.median(colRate)/t(cellName(1, 8, manyAgents)).median(colRate))
	m.goal, m.note = "ratio about 1", "ratio to the same claims in a small table"
}
