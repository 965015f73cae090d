//go:build linux || darwin

package spool_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/spool"
)

// python runs the readers and the writer of agent-talk as the contract describes them (interop/letters/spool.py).
func python(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/usr/bin/python3", append([]string{filepath.Join("..", "..", "..", "interop", "letters", "spool.py")}, args...)...)
	cmd.Stderr = os.Stderr
	return cmd
}

func words(t *testing.T, cmd *exec.Cmd) []string {
	t.Helper()
	b, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd.Args, err)
	}
	return strings.Fields(string(b))
}

// running is a Python process that goes on.
type running struct {
	*exec.Cmd
	in    io.WriteCloser
	lines chan string
}

func run(t *testing.T, cmd *exec.Cmd) *running {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	r := &running{cmd, in, make(chan string, 10_000)}
	go func() {
		defer close(r.lines)
		s := bufio.NewScanner(out)
		for s.Buffer(nil, 4<<20); s.Scan(); {
			r.lines <- s.Text()
		}
	}()
	return r
}

func (r *running) next(t *testing.T) string {
	t.Helper()
	select {
	case l, ok := <-r.lines:
		if !ok {
			t.Fatalf("%v ended", r.Args)
		}
		return l
	case <-time.After(3 * time.Minute):
		t.Fatalf("%v says nothing", r.Args)
		return ""
	}
}

// end gives what else it says.
func (r *running) end() (rest []string) {
	_ = r.in.Close()
	for l := range r.lines {
		rest = append(rest, l)
	}
	return rest
}

// agent-talk's Codex hook and our reader share one cursor: whichever comes first has the letter, the other one does not.
func TestL4_HookOfAgentTalkSharesTheCursor(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.attach("s")
	w := d.writer(spool.WriterOptions{})
	path := d.path("s", spool.Messages)
	hook := func() []string { return words(t, python(t, "hook", path)) }
	for _, id := range []string{"m1", "m2"} {
		d.append(w, spool.Messages, letter(id))
	}
	equal(t, "their hook", hook(), "[m1 m2]")
	equal(t, "our reader after it", d.take("s"), "[]")
	d.append(w, spool.Messages, letter("m3"))
	equal(t, "our reader", d.take("s"), "[m3]")
	equal(t, "their hook after it", hook(), "[]")
	d.append(w, spool.Messages, strings.Replace(letter("m4"), `"text": "hello m4"`, `"kind": "contact", "card": {}`, 1))
	d.append(w, spool.Messages, letter("m5"))
	equal(t, "their hook passes a card over", hook(), "[m5]")
	// Half a line is for later, on both sides.
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	d.must(err)
	_, err = f.WriteString(letter("m6")[:40])
	d.must(err)
	equal(t, "half a line", fmt.Sprint(hook(), d.take("s")), "[] []")
	d.must(f.Close())
	d.append(d.writer(spool.WriterOptions{}), spool.Messages, letter("m6"))
	equal(t, "whole", hook(), "[m6]")
	// Truncated and filled to the same size; ids that were seen do not come again.
	b, err := os.ReadFile(path)
	d.must(err)
	d.must(os.WriteFile(path, bytes.ReplaceAll(b, []byte("m1"), []byte("n1")), 0o600))
	equal(t, "refilled", hook(), "[n1]")
	equal(t, "our reader", d.take("s"), "[]")
	// A session that attaches is not given what their hook has handed over.
	d.attach("t")
	equal(t, "the next session", d.take("t"), "[]")
}

// 6.2 inbox_hook: many hooks of both kinds at once over many spools, while rotations go on: each letter is handed over once.
func TestL4_ParallelHooks(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const spools, letters, rounds = 8, 6, 2
	var paths []string
	for n := range spools {
		d.attach(fmt.Sprintf("s%d", n))
		paths = append(paths, d.path(fmt.Sprintf("s%d", n), spool.Messages))
	}
	w := d.writer(spool.WriterOptions{})
	for round := range rounds {
		var want []string
		for n := range letters {
			id := fmt.Sprintf("m%d-%d", round, n)
			d.append(w, spool.Messages, letter(id))
			for range spools {
				want = append(want, id)
			}
		}
		var mu sync.Mutex
		var got []string
		var wg sync.WaitGroup
		for n := range 16 {
			wg.Go(func() {
				var ids []string
				if n%2 == 0 {
					b, err := python(t, "hook", strings.Join(paths, ":")).Output()
					if err != nil {
						t.Errorf("hook: %v", err)
					}
					ids = strings.Fields(string(b))
				} else {
					for s := range spools {
						b, err := d.reader(fmt.Sprintf("s%d", s)).Take(t.Context(), spool.Limit{Lines: 2})
						if err != nil {
							t.Errorf("take: %v", err)
						}
						ids = append(ids, idsOf(b)...)
					}
				}
				mu.Lock()
				defer mu.Unlock()
				got = append(got, ids...)
			})
		}
		wg.Wait()
		got = append(got, words(t, python(t, "hook", strings.Join(paths, ":")))...)
		slices.Sort(got)
		slices.Sort(want)
		equal(t, "handed over", got, want)
	}
}

// agent-talk's monitors: woken by session and inbox, each letter once; contact requests in a stream of their own; rotation does not
// disturb them.
func TestL4_MonitorsOfAgentTalk(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	mon, req := run(t, python(t, "monitor", "s", d.home)), run(t, python(t, "requests", "s", d.home))
	d.attach("s") // they wait for the map
	equal(t, "monitor", mon.next(t), "ready")
	equal(t, "requests monitor", req.next(t), "ready")
	now := time.Now()
	w := d.writer(spool.WriterOptions{MaxBytes: 2000, Now: func() time.Time { now = now.Add(time.Minute); return now }})
	var want []string
	for n := range 40 {
		id := fmt.Sprintf("m%d", n)
		want = append(want, id)
		d.append(w, spool.Messages, letter(id))
		if n%10 == 5 {
			d.append(w, spool.Requests, fmt.Sprintf(`{"kind": "contact_request_rejected", "from": "aa%d", "reason": "expired", "letter": "r%d"}`, n, n))
		}
		var m struct{ ID string }
		line := mon.next(t)
		d.must(json.Unmarshal([]byte(line), &m))
		equal(t, "printed", m.ID, id)
		d.take("s") // lets the file be rotated
	}
	if _, err := os.Stat(d.path("s", spool.Messages) + ".1"); err != nil {
		t.Fatal("no rotation happened")
	}
	equal(t, "nothing twice", mon.end(), "[]")
	rest := req.end()
	equal(t, "requests", len(rest), 4)
	if !strings.Contains(rest[0], `"kind": "contact_request_rejected", "from": "aa5"`) {
		t.Fatalf("%s", rest[0])
	}
	equal(t, "ids", idsIn(t, d.user.Inbox(spool.Messages)), want[len(want)-len(idsIn(t, d.user.Inbox(spool.Messages))):])
}

// agent-talk's writer and ours append to the same spools at once: every line is whole, and nothing is lost.
func TestL4_WriterOfAgentTalk(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.attach("s")
	theirs := run(t, python(t, "write", d.user.Dir(), d.home, "messages", "0"))
	w := d.writer(spool.WriterOptions{MaxBytes: -1})
	const each = 150
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := range each {
			if _, err := io.WriteString(theirs.in, letter(fmt.Sprintf("t%03d", n))+"\n"); err != nil {
				t.Error(err)
			}
		}
	})
	var want []string
	for n := range each {
		d.append(w, spool.Messages, letter(fmt.Sprintf("o%03d", n)))
		want = append(want, fmt.Sprintf("o%03d", n), fmt.Sprintf("t%03d", n))
	}
	wg.Wait()
	for range each {
		theirs.next(t)
	}
	for _, path := range []string{d.path("s", spool.Messages), d.user.Inbox(spool.Messages)} {
		ids := idsIn(t, path)
		slices.Sort(ids)
		slices.Sort(want)
		equal(t, path, ids, want)
	}
	got := d.take("s")
	slices.Sort(got)
	equal(t, "read", got, want)
	// What they wrote ours does not write again.
	equal(t, "again", d.append(w, spool.Messages, letter("t000")), "{1 0}")
	// Their collection knows our files, and ours theirs.
	d.must(os.WriteFile(d.path("gone", spool.Messages), []byte(letter("x")+"\n"), 0o600))
	equal(t, "their collection", words(t, python(t, "gc", d.user.Dir(), d.home, "14")), "[removed gone.ndjson]")
	equal(t, "our file", len(idsIn(t, d.path("s", spool.Messages))), 2*each)
}
