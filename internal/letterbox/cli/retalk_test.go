package cli_test

import (
	"crypto/sha256"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // retalk's store is an SQLite file

	"github.com/agntchat/agntchat/internal/letterbox/olmtest"
	"github.com/agntchat/agntchat/internal/letterbox/store"
	wire "github.com/agntchat/agntchat/internal/wire/letter"
)

// retalkSchema is the store of a retalk identity (contract letters 2.3), in retalk's own words.
const retalkSchema = `
CREATE TABLE meta(k TEXT PRIMARY KEY, v TEXT);
CREATE TABLE sessions(peer TEXT, sid TEXT, blob TEXT, used REAL, PRIMARY KEY(peer, sid));
CREATE TABLE outbox(id TEXT PRIMARY KEY, peer TEXT, mtype INTEGER, body TEXT, ts REAL, gid TEXT);
CREATE TABLE processed(hash TEXT PRIMARY KEY, msg_id TEXT);
CREATE TABLE peers(fingerprint TEXT PRIMARY KEY, name TEXT, identity_key TEXT, signing_key TEXT);
CREATE TABLE groups(gid TEXT PRIMARY KEY, name TEXT, members TEXT, ts REAL);
CREATE TABLE left_groups(gid TEXT PRIMARY KEY, name TEXT, ts REAL);
CREATE TABLE messages(msg_id TEXT PRIMARY KEY, from_fp TEXT, from_name TEXT, peer_fp TEXT, direction TEXT, body TEXT, ts REAL, gid TEXT, gname TEXT);
CREATE TABLE blocked(fingerprint TEXT PRIMARY KEY);
CREATE TABLE received_contacts(fingerprint TEXT PRIMARY KEY, name TEXT, identity_key TEXT, signing_key TEXT, from_fp TEXT, from_name TEXT, msg_id TEXT, ts REAL);
CREATE TABLE invite_codes(code TEXT PRIMARY KEY, kind TEXT, peer TEXT, created REAL, expires REAL, uses INTEGER, used_by TEXT, revoked INTEGER);`

// sealedHello is a history body of a real retalk identity without a passphrase (contract letters 2.3).
const sealedHello = `["AmxlI3H9YOAgpAGEo/CZEA==","hsJgawIo21I=","oJzyKjJgxYmsmBqu47KG7rjkrf11NDcsKtWMfBiEWUI="]`

// retalkStore writes a store.db; its account is one of the real vodozemac.
func retalkStore(t *testing.T, dir, secret string, change func(exec func(string, ...any))) (curve, ed string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	c := olmtest.Vodozemac(t)
	account := c.Ask(t, olmtest.Request{"op": "account", "stored": true})
	pickles := c.Ask(t, olmtest.Request{"op": "pickles", "n": account.N})
	key := sha256.Sum256([]byte(secret))
	db, err := sql.Open("sqlite", filepath.Join(dir, "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(retalkSchema)
	exec(`INSERT INTO meta(k, v) VALUES('account', ?), ('name', 'Old Alice'), ('fallback_ts', '1796073394.5')`, olmtest.Envelope(t, pickles.Account, key[:]))
	change(exec)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return account.Curve, account.Ed
}

// Import of a retalk identity: the address stays, and so do contacts, groups, blocks, invites and history; store.db is only read.
func TestL2_ImportFromRetalk(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("bob")
	k := w.plainKeys("bob")
	curve, ed := retalkStore(t, w.dir("old"), "\x00retalk:disabled-passphrase", func(exec func(string, ...any)) {
		exec(`INSERT INTO meta(k, v) VALUES('no_passphrase', '1'), ('server_url', ?), ('group_cap', '7'), ('api_key', 'k')`, w.url)
		exec(`INSERT INTO peers VALUES(?, 'bob', ?, ?), (?, 'dora', NULL, NULL), (?, 'false', ?, ?)`, w.ids["bob"], k.IdentityKey, k.SigningKey, address1, address2, k.IdentityKey, k.SigningKey)
		exec(`INSERT INTO messages VALUES('m1', ?, 'bob', ?, 'in', ?, 1796073400.5, NULL, NULL), ('m2', ?, 'bob', ?, 'in', 'broken', 1796073401, 'g1', 'team')`, w.ids["bob"], w.ids["bob"], sealedHello, w.ids["bob"], w.ids["bob"])
		exec(`INSERT INTO groups VALUES('g1', 'team', '["` + w.ids["bob"] + `"]', 1)`)
		exec(`INSERT INTO left_groups VALUES('g2', 'gone', 1)`)
		exec(`INSERT INTO blocked VALUES(?)`, address2)
		exec(`INSERT INTO invite_codes VALUES('code-one', 'single', 'x', 1796073394.0, 9999999999.0, 1, '["` + address1 + `"]', 0)`)
		exec(`INSERT INTO received_contacts VALUES(?, 'eve', '', '', ?, 'bob', 'm9', 1796073394.25)`, address1, w.ids["bob"])
		exec(`INSERT INTO sessions VALUES(?, 'sid', 'damaged', 1)`, w.ids["bob"])
		exec(`INSERT INTO outbox VALUES('o1', ?, 0, 'AAAA', 1796073394.0, NULL)`, w.ids["bob"])
		exec(`INSERT INTO processed VALUES(?, 'm0')`, wire.BodyHash("seen before"))
	})
	before, err := os.ReadFile(filepath.Join(w.dir("old"), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	contains(t, w.want(2, "old", "id").err, "import --from-retalk")
	contains(t, w.want(2, "old", "init", "-np").err, "import --from-retalk")
	r := w.do("old", "import", "--from-retalk", "--json")
	contains(t, r.err, "left behind: a session with "+w.ids["bob"], "left behind: keys of false", "left behind: 1 letters of history")
	address := wire.Address(curve, ed)
	equal(t, "summary", r.out, `{"fingerprint": "`+address+`", "name": "Old Alice", "contacts": 3, "sessions": 0, "groups": 1, "history": 1, "outbox": 1}`+"\n")
	equal(t, "address", w.do("old", "id").out, address+"\n")
	equal(t, "history", texts(w.records(w.do("old", "history").out)), []string{"hello bob"})
	equal(t, "contacts", w.do("old", "contacts").out, "bob\t"+w.ids["bob"]+"\tverified\ndora\t"+address1+"\tunverified\nfalse\t"+address2+"\tunverified\n")
	equal(t, "groups", w.do("old", "group", "list").out, "team\tg1\t1 member(s)\n")
	equal(t, "blocked", w.do("old", "block", "--list").out, address2+"\tfalse\n")
	contains(t, w.do("old", "invite", "list").out, "code-one\tsingle\tspent/expired\tuses=1\tpeer=x")
	contains(t, w.do("old", "import", "--inbox", "--list").out, "eve\t"+address1+"\tunverified\tfrom bob")
	contains(t, w.want(2, "old", "import", "--from-retalk").err, "already exists")
	// It acts: a letter to bob, and one from bob to keys that it published.
	w.do("old", "send", "--peer", "bob", "from the old address")
	got := w.records(w.do("bob", "receive", "--all").out)
	equal(t, "letter", []any{got[len(got)-1]["from"], got[len(got)-1]["name"], got[len(got)-1]["text"]}, []any{address, "~Old Alice", "from the old address"})
	w.do("bob", "send", "--peer", address, "and back")
	equal(t, "back", texts(w.receive("old", "bob")), []string{"and back"})
	after, err := os.ReadFile(filepath.Join(w.dir("old"), "store.db"))
	if err != nil || string(before) != string(after) {
		t.Fatalf("store.db was changed: %v", err)
	}
}

// Import with a passphrase, and of the tables that early versions made.
func TestL2_ImportFromAnEarlyRetalk(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	retalkStore(t, w.dir("old"), "pass", func(exec func(string, ...any)) {
		exec(`DROP TABLE peers; CREATE TABLE peers(name TEXT PRIMARY KEY, id TEXT, pin TEXT)`)
		exec(`INSERT INTO peers VALUES('dora', ?, 'one key only')`, address1)
		exec(`DROP TABLE sessions; CREATE TABLE sessions(peer TEXT PRIMARY KEY, blob TEXT)`)
		exec(`DROP TABLE messages; CREATE TABLE messages(msg_id TEXT PRIMARY KEY, from_fp TEXT, from_name TEXT, body TEXT, ts REAL)`)
		exec(`DROP TABLE outbox; CREATE TABLE outbox(id TEXT PRIMARY KEY, peer TEXT, mtype INTEGER, body TEXT, ts REAL)`)
		exec(`DROP TABLE groups; DROP TABLE left_groups; DROP TABLE invite_codes; DROP TABLE received_contacts; DROP TABLE blocked; DROP TABLE processed`)
	})
	contains(t, w.want(2, "old", "import", "--from-retalk").err, "no passphrase")
	contains(t, w.want(2, "old", "import", "--from-retalk", "-p", "wrong").err, "wrong passphrase")
	if _, err := os.Stat(filepath.Join(w.dir("old"), "letters.db")); err == nil {
		t.Fatal("a failed import left a store")
	}
	w.do("old", "import", "--from-retalk", "-p", "pass")
	equal(t, "contacts", w.do("old", "contacts").out, "dora\t"+address1+"\tunverified\n")
	contains(t, w.do("old", "id", "--card", "-p", "pass").out, "Name: Old Alice")
	contains(t, w.want(2, "old", "id", "-p", "wrong").err, "wrong passphrase")
	entries, err := os.ReadDir(w.dir("old"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".new-") {
			t.Fatalf("%s was left behind", e.Name())
		}
	}
	contains(t, w.want(2, "none", "import", "--from-retalk").err, "no identity of retalk")
}

// Of several imported sessions with a peer that one sends which retalk used last, whatever their names are.
func TestL2_ImportKeepsTheOrderOfSessions(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("bob")
	c := olmtest.Libolm(t)
	account := c.Ask(t, olmtest.Request{"op": "account"})
	keys := w.plainKeys("bob")
	secret := sha256.Sum256([]byte("\x00retalk:disabled-passphrase"))
	sealed := func(n int) string {
		text := c.Ask(t, olmtest.Request{"op": "pickle", "n": n, "key": "k"}).Pickle
		return olmtest.Envelope(t, olmtest.OpenEnvelope(t, text, []byte("k")), secret[:])
	}
	var ids []string
	var pickles []string
	for range 4 {
		s := c.Ask(t, olmtest.Request{"op": "outbound", "n": account.N, "curve": keys.IdentityKey, "key": keys.IdentityKey})
		ids, pickles = append(ids, s.ID), append(pickles, sealed(s.N))
	}
	if err := os.MkdirAll(w.dir("old"), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(w.dir("old"), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(retalkSchema)
	exec(`INSERT INTO meta(k, v) VALUES('account', ?), ('no_passphrase', '1')`, sealed(account.N))
	used := []float64{1796073400.5, 1796073399, 1e12, 1796073400.25} // one from a clock that was wrong
	for n, id := range ids {
		exec(`INSERT INTO sessions VALUES(?, ?, ?, ?)`, w.ids["bob"], id, pickles[n], used[n])
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	w.do("old", "import", "--from-retalk")
	s := w.open("old")
	var got []string
	if err := s.Tx(t.Context(), func(tx *store.Tx) error {
		list, err := tx.Sessions(w.ids["bob"])
		for _, x := range list {
			got = append(got, x.ID)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	equal(t, "order", got, []string{ids[2], ids[0], ids[3], ids[1]})
}
