package follow

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Failures are tried again later each time, with a random part, and never later than five minutes; a relay that says that we call too
// often is left alone for half a minute.
func TestL3_Backoff(t *testing.T) {
	t.Parallel()
	for failures := 1; failures < 40; failures++ {
		want := min(firstPause<<min(failures-1, 30), mostPause)
		low, high := want, time.Duration(0)
		for range 200 {
			d := backoff(failures, false)
			low, high = min(low, d), max(high, d)
			if b := backoff(failures, true); b < busyPause || b > mostPause {
				t.Fatalf("%d failures at a busy relay: %s", failures, b)
			}
		}
		if low < want/2 || high > want || high-low < want/8 {
			t.Fatalf("%d failures: between %s and %s, want up to %s", failures, low, high, want)
		}
	}
}

// Without push it looks every two seconds while letters come, then ever more slowly, and at last at the interval.
func TestL3_PollsFasterWhileATalkIsHot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ since, interval, want time.Duration }{
		{0, time.Minute, 2 * time.Second}, {20 * time.Second, time.Minute, 2 * time.Second}, {time.Minute, time.Minute, 6 * time.Second},
		{10 * time.Minute, time.Minute, time.Minute}, {time.Hour, time.Minute, time.Minute}, {time.Hour, 5 * time.Second, 5 * time.Second}, {0, time.Second, time.Second},
	} {
		if got := pollEvery(c.since, c.interval); got != c.want {
			t.Errorf("%s after a letter: %s, want %s", c.since, got, c.want)
		}
	}
	for in, want := range map[time.Duration]time.Duration{0: time.Minute, time.Second: 5 * time.Second, time.Minute: time.Minute, 1000 * time.Hour: 24 * time.Hour} {
		if got := Clamp(in); got != want {
			t.Errorf("interval %s: %s, want %s", in, got, want)
		}
	}
}

// A look that asked for nobody's letters is followed by a pause too: hints of a relay must not make it look without end.
func TestL3_HintsWithoutEndAreNotFollowedAtOnce(t *testing.T) {
	t.Parallel()
	for asked, want := range map[int]time.Duration{0: callPause, 1: callPause, 7: 7 * callPause} {
		if got := gap(asked); got != want {
			t.Errorf("asked for %d senders: %s, want %s", asked, got, want)
		}
	}
}

// What is due when: everything at first, letters and requests at a hint, and otherwise each in its own time.
func TestL3_Schedule(t *testing.T) {
	t.Parallel()
	c := Config{Interval: time.Minute, Invites: true}
	now := time.Now()
	var s schedule
	all := turn{true, true, true, true}
	if got := s.take(now, false); got != all {
		t.Fatalf("at first: %+v", got)
	}
	s.done(now, all, c, false, false)
	if got := s.next(now, c); got != requestsEvery {
		t.Fatalf("next look after %s", got)
	}
	if got := s.take(now.Add(requestsEvery), false); got != (turn{requests: true}) {
		t.Fatalf("after ten seconds: %+v", got)
	}
	if got := s.take(now.Add(time.Second), true); got != (turn{letters: true, requests: true}) {
		t.Fatalf("at a hint: %+v", got)
	}
	c.Invites = false
	s.done(now, all, c, false, true)
	if got := s.next(now, c); got < hotPause*9/10 || got > hotPause*11/10 {
		t.Fatalf("after a letter: %s", got)
	}
	var fresh schedule
	fresh.done(now, all, c, true, false)
	if got := fresh.next(now, c); got > leaseOver*11/10 {
		t.Fatalf("after the first look: %s, though a killed predecessor may have left letters under a lease", got)
	}
	s.done(now, all, c, true, true)
	if got := s.next(now, c); got < c.Interval*9/10 || got > c.Interval*11/10 {
		t.Fatalf("after a letter with push: %s", got)
	}
	if got := s.take(now.Add(2*time.Hour), false); got != all {
		t.Fatalf("hours later: %+v", got)
	}
	if got := s.next(now.Add(time.Hour), c); got != 0 {
		t.Fatalf("a look that is late: %s", got)
	}
}

// The log is of bounded size, however much is written, and only its owner reads it.
func TestL3_LogIsBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "follow.err")
	if err := os.WriteFile(path, []byte("of an earlier run\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Repeat("x", 1000) + "\n"
	for range 5 * maxLog / len(line) {
		if n, err := l.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + ".1"} {
		st, err := os.Stat(name)
		if err != nil || st.Size() > maxLog || st.Mode().Perm() != 0o600 {
			t.Fatalf("%s: %v %v", name, st, err)
		}
	}
	names, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(names) != 2 {
		t.Fatalf("%v %v", names, err)
	}
}
