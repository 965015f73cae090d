package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/app/apptest"
	"github.com/agntchat/agntchat/internal/letterbox/spool"
	"github.com/agntchat/agntchat/internal/pg/pgtest"
)

const (
	followLetters = 120             // that are surely sent
	followLease   = 2 * time.Second // of the relay: how long it keeps to itself what a killed follower did not confirm
)

// letterUser is a person's machine: `agnt letter` with a home folder of its own.
type letterUser struct {
	t          *testing.T
	bin        string
	home       string
	name       string
	relay      string
	address    string
	ctx        context.Context
	mu         sync.Mutex
	background *apptest.Child // the command that may be killed, or nil
}

func newLetterUser(ctx context.Context, t *testing.T, name, relay string) *letterUser {
	t.Helper()
	u := &letterUser{t: t, bin: filepath.Join(apptest.Programs(t), "agnt"), home: t.TempDir(), name: name, relay: relay, ctx: ctx}
	_, out := u.run("init", "-np")
	u.address = strings.TrimSpace(out[strings.LastIndexByte(strings.TrimSpace(out), '\n')+1:])
	if len(u.address) != 32 {
		t.Fatalf("init said %s", out)
	}
	return u
}

func (u *letterUser) start(args ...string) *apptest.Child {
	u.t.Helper()
	return apptest.Start(u.t, u.name+": agnt letter "+args[0], u.home, []string{"RETALK_USER=" + u.name, "RETALK_RELAY=" + u.relay}, u.bin, append([]string{"letter"}, args...)...)
}

// run runs a command to its end; the killer may end it sooner.
func (u *letterUser) run(args ...string) (code int, out string) {
	u.t.Helper()
	c := u.start(args...)
	u.mu.Lock()
	u.background = c
	u.mu.Unlock()
	code, err := c.Wait(u.ctx)
	if err != nil {
		u.t.Error(err)
		code = -1
	}
	return code, c.Output()
}

func (u *letterUser) do(args ...string) string {
	u.t.Helper()
	code, out := u.run(args...)
	if code != 0 {
		u.t.Fatalf("%s: agnt letter %v: exit code %d\n%s", u.name, args, code, out)
	}
	return out
}

// kill ends whatever the person runs just now.
func (u *letterUser) kill() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.background != nil {
		_ = u.background.Signal(syscall.SIGKILL) // gone already is as good
	}
}

// TestL3_FollowerSurvivesKill: one sends, the other's follower spools for its sessions, and relay, follower and sender are killed with
// kill -9 at random moments, all of them the shipped programs. What was sent is in every session's spool once, and nothing is in
// any of them twice. AGNTCHAT_KILL_SEED repeats the choice of moments.
func TestL3_FollowerSurvivesKill(t *testing.T) {
	t.Parallel()
	seed := envUint(t, "AGNTCHAT_KILL_SEED", uint64(time.Now().UnixNano()))
	t.Logf("AGNTCHAT_KILL_SEED=%d repeats the choice of moments", seed)
	rng := rand.New(rand.NewPCG(seed, 3))
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	db := pgtest.Config(t)
	addr := apptest.FreeAddr(t)
	start := func() relayRun {
		r := startRelay(t, addr, []string{"DATABASE_URL=" + db.URL, "DATABASE_DIRECT_URL=" + db.DirectURL}, "--rate-limit", "0", "--lease", followLease.String())
		if _, err := r.WaitOutput(ctx, "ready http"); err != nil {
			t.Fatal(err)
		}
		return r
	}
	relay := start()
	alice, bob := newLetterUser(ctx, t, "alice", "http://"+addr), newLetterUser(ctx, t, "bob", "http://"+addr)
	alice.do("add", bob.address, "--peer", "bob")
	bob.do("add", alice.address, "--peer", "alice", "--verify")
	bob.do("session", "start", "--session", "one")
	follow := func() *apptest.Child { return bob.start("follow", "--peer", "alice", "--interval", "5") }
	follower := follow()

	sure := map[string]bool{} // texts whose sending was confirmed
	sent := make(chan struct{})
	var kills struct{ relay, follower, sender int }
	go func() {
		defer close(sent)
		for n := 0; len(sure) < followLetters && ctx.Err() == nil; n++ {
			text := fmt.Sprintf("letter %d", n)
			code, _ := alice.run("send", "--peer", "bob", text)
			if code != 0 {
				continue // killed, or the relay was away
			}
			if sure[text] = true; len(sure) != followLetters/2 {
				continue
			}
			// A second session comes in the middle and gets what nobody has read.
			if code, out := bob.run("session", "start", "--session", "two"); code != 0 {
				t.Errorf("session start: exit code %d\n%s", code, out)
			}
		}
	}()
	victims := []int{0, 1, 2, 2, 2} // each five kills in another order
	for n, sending := 0, true; sending; n++ {
		if n %= len(victims); n == 0 {
			rng.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
		}
		moment := time.NewTimer(time.Duration(50+rng.IntN(250)) * time.Millisecond)
		select {
		case <-sent:
			sending = false
		case <-moment.C:
			switch victims[n] {
			case 0:
				kills.relay++
				relay.Kill()
				relay = start()
			case 1:
				kills.sender++
				alice.kill()
			default:
				kills.follower++
				follower.Kill()
				follower = follow()
			}
		}
		moment.Stop()
	}
	// Without kills everything arrives, and the sender hears of it.
	for out := "unknown"; strings.TrimSpace(out) != ""; {
		if ctx.Err() != nil {
			t.Fatalf("left in the outbox:\n%s", out)
		}
		alice.do("sync")
		alice.do("receive", "--peer", "bob", "-q")
		out = alice.do("outbox")
	}
	user, err := spool.Of(filepath.Join(bob.home, ".retalk", "bob"))
	if err != nil {
		t.Fatal(err)
	}
	for _, sid := range []string{"one", "two"} {
		r, err := user.Reader(sid, spool.Messages)
		if err != nil {
			t.Fatal(err)
		}
		b, err := r.Take(ctx, spool.Limit{Lines: 10 * followLetters})
		if err != nil {
			t.Fatal(err)
		}
		count := map[string]int{}
		for _, l := range b.Lines {
			var m struct{ Text string }
			if err := json.Unmarshal(l.JSON, &m); err != nil || !l.Verified || l.From != alice.address {
				t.Errorf("%s: %v", l.JSON, err)
			}
			count[m.Text]++
		}
		for text := range sure {
			if count[text] == 0 {
				t.Errorf("session %s: %q was sent and never came", sid, text)
			}
		}
		for text, n := range count {
			if n != 1 {
				t.Errorf("session %s: %q came %d times", sid, text, n)
			}
		}
		// Not only what readers pass on: the files themselves have nothing twice.
		path, err := user.Spool(sid, spool.Messages)
		if err != nil {
			t.Fatal(err)
		}
		if lines := readLines(t, path); len(lines) != len(count) {
			t.Errorf("session %s: %d lines for %d letters", sid, len(lines), len(count))
		}
		t.Logf("session %s: %d letters, %d of them surely sent", sid, len(count), len(sure))
	}
	t.Logf("killed: relay %d, follower %d, sender %d times", kills.relay, kills.follower, kills.sender)
	if kills.follower < 3 || kills.relay == 0 || kills.sender == 0 {
		t.Error("too few kills to show anything")
	}
}

func readLines(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}
