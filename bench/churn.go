package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agntchat/agntchat/internal/claim"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

var pidSelf = os.Getpid()

// inPgbench runs the very statement of a single claim.
func (s *claimStage) inPgbench(ctx context.Context, what string, clients, agents, ops int) error {
	sql := strings.NewReplacer("$1::uuid", agentExpr(agents), "$2::uuid", "'"+s.me.String()+"'::uuid", "$3::float8", "60::float8").Replace(s.queue.All()[0])
	script, per := "", 1
	if agents > 1 {
		script = fmt.Sprintf("\\set a random(0, %d)\n", agents-1)
	}
	if agents == 1 {
		per = finishEvery
	}
	for range per {
		script += sql + ";\n"
	}
	if agents == 1 {
		script += strings.ReplaceAll(fmt.Sprintf(queryFinish, finishEvery), "$1::uuid", agentExpr(agents)) + ";\n"
	}
	file := filepath.Join(s.dir, "claim.sql")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		return err
	}
	host, port, name, err := socketOf(s.address)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, pgbench(), "-n", "-M", "prepared", "-c", strconv.Itoa(clients), "-j", strconv.Itoa(min(clients, 2)),
		"-t", strconv.Itoa(max(ops/clients/per, 1)), "-f", file, "-h", host, "-p", port, "-U", "postgres", name)
	family := s.postgres.PID()
	before := cpuOfFamily(family)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("pgbench: %w\n%s", err, out)
	}
	rows := int64(max(ops/clients/per, 1) * clients * per)
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
		if v, ok := strings.CutPrefix(lines.Text(), "tps = "); ok {
			tps, err := strconv.ParseFloat(strings.Fields(v)[0], 64)
			if err != nil {
				return err
			}
			s.table.at(claimSection, what).add(colRate, tps*float64(per)).add(colPG, micros(cpuOfFamily(family)-before, rows)).note = "pgbench -M prepared, same socket"
			return nil
		}
	}
	return fmt.Errorf("pgbench printed no rate:\n%s", out)
}

func agentExpr(agents int) string {
	if agents == 1 {
		return "'" + firstAgent + "'::uuid"
	}
	return "md5('agent' || :a::text)::uuid"
}

// pgbench stands in the server's own folder in Debian.
func pgbench() string {
	if p, err := exec.LookPath("pgbench"); err == nil {
		return p
	}
	all, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	if len(all) > 0 {
		return all[len(all)-1]
	}
	return "pgbench"
}

// churn claims, extends, finishes and replaces under constant load, and reads how
// many updates touched no index and whether the rate falls.
func (s *claimStage) churn(ctx context.Context) error {
	const agents, each, workers = 100, 50, 8
	seconds := 8.0
	if s.quick {
		seconds = 2
	}
	progress("claim: churn")
	if err := s.fill(ctx, "churned", agents, each); err != nil {
		return err
	}
	q := newQueue("churned")
	db, err := pg.Open(ctx, pg.Config{URL: s.address, MaxConns: workers})
	if err != nil {
		return err
	}
	begun := time.Now()
	half, stop := begun.Add(time.Duration(seconds/2*float64(time.Second))), begun.Add(time.Duration(seconds*float64(time.Second)))
	var next, first, second atomic.Int64
	var wg sync.WaitGroup
	errs := make(chan error, workers)
	for range workers {
		me := id.New[id.Executor]()
		wg.Go(func() {
			for time.Now().Before(stop) {
				n, err := cycle(ctx, db, q, s.agents[next.Add(1)%agents], me)
				if err != nil {
					errs <- err
					return
				}
				if time.Now().Before(half) {
					first.Add(int64(n))
				} else {
					second.Add(int64(n))
				}
			}
		})
	}
	wg.Wait()
	db.Close() // a backend reports its counters when it ends
	select {
	case err := <-errs:
		return fmt.Errorf("churn: %w", err)
	default:
	}
	var updates, hot, dead float64
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		var now float64
		err := s.db.QueryRow(ctx, `SELECT n_tup_upd, n_tup_hot_upd, n_dead_tup FROM pg_stat_user_tables WHERE relname = 'churned'`).Scan(&now, &hot, &dead)
		if err != nil {
			return err
		}
		if now > 0 && now == updates {
			break
		}
		updates = now
	}
	r := s.table.at(claimSection, "churn: claim 5, extend twice, finish, replace; claimers 8, agents 100")
	r.add(colRate, float64(first.Load()+second.Load())/seconds).add(colRatio, float64(second.Load())/float64(max(first.Load(), 1)))
	r.goal, r.note = "HOT ≥ 95 %, ratio about 1", fmt.Sprintf("rows/s; ratio = second half ÷ first; %.1f %% of %.0f updates HOT; %.0f dead rows beside %d live", 100*hot/max(updates, 1), updates, dead, agents*each)
	return nil
}

func cycle(ctx context.Context, db *pg.DB, q *claim.Queue[item], agent id.Participant, me id.Executor) (int, error) {
	got, err := q.Claim(ctx, db, agent, me, 5)
	if err != nil || len(got) == 0 {
		return 0, err
	}
	held, ids, rooms := make([]claim.Held, len(got)), make([]id.QueueItem, len(got)), make([]id.Conversation, len(got))
	for n, i := range got {
		held[n], ids[n], rooms[n] = claim.Held{ID: i.ID, Generation: i.Generation}, i.ID, i.ConversationID
	}
	for range 2 {
		if _, err := q.Extend(ctx, db, me, held...); err != nil {
			return 0, err
		}
	}
	return len(got), db.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		if _, err := q.Remove(ctx, tx, ids...); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO churned (agent_id, conversation_id, message_id)
			SELECT $1::uuid, room, gen_random_uuid() FROM unnest($2::uuid[]) AS room`, agent, id.Strings(rooms))
		return err
	})
}
