package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/agntchat/agntchat/internal/letter"
	"github.com/agntchat/agntchat/internal/letterbox/cli"
	"github.com/agntchat/agntchat/internal/letterbox/retalktest"
	"github.com/agntchat/agntchat/internal/letterbox/store"
	"github.com/agntchat/agntchat/internal/pg/pgtest"
	"github.com/agntchat/agntchat/internal/relay"
	wire "github.com/agntchat/agntchat/internal/wire/letter"
)

// cheap is a key derivation for tests: hundreds of stores are opened.
var cheap = store.Cost{Time: 1, Memory: 64, Threads: 1}

// world is people at machines of their own who share nothing but a relay.
type world struct {
	t     *testing.T
	tmp   string
	url   string
	plain *retalktest.Relay // nil when the relay is ours
	ids   map[string]string
	stdin string
	gate  *gate // before the relay, for tests that kill; its address is as good as the relay's
}

// onBoth runs a test against a relay that behaves as retalk's, and against ours.
func onBoth(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Run("retalk's relay", func(t *testing.T) {
		t.Parallel()
		fn(t, plainWorld(t))
	})
	t.Run("our relay", func(t *testing.T) {
		t.Parallel()
		fn(t, ourWorld(t, 30*time.Second))
	})
}

func plainWorld(t *testing.T) *world {
	t.Helper()
	r := retalktest.New(t)
	w := &world{t: t, tmp: t.TempDir(), url: r.URL, plain: r, ids: map[string]string{}, gate: newGate(t)}
	r.Lock(func() { r.Audiences = []string{w.gate.url} })
	w.gate.open(t, r.URL)
	return w
}

// ourWorld has the real relay over a real Postgres; lease is how long it keeps what a killed client did not confirm.
func ourWorld(t *testing.T, lease time.Duration) *world {
	t.Helper()
	w := &world{t: t, tmp: t.TempDir(), ids: map[string]string{}, gate: newGate(t)}
	office := &letter.Office{DB: pgtest.DB(t), Limits: letter.Limits{Lease: lease}}
	s := httptest.NewUnstartedServer(nil)
	w.url = "http://" + s.Listener.Addr().String()
	r := relay.New(relay.Config{
		Office: office, Audiences: []string{w.url, w.gate.url}, Address: func(*http.Request) string { return "192.0.2.1" }, Log: slog.New(slog.DiscardHandler),
		Metrics: prometheus.NewRegistry(), Clock: time.Now, MaxBody: 1 << 20, Timeout: time.Minute, MaxGroupSize: 100,
	})
	s.Config.Handler = r
	s.Start()
	w.gate.open(t, w.url)
	t.Cleanup(func() { r.Close(); s.Close() })
	return w
}

func (w *world) home(who string) string { return filepath.Join(w.tmp, "home-"+who) }

func (w *world) dir(who string) string { return filepath.Join(w.home(who), who) }

func (w *world) env(who string) cli.Env {
	return cli.Env{Home: w.home(who), UserHome: w.tmp, Relay: w.url, Login: "login"}
}

// result is what a command printed.
type result struct {
	code     int
	out, err string
}

// run runs a command at somebody's machine.
func (w *world) run(who string, args ...string) result {
	return w.runIn(w.t.Context(), w.env(who), args...)
}

func (w *world) runIn(ctx context.Context, env cli.Env, args ...string) result {
	w.t.Helper()
	var out, errOut bytes.Buffer
	code := cli.Run(ctx, args, env, cli.Streams{In: strings.NewReader(w.stdin), Out: &out, Err: &errOut}, cheap)
	return result{code, out.String(), errOut.String()}
}

// do runs a command as somebody's identity and wants success.
func (w *world) do(who string, args ...string) result {
	w.t.Helper()
	return w.want(0, who, args...)
}

func (w *world) want(code int, who string, args ...string) result {
	w.t.Helper()
	r := w.run(who, append(args, "-u", who)...)
	if r.code != code {
		w.t.Fatalf("%s: agnt letter %s: exit code %d, want %d\n%s%s", who, strings.Join(args, " "), r.code, code, r.out, r.err)
	}
	return r
}

// people makes identities that know each other by name.
func (w *world) people(names ...string) {
	w.t.Helper()
	for _, n := range names {
		w.ids[n] = strings.TrimSpace(w.do(n, "init", "-np").out)
		if len(w.ids[n]) != 32 {
			w.t.Fatalf("init printed %q", w.ids[n])
		}
	}
	for _, me := range names {
		for _, other := range names {
			if me != other {
				w.do(me, "add", w.ids[other], "--peer", other)
			}
		}
	}
}

type record map[string]any

func (w *world) records(out string) (list []record) {
	w.t.Helper()
	for line := range strings.Lines(out) {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			w.t.Fatalf("%q is no JSON: %v", line, err)
		}
		list = append(list, r)
	}
	return list
}

// receive gives the records of a receive.
func (w *world) receive(who, from string, flags ...string) []record {
	w.t.Helper()
	return w.records(w.do(who, append([]string{"receive", "--peer", from}, flags...)...).out)
}

func texts(list []record) (out []string) {
	for _, r := range list {
		s, _ := r["text"].(string)
		out = append(out, s)
	}
	return out
}

// outbox is the states of somebody's letters that nobody acknowledged.
func (w *world) outbox(who string) (states []string) {
	w.t.Helper()
	for _, r := range w.records(w.do(who, "outbox", "--json").out) {
		s, _ := r["state"].(string)
		if s != "unreadable" {
			states = append(states, s)
		}
	}
	return states
}

// open opens somebody's store.
func (w *world) open(who string) *store.Store {
	w.t.Helper()
	s, err := store.Open(w.t.Context(), w.dir(who))
	if err != nil {
		w.t.Fatal(err)
	}
	if err := s.Unlock(w.t.Context(), store.Passphrase{}); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = s.Close() })
	return s
}

// copyStore copies somebody's store, as a backup would.
func (w *world) copyStore(from, to string) {
	w.t.Helper()
	s := w.open(from)
	if err := s.Close(); err != nil { // the last connection folds the log into the file
		w.t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(w.dir(from), store.FileName))
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	g, _ := json.Marshal(got)
	v, _ := json.Marshal(want)
	if !bytes.Equal(g, v) {
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

// plainKeys are the keys that somebody published.
func (w *world) plainKeys(who string) wire.Keys {
	s := w.records(w.run(who, "id", "--json", "-u", who).out)[0]
	return wire.Keys{IdentityKey: s["identity_key"].(string), SigningKey: s["signing_key"].(string)}
}

// restore puts a copied store back.
func (w *world) restore(from, who string) {
	w.t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(filepath.Join(w.dir(who), store.FileName+end)); err != nil && end == "" {
			w.t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(w.dir(who), store.FileName), b, 0o600); err != nil {
		w.t.Fatal(err)
	}
}
