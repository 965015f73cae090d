//go:build unix

package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/cli"
)

const childEnv = "AGNT_TEST_LETTER"

// The test binary is `agnt letter` itself when it is asked to.
func TestMain(m *testing.M) {
	if text := os.Getenv(childEnv); text != "" {
		var env cli.Env
		if err := json.Unmarshal([]byte(text), &env); err != nil {
			panic(err)
		}
		os.Exit(cli.Run(context.Background(), os.Args[1:], env, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, cheap))
	}
	os.Exit(m.Run())
}

// process is a command in a process of its own.
type process struct {
	*exec.Cmd
	err   bytes.Buffer
	lines chan string // what it printed, whole lines only
	once  sync.Once
}

func (w *world) process(who string, args ...string) *process {
	w.t.Helper()
	env, err := json.Marshal(w.env(who))
	if err != nil {
		w.t.Fatal(err)
	}
	p := &process{Cmd: exec.Command(os.Args[0], append(args, "-u", who, "-q")...), lines: make(chan string, 10_000)}
	if args[0] != "receive" {
		p.Args = p.Args[:len(p.Args)-1]
	}
	p.Env = []string{childEnv + "=" + string(env)}
	p.Stderr = &p.err
	out, err := p.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return // half a line is none
			}
			p.lines <- strings.TrimSuffix(line, "\n")
		}
	}()
	return p
}

func (p *process) kill() { p.once.Do(func() { _ = p.Process.Kill() }) }

// end waits and gives what was printed and the exit code, -1 when it was killed.
func (p *process) end() (lines []string, code int) {
	for l := range p.lines {
		lines = append(lines, l)
	}
	_ = p.Wait()
	return lines, p.ProcessState.ExitCode()
}

// kill -9 of the client between any two steps: nothing is lost, nothing is twice. A letter's line may come a second time, with
// the same id, only when the process that printed it was killed before it could note that.
func TestL2_KilledAnywhere(t *testing.T) {
	t.Parallel()
	t.Run("retalk's relay", func(t *testing.T) {
		t.Parallel()
		killAnywhere(t, plainWorld(t))
	})
	t.Run("our relay", func(t *testing.T) {
		t.Parallel()
		killAnywhere(t, ourWorld(t, time.Second))
	})
}

func killAnywhere(t *testing.T, w *world) {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("AGNT_TEST_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	t.Logf("AGNT_TEST_SEED=%d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	w.people("alice", "bob")
	g, gated := w.gate, w.gate.url
	g.delay = time.Duration(rnd.IntN(4000)) * time.Microsecond
	printed := map[string]int{} // id → how often
	spoiled := map[string]bool{}
	sure := map[string]bool{} // texts whose sending was confirmed
	texts := map[string]int{}
	take := func(lines []string, killed bool) {
		for _, l := range lines {
			var r struct{ ID, Text string }
			if err := json.Unmarshal([]byte(l), &r); err != nil {
				t.Fatalf("%q: %v", l, err)
			}
			if printed[r.ID] > 0 && !spoiled[r.ID] {
				t.Fatalf("%s (%s) was printed again though its process ended well", r.ID, r.Text)
			}
			printed[r.ID]++
			if printed[r.ID] == 1 {
				texts[r.Text]++
			}
			spoiled[r.ID] = killed
		}
	}
	kills := 0
	senders, receivers := everyPlace(rnd, 5), everyPlace(rnd, 7)
	// killed runs a command and kills it at a place.
	killed := func(at spot, who string, args ...string) ([]string, int) {
		started := make(chan *process, 1)
		g.arm(at.request, at.place, func() { (<-started).kill() })
		p := w.gated(gated, who, args...)
		started <- p
		lines, code := p.end()
		g.arm(-1, 0, nil)
		if code == -1 {
			kills++
		}
		return lines, code
	}
	for round := range receivers {
		text := fmt.Sprintf("letter %d", round)
		if _, code := killed(senders[round%len(senders)], "alice", "send", "--peer", "bob", text); code == 0 {
			sure[text] = true
		}
		lines, code := killed(receivers[round], "bob", "receive", "--peer", "alice")
		take(lines, code != 0)
		if round%4 == 0 {
			killed(spot{rnd.IntN(5), rnd.IntN(places)}, "alice", "sync")
		}
	}
	t.Logf("%d kills", kills)
	if kills < 6 {
		t.Fatalf("only %d kills", kills)
	}
	// Without kills, everything arrives and both outboxes empty. A relay of ours keeps what it handed out for its lease.
	for deadline := time.Now().Add(patience); w.outbox("alice") != nil; {
		if time.Now().After(deadline) {
			t.Fatalf("left in the outbox: %v", w.outbox("alice"))
		}
		w.mustGated(gated, "alice", "sync")
		p := w.gated(gated, "bob", "receive", "--peer", "alice")
		lines, code := p.end()
		if code != 0 {
			t.Fatalf("exit code %d\n%s", code, &p.err)
		}
		take(lines, false)
		w.mustGated(gated, "alice", "receive", "--peer", "bob")
	}
	for text := range sure {
		if texts[text] != 1 {
			t.Errorf("%q was confirmed and came %d times", text, texts[text])
		}
	}
	for text, n := range texts {
		if n != 1 {
			t.Errorf("%q came as %d letters", text, n)
		}
	}
}

// spot is where a process is killed: at which request, and where on its way.
type spot struct{ request, place int }

// everyPlace is every spot of so many requests, in an order that the seed chooses.
func everyPlace(rnd *rand.Rand, requests int) (list []spot) {
	for r := range requests {
		for p := range places {
			list = append(list, spot{r, p})
		}
	}
	rnd.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// gated runs a command through the gate.
func (w *world) gated(at, who string, args ...string) *process {
	w.t.Helper()
	u := w.url
	w.url = at
	defer func() { w.url = u }()
	return w.process(who, args...)
}

func (w *world) mustGated(at, who string, args ...string) {
	w.t.Helper()
	p := w.gated(at, who, args...)
	if _, code := p.end(); code != 0 {
		w.t.Fatalf("%v: exit code %d\n%s", args, code, &p.err)
	}
}

// 6.1 e2ee: several processes share a store: every letter goes out once and comes once.
func TestL2_ProcessesShareAStore(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		w.people("alice", "bob")
		w.do("alice", "send", "--peer", "bob", "the first, so that they need no key each")
		w.receive("bob", "alice")
		const senders, each = 3, 6
		var wg sync.WaitGroup
		var mu sync.Mutex
		var got []string
		fail := func(p *process, code int) {
			if code != 0 {
				t.Errorf("exit code %d\n%s", code, &p.err)
			}
		}
		for s := range senders {
			wg.Go(func() {
				for i := range each {
					p := w.process("alice", "send", "--peer", "bob", fmt.Sprintf("%d-%d", s, i))
					_, code := p.end()
					fail(p, code)
				}
			})
		}
		receive := func() {
			p := w.process("bob", "receive", "--peer", "alice")
			lines, code := p.end()
			fail(p, code)
			mu.Lock()
			defer mu.Unlock()
			for _, l := range lines {
				var r struct{ Text string }
				if err := json.Unmarshal([]byte(l), &r); err != nil {
					t.Errorf("%q: %v", l, err)
				}
				got = append(got, r.Text)
			}
		}
		for range 3 {
			wg.Go(func() {
				for range each {
					receive()
				}
			})
		}
		wg.Wait()
		receive()
		slices.Sort(got)
		var want []string
		for s := range senders {
			for i := range each {
				want = append(want, fmt.Sprintf("%d-%d", s, i))
			}
		}
		slices.Sort(want)
		equal(t, "letters", got, want)
	})
}
