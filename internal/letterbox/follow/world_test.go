//go:build linux

package follow_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/agntchat/agntchat/internal/letter"
	"github.com/agntchat/agntchat/internal/letterbox/cli"
	"github.com/agntchat/agntchat/internal/letterbox/follow"
	"github.com/agntchat/agntchat/internal/letterbox/retalktest"
	"github.com/agntchat/agntchat/internal/letterbox/spool"
	"github.com/agntchat/agntchat/internal/letterbox/store"
	"github.com/agntchat/agntchat/internal/pg/pgtest"
	"github.com/agntchat/agntchat/internal/relay"
)

// patience bounds waiting on a slow machine.
const patience = 3 * time.Minute

// cheap is a key derivation for tests.
var cheap = store.Cost{Time: 1, Memory: 64, Threads: 1}

const childEnv = "AGNT_TEST_FOLLOW"

// The test binary is `agnt letter` itself when it is asked to, also when that starts itself.
func TestMain(m *testing.M) {
	if text := os.Getenv(childEnv); text != "" {
		var env cli.Env
		if err := json.Unmarshal([]byte(text), &env); err != nil {
			panic(err)
		}
		// As cmd/agnt has it: what `start` sets for its child outranks what it had itself.
		for name, into := range map[string]*string{"RETALK_PASSPHRASE": &env.Passphrase, "RETALK_API_KEY": &env.APIKey, "RETALK_PASSPHRASE_FILE": &env.PassphraseFile} {
			if v, ok := os.LookupEnv(name); ok {
				*into = v
			}
		}
		args := os.Args[1:]
		if len(args) > 0 && args[0] == "letter" {
			args = args[1:]
		}
		os.Exit(cli.Run(context.Background(), args, env, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, cheap, follow.Commands("test")...))
	}
	os.Exit(m.Run())
}

// world is people at machines of their own, and a relay.
type world struct {
	t     *testing.T
	tmp   string
	url   string
	plain *retalktest.Relay // nil when the relay is ours
	ids   map[string]string

	mu    sync.Mutex
	calls map[string]int // to a relay of ours, by tool
}

// plainWorld has a relay as retalk's: it offers no push.
func plainWorld(t *testing.T) *world {
	t.Helper()
	r := retalktest.New(t)
	return &world{t: t, tmp: t.TempDir(), url: r.URL, plain: r, ids: map[string]string{}}
}

// ourWorld has our relay over a real Postgres: it offers push.
func ourWorld(t *testing.T) *world {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	url := "http://" + s.Listener.Addr().String()
	r := relay.New(relay.Config{
		Office: &letter.Office{DB: pgtest.DB(t), Limits: letter.Limits{Lease: 2 * time.Second}}, Audiences: []string{url}, Address: func(*http.Request) string { return "192.0.2.1" },
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Clock: time.Now, MaxBody: 1 << 20, Timeout: time.Minute, MaxGroupSize: 100,
	})
	w := &world{t: t, tmp: t.TempDir(), url: url, ids: map[string]string{}, calls: map[string]int{}}
	s.Config.Handler = http.HandlerFunc(func(out http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		var call struct{ Tool string }
		if json.Unmarshal(body, &call) == nil {
			w.mu.Lock()
			w.calls[call.Tool]++
			w.mu.Unlock()
		}
		r.ServeHTTP(out, req)
	})
	s.Start()
	t.Cleanup(func() { r.Close(); s.Close() })
	return w
}

func (w *world) home(who string) string { return filepath.Join(w.tmp, "home-"+who) }
func (w *world) dir(who string) string  { return filepath.Join(w.home(who), who) }

func (w *world) env(who string) cli.Env {
	return cli.Env{Home: w.home(who), UserHome: w.home(who), Relay: w.url, Login: "login", User: who}
}

func (w *world) place(who string) follow.Place {
	w.t.Helper()
	p, err := follow.At(w.dir(who))
	w.must(err)
	return p
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// command is `agnt letter` as a process of its own.
func (w *world) command(who string, args ...string) *exec.Cmd {
	w.t.Helper()
	env, err := json.Marshal(w.env(who))
	w.must(err)
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = []string{childEnv + "=" + string(env)}
	return cmd
}

type result struct {
	code     int
	out, err string
}

// run runs a command to its end.
func (w *world) run(who string, args ...string) result {
	w.t.Helper()
	cmd := w.command(who, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		w.t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

func (w *world) do(who string, args ...string) string {
	w.t.Helper()
	r := w.run(who, args...)
	if r.code != 0 {
		w.t.Fatalf("%s: agnt letter %s: exit code %d\n%s%s", who, strings.Join(args, " "), r.code, r.out, r.err)
	}
	return r.out
}

// start starts a follower in the background, which ends with the test.
func (w *world) start(who string, args ...string) string {
	w.t.Helper()
	w.t.Cleanup(func() {
		if _, err := w.place(who).Stop(context.Background()); err != nil {
			w.t.Errorf("stop the follower of %s: %v", who, err)
		}
		if w.t.Failed() {
			b, _ := os.ReadFile(w.place(who).LogPath())
			w.t.Logf("log of %s:\n%s", who, b)
		}
	})
	return w.do(who, append([]string{"follow", "start"}, args...)...)
}

// people makes identities that know each other.
func (w *world) people(names ...string) {
	w.t.Helper()
	for _, n := range names {
		w.ids[n] = strings.TrimSpace(w.do(n, "init", "-np"))
	}
	for _, me := range names {
		for _, other := range names {
			if me != other {
				w.do(me, "add", w.ids[other], "--peer", other, "--verify")
			}
		}
	}
}

// until waits for what a test wants to see.
func (w *world) until(what string, is func() bool) {
	w.t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for deadline := time.After(patience); !is(); {
		select {
		case <-look.C:
		case <-deadline:
			w.t.Fatalf("never: %s", what)
		}
	}
}

func (w *world) status(who string) follow.Status {
	w.t.Helper()
	s, err := w.place(who).Status(w.t.Context())
	w.must(err)
	return s
}

// record is a line of a spool.
type record struct {
	ID, From, Name, Text, Kind, TS, Letter string
	Verified                               bool
}

func (w *world) lines(path string) (list []record) {
	w.t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		var r record
		if json.Unmarshal(line, &r) == nil && bytes.HasSuffix(line, []byte("\n")) {
			list = append(list, r)
		}
	}
	return list
}

func (w *world) spool(who, sid string, s spool.Stream) []record {
	w.t.Helper()
	path, err := w.place(who).User().Spool(sid, s)
	w.must(err)
	return w.lines(path)
}

func (w *world) inbox(who string) []record {
	return w.lines(w.place(who).User().Inbox(spool.Messages))
}

func texts(list []record) (out []string) {
	for _, r := range list {
		out = append(out, r.Text)
	}
	return out
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, v := fmt.Sprint(got), fmt.Sprint(want); g != v {
		t.Fatalf("%s: got %s, want %s", what, g, v)
	}
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Fatalf("%q is missing in:\n%s", p, text)
		}
	}
}

// failFor makes a relay refuse the calls of one address.
func failFor(who string, err error) func(retalktest.Call) error {
	return func(c retalktest.Call) error {
		if c.From == who {
			return err
		}
		return nil
	}
}
