package app_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/app/apptest"
	"github.com/agntchat/agntchat/internal/config"
	"github.com/agntchat/agntchat/internal/relay/relaytest"
	wire "github.com/agntchat/agntchat/internal/wire/letter"
)

// relayRun is `agntchat relay` as its user runs it.
type relayRun struct {
	*apptest.Child
	*relaytest.Relay
	t *testing.T
}

func startRelay(t *testing.T, addr string, env []string, args ...string) relayRun {
	t.Helper()
	env = append([]string{"AGNTCHAT_METRICS_ADDR=off"}, env...)
	args = append([]string{"relay", "--addr", addr}, args...)
	r := relayRun{
		t: t, Child: apptest.Start(t, "agntchat relay", t.TempDir(), env, filepath.Join(apptest.Programs(t), "agntchat"), args...),
		Relay: &relaytest.Relay{URL: "http://" + addr, HTTP: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}},
	}
	t.Cleanup(r.HTTP.CloseIdleConnections)
	return r
}

// ready waits for the line that says where it is.
func (r relayRun) ready(ctx context.Context) {
	r.t.Helper()
	line, err := r.WaitOutput(ctx, "ready http")
	if err != nil {
		r.t.Fatalf("%v\n%s", err, r.Output())
	}
	if line != "ready "+r.URL {
		r.t.Errorf("it says %q, want ready %s", line, r.URL)
	}
	for _, path := range []string{"/info", "/healthz", "/readyz"} {
		if code, body, err := apptest.Get(ctx, r.URL+path); err != nil || code != 200 {
			r.t.Errorf("%s after ready: %d %s %v", path, code, body, err)
		}
	}
}

// TestL1_Bug5_RelayInAnEmptyFolder starts with nothing, writes into its folder and
// nowhere else, keeps letters over a stop and over kill -9, and leaves nothing running.
func TestL1_Bug5_RelayInAnEmptyFolder(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 6*patience)
	defer cancel()
	addr, dir := apptest.FreeAddr(t), filepath.Join(apptest.DataDir(t), "data")
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	first := startRelay(t, addr, nil, "--data-dir", dir)
	first.ready(ctx)
	a, b := relaytest.NewUser(), relaytest.NewUser()
	ok(first.Publish(ctx, b, 2)) // signed for http://<addr>, the default
	_, err := first.Send(ctx, a, b.Address, "one")
	ok(err)
	ok(first.Signal(syscall.SIGINT))
	if code, err := first.Wait(ctx); err != nil || code != 0 {
		t.Errorf("Ctrl-C: exit code %d, %v", code, err)
	}
	devRun{t: t, dir: dir}.stopped()

	second := startRelay(t, addr, nil, "--data-dir", dir, "--audience", "https://mail.example.com,https://old.example.com/r")
	second.ready(ctx)
	second.Audience = "https://old.example.com/r"
	_, err = second.Send(ctx, a, b.Address, "two")
	ok(err)
	if _, err := (&relaytest.Relay{URL: second.URL, HTTP: second.HTTP}).Read(ctx, b, ""); err == nil || !strings.Contains(err.Error(), "bad signature") {
		t.Errorf("signed for an address that it was not given: %v", err)
	}
	second.Kill()

	third := startRelay(t, addr, nil, "--data-dir", dir)
	third.ready(ctx)
	list, err := third.Read(ctx, b, a.Address)
	ok(err)
	if len(list) != 2 || list[0].Body != "one" || list[1].Body != "two" {
		t.Errorf("after kill -9: %+v", list)
	}
	ok(third.Signal(syscall.SIGTERM))
	if code, err := third.Wait(ctx); err != nil || code != 0 {
		t.Errorf("SIGTERM: exit code %d, %v", code, err)
	}
	devRun{t: t, dir: dir}.stopped()
	for _, r := range []relayRun{first, second, third} {
		if text := r.Output(); strings.Contains(text, a.Address) || strings.Contains(text, b.Address) {
			t.Error("an address of letters is in the log")
		}
	}
	if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) != 1 {
		t.Errorf("it wrote beside its folder: %v %v", left, err)
	}
}

// TestL1_RelayFlags: the flags and variables of the server it replaces count, and
// what is wrong is told.
func TestL1_RelayFlags(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	for _, args := range [][]string{{"--nope"}, {"extra"}, {"--max-mailbox", "many"}, {"--lease", "-1s"}, {"--max-body", "0"}, {"--audience", "letters.example.com"}} {
		r := startRelay(t, apptest.FreeAddr(t), nil, append([]string{"--data-dir", t.TempDir()}, args...)...)
		if code, err := r.Wait(ctx); err != nil || code != 2 || !strings.Contains(r.Output(), "agntchat relay") {
			t.Errorf("%v: exit code %d, %v, %s", args, code, err, r.Output())
		}
	}
	r := startRelay(t, apptest.FreeAddr(t), []string{"RETALK_SERVER_MAX_GROUP_SIZE=7", "RETALK_SERVER_TIMEOUT=20", "RETALK_SERVER_ADMIN_PASSWORD=pw", "AGNTCHAT_RELAY_LETTER_TTL=48h"},
		"--data-dir", filepath.Join(apptest.DataDir(t), "data"), "--max-body", "5000", "--rate-limit", "9", "--max-mailbox", "3", "--max-mailbox-per-sender", "2", "--refused-ttl", "60", "--require-api-key")
	r.ready(ctx)
	_, body, err := apptest.Get(ctx, r.URL+"/info")
	if err != nil {
		t.Fatal(err)
	}
	var info wire.Info
	if err := json.Unmarshal([]byte(body), &info); err != nil {
		t.Fatal(err)
	}
	want := wire.Limits{
		MaxBody: 5000, RatePerMinute: 9, RateBurst: 9, MaxMailbox: 3, MaxMailboxPerSender: 2, MaxMailboxBytes: 32 << 20,
		MaxOneTimeKeys: 1000, LetterTTL: 48 * 3600, RefusedTTL: 60,
	}
	if info.MaxGroupSize != 7 || info.Limits == nil || *info.Limits != want {
		t.Errorf("info: %s", body)
	}
	if err := r.Publish(ctx, relaytest.NewUser(), 1); err == nil || !strings.Contains(err.Error(), "401 valid API key required") {
		t.Errorf("without a key: %v", err)
	}
	if code, _, err := apptest.Get(ctx, r.URL+"/admin"); err != nil || code != 401 {
		t.Errorf("admin: %d %v", code, err)
	}
}

// TestL1_RelayInTheServer: the mount below /relay, known by the server's public
// address; an open event stream does not hold up the server's end.
func TestL1_RelayInTheServer(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	r := &relaytest.Relay{URL: s.URL + "/relay", Audience: "http://127.0.0.1:4000/relay", HTTP: http.DefaultClient}
	a, b := relaytest.NewUser(), relaytest.NewUser()
	if err := r.Publish(t.Context(), b, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Send(t.Context(), a, b.Address, "m"); err != nil {
		t.Fatal(err)
	}
	if list, err := r.Read(t.Context(), b, ""); err != nil || len(list) != 1 {
		t.Errorf("%v %v", list, err)
	}
	none := map[string]any{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	res, err := r.Open(ctx, wire.NewRequest(wire.ToolEvents, b.Auth(wire.ToolEvents, r.Audience, time.Now(), none), none))
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("%v %v", res, err)
	}
	defer res.Body.Close() // still open when the server drains: it must not wait for it
	for _, path := range []string{"/relay/info", "/relay/", "/relay"} {
		code, body, err := apptest.Get(t.Context(), s.URL+path)
		if want := map[bool]int{true: 200, false: 404}[path == "/relay/info"]; err != nil || code != want || !strings.HasPrefix(body, "{") {
			t.Errorf("%s: %d %s %v", path, code, body, err)
		}
	}
}

// TestL1_RelayTurnedOff: nothing answers below /relay but the web client.
func TestL1_RelayTurnedOff(t *testing.T) {
	t.Parallel()
	s := apptest.New(t, func(c *config.Config) { c.Relay.Mount = "off" })
	r := &relaytest.Relay{URL: s.URL + "/relay", HTTP: http.DefaultClient}
	if err := r.Publish(t.Context(), relaytest.NewUser(), 1); err == nil {
		t.Error("a relay that is off took keys")
	}
	if _, body, err := apptest.Get(t.Context(), s.URL+"/relay/info"); err != nil || strings.Contains(body, "max_group_size") {
		t.Errorf("info: %s %v", body, err)
	}
}
