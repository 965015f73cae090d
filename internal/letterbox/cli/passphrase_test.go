//go:build unix

package cli_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/post"
	"github.com/agntchat/agntchat/internal/letterbox/store"
)

func (w *world) file(name, text string) string {
	w.t.Helper()
	p := filepath.Join(w.tmp, name)
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return p
}

// A passphrase is set, changed and removed; everything sealed opens with the new one, and nothing with the old one.
func TestL2_PassphraseIsChanged(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	one, two := w.file("one", "first secret\n"), w.file("two", "second secret\n")
	w.do("alice", "send", "--peer", "bob", "kept", "--save")
	w.receive("bob", "alice")
	w.do("bob", "send", "--peer", "alice", "answered")
	w.receive("alice", "bob", "--save")
	w.do("alice", "send", "--peer", "bob", "on its way")

	for _, c := range []struct {
		says string
		args []string
	}{
		{"takes `change`", []string{"passphrase"}}, {"takes `change`", []string{"passphrase", "renew", "--new-passphrase-file", one}},
		{"needs --new-passphrase-file", []string{"passphrase", "set"}}, {"takes no new", []string{"passphrase", "remove", "--new-passphrase-file", one}},
		{"no passphrase: use", []string{"passphrase", "change", "--new-passphrase-file", one}}, {"no passphrase: use", []string{"passphrase", "remove"}},
		{"is empty", []string{"passphrase", "set", "--new-passphrase-file", w.file("none", "\n")}}, {"is empty", []string{"passphrase", "set", "--new-passphrase-file", "-"}},
	} {
		contains(t, w.want(2, "alice", c.args...).err, c.says)
	}
	works := func(history int, auth ...string) {
		t.Helper()
		equal(t, "history", len(w.records(w.do("alice", append([]string{"history"}, auth...)...).out)), history)
		text := fmt.Sprint("letter ", history)
		w.do("alice", append([]string{"send", "--peer", "bob", text, "--save"}, auth...)...)
		got := texts(w.receive("bob", "alice"))
		equal(t, "letter", got[len(got)-1], text)
		w.do("bob", "send", "--peer", "alice", text+" back")
		equal(t, "and back", texts(w.records(w.do("alice", append([]string{"receive", "--peer", "bob", "--save"}, auth...)...).out)), []string{text + " back"})
	}
	open := func(auth ...string) []string { return auth }
	w.do("alice", "passphrase", "set", "--new-passphrase-file", one)
	contains(t, w.want(2, "alice", "id").err, "no passphrase")
	contains(t, w.want(2, "alice", "passphrase", "set", "--new-passphrase-file", two).err, "has a passphrase")
	works(2, open("--passphrase-file", one)...)
	contains(t, w.want(2, "alice", "passphrase", "change", "--new-passphrase-file", two, "--passphrase-file", two).err, "wrong passphrase")
	w.stdin = "second secret\n"
	equal(t, "json", w.do("alice", "passphrase", "change", "--new-passphrase-file", "-", "--passphrase-file", one, "--json").out, `{"passphrase": "change", "done": true}`+"\n")
	contains(t, w.want(2, "alice", "id", "--passphrase-file", one).err, "wrong passphrase")
	works(4, open("--passphrase-file", two)...)
	contains(t, w.do("alice", "passphrase", "remove", "--passphrase-file", two).err, "UNENCRYPTED")
	works(6)
	equal(t, "nothing is left over", w.outbox("alice"), []string(nil))
}

// A program that has the store open when the passphrase is changed writes nothing more that nobody could open.
func TestL2_RekeyedUnderARunningProgram(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	s := w.open("alice")
	b, err := post.Open(t.Context(), post.Config{Store: s, Book: store.OpenBook(t.TempDir()), Relay: w.url})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	w.do("alice", "passphrase", "set", "--new-passphrase-file", w.file("p", "secret"))
	if _, err := b.Send(t.Context(), w.ids["bob"], "too late", true); !errors.Is(err, store.ErrRekeyed) {
		t.Fatal(err)
	}
	equal(t, "history", w.do("alice", "history", "-p", "secret").out, "")
	equal(t, "mail", len(w.plain.Mail(w.ids["bob"])), 0)
}

// kill -9 while the passphrase is changed, at points of the growing log and of its folding: the store opens with exactly one of the
// two, and all of it.
func TestL2_KilledWhileThePassphraseChanges(t *testing.T) {
	t.Parallel()
	const letters = 1500
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("AGNT_TEST_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	t.Logf("AGNT_TEST_SEED=%d", seed)
	rnd := rand.New(rand.NewPCG(seed, 2))
	w := plainWorld(t)
	w.people("alice")
	s := w.open("alice")
	if err := s.Tx(t.Context(), func(tx *store.Tx) (err error) {
		for n := range letters {
			err = errors.Join(err, tx.SaveHistory(store.Saved{ID: strconv.Itoa(n), Peer: "p", Text: strings.Repeat("x", 3000)}))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	w.do("alice", "passphrase", "set", "--new-passphrase-file", w.file("pass-0", "secret 0"))
	wal := filepath.Join(w.dir("alice"), store.FileName+"-wal")
	size := func() int64 {
		st, err := os.Stat(wal)
		if err != nil {
			return 0
		}
		return st.Size()
	}
	now, changed, kept := 0, 0, 0
	for round := 1; round <= 12; round++ {
		fresh := w.file(fmt.Sprint("pass-", round), fmt.Sprint("secret ", round))
		p := w.process("alice", "passphrase", "change", "--new-passphrase-file", fresh, "--passphrase-file", filepath.Join(w.tmp, fmt.Sprint("pass-", now)))
		over := make(chan struct{})
		go func() { p.end(); close(over) }()
		// At a size of the log; every third time when it was emptied again.
		at, most := rnd.Int64N(6<<20), int64(0)
		for running := true; running; {
			n := size()
			most = max(most, n)
			if round%3 != 0 && n > at || round%3 == 0 && most > 0 && n < most {
				p.kill()
			}
			select {
			case <-over:
				running = false
			default:
			}
		}
		var good []int
		for _, k := range []int{now, round} {
			r := w.run("alice", "history", "-u", "alice", "-p", fmt.Sprint("secret ", k))
			switch {
			case r.code == 0:
				good = append(good, k)
				if n := strings.Count(r.out, "\n"); n != letters {
					t.Fatalf("round %d: %d letters are left", round, n)
				}
			case !strings.Contains(r.err, "wrong passphrase"):
				t.Fatalf("round %d: %s", round, r.err)
			}
		}
		if len(good) != 1 {
			t.Fatalf("round %d: opens with %v", round, good)
		}
		if good[0] == round {
			changed++
		} else {
			kept++
		}
		now = good[0]
	}
	t.Logf("changed %d times, kept %d times", changed, kept)
}

// 8.3 (5): where a letter is can be seen from the first moment to its acknowledgement.
func TestL2_StatesOfALetter(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	full := func(n int) { w.plain.Lock(func() { w.plain.MaxMailbox = n }) }
	full(1)
	w.do("alice", "send", "--peer", "bob", "fills the mailbox")
	w.want(2, "alice", "send", "--peer", "bob", "does not fit")
	rows := w.records(w.do("alice", "outbox", "--json").out)
	id := rows[1]["id"].(string)
	state := func(want string) {
		t.Helper()
		got := w.records(w.do("alice", "outbox", "state", id, "--json").out)
		equal(t, "state", []any{got[0]["id"], got[0]["to"], got[0]["state"]}, []any{id, w.ids["bob"], want})
		contains(t, w.do("alice", "outbox", "state", id).out, id+"\t"+w.ids["bob"]+"\t"+want+"\t")
	}
	state("queued")
	full(0)
	w.do("alice", "sync")
	state("at_relay")
	w.receive("bob", "alice")
	w.receive("alice", "bob")
	state("acknowledged")
	equal(t, "outbox", w.do("alice", "outbox").out, "")
	var states []any
	for _, r := range w.records(w.do("alice", "outbox", "--all", "--json").out) {
		states = append(states, r["state"])
		if r["acknowledged"].(float64) < r["created"].(float64) {
			t.Fatalf("%v", r)
		}
	}
	equal(t, "all", states, []any{"acknowledged", "acknowledged"})
	contains(t, w.want(2, "alice", "outbox", "state", "nope").err, "no such letter")
	contains(t, w.want(2, "alice", "outbox", "state").err, "needs the id")
}

// Padding is turned off and on, for one peer or for all.
func TestL2_PaddingIsASetting(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	equal(t, "at first", w.do("alice", "padding").out, "on\n")
	equal(t, "off for bob", w.do("alice", "padding", "off", "--peer", "bob").out, "on\noff\t"+w.ids["bob"]+"\tbob\n")
	equal(t, "json", w.do("alice", "padding", "--json").out, `{"padding": "on", "off_for": ["`+w.ids["bob"]+`"]}`+"\n")
	equal(t, "on for bob", w.do("alice", "padding", "on", "--peer", w.ids["bob"]).out, "on\n")
	equal(t, "off", w.do("alice", "padding", "off").out, "off\n")
	equal(t, "on", w.do("alice", "padding", "on", "--json").out, `{"padding": "on", "off_for": []}`+"\n")
	contains(t, w.want(2, "alice", "padding", "maybe").err, "`on` or `off`")
	contains(t, w.want(2, "alice", "padding", "--peer", "bob").err, "goes with")
	contains(t, w.want(2, "alice", "padding", "off", "--peer", "nobody").err, "unknown peer")
}
