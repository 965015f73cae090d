package cli_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/store"
)

// 6.1 cli: exact members of receipt and record, ~name of a stranger, the receipt's id is what the other side sees.
func TestL2_SendAndReceive(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		w.people("alice", "bob")
		sent := w.do("alice", "send", "--peer", "bob", "hello bob ☃")
		id := w.records(sent.out)[0]["id"]
		equal(t, "receipt", sent.out, `{"id": "`+id.(string)+`", "to": "`+w.ids["bob"]+`"}`+"\n")
		got := w.do("bob", "receive", "--peer", "alice")
		equal(t, "record", got.out, `{"id": "`+id.(string)+`", "from": "`+w.ids["alice"]+`", "name": "alice", "text": "hello bob \u2603"}`+"\n")
		contains(t, got.err, "using bob ("+w.ids["bob"]+") from ")
		equal(t, "a second look", w.do("bob", "receive", "--peer", "alice").out, "")
		w.do("bob", "send", "hi alice", "--peer", w.ids["alice"])
		equal(t, "answer", texts(w.receive("alice", "bob")), []string{"hi alice"})
		w.do("bob", "receive", "--all")
		equal(t, "outboxes", append(w.outbox("alice"), w.outbox("bob")...), []string(nil))
		w.do("bob", "contacts", "--remove", "alice")
		w.do("alice", "send", "--peer", "bob", "who am I")
		equal(t, "a stranger's name", w.records(w.do("bob", "receive", "--all").out)[0]["name"], "~alice")
	})
}

// 6.1 cli: refusals before anything happens.
func TestL2_UsageAndExitCodes(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice")
	w.stdin = "{}"
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{2, "no user selected", []string{"id"}},
		{2, "already exists", []string{"init", "-u", "alice", "-np"}},
		{2, "no passphrase", []string{"init", "-u", "new"}},
		{2, "no identity at", []string{"id", "-u", "nobody"}},
		{2, "receive needs --peer", []string{"receive", "-u", "alice"}},
		{2, "not both", []string{"receive", "-u", "alice", "--all", "--peer", "x"}},
		{2, "--interval goes with --follow", []string{"receive", "-u", "alice", "--all", "--interval", "3"}},
		{2, "more than 0", []string{"receive", "-u", "alice", "--all", "--follow", "--interval", "0"}},
		{2, "more than 0", []string{"receive", "-u", "alice", "--all", "--follow", "--interval", "nan"}},
		{2, "unknown peer", []string{"send", "-u", "alice", "--peer", "nobody", "x"}},
		{2, "not both", []string{"send", "-u", "alice", "--peer", "x", "--group", "y", "z"}},
		{2, "no group", []string{"send", "-u", "alice", "--group", "nope", "x"}},
		{2, "unknown command", []string{"dance"}},
		{2, "unknown flag", []string{"id", "-u", "alice", "--version"}},
		{2, "unexpected", []string{"id", "-u", "alice", "more"}},
		{2, "needs a value", []string{"send", "x", "--peer"}},
		{2, "could be", []string{"receive", "--p", "x", "-u", "alice"}},
		{2, "pick one", []string{"add", strings.Repeat("a", 32), "--global", "-u", "alice"}},
		{2, "32 lower-case", []string{"add", strings.Repeat("A", 32), "-u", "alice"}},
		{2, "looks like a user id", []string{"add", strings.Repeat("a", 32), "--peer", strings.Repeat("b", 32), "-u", "alice"}},
		{2, "no such invite code", []string{"invite", "revoke", "nope", "-u", "alice"}},
		{2, "at least one member", []string{"group", "create", "g", "-u", "alice"}},
		{2, "not encrypted", []string{"sync", "-u", "alice", "-r", "http://192.0.2.1/x"}},
		{2, "not a relay address", []string{"sync", "-u", "alice", "-r", "ftp://127.0.0.1"}},
		{2, "cannot be reached", []string{"sync", "-u", "alice", "-r", "http://127.0.0.1:1"}},
		{2, "not valid JSON", []string{"import", "-u", "alice", "nonsense"}},
		{2, "32 lower-case", []string{"import", "-u", "alice"}},
	} {
		r := w.run("alice", c.args...)
		if r.code != c.code || !strings.Contains(r.err, c.says) || r.out != "" {
			t.Errorf("agnt letter %q: exit code %d, want %d and %q; printed %q and:\n%s", c.args, r.code, c.code, c.says, r.out, r.err)
		}
		if !strings.HasPrefix(r.err[strings.LastIndex(strings.TrimSpace(r.err), "\n")+1:], "[retalk] ") {
			t.Errorf("agnt letter %q: the error does not begin with [retalk]:\n%s", c.args, r.err)
		}
	}
}

// 6.1 cli: help screens with substance; flags before or after, joined, shortened; -np is one flag.
func TestL2_FlagsAndHelp(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	contains(t, w.run("alice", "--help").out, "first match wins", "agnt letter send", "RETALK_HOME")
	for _, cmd := range []string{"init", "id", "add", "verify", "contacts", "send", "receive", "history", "group", "share", "import", "block", "invite", "request", "sync", "config", "show", "outbox", "completion"} {
		if r := w.run("alice", cmd, "--help"); r.code != 0 || len(r.out) < 200 {
			t.Errorf("%s --help: exit code %d:\n%s", cmd, r.code, r.out)
		}
	}
	contains(t, w.run("alice", "send", "--help").out, "PIN MISMATCH")
	contains(t, w.run("alice", "init", "--help").out, "cannot be recovered")
	for _, args := range [][]string{
		{"send", "one", "--peer", "bob", "-u", "alice"}, {"send", "--peer=bob", "-ualice", "two"}, {"send", "--pee", "bob", "--us", "alice", "three"},
		{"send", "-u", "alice", "--peer", "bob", "--", "--four"}, {"send", "-u", "alice", "-np", "--peer", "bob", "-5"},
	} {
		if r := w.run("alice", args...); r.code != 0 {
			t.Errorf("%q: %s", args, r.err)
		}
	}
	w.stdin = "six\n"
	w.do("alice", "send", "-", "--peer", "bob")
	equal(t, "texts", texts(w.receive("bob", "alice")), []string{"one", "two", "three", "--four", "-5", "six\n"})
	for _, shell := range []string{"bash", "zsh", "fish"} {
		contains(t, w.run("alice", "completion", shell).out, "receive", "--no-passphrase", "agnt")
	}
}

// 6.1 e2ee, sync: a wiped relay heals: keys are published again, letters sent again, sessions go on.
func TestL2_RelayWipeHeals(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	w.do("alice", "send", "--peer", "bob", "before")
	w.receive("bob", "alice")
	w.do("bob", "send", "--peer", "alice", "back")
	w.receive("alice", "bob")
	w.do("alice", "send", "--peer", "bob", "lost with the relay")
	w.plain.Wipe()
	contains(t, w.do("bob", "sync").out, `"republished": true`)
	w.do("alice", "send", "--peer", "bob", "after the wipe")
	equal(t, "texts", texts(w.receive("bob", "alice")), []string{"lost with the relay", "after the wipe"})
	for _, m := range w.plain.Calls("send_message") {
		if m.From == w.ids["alice"] && m.Args["body"] == "" {
			t.Fatal("empty body")
		}
	}
}

// 6.1 e2ee: a new relay keeps the sessions: letters stay of type 1.
func TestL2_MovingToAnotherRelayKeepsSessions(t *testing.T) {
	t.Parallel()
	w, other := plainWorld(t), plainWorld(t)
	w.people("alice", "bob")
	w.do("alice", "send", "--peer", "bob", "x")
	w.receive("bob", "alice")
	w.do("bob", "send", "--peer", "alice", "y")
	w.receive("alice", "bob")
	w.receive("bob", "alice")
	w.url = other.url
	w.do("bob", "sync")
	w.do("alice", "send", "--peer", "bob", "at the new place")
	mail := other.plain.Mail(w.ids["bob"])
	if len(mail) != 1 || mail[0].MType != 1 {
		t.Fatalf("%+v", mail)
	}
	equal(t, "texts", texts(w.receive("bob", "alice")), []string{"at the new place"})
}

// 6.1 sync, 8.1 bug 1: receive never sends again; sync does; send only what is due. Six letters before the peer looks are six
// stored copies and six acknowledgements, not twenty-one.
func TestL2_Bug1_NoCopiesAtTheRelay(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	for _, text := range []string{"1", "2", "3", "4", "5", "6"} {
		w.do("alice", "send", "--peer", "bob", text)
	}
	if n := len(w.plain.Mail(w.ids["bob"])); n != 6 {
		t.Fatalf("%d copies are stored", n)
	}
	w.do("alice", "receive", "--all")
	if n := len(w.plain.Mail(w.ids["bob"])); n != 6 {
		t.Fatalf("receive sent again: %d copies", n)
	}
	contains(t, w.do("alice", "sync").out, `"resent": 6`)
	equal(t, "texts", texts(w.receive("bob", "alice")), []string{"1", "2", "3", "4", "5", "6"})
	if n := len(w.plain.Mail(w.ids["alice"])); n != 6 {
		t.Fatalf("%d acknowledgements", n)
	}
	w.receive("alice", "bob")
	equal(t, "outbox", w.outbox("alice"), []string(nil))
	// Lost mail comes again with sync, and a late copy is acknowledged without being shown.
	w.do("alice", "send", "--peer", "bob", "lost")
	body := w.plain.Mail(w.ids["bob"])[0].Body
	w.plain.LoseMail()
	w.do("alice", "sync")
	equal(t, "texts", texts(w.receive("bob", "alice")), []string{"lost"})
	w.plain.Put(w.ids["alice"], w.ids["bob"], 0, body)
	equal(t, "a late copy", len(w.receive("bob", "alice")), 0)
	if n := len(w.plain.Mail(w.ids["alice"])); n != 2 {
		t.Fatalf("%d acknowledgements", n)
	}
}

// 8.1 bug 2: a letter that the relay will not have stops no other one.
func TestL2_Bug2_OneDeadRowBlocksNothing(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob", "carol")
	w.do("alice", "send", "--peer", "carol", "to carol")
	w.do("alice", "send", "--peer", "bob", "to bob")
	w.receive("bob", "alice")
	w.receive("carol", "alice")
	w.do("carol", "send", "--peer", "alice", "so that there is a session")
	w.receive("alice", "carol")
	w.receive("alice", "bob")
	w.receive("carol", "alice")
	w.plain.Lock(func() { w.plain.MaxMailbox = 1 })
	w.do("alice", "send", "--peer", "carol", "one fits")
	r := w.want(2, "alice", "send", "--peer", "carol", "two do not")
	contains(t, r.err, "mailbox full", "kept in the outbox")
	w.do("alice", "send", "--peer", "bob", "bob gets his")
	equal(t, "bob", texts(w.receive("bob", "alice")), []string{"bob gets his"})
	w.plain.Lock(func() { w.plain.MaxMailbox = 0 })
	w.do("alice", "sync")
	equal(t, "carol", texts(w.receive("carol", "alice")), []string{"one fits", "two do not"})
}

// 6.1 block: letters of a blocked sender are refused unopened, and of strangers with --peers-only.
func TestL2_Block(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		w.people("alice", "bob")
		w.do("bob", "block", "alice")
		equal(t, "list", w.do("bob", "block", "--list").out, w.ids["alice"]+"\talice\n")
		equal(t, "list", w.do("bob", "block", "--list", "--json").out, `{"fingerprint": "`+w.ids["alice"]+`", "name": "alice"}`+"\n")
		w.do("alice", "send", "--peer", "bob", "let me in")
		equal(t, "blocked", w.do("bob", "receive", "--all").out, "")
		// The refusal makes alice encrypt once more; refused again it is given up, for her to see.
		contains(t, w.do("alice", "sync").err, "encrypted again")
		equal(t, "blocked", w.do("bob", "receive", "--all").out, "")
		contains(t, w.do("alice", "sync").err, "refused by its recipient")
		equal(t, "outbox", w.outbox("alice"), []string{"refused"})
		contains(t, w.do("alice", "sync").out, `"resent": 0`)
		w.do("bob", "block", "alice", "--remove")
		equal(t, "what was refused does not come back", w.do("bob", "receive", "--all").out, "")
		w.do("alice", "send", "--peer", "bob", "again")
		equal(t, "unblocked", texts(w.receive("bob", "alice")), []string{"again"})
		w.do("bob", "contacts", "--remove", "alice")
		w.do("alice", "send", "--peer", "bob", "as a stranger")
		equal(t, "peers only", w.do("bob", "receive", "--all", "--peers-only").out, "")
		equal(t, "peers only", w.do("bob", "receive", "--all").out, "")
	})
}

// 6.1 e2ee: keys that are not the address's stop everything, loudly.
func TestL2_PinMismatch(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob", "mallory")
	w.plain.Lock(func() { w.plain.TamperedKeys[w.ids["bob"]] = w.plainKeys("mallory") })
	r := w.want(1, "alice", "send", "--peer", "bob", "secret")
	contains(t, r.err, "PIN MISMATCH for peer '"+w.ids["bob"]+"'")
	if r.out != "" || len(w.plain.Mail(w.ids["bob"])) != 0 || len(w.outbox("alice")) != 0 {
		t.Fatalf("something was sent: %q", r.out)
	}
	contains(t, w.want(2, "alice", "verify", "bob").err, "PIN MISMATCH")
	contains(t, w.want(2, "alice", "add", w.ids["bob"], "--verify").err, "PIN MISMATCH")
	contains(t, w.do("alice", "contacts").out, "bob\t"+w.ids["bob"]+"\tunverified")
	// Receiving: nothing is taken of anybody, and all of it comes once the relay tells the truth.
	w.do("bob", "send", "--peer", "alice", "from bob")
	w.do("mallory", "send", "--peer", "alice", "from mallory")
	r = w.want(1, "alice", "receive", "--all")
	contains(t, r.err, "PIN MISMATCH")
	equal(t, "records", r.out, "")
	w.want(1, "alice", "receive", "--peer", "bob")
	w.plain.Lock(func() { clear(w.plain.TamperedKeys) })
	got := texts(w.records(w.do("alice", "receive", "--all").out))
	slices.Sort(got)
	equal(t, "texts", got, []string{"from bob", "from mallory"})
}

// 6.1 e2ee: the fallback key serves when one-time keys are gone, and an older one through one change; keys are replenished.
func TestL2_FallbackAndReplenish(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob", "carol")
	w.plain.SpendKeys(w.ids["bob"])
	w.do("alice", "send", "--peer", "bob", "by fallback")
	w.do("carol", "send", "--peer", "bob", "by the same fallback")
	s := w.open("bob")
	s.Now = func() time.Time { return time.Now().Add(-25 * time.Hour) }
	if err := s.Tx(t.Context(), (*store.Tx).SetFallbackAt); err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	equal(t, "sync", w.do("bob", "sync").out, `{"unclaimed": 0, "republished": false, "replenished": true, "fallback_rotated": true, "resent": 0}`+"\n")
	equal(t, "sync", w.do("bob", "sync").out, `{"unclaimed": 100, "republished": false, "replenished": false, "fallback_rotated": false, "resent": 0}`+"\n")
	equal(t, "texts", texts(w.receive("bob", "alice")), []string{"by fallback"})
	equal(t, "texts", texts(w.receive("bob", "carol")), []string{"by the same fallback"})
}

// 6.1 crossed_sessions: both begin at once; it works both ways, and the outboxes empty.
func TestL2_CrossedSessions(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		w.people("alice", "bob")
		w.do("alice", "send", "--peer", "bob", "a1")
		w.do("bob", "send", "--peer", "alice", "b1")
		equal(t, "bob", texts(w.receive("bob", "alice")), []string{"a1"})
		equal(t, "alice", texts(w.receive("alice", "bob")), []string{"b1"})
		for _, n := range []string{"2", "3", "4"} {
			w.do("alice", "send", "--peer", "bob", "a"+n)
			w.do("bob", "send", "--peer", "alice", "b"+n)
			equal(t, "alice", texts(w.receive("alice", "bob")), []string{"b" + n})
			equal(t, "bob", texts(w.receive("bob", "alice")), []string{"a" + n})
		}
		w.receive("alice", "bob")
		w.receive("bob", "alice")
		equal(t, "outboxes", append(w.outbox("alice"), w.outbox("bob")...), []string(nil))
	})
}

// 8.1 bug 3, 6.1 crossed_sessions: an identity restored from a copy cannot open what came on sessions it forgot. Its refusal
// makes the sender encrypt once more, and nothing is lost.
func TestL2_Bug3_WedgedSessionsHealWithoutLoss(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		w.people("alice", "bob")
		backup := filepath.Join(w.tmp, "backup.db")
		w.copyStore("bob", backup)
		w.do("alice", "send", "--peer", "bob", "one")
		w.receive("bob", "alice")
		w.do("bob", "send", "--peer", "alice", "two")
		w.receive("alice", "bob")
		w.receive("bob", "alice")
		w.restore(backup, "bob")
		w.do("alice", "send", "--peer", "bob", "three")
		w.do("alice", "send", "--peer", "bob", "four")
		r := w.do("bob", "receive", "--peer", "alice")
		equal(t, "unreadable", r.out, "")
		contains(t, r.err, "could not be opened")
		contains(t, w.do("bob", "outbox").out, "unreadable")
		for _, r := range w.records(w.do("bob", "outbox", "--json").out) {
			w.do("bob", "outbox", "drop", r["hash"].(string))
		}
		equal(t, "forgotten", w.do("bob", "outbox").out, "")
		w.do("alice", "sync")
		equal(t, "healed", texts(w.receive("bob", "alice")), []string{"three", "four"})
		w.do("bob", "send", "--peer", "alice", "five")
		equal(t, "and back", texts(w.receive("alice", "bob")), []string{"five"})
		w.receive("bob", "alice")
		equal(t, "outboxes", append(w.outbox("alice"), w.outbox("bob")...), []string(nil))
	})
}

// 6.1 sync: a refusal that the recipient did not sign changes nothing.
func TestL2_ForgedRefusalIsIgnored(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	w.do("alice", "send", "--peer", "bob", "hi")
	m := w.plain.Mail(w.ids["bob"])[0]
	w.plain.Refuse(w.ids["bob"], m.Body, strings.Repeat("A", 86))
	contains(t, w.do("alice", "sync").err, "did not sign")
	equal(t, "outbox", w.outbox("alice"), []string{"at_relay"})
	equal(t, "texts", texts(w.receive("bob", "alice")), []string{"hi"})
}

// 6.1 receive_multi: exactly the chosen senders, each once; what others wrote stays.
func TestL2_OnlyChosenPeersAreFetched(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		w.people("alice", "bob", "carol", "dave")
		for _, from := range []string{"bob", "carol", "dave"} {
			w.do(from, "send", "--peer", "alice", "from "+from)
		}
		got := w.do("alice", "receive", "--peer", "bob", "--peer", w.ids["bob"], "--peer", "carol", "--quiet")
		equal(t, "texts", texts(w.records(got.out)), []string{"from bob", "from carol"})
		equal(t, "quiet", got.err, "")
		if w.plain != nil {
			for _, c := range w.plain.Calls("read_messages") {
				if c.From == w.ids["alice"] && c.Args["peer"] == nil {
					t.Fatal("everybody's mail was asked for")
				}
			}
		}
		equal(t, "the rest", texts(w.records(w.do("alice", "receive", "--all").out)), []string{"from dave"})
	})
}

// 6.1 sync: receive never sends again, send does once a letter's time has come, and sync does at once.
func TestL2_WhoSendsAgain(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	w.do("alice", "send", "--peer", "bob", "m1")
	w.plain.LoseMail()
	later := func() {
		s := w.open("alice")
		if err := s.Tx(t.Context(), (*store.Tx).AllDue); err != nil {
			t.Fatal(err)
		}
		_ = s.Close()
	}
	later()
	w.do("alice", "receive", "--all")
	if n := len(w.plain.Mail(w.ids["bob"])); n != 0 {
		t.Fatalf("receive sent %d letters again", n)
	}
	w.do("alice", "send", "--peer", "bob", "m2")
	if n := len(w.plain.Mail(w.ids["bob"])); n != 2 {
		t.Fatalf("%d letters after send", n)
	}
	w.plain.LoseMail()
	w.do("alice", "send", "--peer", "bob", "m3")
	if n := len(w.plain.Mail(w.ids["bob"])); n != 1 {
		t.Fatalf("%d letters: those of a moment ago have time", n)
	}
	contains(t, w.do("alice", "sync").out, `"resent": 3`)
	equal(t, "texts", texts(w.receive("bob", "alice")), []string{"m3", "m1", "m2"})
}
