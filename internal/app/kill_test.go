package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/agntchat/agntchat/internal/app/apptest"
	"github.com/agntchat/agntchat/internal/judgetest"
	"github.com/agntchat/agntchat/internal/pg"
)

// killPoints are where a process dies: inside claim, push, reply and ack, and
// inside the posting of a person's message. See apptest's taps for the exact places.
var killPoints = []string{
	"claim", "claim commit", "claim committed", "push", "stock pushed", "stock started",
	"reply", "reply commit", "reply committed", "replied", "stock answered",
	"ack", "ack commit", "ack committed", "acked", "post commit", "post committed",
}

var killVictims = []string{"server", "postgres", "bridge", "stock"}

// TestP2_P3_P5_NothingIsLostWhenAnythingIsKilled has two people write
// 500 messages in several rooms to one agent with three connections, of which one
// is our bridge and two are stock ones, while server, Postgres and bridges are
// killed inside claim, push, reply and ack. Afterwards every message is covered by
// exactly one reply. AGNTCHAT_KILL_SEED repeats a run, AGNTCHAT_KILL_MESSAGES and
// AGNTCHAT_KILL_FOR make it longer (make soak).
func TestP2_P3_P5_NothingIsLostWhenAnythingIsKilled(t *testing.T) {
	t.Parallel()
	seed := envUint(t, "AGNTCHAT_KILL_SEED", uint64(time.Now().UnixNano()))
	t.Logf("AGNTCHAT_KILL_SEED=%d repeats the choice of kills", seed)
	messages := int(envUint(t, "AGNTCHAT_KILL_MESSAGES", 500))
	length := 40 * time.Second
	if v := os.Getenv("AGNTCHAT_KILL_FOR"); v != "" {
		var err error
		if length, err = time.ParseDuration(v); err != nil {
			t.Fatal(err)
		}
	}
	k := newKillWorld(t, rand.New(rand.NewPCG(seed, 7)))
	written := make(chan error, 1)
	go func() { written <- k.write(messages, length) }()
	began := time.Now()
	k.killUntil(written)
	killed := time.Now()
	k.quiesce()
	quiet := time.Now()
	k.verify(messages)
	t.Logf("killed for %s, quiet after %s, verified in %s", killed.Sub(began), quiet.Sub(killed), time.Since(quiet))
}

type killWorld struct {
	t      *testing.T
	rng    *rand.Rand
	p      *apptest.Processes
	people [2]*judgetest.Desktop
	tokens [2]string
	rooms  []string
	agent  string
	key    string
	bridge *apptest.Child
	stock  [2]*judgetest.Bridge
	dead   []*judgetest.Bridge
	led    *judgetest.Ledger // of the stock bridges
	eyes   *judgetest.Ledger // of the desktops

	mu   sync.Mutex
	sent map[string]string // message id → content
}

const killRooms = 6

func newKillWorld(t *testing.T, rng *rand.Rand) *killWorld {
	k := &killWorld{t: t, rng: rng, led: &judgetest.Ledger{}, eyes: &judgetest.Ledger{}, sent: map[string]string{}}
	k.p = apptest.Process(t, "AGNTCHAT_MESSAGE_LEASE=6s", "AGNTCHAT_MESSAGE_MAX_LEASE=120s", "AGNTCHAT_TASK_LEASE=8s", "AGNTCHAT_TASK_MAX_LEASE=120s", "AGNTCHAT_EXECUTOR_TIMEOUT=60s",
		"AGNTCHAT_SWEEP_INTERVAL=300ms", "AGNTCHAT_PRESENCE_GRACE=1s", "AGNTCHAT_POST_PER_SECOND=1000", "AGNTCHAT_POST_BURST=5000")
	target := judgetest.Target{BaseURL: k.p.Direct, Patience: patience}
	for n := range k.people {
		d := judgetest.NewDesktop(t, target, judgetest.DesktopOptions{Name: "desktop " + strconv.Itoa(n), Ledger: k.eyes})
		k.must("sign up", func(ctx context.Context) error { return d.SignUp(ctx, "Person", strconv.Itoa(n)) })
		k.must("start", d.Start)
		k.people[n] = d
		var in struct{ Token string }
		k.must("sign in", func(ctx context.Context) error {
			return k.post(ctx, "", "/api/auth/login", "", map[string]any{"email": d.Email, "password": d.Password}, &in)
		})
		k.tokens[n] = in.Token
	}
	k.must("create agent", func(ctx context.Context) (err error) {
		k.agent, k.key, err = k.people[0].CreateAgent(ctx, "Survivor")
		return err
	})
	for n := range killRooms {
		k.must("create room", func(ctx context.Context) error {
			room, err := k.people[0].CreateConversation(ctx, "group", fmt.Sprintf("Room %d", n), k.agent, k.people[1].ID)
			k.rooms = append(k.rooms, room)
			return err
		})
	}
	for n, d := range k.people {
		k.must("open room", func(ctx context.Context) error { return d.OpenConversation(ctx, k.rooms[n]) })
	}
	k.bridge = k.p.Bridge(k.agent, k.key, "ours")
	for n := range k.stock {
		k.startStock(n)
	}
	k.must("our bridge comes online", func(ctx context.Context) error {
		return k.poll(ctx, func() (bool, error) {
			return k.count(`SELECT count(*) FROM executors WHERE status = 'online'`) == 3, nil
		})
	})
	return k
}

func (k *killWorld) must(what string, fn func(ctx context.Context) error) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), patience)
	defer cancel()
	if err := fn(ctx); err != nil {
		k.t.Fatalf("%s: %v", what, err)
	}
}

// poll asks four times a second until done or ctx ends.
func (k *killWorld) poll(ctx context.Context, done func() (bool, error)) error {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// count asks again when Postgres dies under it.
func (k *killWorld) count(sql string, args ...any) (n int) {
	k.t.Helper()
	k.must("count", func(ctx context.Context) error {
		for {
			err := k.p.DB.QueryRow(ctx, sql, args...).Scan(&n)
			if err == nil || !pg.IsUnavailable(err) || ctx.Err() != nil {
				return err
			}
		}
	})
	return n
}

// startStock starts a stock bridge in the place of the n-th. It dies on any
// failure at start, so it is started again, as by a supervisor.
func (k *killWorld) startStock(n int) {
	k.t.Helper()
	if old := k.stock[n]; old != nil {
		k.dead = append(k.dead, old)
	}
	k.must("stock bridge starts", func(ctx context.Context) error {
		for {
			b := judgetest.New(k.t, k.p.URL, k.agent, k.key, judgetest.BridgeOptions{
				ExecutorKey: fmt.Sprintf("stock-%d", n), MaxConcurrent: 2, Backend: "claude_cli", Heartbeat: 5 * time.Second, SocketDelay: 20 * time.Millisecond,
				Reconnect: 300 * time.Millisecond, Ledger: k.led,
				Model: func(ctx context.Context, turn *judgetest.Turn) judgetest.Reply {
					turn.Write(ctx, "writing")
					return judgetest.Reply{Text: "re #" + turn.MessageID}
				},
				Step: func(_ *judgetest.Bridge, at judgetest.Step, _ string) { k.p.Trap.Pass("stock " + string(at)) },
			})
			err := b.Start(ctx)
			if err == nil {
				k.stock[n] = b
				return nil
			}
			b.Kill()
			if ctx.Err() != nil {
				return err
			}
		}
	})
}

// write lets both people write in all rooms at once. Each writer keeps its order
// and sends a message again, with the same nonce, until it is stored.
func (k *killWorld) write(messages int, length time.Duration) error {
	writers := len(k.people) * len(k.rooms)
	errs := make(chan error, writers)
	for w := range writers {
		who, room, n := w%2, k.rooms[w/2], messages/writers
		if w < messages%writers {
			n++
		}
		rng := rand.New(rand.NewPCG(uint64(w), uint64(n)))
		go func() {
			errs <- func() error {
				for i := range n {
					pause := time.NewTimer(time.Duration(rng.Int64N(int64(2 * length / time.Duration(n)))))
					select {
					case <-pause.C:
					case <-k.t.Context().Done():
						return context.Cause(k.t.Context())
					}
					if err := k.say(who, room, fmt.Sprintf("person %d, note %d for room %d", who, i, w/2)); err != nil {
						return err
					}
				}
				return nil
			}()
		}()
	}
	var err error
	for range writers {
		err = errors.Join(err, <-errs)
	}
	return err
}

func (k *killWorld) say(who int, room, text string) error {
	ctx, cancel := context.WithTimeout(k.t.Context(), 2*patience)
	defer cancel()
	nonce := uuid.NewString()
	if d := k.people[who]; d.Open() == room { // over the socket first; the same nonce then only asks for its id
		sctx, stop := context.WithTimeout(ctx, 5*time.Second)
		nonce, _ = d.Send(sctx, room, text) // whatever became of it
		stop()
	}
	for {
		var m struct{ ID string }
		err := k.post(ctx, k.tokens[who], "/api/conversations/"+room+"/messages", nonce, map[string]any{"content": text}, &m)
		if err == nil {
			k.mu.Lock()
			defer k.mu.Unlock()
			if k.sent[m.ID] != "" {
				return fmt.Errorf("two messages have the id %s", m.ID)
			}
			k.sent[m.ID] = text
			return nil
		}
		retry := time.NewTimer(100 * time.Millisecond)
		select {
		case <-retry.C:
		case <-ctx.Done():
			return fmt.Errorf("message was never taken: %w", err)
		}
	}
}

func (k *killWorld) post(ctx context.Context, token, path, nonce string, body, out any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, k.p.Direct+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if nonce != "" {
		req.Header.Set("Idempotency-Key", nonce)
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return err
	case res.StatusCode/100 != 2:
		return fmt.Errorf("%s: status %d: %s", path, res.StatusCode, b)
	}
	return json.Unmarshal(b, out)
}

// killUntil kills until all is written: every pair of point and victim once, in
// an order that the seed chooses, then again.
func (k *killWorld) killUntil(written <-chan error) {
	var plan [][2]string
	done := map[string]int{}
	for round := 0; ; round++ {
		if len(plan) == 0 {
			for _, point := range killPoints {
				for _, victim := range killVictims {
					plan = append(plan, [2]string{point, victim})
				}
			}
			k.rng.Shuffle(len(plan), func(i, j int) { plan[i], plan[j] = plan[j], plan[i] })
		}
		point, victim := plan[0][0], plan[0][1]
		plan = plan[1:]
		n := k.rng.IntN(len(k.stock))
		sprung := k.p.Trap.Set(point, func() { k.kill(victim, n) })
		timeout := time.NewTimer(3 * time.Second)
		select {
		case <-sprung:
			done[victim+" in "+point]++
			k.revive(victim, n)
			k.progress()
		case <-timeout.C:
			if !k.p.Trap.Clear() {
				<-sprung
				done[victim+" in "+point]++
				k.revive(victim, n)
			}
		case err := <-written:
			if !k.p.Trap.Clear() {
				<-sprung
				k.revive(victim, n)
			}
			if err != nil {
				k.t.Errorf("write: %v", err)
			}
			k.t.Logf("%d kills: %s", round, strings.Join(slices.Sorted(maps.Keys(done)), ", "))
			if len(done) < 5 {
				k.t.Errorf("only %d kills: the test proves little", len(done))
			}
			return
		}
	}
}

func (k *killWorld) kill(victim string, n int) {
	switch victim {
	case "server":
		k.p.Server.Kill()
	case "postgres":
		k.p.KillPostgres()
	case "bridge":
		k.bridge.Kill()
	case "stock":
		k.stock[n].Kill()
	}
}

func (k *killWorld) revive(victim string, n int) {
	k.t.Helper()
	switch victim {
	case "server":
		k.must("server starts", k.p.StartServer)
	case "postgres":
		k.must("postgres recovers", k.p.WaitPostgres)
	case "bridge":
		k.bridge = k.p.Bridge(k.agent, k.key, "ours")
	case "stock":
		k.startStock(n)
	}
	for _, c := range []*apptest.Child{k.p.Server, k.bridge} {
		select {
		case <-c.Done():
			k.t.Fatalf("%s ended by itself after %s was killed\n%s", c.Name, victim, c.Output())
		default:
		}
	}
}

// progress lets some turns end between two kills, so that many different ones are hit.
func (k *killWorld) progress() {
	ctx, cancel := context.WithTimeout(k.t.Context(), 2*time.Second)
	defer cancel()
	const ended = `SELECT count(*) FROM turns`
	before := k.count(ended)
	_ = k.poll(ctx, func() (bool, error) { return k.count(ended) >= before+8, nil }) // else the next kill comes anyway
}

// quiesce waits until nothing is queued any more.
func (k *killWorld) quiesce() {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), 2*patience)
	defer cancel()
	err := k.poll(ctx, func() (bool, error) { return k.count(`SELECT count(*) FROM queued_messages`) == 0, nil })
	if err != nil {
		k.t.Errorf("%d messages are still queued: %v", k.count(`SELECT count(*) FROM queued_messages`), err)
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

func envUint(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	v := os.Getenv(name)
	if v == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}
