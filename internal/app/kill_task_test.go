package app_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// TestT1_EveryTaskEndsOnceWhenAnythingIsKilled has two people ask one
// agent with three connections, of which one is our bridge and two are stock ones,
// for 200 tasks, while server, Postgres and bridges are killed. Afterwards every task
// has ended exactly once, its result was said once, nobody works, and while it went on
// who was said to work was who held a lease. AGNTCHAT_KILL_SEED repeats the choice of
// victims, AGNTCHAT_KILL_TASKS makes it longer (make soak).
func TestT1_EveryTaskEndsOnceWhenAnythingIsKilled(t *testing.T) {
	t.Parallel()
	seed := envUint(t, "AGNTCHAT_KILL_SEED", uint64(time.Now().UnixNano()))
	t.Logf("AGNTCHAT_KILL_SEED=%d repeats the choice of victims", seed)
	tasks := int(envUint(t, "AGNTCHAT_KILL_TASKS", 200))
	k := newKillWorld(t, rand.New(rand.NewPCG(seed, 11)))
	asked := make(chan error, 1)
	go func() { asked <- k.askAll(tasks) }()
	kills := k.killBetweenEnds(tasks)
	if err := <-asked; err != nil {
		t.Fatal(err)
	}
	if kills < 5 {
		t.Errorf("only %d kills: the test proves little", kills)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	if err := k.poll(ctx, func() (bool, error) { return k.count(tasksEnded) == tasks, nil }); err != nil {
		t.Errorf("%d of %d tasks have ended: %v", k.count(tasksEnded), tasks, err)
	}
	for what, n := range map[string]int{
		"tasks that ended more than once":  k.count(`SELECT count(*) FROM (SELECT task_id FROM task_events WHERE to_status IN ('complete', 'failed', 'cancelled', 'rejected', 'exhausted') GROUP BY task_id HAVING count(*) > 1) x`),
		"rows left in the queue":           k.count(`SELECT count(*) FROM queued_tasks`),
		"tasks that were asked for twice":  k.count(`SELECT count(*) FROM (SELECT title FROM tasks GROUP BY title HAVING count(*) > 1) x`),
		"results that were not said once":  k.count(`SELECT count(*) FROM tasks t WHERE t.status = 'complete' AND t.response IS NOT NULL AND (SELECT count(*) FROM messages m WHERE m.conversation_id = t.conversation_id AND m.metadata->>'task_report' = t.id::text AND m.message_type IS NULL) <> 1`),
		"results of tasks that have none":  k.count(`SELECT count(*) FROM messages m JOIN tasks t ON t.id::text = m.metadata->>'task_report' WHERE m.message_type IS NULL AND t.status <> 'complete'`),
		"tasks that ended without a word":  k.count(`SELECT count(*) FROM tasks WHERE end_kind IS NULL OR (status = 'failed' AND failure_code IS NULL)`),
		"histories that do not fit states": k.count(`SELECT count(*) FROM tasks t WHERE (SELECT e.to_status FROM task_events e WHERE e.task_id = t.id AND e.to_status IS NOT NULL ORDER BY e.id DESC LIMIT 1) <> t.status`),
	} {
		if n != 0 {
			t.Errorf("%d %s", n, what)
		}
	}
	t.Logf("%d kills; %d complete, %d lost", kills, k.count(`SELECT count(*) FROM tasks WHERE status = 'complete'`), k.count(`SELECT count(*) FROM tasks WHERE end_kind = 'lost'`))
}

const tasksEnded = `SELECT count(*) FROM tasks WHERE end_kind IS NOT NULL`

// askAll asks for tasks in all rooms, again until each is stored once.
func (k *killWorld) askAll(n int) error {
	errs := make(chan error, len(k.rooms))
	for r, room := range k.rooms {
		go func() {
			errs <- func() error {
				for i := r; i < n; i += len(k.rooms) {
					if err := k.askOnce(i%2, room, fmt.Sprintf("Task %d", i)); err != nil {
						return err
					}
				}
				return nil
			}()
		}()
	}
	for range k.rooms {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

func (k *killWorld) askOnce(who int, room, title string) error {
	ctx, cancel := context.WithTimeout(k.t.Context(), 3*patience)
	defer cancel()
	for {
		var made struct{ ID string }
		err := k.post(ctx, k.tokens[who], "/api/conversations/"+room+"/tasks", "", map[string]any{"title": title, "description": "Say something about " + title, "assignedTo": []string{k.agent}}, &made)
		if err == nil {
			return nil
		}
		retry := time.NewTimer(500 * time.Millisecond) // a commit under way when its server was killed is over by then
		select {
		case <-retry.C:
		case <-ctx.Done():
			return fmt.Errorf("task was never taken: %w", err)
		}
		if k.count(`SELECT count(*) FROM tasks WHERE title = $1`, title) > 0 { // the answer was lost, the task was not
			return nil
		}
	}
}

// killBetweenEnds kills a victim whenever some more tasks have ended, and compares who
// is said to work with who holds a lease. It stops when most have ended.
func (k *killWorld) killBetweenEnds(tasks int) (kills int) {
	for k.count(tasksEnded) < tasks*3/4 && kills < 24 {
		before, more := k.count(tasksEnded), 1+k.rng.IntN(max(2, tasks/20))
		ctx, cancel := context.WithTimeout(k.t.Context(), 4*time.Second)
		_ = k.poll(ctx, func() (bool, error) { return k.count(tasksEnded) >= before+more, nil }) // else the next kill comes anyway
		cancel()
		if n := k.count(`SELECT count(*) FROM tasks t WHERE NOT t.fan_out AND (t.status IN ('accepted', 'in_progress'))
			<> EXISTS (SELECT 1 FROM queued_tasks q WHERE q.task_id = t.id AND q.lease_until IS NOT NULL AND q.accepted_at IS NOT NULL)`); n != 0 {
			k.t.Errorf("%d tasks are said to be worked at and are not, or the other way round", n)
		}
		victim := killVictims[k.rng.IntN(len(killVictims))]
		n := k.rng.IntN(len(k.stock))
		k.kill(victim, n)
		k.revive(victim, n)
		kills++
	}
	return kills
}
