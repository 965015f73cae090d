package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agntchat/agntchat/internal/relay/relaytest"
	wire "github.com/agntchat/agntchat/internal/wire/letter"
)

const letterSection = "letters"

// letterSize is the ciphertext of a short message, as captured from real clients.
const letterSize = 350

// letters measures the relay below /relay of the server: letters taken (one signed
// call, one commit), letters that go all the way to their recipient, and polls that
// find nothing, which is most of what followers do.
func (h *house) letters(ctx context.Context) error {
	s, _, err := h.serve(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	post := &relaytest.Relay{URL: "http://" + s.addr + "/relay", HTTP: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 128}}}
	defer post.HTTP.CloseIdleConnections()
	users := make([]*relaytest.User, 64)
	for n := range users {
		users[n] = relaytest.NewUser()
		if err := post.Publish(ctx, users[n], 1); err != nil {
			return err
		}
	}
	send := func(n int) error {
		_, err := post.Send(ctx, users[n], users[(n+1)%len(users)].Address, relaytest.RandomBody(letterSize))
		return err
	}
	read := func(n int) (int, error) {
		list, err := post.Read(ctx, users[n], "")
		return len(list), err
	}
	drain := func() error {
		for n := range users {
			for more := 1; more > 0; {
				var err error
				if more, err = read(n); err != nil {
					return err
				}
			}
		}
		return nil
	}
	seconds := 4.0
	if h.quick {
		seconds = .5
	}
	lines := []struct {
		what  string
		conns int
		note  string
		op    func(n int) error
	}{
		{"taken", 1, "send_message", send},
		{"taken", 64, "send_message", send},
		{"sent and collected", 64, "send_message, then read_messages of the recipient, then its deletion", func(n int) error {
			if err := send(n); err != nil {
				return err
			}
			_, err := read((n + 1) % len(users))
			return err
		}},
		{"polls that find nothing", 64, "read_messages", func(n int) error { _, err := read(n); return err }},
		{"keys claimed", 64, "claim_key, fallback", func(n int) error {
			return post.Call(ctx, users[n], wire.ToolClaimKey, map[string]any{"peer": users[(n+1)%len(users)].Address}, nil)
		}},
	}
	for round := 0; h.again(round); round++ {
		progress("letters: round %d", round+1)
		for _, l := range lines {
			var r rounds
			own, postgres, err := s.cpu(func() (err error) { r, err = repeat(l.conns, seconds, l.op); return err })
			if err != nil {
				return fmt.Errorf("%s: %w", l.what, err)
			}
			row := h.table.at(letterSection, fmt.Sprintf("%s, %d at a time", l.what, l.conns))
			row.add(colRate, float64(r.ops)/r.took.Seconds()).add(colP50, r.quantile(.5)).add(colP99, r.quantile(.99))
			row.add(colCPU, micros(own, r.ops)).add(colPG, micros(postgres, r.ops))
			row.note = l.note + "; the client that signs is a process of its own"
			if err := drain(); err != nil {
				return err
			}
		}
		if err := h.handOver(ctx, post.URL, seconds); err != nil {
			return err
		}
		if err := h.spooled(ctx, post.URL, seconds); err != nil {
			return err
		}
	}
	return nil
}

// rounds are the operations of one measurement.
type rounds struct {
	ops  int64
	took time.Duration
	each []time.Duration
}

// quantile is in milliseconds.
func (r rounds) quantile(q float64) float64 {
	if len(r.each) == 0 {
		return 0
	}
	return float64(r.each[min(int(q*float64(len(r.each))), len(r.each)-1)].Microseconds()) / 1000
}

// repeat runs op from so many goroutines for a time. It ends at the first error.
func repeat(conns int, seconds float64, op func(n int) error) (r rounds, err error) {
	var mu sync.Mutex
	var stop atomic.Bool
	var wg sync.WaitGroup
	begun := time.Now()
	for n := range conns {
		wg.Go(func() {
			var each []time.Duration
			for !stop.Load() && time.Since(begun).Seconds() < seconds {
				at := time.Now()
				if e := op(n); e != nil {
					stop.Store(true)
					mu.Lock()
					err = e
					mu.Unlock()
					return
				}
				each = append(each, time.Since(at))
			}
			mu.Lock()
			r.each = append(r.each, each...)
			mu.Unlock()
		})
	}
	wg.Wait()
	r.took, r.ops = time.Since(begun), int64(len(r.each))
	slices.Sort(r.each)
	return r, err
}
