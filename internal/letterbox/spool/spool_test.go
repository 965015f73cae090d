package spool_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/spool"
)

// desk is a person with one identity.
type desk struct {
	t    *testing.T
	home string
	user spool.User
	reg  *spool.Registry
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	home := t.TempDir()
	user, err := spool.At(filepath.Join(home, "users", "alice"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(user.Dir(), 0o700); err != nil {
		t.Fatal(err)
	}
	user, _ = spool.At(user.Dir())
	return &desk{t, home, user, spool.OpenRegistry(home)}
}

func (d *desk) writer(o spool.WriterOptions) *spool.Writer { return spool.NewWriter(d.user, d.reg, o) }

func (d *desk) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) attach(sid string) int {
	d.t.Helper()
	n, err := d.user.Attach(d.t.Context(), d.reg, sid)
	d.must(err)
	return n
}

func (d *desk) append(w *spool.Writer, s spool.Stream, line string) spool.Written {
	d.t.Helper()
	done, err := w.Append(d.t.Context(), s, []byte(line))
	d.must(err)
	return done
}

func (d *desk) path(sid string, s spool.Stream) string {
	d.t.Helper()
	p, err := d.user.Spool(sid, s)
	d.must(err)
	return p
}

func (d *desk) reader(sid string) *spool.Reader {
	d.t.Helper()
	r, err := d.user.Reader(sid, spool.Messages)
	d.must(err)
	return r
}

// take gives the ids that a session's reader takes.
func (d *desk) take(sid string) []string {
	d.t.Helper()
	var ids []string
	for more := true; more; {
		b, err := d.reader(sid).Take(d.t.Context(), spool.Limit{})
		d.must(err)
		ids, more = append(ids, idsOf(b)...), b.More
	}
	return ids
}

func idsOf(b spool.Batch) (ids []string) {
	for _, l := range b.Lines {
		ids = append(ids, l.ID)
	}
	return ids
}

// letter is a line as the receiving side prints it.
func letter(id string) string {
	return fmt.Sprintf(`{"id": "%s", "from": "279fd3b1cc5efc964d9c9a8b706e7c7a", "name": "~bob", "text": "hello %s"}`, id, id)
}

func big(id string, size int) string {
	return fmt.Sprintf(`{"id": "%s", "from": "279fd3b1cc5efc964d9c9a8b706e7c7a", "name": "~bob", "text": "%s"}`, id, strings.Repeat("x", size))
}

// idsIn reads a file as a plain program does.
func idsIn(t *testing.T, path string) (ids []string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		var m struct{ ID string }
		if bytes.HasSuffix(line, []byte("\n")) && json.Unmarshal(line, &m) == nil {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Fatalf("%s: got %s, want %s", what, g, w)
	}
}

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Mode().Perm()
}

// 6.2 spool_writer: only sessions of this user, `ts`, 0600, the inbox on and off, requests in their own files, the fallback.
func TestL4_FanOut(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.attach("one")
	d.attach("two")
	other, err := spool.At(filepath.Join(d.home, "users", "other"))
	d.must(err)
	_, err = other.Attach(t.Context(), d.reg, "foreign")
	d.must(err)
	w := d.writer(spool.WriterOptions{})
	equal(t, "written", d.append(w, spool.Messages, letter("m1")), "{2 3}")
	equal(t, "written", d.append(w, spool.Requests, `{"kind": "contact_accepted", "code": "c", "from": "aa", "name": "cal", "card": {}}`), "{2 2}")
	for _, path := range []string{d.path("one", spool.Messages), d.path("two", spool.Messages), d.user.Inbox(spool.Messages)} {
		equal(t, path, idsIn(t, path), "[m1]")
		equal(t, "mode of "+path, mode(t, path), os.FileMode(0o600))
	}
	for _, sid := range []string{"one", "two"} {
		b, err := os.ReadFile(d.path(sid, spool.Requests))
		d.must(err)
		if !regexp.MustCompile(`^\{"kind": "contact_accepted", .*"card": \{\}, "ts": "\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"\}\n$`).Match(b) {
			t.Fatalf("request: %s", b)
		}
	}
	equal(t, "requests for nobody", idsIn(t, d.user.Inbox(spool.Requests)), "[]")
	foreign, _ := other.Spool("foreign", spool.Messages)
	equal(t, "another user's session", idsIn(t, foreign), "[]")
	equal(t, "mode of the folder", mode(t, d.user.Sessions()), os.FileMode(0o700))

	// A line as it stands in the file: the contract's members and form (4.4), and the time at the end.
	b, err := os.ReadFile(d.path("one", spool.Messages))
	d.must(err)
	if !regexp.MustCompile(`^\{"id": "m1", "from": "[0-9a-f]{32}", "name": "~bob", "text": "hello m1", "ts": "\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"\}\n$`).Match(b) {
		t.Fatalf("line: %s", b)
	}

	// Without the inbox, letters are in it only while no session is there; requests likewise.
	d.must(d.user.Detach(t.Context(), d.reg, "one"))
	no := d.writer(spool.WriterOptions{NoInbox: true})
	equal(t, "written", d.append(no, spool.Messages, letter("m2")), "{1 1}")
	equal(t, "inbox", idsIn(t, d.user.Inbox(spool.Messages)), "[m1]")
	equal(t, "a session that ended", idsIn(t, d.path("one", spool.Messages)), "[m1]")
	d.must(d.user.Detach(t.Context(), d.reg, "two"))
	equal(t, "inbox, with what the last session had not read", idsIn(t, d.user.Inbox(spool.Messages)), "[m1 m2]")
	equal(t, "written", d.append(no, spool.Messages, letter("m3")), "{0 1}")
	equal(t, "inbox", idsIn(t, d.user.Inbox(spool.Messages)), "[m1 m2 m3]")
	equal(t, "written", d.append(no, spool.Requests, `{"kind": "contact_request_rejected", "from": "aa", "reason": "expired", "letter": "r1"}`), "{0 1}")
	equal(t, "mode", mode(t, d.user.Inbox(spool.Requests)), os.FileMode(0o600))
}

// The time is added where it is missing or says nothing, and nothing else changes.
func TestL4_Stamp(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 1, 10, 20, 30, 999, time.FixedZone("", 3600))
	for line, want := range map[string]string{
		`{"id": "a"}`:              `{"id": "a", "ts": "2026-12-01T09:20:30Z"}`,
		`{}`:                       `{"ts": "2026-12-01T09:20:30Z"}`,
		`{"id": "a", "ts": "x"}`:   `{"id": "a", "ts": "x"}`,
		`{"ts": 12.5, "id": "a"}`:  `{"ts": 12.5, "id": "a"}`,
		`{"ts": "", "id": "a"}`:    `{"ts": "2026-12-01T09:20:30Z", "id": "a"}`,
		`{"id": "a", "ts": null}`:  `{"id": "a", "ts": "2026-12-01T09:20:30Z"}`,
		`{"a": {"ts": 1}}`:         `{"a": {"ts": 1}, "ts": "2026-12-01T09:20:30Z"}`,
		`no json`:                  `no json`,
		`[1]`:                      `[1]`,
		`"text"`:                   `"text"`,
		`{"id": "a", "b": [1, 2]}`: `{"id": "a", "b": [1, 2], "ts": "2026-12-01T09:20:30Z"}`,
	} {
		equal(t, line, string(spool.Stamp([]byte(line), at)), want)
	}
}

// A letter is in a spool once, however often it is appended, by whomever; another sender's letter with the same id is another letter.
func TestL4_NothingTwice(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.attach("s")
	w := d.writer(spool.WriterOptions{})
	equal(t, "first", d.append(w, spool.Messages, letter("m1")), "{1 2}")
	equal(t, "again", d.append(w, spool.Messages, letter("m1")), "{1 0}")
	equal(t, "another process", d.append(d.writer(spool.WriterOptions{}), spool.Messages, letter("m1")), "{1 0}")
	equal(t, "renamed meanwhile", d.append(w, spool.Messages, strings.Replace(letter("m1"), "~bob", "bob", 1)), "{1 0}")
	equal(t, "another sender", d.append(w, spool.Messages, strings.Replace(letter("m1"), "279f", "379f", 1)), "{1 2}")
	d.must(os.WriteFile(d.path("s", spool.Messages), nil, 0o600)) // by hand
	equal(t, "emptied", d.append(w, spool.Messages, letter("m1")), "{1 1}")
	// A second session came between a crash and the next try: only its spool lacks the letter.
	d.attach("t")
	equal(t, "t", idsIn(t, d.path("t", spool.Messages)), "[m1 m1]")
	equal(t, "again", d.append(w, spool.Messages, letter("m1")), "{2 0}")
	request := `{"kind": "contact_request_rejected", "from": "aa", "reason": "expired"}`
	equal(t, "request", d.append(w, spool.Requests, request), "{2 2}")
	equal(t, "request again", d.append(w, spool.Requests, request), "{2 0}")
	equal(t, "another one of the same stranger", d.append(w, spool.Requests, strings.Replace(request, "}", `, "letter": "r2"}`, 1)), "{2 2}")
	if _, err := w.Append(t.Context(), spool.Messages, []byte("two\nlines")); err == nil {
		t.Fatal("two lines were taken as one")
	}
	equal(t, "what is no JSON is passed through", d.append(w, spool.Messages, "no json"), "{2 3}")
	b, err := os.ReadFile(d.path("t", spool.Messages))
	d.must(err)
	if !strings.HasSuffix(string(b), "\nno json\n") {
		t.Fatalf("%s", b)
	}
}

// Half a line that a killed writer left gets an end, and its letter comes whole; readers never see half a line.
func TestL4_HalfLines(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.attach("s")
	path := d.path("s", spool.Messages)
	w := d.writer(spool.WriterOptions{})
	d.append(w, spool.Messages, letter("m1"))
	whole := letter("m2")
	for cut := 1; cut < len(whole); cut += 7 {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		d.must(err)
		_, err = f.WriteString(whole[:cut])
		d.must(err)
		d.must(f.Close())
		if ids := d.take("s"); slices.Contains(ids, "m2") {
			t.Fatalf("cut at %d: half a line was read", cut)
		}
		d.append(w, spool.Messages, letter(fmt.Sprintf("after-%d", cut)))
		equal(t, "read", d.take("s"), fmt.Sprintf("[after-%d]", cut))
	}
	// All of the line but its end: the letter is there, and is not written again.
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	d.must(err)
	_, err = f.WriteString(letter("m3"))
	d.must(err)
	d.must(f.Close())
	d.append(d.writer(spool.WriterOptions{}), spool.Messages, letter("m3"))
	d.append(w, spool.Messages, letter("m2"))
	equal(t, "read", d.take("s"), "[m3 m2]")
	equal(t, "in the file", strings.Count(strings.Join(idsIn(t, path), " "), "m3"), 1)
}

// 6.2 inbox_hook: a file that was truncated, also when it was filled to the same size again, is read from its beginning; letters that
// were read before do not come again.
func TestL4_TruncatedAndRefilled(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.attach("s")
	path := d.path("s", spool.Messages)
	w := d.writer(spool.WriterOptions{})
	for _, id := range []string{"a1", "a2"} {
		d.append(w, spool.Messages, letter(id))
	}
	equal(t, "read", d.take("s"), "[a1 a2]")
	b, err := os.ReadFile(path)
	d.must(err)
	d.must(os.WriteFile(path, bytes.ReplaceAll(b, []byte("a1"), []byte("b1")), 0o600)) // the same size; a2 was read before
	equal(t, "refilled to the same size", d.take("s"), "[b1]")
	d.must(os.WriteFile(path, []byte(letter("c1")+"\n"), 0o600))
	equal(t, "shorter", d.take("s"), "[c1]")
	d.must(os.Remove(path))
	equal(t, "gone", d.take("s"), "[]")
	d.append(w, spool.Messages, letter("d1"))
	equal(t, "made anew", d.take("s"), "[d1]")
}

// The cursor file is the one of agent-talk's Codex hook, member for member.
func TestL4_CursorFile(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.attach("s")
	w := d.writer(spool.WriterOptions{})
	for n := range 600 {
		d.append(w, spool.Messages, letter(fmt.Sprintf("m%03d", n)))
	}
	d.take("s")
	name := filepath.Join(d.user.Sessions(), ".codex-hook-state.json")
	b, err := os.ReadFile(name)
	d.must(err)
	equal(t, "mode", mode(t, name), os.FileMode(0o600))
	var all map[string]struct {
		Offset int64
		IDs    []string
		SHA    string
		SHALen int64 `json:"sha_len"`
	}
	d.must(json.Unmarshal(b, &all))
	c := all[d.path("s", spool.Messages)]
	st, err := os.Stat(d.path("s", spool.Messages))
	d.must(err)
	if c.Offset != st.Size() || len(c.IDs) != 500 || c.IDs[499] != "m599" || len(c.SHA) != 64 || c.SHALen != 256 {
		t.Fatalf("%+v of %d bytes", c, st.Size())
	}
	if _, err := os.Stat(name + ".tmp"); err == nil {
		t.Fatal("the temporary file is still there")
	}
	// Other programs' entries stay as they are, and a damaged file is an empty one: letters come again rather than never.
	d.must(os.WriteFile(name, []byte(`{"/elsewhere/x.ndjson": {"offset": 5, "ids": ["q"], "sha": "", "sha_len": 0, "more": true}}`), 0o600))
	d.take("s")
	b, err = os.ReadFile(name)
	d.must(err)
	if !strings.Contains(string(b), `"/elsewhere/x.ndjson":{"offset":5,"ids":["q"],"sha":"","sha_len":0,"more":true}`) {
		t.Fatalf("%s", b)
	}
	d.must(os.WriteFile(name, []byte(`{"half`), 0o600))
	equal(t, "after damage", len(d.take("s")), 600)
}

// Next shows, Commit takes; a second reader's commit does not move the cursor back; limits end a batch between lines.
func TestL4_NextAndCommit(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.attach("s")
	w := d.writer(spool.WriterOptions{})
	for n := range 5 {
		d.append(w, spool.Messages, letter(fmt.Sprintf("m%d", n)))
	}
	r := d.reader("s")
	first, err := r.Next(spool.Limit{Lines: 2})
	d.must(err)
	equal(t, "first", idsOf(first), "[m0 m1]")
	equal(t, "more", first.More, true)
	again, err := d.reader("s").Next(spool.Limit{Lines: 4})
	d.must(err)
	equal(t, "not committed", idsOf(again), "[m0 m1 m2 m3]")
	d.must(r.Commit(t.Context(), again))
	d.must(r.Commit(t.Context(), first)) // late
	rest, err := r.Next(spool.Limit{Bytes: 1})
	d.must(err)
	equal(t, "one line whatever its size", idsOf(rest), "[m4]")
	equal(t, "more", rest.More, false)
	d.must(r.Commit(t.Context(), rest))
	equal(t, "rest", d.take("s"), "[]")
	d.must(r.Commit(t.Context(), rest))
}

// A session is given what no session has read, once it attaches: what came before any was there, and what another one left.
func TestL4_UnreadIsReplayed(t *testing.T) {
	t.Parallel()
	for _, noInbox := range []bool{false, true} {
		t.Run(fmt.Sprintf("no inbox %v", noInbox), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			w := d.writer(spool.WriterOptions{NoInbox: noInbox})
			for _, id := range []string{"m1", "m2", "m3"} {
				d.append(w, spool.Messages, letter(id))
			}
			d.append(w, spool.Requests, `{"kind": "contact_request_rejected", "from": "aa", "reason": "expired", "letter": "r1"}`)
			equal(t, "replayed", d.attach("one"), 4)
			equal(t, "again", d.attach("one"), 0)
			b, err := d.reader("one").Next(spool.Limit{Lines: 2})
			d.must(err)
			d.must(d.reader("one").Commit(t.Context(), b)) // m1 and m2 are read
			d.append(w, spool.Messages, letter("m4"))
			d.must(d.user.Detach(t.Context(), d.reg, "one"))
			d.append(w, spool.Messages, letter("m5"))
			unread, err := d.user.Unread(t.Context(), d.reg, "", spool.Messages, spool.Limit{})
			d.must(err)
			equal(t, "unread", idsOf(unread), "[m3 m4 m5]")
			d.must(d.user.MarkRead(t.Context(), spool.Messages, unread.Lines[1:2])) // by a host without sessions
			d.attach("two")
			equal(t, "the next session reads", d.take("two"), "[m3 m5]")
			// Resumed: the first goes on where it was. Its own spool still has what it had not read.
			d.attach("one")
			equal(t, "resumed", d.take("one"), "[m3 m4]")
			d.attach("three")
			equal(t, "nothing is left for a third", d.take("three"), "[]")
			if _, err := spool.GC(t.Context(), d.reg, d.user, time.Now()); err != nil {
				t.Fatal(err)
			}
			d.must(d.user.Detach(t.Context(), d.reg, "one"))
			d.must(d.user.Detach(t.Context(), d.reg, "two"))
			removed, err := spool.GC(t.Context(), d.reg, d.user, time.Now())
			d.must(err)
			slices.Sort(removed)
			equal(t, "removed", removed, "[one.ndjson one.requests.ndjson two.ndjson two.requests.ndjson]")
			d.attach("four")
			equal(t, "read letters stay read when the spools are gone", d.take("four"), "[]")
		})
	}
}

// What agent-talk left in the inbox before counts as read; a file without a cursor that a session has is unread.
func TestL4_OldInboxIsNotReplayed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(os.WriteFile(d.user.Inbox(spool.Messages), []byte(letter("old1")+"\n"+letter("old2")+"\n"), 0o600))
	equal(t, "replayed", d.attach("s"), 0)
	d.append(d.writer(spool.WriterOptions{}), spool.Messages, letter("new"))
	d.attach("t")
	equal(t, "t", d.take("t"), "[new]")
	equal(t, "s", d.take("s"), "[new]")
}

// 6.2 spool_writer: collection of dead sessions and of spools that nothing was written to for 14 days; what nobody read is kept.
func TestL4_GarbageCollection(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, sid := range []string{"live", "dead", "old"} {
		d.attach(sid)
	}
	w := d.writer(spool.WriterOptions{NoInbox: true})
	d.append(w, spool.Messages, letter("m1"))
	d.append(w, spool.Requests, `{"kind": "contact_request_rejected", "from": "aa", "reason": "expired", "letter": "r1"}`)
	equal(t, "live", d.take("live"), "[m1]")
	d.must(os.WriteFile(d.path("dead", spool.Messages)+".1", []byte(letter("m0")+"\n"), 0o600))
	if ok, err := d.reg.Unregister("dead"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	past := time.Now().Add(-40 * 24 * time.Hour)
	for _, s := range spool.Streams {
		d.must(os.Chtimes(d.path("old", s), past, past))
	}
	d.must(os.Chtimes(filepath.Join(d.home, ".agent-talk", "by-session", "old"), past, past))
	d.must(os.WriteFile(filepath.Join(d.user.Sessions(), "notes.txt"), []byte("x"), 0o600))
	removed, err := spool.GC(t.Context(), d.reg, d.user, time.Now())
	d.must(err)
	slices.Sort(removed)
	equal(t, "removed", removed, "[dead.ndjson dead.ndjson.1 dead.requests.ndjson old.ndjson old.requests.ndjson]")
	if _, ok := d.reg.Lookup("old"); ok {
		t.Fatal("a session that nobody renewed is still registered")
	}
	// m1 was read by a session that lives; m0 by nobody.
	equal(t, "kept", idsIn(t, d.user.Inbox(spool.Messages)), "[m0]")
	d.attach("next")
	equal(t, "next", d.take("next"), "[m0]")
	equal(t, "live", idsIn(t, d.path("live", spool.Messages)), "[m1]")
	if b, err := os.ReadFile(filepath.Join(d.user.Sessions(), ".codex-hook-state.json")); err != nil || strings.Contains(string(b), "dead") {
		t.Fatalf("%s %v", b, err)
	}
}

// The registry is one file of one line each; its ids are made safe; it says of foreign files nothing.
func TestL4_Registry(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	dir := filepath.Join(d.home, ".agent-talk", "by-session")
	h, err := spool.ReadHook(strings.NewReader(`{"session_id": "0199/../a b", "cwd": "/x", "hook_event_name": "SessionStart", "source": "startup", "model": "m"}`))
	d.must(err)
	equal(t, "hook", h, "{0199_.._a_b SessionStart /x startup false}")
	d.attach(h.SessionID)
	b, err := os.ReadFile(filepath.Join(dir, "0199_.._a_b"))
	d.must(err)
	equal(t, "entry", string(b), d.user.Dir()+"\n")
	equal(t, "mode", mode(t, filepath.Join(dir, "0199_.._a_b")), os.FileMode(0o600))
	equal(t, "mode", mode(t, dir), os.FileMode(0o700))
	// Written by another program: through a symbolic link, without an end of line.
	link := filepath.Join(d.home, "link")
	d.must(os.Symlink(d.user.Dir(), link))
	d.must(os.WriteFile(filepath.Join(dir, "theirs"), []byte("  "+link), 0o600))
	d.must(os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600))
	d.must(os.WriteFile(filepath.Join(dir, "relative"), []byte("x/y"), 0o600))
	ids, err := d.reg.Sessions(d.user)
	d.must(err)
	equal(t, "sessions", ids, "[0199_.._a_b theirs]")
	for _, bad := range []string{"", " ", ".", "..", ".codex-hook-state.json", "x.requests", strings.Repeat("a", 201)} {
		if _, err := d.user.Attach(t.Context(), d.reg, bad); err == nil {
			t.Errorf("%q was taken as a session id", bad)
		}
	}
	for _, in := range []string{"", "[]", "{}", `{"session_id": 1}`, `{"session_id": ""}`} {
		if _, err := spool.ReadHook(strings.NewReader(in)); err == nil {
			t.Errorf("%q was taken as a hook's input", in)
		}
	}
}

// A session that goes over to another identity leaves its unread letters to the next session of the first one; ending it there ends
// nothing.
func TestL4_SessionChangesItsUser(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	other, err := spool.At(filepath.Join(d.home, "users", "other"))
	d.must(err)
	d.attach("s")
	w := d.writer(spool.WriterOptions{NoInbox: true})
	d.append(w, spool.Messages, letter("m1"))
	_, err = other.Attach(t.Context(), d.reg, "s")
	d.must(err)
	d.must(d.user.Detach(t.Context(), d.reg, "s"))
	if owner, ok := d.reg.Lookup("s"); !ok || owner.Dir() != filepath.Join(filepath.Dir(d.user.Dir()), "other") {
		t.Fatalf("%v %v", owner, ok)
	}
	d.append(w, spool.Messages, letter("m2"))
	foreign, err := other.Reader("s", spool.Messages)
	d.must(err)
	b, err := foreign.Take(t.Context(), spool.Limit{})
	d.must(err)
	equal(t, "as the other identity", idsOf(b), "[]")
	d.attach("t")
	equal(t, "the next session", d.take("t"), "[m1 m2]")
}
