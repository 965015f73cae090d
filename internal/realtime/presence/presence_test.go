package presence_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/agntchat/agntchat/internal/realtime/presence"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// watch makes a tracker that writes its changes down.
func watch(t *testing.T) (*presence.Tracker, func() []string) {
	var mu sync.Mutex
	var log []string
	tr := presence.New(presence.Config{OnChange: func(changes []presence.Change) {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range changes {
			sign := "-"
			if c.Online {
				sign = "+"
			}
			log = append(log, sign+c.Participant)
		}
	}})
	t.Cleanup(tr.Close)
	return tr, func() []string {
		pass(200 * time.Millisecond) // what came within a moment is told when it is over
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		taken := log
		log = nil
		return taken
	}
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("changes %v, want %v", got, want)
	}
}

func TestGrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, changes := watch(t)
		tr.Connect("ann", "1")
		expect(t, changes(), "+ann")
		tr.Disconnect("ann", "1")
		pass(4 * time.Second)
		if !tr.Online("ann") {
			t.Fatal("offline within the grace period")
		}
		tr.Connect("ann", "2")
		pass(time.Hour)
		expect(t, changes())      // a reconnect is no news
		tr.Disconnect("ann", "1") // unknown: too late
		tr.Disconnect("ann", "2")
		pass(4 * time.Second)
		expect(t, changes())
		pass(2 * time.Second)
		expect(t, changes(), "-ann")
		if tr.Online("ann") || len(tr.All()) != 0 {
			t.Fatal("still online")
		}
	})
}

// TestGraceStartsAnew: a timer of an earlier absence does not end a later one.
func TestGraceStartsAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, changes := watch(t)
		tr.Connect("ann", "1")
		tr.Disconnect("ann", "1")
		pass(3 * time.Second)
		tr.Connect("ann", "2")
		tr.Disconnect("ann", "2")
		pass(4 * time.Second)
		expect(t, changes(), "+ann")
		pass(2 * time.Second)
		expect(t, changes(), "-ann")
	})
}

// TestConnections: the last one that ends counts, and the same key twice is one.
func TestConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, changes := watch(t)
		for _, key := range []string{"1", "2", "3", "3"} {
			tr.Connect("ann", key)
		}
		for _, key := range []string{"1", "2"} {
			tr.Disconnect("ann", key)
		}
		pass(time.Minute)
		expect(t, changes(), "+ann")
		tr.Leave("ann", "3")
		expect(t, changes(), "-ann")
		if tr.Online("ann") {
			t.Fatal("still online")
		}
	})
}

func TestCloseIsQuiet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, changes := watch(t)
		tr.Connect("ann", "1")
		tr.Disconnect("ann", "1")
		expect(t, changes(), "+ann")
		tr.Close()
		pass(time.Minute)
		expect(t, changes())
	})
}

// TestSlowListener: changes that undo each other while OnChange is busy are left
// out; the last state is told.
func TestSlowListener(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var log []string
		tr := presence.New(presence.Config{OnChange: func(changes []presence.Change) {
			for _, c := range changes {
				log = append(log, fmt.Sprint(c.Participant, c.Online))
			}
			<-release
		}})
		tr.Connect("ann", "1")
		synctest.Wait()
		for range 3 {
			tr.Connect("bob", "1")
			tr.Leave("bob", "1")
		}
		tr.Connect("cyd", "1")
		close(release)
		pass(time.Second)
		synctest.Wait()
		if got := fmt.Sprint(log); got != "[anntrue cydtrue]" {
			t.Fatal(got)
		}
		tr.Close()
	})
}

// TestMoment: the first change is told at once, those that follow together, and a
// crowd in portions.
func TestMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sizes []int
		began := time.Now()
		var at []time.Duration
		tr := presence.New(presence.Config{OnChange: func(changes []presence.Change) {
			sizes, at = append(sizes, len(changes)), append(at, time.Since(began))
		}})
		tr.Connect("ann", "1")
		synctest.Wait()
		for n := range 20 {
			tr.Connect(fmt.Sprint("p", n), "1")
			pass(5 * time.Millisecond)
		}
		pass(time.Second)
		for n := range 600 {
			tr.Connect(fmt.Sprint("crowd", n), "1")
			if n == 0 {
				synctest.Wait() // told at once; the others within its moment
			}
		}
		pass(time.Second)
		tr.Connect("zoe", "1")
		synctest.Wait()
		if got := fmt.Sprint(sizes); got != "[1 20 1 256 256 87 1]" {
			t.Fatal(got)
		}
		if at[0] != 0 || at[1] != 200*time.Millisecond || at[2] != 1100*time.Millisecond || at[6] != 2100*time.Millisecond {
			t.Fatal(at)
		}
		tr.Connect("late", "1")
		tr.Close() // does not wait for the moment to be over, and tells nothing more
		if len(sizes) != 7 {
			t.Fatal(sizes)
		}
	})
}

func TestConcurrency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, changes := watch(t)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for n := range 200 {
					who := fmt.Sprint("p", n%5)
					tr.Connect(who, fmt.Sprint(i))
					tr.Disconnect(who, fmt.Sprint(i))
				}
			})
		}
		wg.Wait()
		pass(time.Minute)
		state := map[string]bool{}
		for _, c := range changes() {
			if state[c[1:]] == (c[0] == '+') {
				t.Fatalf("%s twice", c)
			}
			state[c[1:]] = c[0] == '+'
		}
		for who, online := range state {
			if online {
				t.Errorf("%s is still online", who)
			}
		}
	})
}

// pass lets the bubble's clock move on.
func pass(d time.Duration) { <-time.After(d) }
