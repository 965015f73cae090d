package post_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agntchat/agntchat/internal/letterbox/post"
	"github.com/agntchat/agntchat/internal/letterbox/retalktest"
	"github.com/agntchat/agntchat/internal/letterbox/store"
	"github.com/agntchat/agntchat/internal/wire/letter"
)

var quiet = slog.New(slog.DiscardHandler)

func box(t *testing.T, url string) (*post.Box, *store.Store) {
	t.Helper()
	s, err := post.Create(t.Context(), t.TempDir(), store.Passphrase{}, store.Cost{}, store.Identity{Name: "x"}, "")
	if err != nil {
		t.Fatal(err)
	}
	b, err := post.Open(t.Context(), post.Config{Store: s, Book: store.OpenBook(t.TempDir()), Relay: url, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close(); _ = s.Close() })
	return b, s
}

func ok[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// A letter that the caller could not keep is handed on again, the same one, and is acknowledged only when it was kept.
func TestL2_AcknowledgedAfterTheCallerKeptIt(t *testing.T) {
	t.Parallel()
	r := retalktest.New(t)
	alice, _ := box(t, r.URL)
	bob, _ := box(t, r.URL)
	ok[post.Summary](t)(bob.Sync(t.Context(), post.ResendNone))
	ok[post.Summary](t)(alice.Sync(t.Context(), post.ResendNone))
	sent := ok[post.Receipt](t)(alice.Send(t.Context(), bob.Me().Address, "hello", false))
	from := post.ReceiveOptions{Peers: []string{alice.Me().Address}}
	full := errors.New("disk full")
	for range 3 {
		var got []string
		_, err := bob.Receive(t.Context(), from, func(l post.Letter) error { got = append(got, l.ID); return full })
		if !errors.Is(err, full) || len(got) != 1 || got[0] != sent.ID {
			t.Fatalf("%v %v", got, err)
		}
		if n := len(r.Mail(alice.Me().Address)); n != 0 {
			t.Fatalf("%d acknowledgements", n)
		}
	}
	done := ok[post.Received](t)(bob.Receive(t.Context(), from, func(l post.Letter) error {
		if l.Text != "hello" || l.Verified || l.At == 0 || l.Kind != post.Chat {
			t.Errorf("%+v", l)
		}
		return nil
	}))
	if done.Letters != 1 || len(r.Mail(alice.Me().Address)) != 1 {
		t.Fatalf("%+v", done)
	}
}

// Bug 7.4: keys whose publishing was cut off after the relay had them are not published again: one key for two strangers would
// cost one of them a letter. What the relay never got is published again, not made anew.
func TestL2_KeysAreNeverPublishedTwice(t *testing.T) {
	t.Parallel()
	r := retalktest.New(t)
	b, _ := box(t, r.URL)
	me := b.Me().Address
	cut := true
	r.Lock(func() {
		r.After = func(c retalktest.Call, _ http.ResponseWriter, _ *[]byte) bool {
			if c.Tool != letter.ToolPublishKeys || !cut {
				return true
			}
			cut = false
			return false
		}
	})
	if _, err := b.Sync(t.Context(), post.ResendNone); !errors.Is(err, post.ErrUnreachable) {
		t.Fatal(err)
	}
	for range 3 {
		ok[post.Summary](t)(b.Sync(t.Context(), post.ResendNone))
	}
	if n, twice := r.Unclaimed(me); n != 100 || twice != 0 {
		t.Fatalf("%d keys, %d of them twice", n, twice)
	}
	if n := len(r.Calls(letter.ToolPublishKeys)); n != 1 {
		t.Fatalf("published %d times", n)
	}
	// Forgotten by the relay: the same fallback key, new one-time keys.
	first := r.Calls(letter.ToolPublishKeys)[0].Args["fallback_key"]
	r.Wipe()
	s := ok[post.Summary](t)(b.Sync(t.Context(), post.ResendNone))
	if !s.Republished || !s.Replenished || s.FallbackRotated {
		t.Fatalf("%+v", s)
	}
	again := r.Calls(letter.ToolPublishKeys)[1].Args["fallback_key"]
	a, _ := json.Marshal(first)
	c, _ := json.Marshal(again)
	if string(a) != string(c) {
		t.Fatalf("%s, then %s", a, c)
	}
	// Refused before it had them: the same keys once more.
	b2, _ := box(t, r.URL)
	r.Lock(func() {
		r.Before = func(c retalktest.Call) error {
			if c.Tool == letter.ToolPublishKeys {
				return errors.New("not now")
			}
			return nil
		}
	})
	if _, err := b2.Sync(t.Context(), post.ResendNone); err == nil {
		t.Fatal("it went through")
	}
	r.Lock(func() { r.Before = nil })
	ok[post.Summary](t)(b2.Sync(t.Context(), post.ResendNone))
	calls := r.Calls(letter.ToolPublishKeys)
	a, _ = json.Marshal(calls[len(calls)-2].Args)
	c, _ = json.Marshal(calls[len(calls)-1].Args)
	if string(a) != string(c) {
		t.Fatal("other keys the second time")
	}
}

// Answers wait when the relay wants no more calls, and nothing is lost by that.
func TestL2_TooManyCallsKeepAnswers(t *testing.T) {
	t.Parallel()
	r := retalktest.New(t)
	var refuse atomic.Bool
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if refuse.Load() && req.Method == http.MethodPost {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write([]byte(`{"error": "` + letter.TextRateLimit + `"}`))
			return
		}
		http.Redirect(w, req, r.URL, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(front.Close)
	// Redirects are not followed: a signature names one address.
	b, _ := box(t, front.URL)
	if _, err := b.Sync(t.Context(), post.ResendNone); err == nil || !strings.Contains(err.Error(), "307") {
		t.Fatal(err)
	}
	refuse.Store(true)
	var e *post.RelayError
	if _, err := b.Sync(t.Context(), post.ResendNone); !errors.As(err, &e) || e.Status != http.StatusTooManyRequests || !strings.Contains(e.Error(), letter.TextRateLimit) {
		t.Fatal(err)
	}
}

func TestL2_RelayAddresses(t *testing.T) {
	t.Parallel()
	for address, good := range map[string]bool{
		"https://relay.example": true, "https://relay.example/letters/": true, "http://localhost:8766": true, "http://127.0.0.1/x": true, "http://[::1]:1": true,
		"http://relay.example": false, "http://192.168.0.1": false, "http://localhost.example": false, "ftp://localhost": false, "relay.example": false, "": false,
		"https://user:secret@relay.example": false, "https://relay.example/?x=1": false, "https://": false, "file:///etc": false,
	} {
		err := post.CheckAddress(address)
		if (err == nil) != good {
			t.Errorf("%q: %v", address, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("a secret in %v", err)
		}
	}
}

// A relay's list of letters that is broken, endless or of strange things costs at most itself.
func TestL2_StrangeAnswers(t *testing.T) {
	t.Parallel()
	var answer atomic.Value
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var r letter.Request
		_ = json.NewDecoder(bufio.NewReader(req.Body)).Decode(&r)
		switch r.Tool {
		case letter.ToolCountKeys:
			_, _ = w.Write([]byte(`{"unclaimed": 50, "has_fallback": true}`))
		case letter.ToolPublishKeys:
			_, _ = w.Write([]byte(`{"ok": true}`))
		default:
			_, _ = w.Write([]byte(answer.Load().(string)))
		}
	}))
	t.Cleanup(s.Close)
	b, _ := box(t, s.URL)
	from := strings.Repeat("a", 32)
	for text, good := range map[string]bool{
		`[]`: true, `[1, "x", null, {}, {"from": 7}, {"from": "zz", "body": "x", "mtype": 0}, {"message_id":1,"ts":1,"from":"` + from + `","mtype":9999999999,"body":"x"}]`: true,
		`[{"message_id":1,"ts":1,"from":"` + from + `","mtype":9,"body":"x"}]`: true,
		`{}`: true, `{"messages": 7}`: false, `7`: false, ``: false, `[`: false, `[{"from":`: false, `null`: false, `{"messages": []`: false, `{"lease": 7, "messages": []}`: false,
	} {
		answer.Store(text)
		_, err := b.Poll(t.Context(), post.ReceiveOptions{Peers: []string{from}}, func(post.Letter) error { return errors.New("a letter?") })
		if (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
	// An endless letter, and a call's endless answer.
	answer.Store(`[{"from":"` + from + `","mtype":9,"body":"` + strings.Repeat("x", 9<<20) + `"}]`)
	if _, err := b.Poll(t.Context(), post.ReceiveOptions{Peers: []string{from}}, nil); err == nil || !strings.Contains(err.Error(), "a letter of more than") {
		t.Fatalf("an endless letter: %.200v", err)
	}
	answer.Store(`[` + strings.Repeat(`{"from":"`+from+`","mtype":9,"body":"`+strings.Repeat("x", 3<<20)+`"},`, 4) + `{}]`)
	if _, err := b.Poll(t.Context(), post.ReceiveOptions{Peers: []string{from}}, nil); err != nil {
		t.Fatalf("four long letters: %.200v", err)
	}
	answer.Store(`{"identity_key":"` + strings.Repeat("x", 2<<20) + `"}`)
	if _, err := b.FetchKeys(t.Context(), from); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Fatalf("an endless answer: %.200v", err)
	}
	if _, err := b.Hints(t.Context()); !errors.Is(err, post.ErrNoPush) {
		t.Fatal(err)
	}
}

// Lines are what Python's json.dumps writes: members in order, ", " and ": ", ASCII.
func TestL2_LinesAreAsPythonWritesThem(t *testing.T) {
	t.Parallel()
	values := []any{"", "plain", "ü☃💬\u2028\u0000\x1f\x7f\"\\/<>&\n\r\t\b\f", "\ufffd", true, nil, 7, -1.5, 1796073394.0, 1e16, 1e-7, 1796073396.5439856, []string{"a", "é"}, []string{}}
	o := post.Object{}
	pairs := [][2]any{}
	for i, v := range values {
		name := strings.Repeat("ä", i) + "n"
		o = o.Add(name, v)
		pairs = append(pairs, [2]any{name, v})
	}
	in, err := json.Marshal(pairs)
	if err != nil {
		t.Fatal(err)
	}
	// Python reads a float as a float: 1796073394.0 has to reach it as one.
	text := strings.Replace(string(in), "1796073394,", "1796073394.0,", 1)
	text = strings.Replace(text, "1796073394]", "1796073394.0]", 1)
	text = strings.Replace(text, "10000000000000000]", "1e16]", 1)
	cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "-c", "import json,sys; print(json.dumps(dict(json.load(sys.stdin))))")
	cmd.Stdin = strings.NewReader(text)
	want, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(o.Bytes()) + "\n"; got != string(want) {
		t.Fatalf("\n%s\n%s", got, want)
	}
}

func TestL2_Printable(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"plain ☃": "plain ☃", "a\x1b[31mb": "a[31mb", "a\nb\tc": "a b c", "\u202eevil\u200b": "evil", "\xff": "\ufffd", strings.Repeat("x", 20): strings.Repeat("x", 10) + "…"} {
		if got := post.Printable(in, 10); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
