//go:build linux || darwin

package spool_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/spool"
)

// job is what a process of the tests does.
type job struct {
	Home, User string
	Session    string
	Write      []string // ids of letters to append
	Size       int      // of their texts
	Max        int64    // size of a spool
	FileLimit  uint64   // bytes that the system lets a file have
	Take       int      // how many letters to take in all, by all readers
}

const jobEnv = "AGNT_TEST_SPOOL"

func TestMain(m *testing.M) {
	if text := os.Getenv(jobEnv); text != "" {
		var j job
		if err := json.Unmarshal([]byte(text), &j); err != nil {
			panic(err)
		}
		if err := j.run(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func (j job) run() error {
	user, err := spool.At(j.User)
	if err != nil {
		return err
	}
	if j.FileLimit > 0 {
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: j.FileLimit, Max: j.FileLimit}); err != nil {
			return err
		}
	}
	w := spool.NewWriter(user, spool.OpenRegistry(j.Home), spool.WriterOptions{MaxBytes: j.Max})
	for _, id := range j.Write {
		if _, err := w.Append(context.Background(), spool.Messages, []byte(big(id, j.Size))); err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		fmt.Println(id)
	}
	if j.Take == 0 {
		return nil
	}
	r, err := user.Reader(j.Session, spool.Messages)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() { // the parent closes our input when everything was taken
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		stop()
	}()
	for {
		b, err := r.Take(context.Background(), spool.Limit{Lines: j.Take})
		if err != nil {
			return err
		}
		for _, l := range b.Lines {
			fmt.Println(l.ID)
		}
		if len(b.Lines) > 0 {
			continue
		}
		if err := r.Wait(ctx); err != nil {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // everything was taken
			}
			return err
		}
	}
}

// start runs a job in a process of its own; ids are what it printed.
func (d *desk) start(j job) (p *exec.Cmd, ids <-chan string) {
	d.t.Helper()
	j.Home, j.User = d.home, d.user.Dir()
	text, err := json.Marshal(j)
	d.must(err)
	p = exec.Command(os.Args[0])
	p.Env = []string{jobEnv + "=" + string(text)}
	p.Stderr = os.Stderr
	if j.FileLimit > 0 {
		p.Stderr = nil
	}
	out, err := p.StdoutPipe()
	d.must(err)
	d.must(p.Start())
	lines := make(chan string, 100_000)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return p, lines
}

func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("AGNT_TEST_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	t.Logf("AGNT_TEST_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 4))
}

// everything is what readers that start at the oldest file find.
func everything(t *testing.T, path string) (ids []string) {
	t.Helper()
	for n := 9; n >= 0; n-- {
		ids = append(ids, idsIn(t, spool.Generation(path, n))...)
	}
	return ids
}

// A spool is rotated when it is large and was read; what a known reader has not passed is never rotated away, however far it is behind.
func TestL4_RotationLosesNothing(t *testing.T) {
	for _, windows := range []bool{false, true} {
		t.Run(fmt.Sprintf("locks beside %v", windows), func(t *testing.T) {
			defer spool.Beside(windows)()
			rnd := seeded(t)
			d := newDesk(t)
			d.attach("s")
			now := time.Now()
			w := d.writer(spool.WriterOptions{MaxBytes: 1500, Now: func() time.Time { now = now.Add(3 * time.Second); return now }})
			path := d.path("s", spool.Messages)
			var got, want []string
			rotations, behind := 0, 0
			for n := range 500 {
				id := fmt.Sprintf("m%04d", n)
				want = append(want, id)
				before, err := os.Stat(path)
				d.must(err)
				d.append(w, spool.Messages, big(id, 100))
				after, err := os.Stat(path)
				d.must(err)
				if !os.SameFile(before, after) {
					rotations++
					if len(got) < len(want)-1 {
						behind++
					}
				}
				// A reader that sometimes keeps up and sometimes sleeps over several rotations.
				if (n/100)%2 == 0 && rnd.IntN(4) == 0 {
					b, err := d.reader("s").Take(t.Context(), spool.Limit{Lines: 1 + rnd.IntN(60)})
					d.must(err)
					got = append(got, idsOf(b)...)
				}
			}
			got = append(got, d.take("s")...)
			equal(t, "letters", got, want)
			if rotations < 10 || behind == 0 {
				t.Fatalf("%d rotations, %d of them before the reader was through", rotations, behind)
			}
			if _, err := os.Stat(path + ".1"); err != nil {
				t.Fatal(err)
			}
			// When all was read, old generations go: one stays, as the programs of agent-talk have it.
			for n := range 60 {
				d.append(w, spool.Messages, big(fmt.Sprintf("n%d", n), 100))
				d.take("s")
			}
			if old, _ := filepath.Glob(path + ".[2-9]"); len(old) > 0 {
				t.Fatalf("%v are still there", old)
			}
			t.Logf("%d rotations", rotations)
		})
	}
}

// A reader that agent-talk's programs know nothing of has no cursor: the file is rotated as theirs is, at the size, once nothing was
// written for a moment.
func TestL4_RotatedAtTheSize(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(d.reg.Register("s", d.user))
	now := time.Now()
	w := d.writer(spool.WriterOptions{NoInbox: true, Now: func() time.Time { return now }})
	path := d.path("s", spool.Messages)
	n := 0
	for size := int64(0); size < spool.MaxBytes; n++ {
		d.append(w, spool.Messages, big(fmt.Sprintf("m%d", n), 700_000))
		st, err := os.Stat(path)
		d.must(err)
		size = st.Size()
	}
	d.append(w, spool.Messages, letter("soon after"))
	if _, err := os.Stat(path + ".1"); err == nil {
		t.Fatal("rotated though a reader may not have seen the last letter")
	}
	now = now.Add(time.Minute)
	d.append(w, spool.Messages, letter("later"))
	equal(t, "the new file", idsIn(t, path), "[later]")
	equal(t, "letters of the old one", len(idsIn(t, path+".1")), n+1)
	equal(t, "mode", mode(t, path), os.FileMode(0o600))
}

// Writers and readers in processes of their own, with rotations all the time; writers are killed and their letters written again.
// Every letter is in the spool once and is taken by one of the readers.
func TestL4_WritersAndReadersTogether(t *testing.T) {
	t.Parallel()
	rnd := seeded(t)
	d := newDesk(t)
	d.attach("s")
	const letters, writers, readers = 400, 4, 3
	var all []string
	for n := range letters {
		all = append(all, fmt.Sprintf("m%04d", n))
	}
	var mu sync.Mutex
	var taken []string
	var reading sync.WaitGroup
	var ends []func()
	took := make(chan struct{}, letters)
	for range readers {
		j := job{Session: "s", Take: 1 + rnd.IntN(7)}
		text, err := json.Marshal(job{Home: d.home, User: d.user.Dir(), Session: j.Session, Take: j.Take})
		d.must(err)
		p := exec.Command(os.Args[0])
		p.Env, p.Stderr = []string{jobEnv + "=" + string(text)}, os.Stderr
		in, err := p.StdinPipe()
		d.must(err)
		out, err := p.StdoutPipe()
		d.must(err)
		d.must(p.Start())
		ends = append(ends, func() { _ = in.Close() })
		reading.Go(func() {
			for s := bufio.NewScanner(out); s.Scan(); {
				mu.Lock()
				taken = append(taken, s.Text())
				mu.Unlock()
				took <- struct{}{}
			}
			if err := p.Wait(); err != nil {
				t.Errorf("reader: %v", err)
			}
		})
	}
	var writing sync.WaitGroup
	kills := make([]int, writers)
	for n := range writers {
		// Each writer has its own letters and half of the next one's.
		mine := slices.Concat(all[n*letters/writers:(n+1)*letters/writers], all[(n+1)%writers*letters/writers:][:letters/writers/2])
		after := make([]int, 6)
		for i := range after {
			after[i] = 1 + rnd.IntN(60)
		}
		writing.Go(func() {
			left := mine
			for try := 0; len(left) > 0; try++ {
				p, ids := d.start(job{Write: left, Size: 200, Max: 8000})
				done, killed := 0, false
				for range ids {
					if done++; try < len(after) && done == after[try] {
						_ = p.Process.Kill() // while it writes the next one
						killed = true
					}
				}
				if err := p.Wait(); err != nil && !killed {
					t.Errorf("writer: %v", err)
					return
				}
				if killed {
					kills[n]++
				}
				left = left[done:]
			}
		})
	}
	writing.Wait()
	deadline := time.After(3 * time.Minute)
	for n := range letters {
		select {
		case <-took:
		case <-deadline:
			t.Fatalf("only %d letters were taken", n)
		}
	}
	for _, end := range ends {
		end()
	}
	reading.Wait()
	slices.Sort(taken)
	equal(t, "taken", taken, all)
	t.Logf("writers were killed %v times", kills)
}

// A full disk: the append says so and leaves no half line; when there is room again the same letter comes whole, once. The system
// itself refuses the bytes here, at a limit for the size of a file.
func TestL4_FullDisk(t *testing.T) {
	t.Parallel()
	for limit := uint64(20_000); limit < 20_400; limit += 57 {
		d := newDesk(t)
		d.attach("s")
		var all []string
		for n := range 100 {
			all = append(all, fmt.Sprintf("m%03d", n))
		}
		p, ids := d.start(job{Write: all, Size: 300, Max: -1, FileLimit: limit})
		done := 0
		for range ids {
			done++
		}
		if err := p.Wait(); err == nil || done == 0 || done == len(all) {
			t.Fatalf("%d letters fitted, %v", done, err)
		}
		for _, path := range []string{d.path("s", spool.Messages), d.user.Inbox(spool.Messages)} {
			b, err := os.ReadFile(path)
			d.must(err)
			if !strings.HasSuffix(string(b), "}\n") {
				t.Fatalf("half a line at %d of %d: %q", len(b), limit, b[max(0, len(b)-60):])
			}
		}
		equal(t, "read meanwhile", d.take("s"), all[:done])
		p, ids = d.start(job{Write: all[done:], Size: 300, Max: -1})
		for range ids {
			done++
		}
		d.must(p.Wait())
		equal(t, "inbox", everything(t, d.user.Inbox(spool.Messages)), all)
		equal(t, "spool", everything(t, d.path("s", spool.Messages)), all)
	}
}

// A spool that cannot be written is an error, and what was asked of the other spools is asked again.
func TestL4_SpoolThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.attach("s")
	path := d.path("t", spool.Messages)
	d.must(os.Mkdir(path, 0o700))
	d.must(d.reg.Register("t", d.user))
	w := d.writer(spool.WriterOptions{})
	if _, err := w.Append(t.Context(), spool.Messages, []byte(letter("m1"))); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Fatalf("error %v", err)
	}
	d.must(os.Remove(path))
	equal(t, "written", d.append(w, spool.Messages, letter("m1")), "{2 1}")
	ctx, cancel := context.WithCancel(t.Context())
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	d.must(err)
	defer func() { _ = f.Close() }()
	d.must(syscall.Flock(int(f.Fd()), syscall.LOCK_EX)) // another program has it
	cancel()
	if _, err := w.Append(ctx, spool.Messages, []byte(letter("m2"))); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
}
