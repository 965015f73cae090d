package cli_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/cli"
)

// patience bounds waiting on a slow machine.
const patience = 8 * time.Minute

// start runs a command that goes on; lines are what it prints on one stream, read as they come.
func (w *world) start(who string, errors bool, args ...string) (lines <-chan string, stop func() int) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	r, pipe := io.Pipe()
	s := cli.Streams{In: strings.NewReader(""), Out: pipe, Err: io.Discard}
	if errors {
		s.Out, s.Err = io.Discard, pipe
	}
	code := make(chan int, 1)
	go func() {
		code <- cli.Run(ctx, args, w.env(who), s, cheap)
		_ = pipe.Close()
	}()
	out := make(chan string, 100)
	go func() {
		defer close(out)
		for sc := bufio.NewScanner(r); sc.Scan(); {
			out <- sc.Text()
		}
	}()
	ended := false
	stop = func() int {
		if ended {
			return 0
		}
		ended = true
		cancel()
		return <-code
	}
	w.t.Cleanup(func() { stop() })
	return out, stop
}

func next(t *testing.T, lines <-chan string, part string) string {
	t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case l, ok := <-lines:
			if !ok {
				t.Fatalf("the command ended before it printed %q", part)
			}
			if strings.Contains(l, part) {
				return l
			}
		case <-deadline:
			t.Fatalf("nothing with %q was printed", part)
		}
	}
}

// 6.1 receive_multi: following prints what comes, from several chosen peers, until it is stopped; a relay of ours wakes it
// without a look every few seconds.
func TestL2_ReceiveFollows(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		w.people("alice", "bob", "carol")
		interval := "3600" // our relay's hints are what wakes it
		if w.plain != nil {
			interval = "0.05"
		}
		w.do("bob", "send", "--peer", "alice", "already there")
		lines, stop := w.start("alice", false, "receive", "--peer", "bob", "--peer", "carol", "--follow", "--interval", interval, "-u", "alice", "-q")
		next(t, lines, "already there")
		w.do("bob", "send", "--peer", "alice", "from bob")
		next(t, lines, "from bob")
		w.do("carol", "send", "--peer", "alice", "from carol")
		next(t, lines, "from carol")
		if code := stop(); code != 0 {
			t.Fatalf("exit code %d", code)
		}
	})
}

// 6.1 invite_watch: the watch goes on, and never takes a contact's mail.
func TestL2_InviteWatchFollows(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("ana", "known")
	w.people("ben")
	w.do("known", "send", "--peer", "ana", "for receive")
	code := w.records(w.do("ana", "invite", "new").out)[0]["code"].(string)
	lines, _ := w.start("ana", false, "invite", "watch", "--follow", "--interval", "0.05", "-u", "ana")
	w.do("ben", "request", w.ids["ana"], "--code", code)
	next(t, lines, "contact_accepted")
	equal(t, "a contact's mail", texts(w.receive("ana", "known")), []string{"for receive"})
}

// A following receive ends with exit code 2 when the relay fails, as scripts around it expect.
func TestL2_FollowEndsWhenTheRelayFails(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	w.url = "http://127.0.0.1:1"
	r := w.run("alice", "receive", "--peer", "bob", "--follow", "-u", "alice")
	if r.code != 2 {
		t.Fatalf("exit code %d", r.code)
	}
	contains(t, r.err, "cannot be reached")
}

// 6.1 show: --follow draws what comes.
func TestL2_ShowFollows(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	w.do("alice", "send", "--peer", "bob", "opener")
	lines, _ := w.start("bob", false, "show", "bob", "alice", "--follow")
	next(t, lines, "🔵 alice")
	next(t, lines, "opener")
	w.do("alice", "send", "--peer", "bob", "a live one")
	next(t, lines, "a live one")
}

// 6.1 show_web: a page on this machine, with a secret; conversations, messages, and what is new.
func TestL2_ShowWeb(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	w.do("alice", "send", "--peer", "bob", "hello <bob>", "--save")
	w.receive("bob", "alice")
	w.do("bob", "send", "--peer", "alice", "hi alice")
	w.receive("alice", "bob", "--save")
	lines, stop := w.start("alice", true, "show", "alice", "--web", "--port", "0")
	_, url, _ := strings.Cut(next(t, lines, "?t="), "http://")
	base, token, _ := strings.Cut("http://"+url, "/?t=")
	get := func(path, token string, host string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Retalk-Token", token)
		if host != "" {
			req.Host = host
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(b)
	}
	for _, c := range [][3]string{{"/", "", ""}, {"/api/conversations", "nope", ""}, {"/api/messages?peer=x", "", ""}, {"/", token, "evil.example"}} {
		if code, _ := get(c[0], c[1], c[2]); code != http.StatusForbidden {
			t.Fatalf("%v: %d", c, code)
		}
	}
	if code, page := get("/?t="+token, "", ""); code != 200 || !strings.HasPrefix(page, "<!doctype html") || !strings.Contains(page, "retalk") {
		t.Fatalf("%d %.100s", code, page)
	}
	var list struct {
		Me            string
		Conversations []struct {
			Fingerprint, Name string
			Count             int
		}
	}
	_, body := get("/api/conversations", token, "")
	if err := json.Unmarshal([]byte(body), &list); err != nil || list.Me != "alice" || len(list.Conversations) != 1 || list.Conversations[0].Name != "bob" || list.Conversations[0].Count != 2 {
		t.Fatalf("%s %v", body, err)
	}
	messages := func(after string) (texts []string, last int64) {
		var got struct {
			Messages []struct {
				RowID           int64
				Text, Direction string
			}
		}
		_, body := get("/api/messages?peer="+w.ids["bob"]+"&after="+after, token, "")
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatalf("%s %v", body, err)
		}
		for _, m := range got.Messages {
			texts, last = append(texts, m.Direction+" "+m.Text), m.RowID
		}
		return texts, last
	}
	got, last := messages("0")
	equal(t, "messages", got, []string{"out hello <bob>", "in hi alice"})
	w.do("alice", "send", "--peer", "bob", "one more", "--save")
	got, _ = messages(strconv.FormatInt(last, 10))
	equal(t, "what is new", got, []string{"out one more"})
	if code := stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}

// 6.1 groups: rooms and conversations of two are apart in history and view, and a room is followed live.
func TestL2_RoomsAreIsolated(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob", "dave")
	w.do("alice", "group", "create", "team", "bob")
	w.do("alice", "group", "create", "family", "dave,bob")
	w.do("alice", "send", "--group", "team", "work ping", "--save")
	w.do("alice", "send", "--group", "family", "dinner at 7", "--save")
	w.do("alice", "send", "--peer", "bob", "for bob only", "--save")
	got := w.receive("bob", "alice", "--save")
	equal(t, "bob", []any{texts(got), got[0]["group"], got[1]["group"], got[2]["group"]}, []any{[]string{"work ping", "dinner at 7", "for bob only"}, "team", "family", nil})
	for _, who := range []string{"alice", "bob"} {
		equal(t, who, texts(w.records(w.do(who, "history", "--group", "team").out)), []string{"work ping"})
		equal(t, who, texts(w.records(w.do(who, "history", "--group", "family").out)), []string{"dinner at 7"})
		equal(t, who, len(w.records(w.do(who, "history").out)), 3)
	}
	equal(t, "of two", texts(w.records(w.do("bob", "history", "--peer", "alice").out)), []string{"for bob only"})
	if out := w.run("alice", "show", "alice", "--group", "team").out; !strings.Contains(out, "work ping") || strings.Contains(out, "dinner") || strings.Contains(out, "bob only") {
		t.Fatal(out)
	}
	lines, _ := w.start("bob", false, "show", "bob", "--group", "team", "--follow")
	next(t, lines, "work ping")
	w.do("alice", "send", "--group", "family", "not here")
	w.do("alice", "send", "--group", "team", "live")
	next(t, lines, "🔵 alice")
	for deadline := time.After(patience); ; {
		select {
		case l := <-lines:
			if strings.Contains(l, "not here") {
				t.Fatal("another room's letter is shown")
			}
			if strings.Contains(l, "live") {
				return
			}
		case <-deadline:
			t.Fatal("the live letter is not shown")
		}
	}
}
