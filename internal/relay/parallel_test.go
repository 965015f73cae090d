package relay_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/letter"
	"github.com/agntchat/agntchat/internal/relay"
	"github.com/agntchat/agntchat/internal/relay/relaytest"
	wire "github.com/agntchat/agntchat/internal/wire/letter"
)

const clients = 64

// together runs f for 64 clients at once and returns when all have ended.
func together(f func(n int)) {
	var wg sync.WaitGroup
	for n := range clients {
		wg.Go(func() { f(n) })
	}
	wg.Wait()
}

// TestL1_ParallelClientsLoseNothingAndGetNothingTwice: 64 clients write to each
// other, upload again, and read with two readers each, all at once.
func TestL1_ParallelClientsLoseNothingAndGetNothingTwice(t *testing.T) {
	t.Parallel()
	p := open(t)
	const each = 30
	users := make([]*relaytest.User, clients)
	together(func(n int) {
		users[n] = relaytest.NewUser()
		if err := p.Publish(p.ctx(), users[n], 1); err != nil {
			t.Error(err)
		}
	})
	type got struct{ to, body string }
	var mu sync.Mutex
	seen := map[got]int{}
	take := func(u *relaytest.User, list []wire.Message) {
		mu.Lock()
		defer mu.Unlock()
		for _, m := range list {
			seen[got{u.Address, m.From + m.Body}]++
		}
	}
	var sending sync.WaitGroup
	sending.Add(clients)
	sent := make(chan struct{})
	go func() { sending.Wait(); close(sent) }()
	var want atomic.Int64
	together(func(n int) {
		var wg sync.WaitGroup
		for reader := range 2 {
			wg.Go(func() {
				for last := false; ; {
					var list []wire.Message
					var err error
					if reader == 0 {
						list, err = p.Read(p.ctx(), users[n], "")
					} else {
						var l wire.Leased
						if err = p.Call(p.ctx(), users[n], wire.ToolLease, map[string]any{}, &l); err == nil && l.Lease != "" {
							err = p.Call(p.ctx(), users[n], wire.ToolConfirm, map[string]any{"lease": l.Lease}, nil)
						}
						list = l.Messages
					}
					if err != nil {
						t.Error(err)
						return
					}
					take(users[n], list)
					if last && len(list) == 0 {
						return
					}
					select {
					case <-sent:
						last = true
					default:
					}
				}
			})
		}
		for i := range each {
			to, body := users[rand.IntN(clients)], fmt.Sprintf("%d/%d", n, i)
			out, err := p.Send(p.ctx(), users[n], to.Address, body)
			if err != nil || out.MessageID == 0 {
				t.Errorf("send: %+v %v", out, err)
			}
			want.Add(1)
		}
		sending.Done()
		wg.Wait()
	})
	for k, times := range seen {
		if times != 1 {
			t.Errorf("%v was handed out %d times", k, times)
		}
	}
	if int64(len(seen)) != want.Load() || want.Load() != clients*each {
		t.Errorf("%d letters arrived of %d", len(seen), want.Load())
	}
	p.rows("letters", 0)
}

// TestL1_AKeyIsClaimedOnce by 64 clients at once; whoever comes too late gets the fallback.
func TestL1_AKeyIsClaimedOnce(t *testing.T) {
	t.Parallel()
	p := open(t)
	const keys = clients - 4
	bob := p.user(keys)
	var mu sync.Mutex
	claimed, fallbacks := map[string]int{}, 0
	together(func(int) {
		var k wire.ClaimedKey
		err := p.Call(p.ctx(), relaytest.NewUser(), "claim_key", map[string]any{"peer": bob.Address}, &k)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err != nil:
			t.Error(err)
		case k.Fallback:
			fallbacks++
		default:
			claimed[k.OneTimeKey]++
		}
	})
	if len(claimed) != keys || fallbacks != clients-keys {
		t.Errorf("%d different keys and %d fallbacks, want %d and %d", len(claimed), fallbacks, keys, clients-keys)
	}
}

// TestL1_ALetterIsHandedOverOnce to 64 readers of one mailbox at once.
func TestL1_ALetterIsHandedOverOnce(t *testing.T) {
	t.Parallel()
	p := open(t)
	to := p.user(0)
	var want []string
	for n := range 100 {
		want = append(want, fmt.Sprintf("%03d", n))
		p.send(relaytest.NewUser(), to, want[n])
	}
	var mu sync.Mutex
	var got []string
	together(func(int) {
		list, err := p.Read(p.ctx(), to, "")
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			t.Error(err)
		}
		for _, m := range list {
			got = append(got, m.Body)
		}
	})
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("handed over: %v", got)
	}
}

// TestL1_ANonceIsAcceptedOnce of 64 equal calls at once.
func TestL1_ANonceIsAcceptedOnce(t *testing.T) {
	t.Parallel()
	p := open(t)
	u := p.user(0)
	args := map[string]any{"to": u.Address, "mtype": 1, "body": "x"}
	req := wire.NewRequest("send_message", u.Auth("send_message", audience, p.clock(), args), args)
	var accepted atomic.Int64
	together(func(int) {
		err := p.Post(p.ctx(), req, nil)
		var no *relaytest.Refusal
		switch {
		case err == nil:
			accepted.Add(1)
		case !errors.As(err, &no) || no.Status != 400 || !strings.Contains(no.Text, "replay"):
			t.Error(err)
		}
	})
	if accepted.Load() != 1 {
		t.Errorf("accepted %d times", accepted.Load())
	}
}

// TestL1_ACapIsExact under 64 senders at once, and one letter sent 64 times at once
// is one.
func TestL1_ACapIsExact(t *testing.T) {
	t.Parallel()
	p := open(t, func(_ *relay.Config, l *letter.Limits) { l.Mailbox, l.PerSender = 10, 4 })
	to, same := p.user(0), p.user(0)
	one, busy := relaytest.NewUser(), relaytest.NewUser()
	var mu sync.Mutex
	ids := map[int64]bool{}
	together(func(n int) {
		_, err := p.Send(p.ctx(), relaytest.NewUser(), to.Address, fmt.Sprint(n))
		var no *relaytest.Refusal
		if err != nil && (!errors.As(err, &no) || no.Text == "" || no.Status != 400) {
			t.Error(err)
		}
		_, _ = p.Send(p.ctx(), busy, same.Address, fmt.Sprint(n))
		out, err := p.Send(p.ctx(), one, same.Address, "same")
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		ids[out.MessageID] = true
	})
	if got := p.bodies(to, ""); len(got) != 10 {
		t.Errorf("%d letters in a mailbox of 10", len(got))
	}
	if got := p.bodies(same, busy.Address); len(got) != 4 {
		t.Errorf("%d letters of a sender who may have 4", len(got))
	}
	if got := p.bodies(same, one.Address); len(got) != 1 || len(ids) != 1 {
		t.Errorf("one letter became %d, ids %v", len(got), ids)
	}
}

// TestL1_SweepBesideTraffic: several sweeps at once beside calls break nothing.
func TestL1_SweepBesideTraffic(t *testing.T) {
	t.Parallel()
	p := open(t, func(_ *relay.Config, l *letter.Limits) { l.LetterTTL, l.MailboxTTL = time.Hour, 48*time.Hour })
	u := p.user(0)
	p.send(u, u, "old")
	p.pass(2 * time.Hour)
	together(func(n int) {
		if n%8 == 0 {
			if _, err := p.office.Sweep(p.ctx(), p.clock()); err != nil {
				t.Error(err)
			}
		}
		if _, err := p.Send(p.ctx(), u, u.Address, fmt.Sprint(n)); err != nil {
			t.Error(err)
		}
	})
	if got := p.bodies(u, ""); len(got) != clients {
		t.Errorf("%d letters", len(got))
	}
}
