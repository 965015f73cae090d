package app_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/app/apptest"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/pg/pgtest"
	"github.com/agntchat/agntchat/internal/relay/relaytest"
	wire "github.com/agntchat/agntchat/internal/wire/letter"
)

const (
	relayClients = 12
	relayKills   = 15
	relayLetters = 60 // of one client
	relayLease   = 2 * time.Second
)

// TestL1_NothingIsLostWhenTheRelayIsKilled: clients send and receive while the
// relay is killed with kill -9 at random moments. Every letter arrives. A letter
// arrives twice only when
//   - the relay died after it had handed the letter out and before it had deleted
//     it: the same id comes again, from a later process and after the lease; or
//   - the relay died after it had stored the letter and before its sender knew: the
//     sender sends it again, and if it was collected in between it has a new id.
//
// In both cases the client knows it by the hash of its body. Everything else fails.
// AGNTCHAT_KILL_SEED repeats the choice of moments.
func TestL1_NothingIsLostWhenTheRelayIsKilled(t *testing.T) {
	t.Parallel()
	seed := envUint(t, "AGNTCHAT_KILL_SEED", uint64(time.Now().UnixNano()))
	t.Logf("AGNTCHAT_KILL_SEED=%d repeats the choice of moments", seed)
	ctx, cancel := context.WithTimeout(t.Context(), 20*patience)
	defer cancel()
	db := pgtest.Config(t)
	w := &relayWorld{t: t, ctx: ctx, calls: make(chan struct{}, 1), got: map[string][]receipt{}, unsure: map[string]bool{}}
	addr := apptest.FreeAddr(t)
	start := func() relayRun {
		r := startRelay(t, addr, []string{"DATABASE_URL=" + db.URL, "DATABASE_DIRECT_URL=" + db.DirectURL, "AGNTCHAT_RELAY_NEW_MAILBOXES=0"},
			"--rate-limit", "0", "--lease", relayLease.String())
		r.ready(ctx)
		return r
	}
	run := start()
	w.relay = run.Relay
	w.users = make([]*relaytest.User, relayClients)
	for n := range w.users {
		w.users[n] = relaytest.NewUser()
		if err := run.Publish(ctx, w.users[n], 1); err != nil {
			t.Fatal(err)
		}
	}
	var clients sync.WaitGroup
	for n := range w.users {
		clients.Go(func() { w.send(n) })
		clients.Go(func() { w.receive(n) })
	}
	rng := rand.New(rand.NewPCG(seed, 11))
	kills := 0
	for ; kills < relayKills && !w.finished(); kills++ {
		w.after(20 + rng.IntN(100))
		moment := time.NewTimer(time.Duration(rng.IntN(5000)) * time.Microsecond)
		<-moment.C
		run.Kill()
		w.epoch.Add(1)
		run = start()
	}
	clients.Wait()
	w.verify()
	var left int
	check, err := pg.Open(ctx, pg.Config{URL: db.DirectURL, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer check.Close()
	if err := check.QueryRow(ctx, `SELECT count(*) FROM letters`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d letters are left, %v", left, err)
	}
	t.Logf("killed %d times; %d letters; came twice: %d by a lease, %d sent again", kills, len(w.got), w.byLease, w.sentAgain)
	if strings.Contains(run.Output(), "level=ERROR") {
		t.Error("the relay logged an error")
	}
}

// receipt is one hand-out of a letter to its recipient.
type receipt struct {
	id        int64
	epoch     int64 // of the relay process that handed it out: when the call began
	began, at time.Time
}

type relayWorld struct {
	t     *testing.T
	ctx   context.Context
	relay *relaytest.Relay
	users []*relaytest.User
	epoch atomic.Int64
	calls chan struct{} // holds a token when a call was answered

	mu     sync.Mutex
	got    map[string][]receipt // by body
	unsure map[string]bool      // bodies whose sender once got no answer
	sent   int                  // clients that have sent everything

	byLease, sentAgain int
}

// answered counts one answered call, for the killer.
func (w *relayWorld) answered() {
	select {
	case w.calls <- struct{}{}:
	default:
	}
}

// after blocks until about n calls were answered, or all letters have arrived.
func (w *relayWorld) after(n int) {
	for ; n > 0 && !w.finished(); n-- {
		select {
		case <-w.calls:
		case <-w.ctx.Done():
			return
		}
	}
}

func (w *relayWorld) finished() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent == len(w.users) && len(w.got) == len(w.users)*relayLetters
}

// pause lets a client that got no answer, or no letter, wait as real ones do.
func (w *relayWorld) pause() bool {
	t := time.NewTimer(20 * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-w.ctx.Done():
		w.t.Error("a client gave up")
		return false
	}
}

// send sends the letters of a client in turn, each until it is answered for.
func (w *relayWorld) send(n int) {
	for i := range relayLetters {
		to := w.users[(n+1+i%(len(w.users)-1))%len(w.users)]
		body := fmt.Sprintf("letter %d of client %d %s", i, n, relaytest.RandomBody(300))
		for {
			out, err := w.relay.Send(w.ctx, w.users[n], to.Address, body)
			if err == nil && out.MessageID > 0 {
				w.answered()
				break
			}
			w.mu.Lock()
			w.unsure[body] = true
			w.mu.Unlock()
			if !w.pause() {
				return
			}
		}
	}
	w.mu.Lock()
	w.sent++
	w.mu.Unlock()
}

// receive reads a client's letters until all have arrived and none comes again.
// Every other client reads by lease and confirmation.
func (w *relayWorld) receive(n int) {
	u := w.users[n]
	var quiet time.Time
	for {
		epoch, began := w.epoch.Load(), time.Now()
		list, err := w.take(u, n%2 == 0)
		if err == nil {
			w.answered()
		}
		w.mu.Lock()
		for _, m := range list {
			w.got[m.Body] = append(w.got[m.Body], receipt{m.MessageID, epoch, began, time.Now()})
		}
		w.mu.Unlock()
		switch {
		case len(list) > 0 || err != nil || !w.finished():
			quiet = time.Time{}
		case quiet.IsZero():
			quiet = time.Now()
		case time.Since(quiet) > relayLease+time.Second: // no lease that could end is left
			return
		}
		if len(list) == 0 && !w.pause() {
			return
		}
	}
}

// take reads once. A client that confirms keeps what it has read also when the
// confirmation is not answered.
func (w *relayWorld) take(u *relaytest.User, confirms bool) ([]wire.Message, error) {
	if !confirms {
		return w.relay.Read(w.ctx, u, "")
	}
	var l wire.Leased
	err := w.relay.Call(w.ctx, u, wire.ToolLease, map[string]any{}, &l)
	if err == nil && l.Lease != "" {
		err = w.relay.Call(w.ctx, u, wire.ToolConfirm, map[string]any{"lease": l.Lease}, nil)
	}
	return l.Messages, err
}

func (w *relayWorld) verify() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.got) != len(w.users)*relayLetters {
		w.t.Errorf("%d letters arrived of %d", len(w.got), len(w.users)*relayLetters)
	}
	for body, receipts := range w.got {
		for n, r := range receipts[1:] {
			before := receipts[n] // the one before r
			switch {
			case r.id == before.id && w.epochEnded(before, r):
				w.byLease++
			case r.id != before.id && w.unsure[body]:
				w.sentAgain++
			default:
				w.t.Errorf("%.30s came twice without a reason: %+v", body, receipts)
			}
		}
	}
}

// epochEnded: the process that handed the letter out has died since, and the lease
// of the hand-out, which cannot have begun before the call, has run out.
func (w *relayWorld) epochEnded(first, again receipt) bool {
	return again.epoch > first.epoch && again.at.Sub(first.began) >= relayLease
}
