package cli_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/cli"
	"github.com/agntchat/agntchat/internal/letterbox/store"
	wire "github.com/agntchat/agntchat/internal/wire/letter"
)

const (
	address1 = "f1041c25c87351d8550b31cc6b13ab04"
	address2 = "00e7fb3c717b284a304c031207511ee7"
)

// 6.1 contacts, add_fingerprint: listing, verification by hand and by the relay, names that are taken.
func TestL2_Contacts(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	equal(t, "listing", w.do("alice", "contacts").out, "bob\t"+w.ids["bob"]+"\tunverified\n")
	k := w.plainKeys("bob")
	contains(t, w.want(2, "alice", "verify", "bob", "--identity-key", k.IdentityKey).err, "give both")
	contains(t, w.want(2, "alice", "verify", "bob", "--identity-key", k.SigningKey, "--signing-key", k.IdentityKey).err, "PIN MISMATCH")
	r := w.do("alice", "verify", "bob", "--identity-key", k.IdentityKey, "--signing-key", k.SigningKey)
	contains(t, r.err, "✓ Verified bob")
	equal(t, "verify prints nothing", r.out, "")
	equal(t, "card", w.do("alice", "contacts", "--show", "bob", "--json").out,
		`{"fingerprint": "`+w.ids["bob"]+`", "name": "bob", "identity_key": "`+k.IdentityKey+`", "signing_key": "`+k.SigningKey+`", "verified": true}`+"\n")
	equal(t, "as", w.records(w.do("alice", "contacts", "--show", w.ids["bob"], "--json", "--as", "bobby").out)[0]["name"], "bobby")
	w.do("alice", "add", w.ids["bob"])
	equal(t, "adding again forgets the keys", w.do("alice", "contacts").out, "bob\t"+w.ids["bob"]+"\tunverified\n")
	contains(t, w.do("alice", "verify", "bob").err, "Keys: from the relay")
	contains(t, w.want(2, "alice", "add", address1, "--peer", "bob").err, "'bob-2'", "--override")
	w.do("alice", "add", address1, "--peer", "bob", "--override")
	equal(t, "override", w.do("alice", "contacts").out, "(unnamed)\t"+w.ids["bob"]+"\tverified\nbob\t"+address1+"\tunverified\n")
	w.want(2, "alice", "contacts", "--show", "nobody")
	w.want(2, "alice", "contacts", "--show", "bob", "--remove", "bob")
	w.want(2, "alice", "contacts", "--remove", "nobody")
	equal(t, "json", w.do("alice", "contacts", "--remove", address1, "--json").out, `{"fingerprint": "`+address1+`", "removed": true}`+"\n")
	w.do("alice", "contacts", "--remove", w.ids["bob"])
	equal(t, "removed", w.do("alice", "contacts").out, "")
}

// 6.1 global_contacts: one book for all identities, under the identity's own.
func TestL2_GlobalContacts(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	run := func(code int, args ...string) result {
		t.Helper()
		r := w.run("owner", args...)
		if r.code != code {
			t.Fatalf("%q: exit code %d\n%s", args, r.code, r.err)
		}
		return r
	}
	run(0, "init", "-u", "alice", "-np", "--no-register")
	run(0, "init", "-u", "bob", "-np", "--no-register")
	run(0, "add", address1, "--peer", "shared")
	run(0, "add", address2, "--peer", "mine", "-u", "alice")
	contains(t, run(0, "contacts", "-u", "alice").out, address1, address2)
	contains(t, run(0, "contacts", "-u", "bob").out, address1)
	equal(t, "alone", run(0, "contacts").out, "shared\t"+address1+"\tunverified\n")
	run(2, "add", address2, "--peer", "shared", "-u", "bob")
	run(0, "add", address2, "--peer", "shared", "-u", "bob", "--override")
	contains(t, run(0, "contacts", "--show", "shared", "-u", "bob").out, address2)
	contains(t, run(0, "contacts", "--show", "shared", "-u", "alice").out, address1)
	contains(t, run(2, "verify", "shared").err, "identity")
	st, err := os.Stat(filepath.Join(w.home("owner"), store.BookName))
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", st, err)
	}
	// The only identity of a home asks for keys of the book's contacts.
	w.people("carol")
	w.do("carol", "sync")
	solo := strings.TrimSpace(w.run("solo", "init", "-u", "solo", "-np").out)
	if r := w.run("solo", "add", w.ids["carol"], "--peer", "carol", "--verify"); r.code != 0 {
		t.Fatal(r.err)
	}
	contains(t, w.run("solo", "contacts", "-u", "solo").out, "carol\t"+w.ids["carol"]+"\tverified")
	if len(solo) != 32 {
		t.Fatal(solo)
	}
}

// 6.1 share, import: cards go by letter and by hand, tampered ones are refused, shared ones wait to be imported.
func TestL2_ShareAndImport(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		w.people("alice", "carol")
		w.people("bob")
		w.do("alice", "add", w.ids["bob"], "--peer", "bob", "--verify")
		receipt := w.records(w.do("alice", "share", "bob", "--peer", "carol").out)[0]
		equal(t, "receipt", []any{receipt["to"], receipt["shared"], len(receipt)}, []any{w.ids["carol"], w.ids["bob"], 3})
		w.do("alice", "send", "hi carol", "--peer", "carol")
		got := w.records(w.do("carol", "receive", "--all").out)
		card := got[0]["card"].(map[string]any)
		equal(t, "record", []any{got[0]["kind"], got[0]["from"], got[0]["name"], card["name"], card["fingerprint"], got[0]["text"], len(got[0])},
			[]any{"contact", w.ids["alice"], "alice", "bob", w.ids["bob"], nil, 5})
		equal(t, "chat", got[1]["text"], "hi carol")
		staged := w.records(w.do("carol", "import", "--inbox", "--list", "--json").out)
		equal(t, "staged", []any{staged[0]["fingerprint"], staged[0]["from_fp"], staged[0]["from_name"], staged[0]["verified"], staged[0]["msg_id"], len(staged[0])},
			[]any{w.ids["bob"], w.ids["alice"], "alice", true, got[0]["id"], 9})
		contains(t, w.do("carol", "import", "--inbox", "--list").out, "bob\t"+w.ids["bob"]+"\tverified\tfrom alice")
		contains(t, w.do("carol", "import", "--inbox", "bob", "--as", "bobby").err, "imported contact 'bobby'", "1 imported, 0 refused")
		equal(t, "moved", w.do("carol", "import", "--inbox", "--list").out, "")
		contains(t, w.do("carol", "contacts").out, "bobby\t"+w.ids["bob"]+"\tverified")
		w.do("alice", "share", "bob", "--peer", "carol", "--as", "robert")
		equal(t, "as", w.records(w.do("carol", "receive", "--all", "--no-save-contacts").out)[0]["card"].(map[string]any)["name"], "robert")
		equal(t, "not staged", w.do("carol", "import", "--inbox", "--list").out, "")
		k := w.plainKeys("bob")
		tampered := `{"fingerprint":"` + w.ids["bob"] + `","name":"mallory","identity_key":"` + k.IdentityKey + `","signing_key":"AAAAwrong="}`
		contains(t, w.want(2, "carol", "import", tampered).err, "PIN MISMATCH")
		if strings.Contains(w.do("carol", "contacts").out, "mallory") {
			t.Fatal("a tampered card was saved")
		}
		w.stdin = `{"fingerprint":"` + address1 + `","name":"dora"}`
		w.do("carol", "import", "-")
		contains(t, w.do("carol", "contacts").out, "dora\t"+address1+"\tunverified")
	})
}

// 6.1 groups: round trip, reply to all, rosters that spread, views, names, failures, leaving.
func TestL2_Groups(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		w.people("alice", "bob", "carol", "dave")
		made := w.records(w.do("alice", "group", "create", "team", "--members", "bob,carol").out)[0]
		gid := made["group_id"].(string)
		equal(t, "members", made["members"], []string{w.ids["bob"], w.ids["carol"]})
		contains(t, w.want(2, "alice", "group", "create", "team", "bob").err, "already exists")
		sent := w.records(w.do("alice", "send", "--group", "team", "hello room", "--save").out)[0]
		equal(t, "receipt", []any{sent["group"], sent["group_id"], sent["sent"], sent["failed"], len(sent)}, []any{"team", gid, 2, 0, 5})
		for _, who := range []string{"bob", "carol"} {
			got := w.receive(who, "alice", "--save")
			equal(t, who, []any{got[0]["text"], got[0]["group"], got[0]["group_id"], len(got[0])}, []any{"hello room", "team", gid, 6})
		}
		equal(t, "reply", w.records(w.do("carol", "send", "--group", "team", "carol here", "--save").out)[0]["sent"], 2)
		equal(t, "alice", texts(w.receive("alice", "carol", "--save")), []string{"carol here"})
		equal(t, "bob", texts(w.receive("bob", "carol")), []string{"carol here"})
		hist := w.records(w.do("alice", "history", "--group", "team").out)
		equal(t, "history", []any{texts(hist), hist[0]["id"], hist[0]["direction"], hist[1]["direction"], hist[1]["group"]}, []any{[]string{"hello room", "carol here"}, sent["id"], "out", "in", "team"})
		contains(t, w.run("alice", "show", "alice", "--group", "team").out, "alice ⇄ team", "🔵 carol", "alice 🟢")
		w.do("alice", "group", "add", "team", "dave")
		w.do("alice", "send", "--group", "team", "welcome dave")
		w.receive("bob", "alice")
		contains(t, w.do("bob", "group", "members", "team").out, "dave\t"+w.ids["dave"])
		equal(t, "dave", texts(w.receive("dave", "alice")), []string{"welcome dave"})
		w.do("bob", "group", "rename", "team", "squad")
		w.do("alice", "send", "--group", "team", "two")
		equal(t, "own name", w.receive("bob", "alice")[0]["group"], "squad")
		equal(t, "list", w.do("bob", "group", "list").out, "squad\t"+gid+"\t3 member(s)\n")
		// Leaving: everybody is told; who did not hear of it is refused, and its roster is put right.
		w.receive("carol", "alice")
		contains(t, w.do("bob", "group", "leave", "squad").err, "told 3/3")
		got := w.receive("alice", "bob")
		equal(t, "notice", []any{got[len(got)-1]["kind"], got[len(got)-1]["group_id"]}, []any{"group_leave", gid})
		equal(t, "after", w.records(w.do("alice", "send", "--group", "team", "without bob").out)[0]["sent"], 2)
		equal(t, "carol did not hear", w.records(w.do("carol", "send", "--group", "team", "hi bob?").out)[0]["sent"], 3)
		equal(t, "bob has left", w.do("bob", "receive", "--peer", "carol").out, "")
		equal(t, "bob has left", w.do("bob", "group", "list").out, "")
		w.do("carol", "sync")
		if strings.Contains(w.do("carol", "group", "members", "team").out, w.ids["bob"]) {
			t.Fatal("carol's roster still has bob")
		}
		w.do("bob", "receive", "--peer", "carol")
		w.do("carol", "sync")
		if !slices.Contains(w.outbox("carol"), "refused") {
			t.Fatalf("carol is not told that bob refused: %v", w.outbox("carol"))
		}
		w.do("bob", "group", "join", "squad")
		w.do("alice", "group", "add", "team", "bob")
		w.do("alice", "send", "--group", "team", "welcome back")
		equal(t, "back", texts(w.receive("bob", "alice")), []string{"welcome back"})
		// A group of the same name is another group.
		w.do("dave", "group", "create", "team-x", "bob")
		w.do("dave", "group", "rename", "team-x", "squad")
		w.do("dave", "send", "--group", "squad", "mine")
		w.do("bob", "group", "create", "squad", "carol")
		equal(t, "suffix", w.receive("bob", "dave")[0]["group"], "squad-2")
		contains(t, w.want(2, "bob", "group", "rename", "squad", "squad-2").err, "already exists")
		contains(t, w.want(2, "bob", "group", "remove", "squad", "dave").err, "none of those are members")
		w.do("bob", "group", "delete", "squad")
		contains(t, w.want(2, "bob", "send", "--group", "squad", "x").err, "no group")
	})
}

// 6.1 groups: a member that exists nowhere stops nobody; the relay's limit holds; leaving works without a relay.
func TestL2_GroupFailures(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob", "carol")
	w.do("alice", "group", "create", "team", "bob,carol,"+address1)
	r := w.want(2, "alice", "send", "--group", "team", "who is missing")
	got := w.records(r.out)[0]
	equal(t, "receipt", []any{got["sent"], got["failed"]}, []any{2, 1})
	contains(t, r.err, "✗ "+address1+": ")
	equal(t, "bob", texts(w.receive("bob", "alice")), []string{"who is missing"})
	w.plain.Lock(func() { w.plain.MaxGroup = 3 })
	w.do("alice", "group", "create", "trio", "bob,carol")
	contains(t, w.want(2, "alice", "group", "add", "trio", address1).err, "relay allows 3")
	w.url = "http://127.0.0.1:1"
	contains(t, w.do("bob", "group", "leave", "team").err, "told 0/3")
	equal(t, "left", w.do("bob", "group", "list").out, "")
}

// 6.1 invite_codes: accepted, consumed, revoked, unknown, expired, permanent; contacts' mail is never taken by watch.
func TestL2_Invites(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		w.people("ana")
		w.people("ben", "cal")
		mint := func(flags ...string) string {
			r := w.records(w.do("ana", append([]string{"invite", "new"}, flags...)...).out)[0]
			code, _ := r["code"].(string)
			if len(code) != 22 || code[0] == '-' {
				t.Fatalf("%v", r)
			}
			return code
		}
		watch := func() []record { return w.records(w.do("ana", "invite", "watch", "--quiet").out) }
		code := mint("--peer", "benny")
		equal(t, "receipt", w.records(w.do("ben", "request", w.ids["ana"], "--code", code, "--peer", "ana").out)[0]["to"], w.ids["ana"])
		contains(t, w.do("ben", "contacts").out, "ana\t"+w.ids["ana"]+"\tverified")
		got := watch()
		equal(t, "accepted", []any{len(got), got[0]["kind"], got[0]["code"], got[0]["from"], got[0]["name"], got[0]["card"].(map[string]any)["verified"]},
			[]any{1, "contact_accepted", code, w.ids["ben"], "benny", true})
		contains(t, w.do("ana", "contacts").out, "benny\t"+w.ids["ben"]+"\tverified")
		row := w.records(w.do("ana", "invite", "list", "--json").out)[0]
		equal(t, "row", []any{row["uses"], row["active"], row["used_by"], len(row)}, []any{1, false, []string{w.ids["ben"]}, 9})
		// The session of the request goes on, both ways.
		w.do("ana", "send", "--peer", "benny", "welcome")
		equal(t, "ben", texts(w.receive("ben", "ana")), []string{"welcome"})
		w.do("ben", "send", "--peer", "ana", "thanks")
		equal(t, "watch leaves a contact's mail", len(watch()), 0)
		equal(t, "ana", texts(w.receive("ana", "benny")), []string{"thanks"})
		// Another one with the same code.
		w.do("cal", "request", w.ids["ana"], "--code", code)
		got = watch()
		equal(t, "consumed", []any{len(got), got[0]["kind"], got[0]["reason"], got[0]["from"]}, []any{1, "contact_request_rejected", "consumed", w.ids["cal"]})
		w.do("cal", "sync")
		equal(t, "not sent again", w.outbox("cal"), []string{"refused"})
		revoked, expired := mint(), mint("--expires", "0.0000001")
		w.do("ana", "invite", "revoke", revoked)
		for _, c := range [][2]string{{revoked, "revoked"}, {expired, "expired"}, {"not-a-code", "unknown-code"}} {
			w.do("cal", "request", w.ids["ana"], "--code", c[0])
			got = watch()
			equal(t, c[1], []any{len(got), got[0]["reason"]}, []any{1, c[1]})
		}
		if strings.Contains(w.do("ana", "contacts").out, w.ids["cal"]) {
			t.Fatal("a rejected stranger is a contact")
		}
		permanent := mint("--permanent")
		w.people("dan")
		w.do("cal", "request", w.ids["ana"], "--code", permanent)
		w.do("dan", "request", w.ids["ana"], "--code", permanent)
		equal(t, "both", len(watch()), 2)
		rows := w.do("ana", "invite", "list").out
		contains(t, rows, permanent+"\tpermanent\tactive\tuses=2\tpeer=\n", revoked+"\tsingle\trevoked\t", expired+"\tsingle\tspent/expired\t")
		contains(t, w.do("ana", "id", "--invite-message", "--last").out, "--code "+permanent)
	})
}

// A stranger with a good code, a shared card and a foreign group cannot take the name of a contact or a group of ours by writing it with
// characters that nobody sees.
func TestL2_NamesOfOthersDoNotLookLikeOurs(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("ana", "ben")
	code := w.records(w.do("ana", "invite", "new").out)[0]["code"].(string)
	w.do("eve", "init", "-np", "--display-name", " ben\u200b \u00a0")
	w.do("eve", "request", w.ids["ana"], "--code", code, "--peer", "ana")
	equal(t, "name", w.records(w.do("ana", "invite", "watch").out)[0]["name"], "ben-2")
	w.do("ana", "group", "create", "team", "ben")
	w.do("eve", "group", "create", " team ", "ana")
	w.do("eve", "send", "--group", " team ", "hello")
	w.do("ana", "receive", "--peer", "ben-2")
	contains(t, w.do("ana", "group", "list").out, "team\t", "team-2\t")
}

// 6.1 invite_watch: ordinary mail of strangers is left where it is, for a later receive; a request in plain receive is answered.
func TestL2_StrangersMailIsLeftAlone(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		w.people("ana")
		w.people("ben", "cal")
		w.do("ben", "send", "--peer", w.ids["ana"], "psst")
		for range 3 {
			equal(t, "watch", w.do("ana", "invite", "watch").out, "")
		}
		equal(t, "receive", texts(w.receive("ana", w.ids["ben"])), []string{"psst"})
		// 8.1 bug 4: a contact request in plain receive is answered, and the letters beside it arrive.
		code := w.records(w.do("ana", "invite", "new").out)[0]["code"].(string)
		w.do("cal", "send", "--peer", w.ids["ana"], "before")
		w.do("cal", "request", w.ids["ana"], "--code", code)
		w.do("cal", "send", "--peer", w.ids["ana"], "after")
		got := w.records(w.do("ana", "receive", "--all").out)
		equal(t, "records", []any{len(got), got[0]["text"], got[1]["kind"], got[2]["text"]}, []any{3, "before", "contact_accepted", "after"})
		w.do("cal", "receive", "--all")
		equal(t, "outbox", w.outbox("cal"), []string(nil))
	})
}

// 6.1 invite_watch: a stranger's chat beside a good request waits for receive.
func TestL2_WatchTakesRequestsOnly(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		w.people("ana")
		w.people("ben")
		code := w.records(w.do("ana", "invite", "new").out)[0]["code"].(string)
		w.do("ben", "send", "--peer", w.ids["ana"], "hello first")
		w.do("ben", "request", w.ids["ana"], "--code", code)
		got := w.records(w.do("ana", "invite", "watch").out)
		equal(t, "watch", []any{len(got), got[0]["kind"]}, []any{1, "contact_accepted"})
		equal(t, "again", w.do("ana", "invite", "watch").out, "")
		equal(t, "receive", texts(w.receive("ana", w.ids["ben"])), []string{"hello first"})
	})
}

// 6.1 invite: a relay that cannot look without taking is told apart.
func TestL2_WatchNeedsPeek(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("ana")
	w.plain.Lock(func() { w.plain.NoPeek = true })
	contains(t, w.want(2, "ana", "invite", "watch").err, "too old")
}

// 6.1 passphrase_file: sources and their order, loud failures, a warning about loose modes.
func TestL2_Passphrases(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	file := func(name, text string, mode os.FileMode) string {
		p := filepath.Join(w.tmp, name)
		if err := os.WriteFile(p, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(p, mode); err != nil {
			t.Fatal(err)
		}
		return p
	}
	good, bad, empty := file("good", " secret \r\n", 0o600), file("bad", "other", 0o600), file("empty", "\n", 0o600)
	run := func(code int, env func(e *cli.Env), args ...string) result {
		t.Helper()
		e := w.env("eve")
		if env != nil {
			env(&e)
		}
		r := w.runIn(t.Context(), e, append(args, "-u", "eve")...)
		if r.code != code {
			t.Fatalf("%q: exit code %d\n%s", args, r.code, r.err)
		}
		if strings.Contains(r.err, "secret") {
			t.Fatalf("a secret was printed:\n%s", r.err)
		}
		return r
	}
	run(0, nil, "init", "--passphrase-file", good)
	run(0, nil, "id", "-p", " secret ")
	run(0, nil, "id", "--passphrase-path", good, "--json")
	run(0, func(e *cli.Env) { e.Passphrase = " secret " }, "id")
	run(0, func(e *cli.Env) { e.PassphraseFile, e.Passphrase = good, "wrong" }, "id")
	run(0, func(e *cli.Env) { e.PassphraseFile = bad }, "id", "--passphrase-file", good)
	contains(t, run(2, nil, "id", "--passphrase-file", bad).err, "wrong passphrase")
	contains(t, run(2, func(e *cli.Env) { e.PassphraseFile = good }, "id", "-p", "x").err, "wrong passphrase")
	contains(t, run(2, nil, "id", "--passphrase-file", empty).err, "empty")
	contains(t, run(2, nil, "id", "--passphrase-file", w.tmp).err, "not a file")
	contains(t, run(2, nil, "id", "--passphrase-file", filepath.Join(w.tmp, "nope")).err, "no such file")
	contains(t, run(2, nil, "id").err, "no passphrase")
	contains(t, run(2, nil, "id", "-np").err, "has a passphrase")
	contains(t, run(0, nil, "id", "--passphrase-file", file("loose", " secret ", 0o644)).err, "other users may read")
	if st, err := os.Stat(filepath.Join(w.home("eve"), "eve", store.FileName)); err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", st, err)
	}
	if st, err := os.Stat(filepath.Join(w.home("eve"), "eve")); err != nil || st.Mode().Perm() != 0o700 {
		t.Fatalf("%v %v", st, err)
	}
}

// 6.1 cli: the name of a new identity, the first configuration, cards and invitations.
func TestL2_InitAndConfig(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	contains(t, w.run("ann", "init", "-np").err, `defaulting to automatically generated "login-1"`)
	contains(t, w.run("ann", "init", "-np").err, `"login-2"`)
	equal(t, "config", w.run("ann", "config").out, "{\n  \"relay\": \"https://relay.retalk.dev\"\n}\n")
	if st, err := os.Stat(filepath.Join(w.home("ann"), "config.json")); err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", st, err)
	}
	equal(t, "config", w.run("ann", "config", "--relay", "").out, "{}\n")
	contains(t, w.run("ann", "config", "-r", "http://example.org").err, "not encrypted")
	contains(t, w.run("ann", "config", "-r", w.url).out, w.url)
	dir := filepath.Join(w.tmp, "by-dir")
	if r := w.run("ann", "init", "-np", "--dir", dir, "--no-register"); r.code != 0 {
		t.Fatal(r.err)
	}
	equal(t, "no name", w.records(w.run("ann", "id", "--json", "--dir", dir).out)[0]["name"], "")
	r := w.run("ann", "init", "-np", "-u", "dora", "--display-name", "Dora's $(bot)")
	if r.code != 0 || len(strings.TrimSpace(r.out)) != 32 {
		t.Fatal(r.err)
	}
	card := w.records(w.run("ann", "id", "--json", "-u", "dora").out)[0]
	equal(t, "card", []any{card["name"], card["verified"], card["relay"], len(card)}, []any{"Dora's $(bot)", true, w.url, 6})
	if wire.Address(card["identity_key"].(string), card["signing_key"].(string)) != strings.TrimSpace(r.out) {
		t.Fatal("the card's keys are not the address's")
	}
	contains(t, w.run("ann", "id", "--card", "-u", "dora").out, "Name: Dora", "Fingerprint: ", "Relay: "+w.url, "Verified: yes", "Identity key: ", "Signing key: ")
	contains(t, w.run("ann", "id", "--invite-message", "-u", "dora").out, "```bash", `--peer 'Dora'\''s $(bot)'`)
	contains(t, w.run("ann", "id", "--invite-reply", "-u", "dora").out, "agnt letter add "+strings.TrimSpace(r.out))
	// A relay that is away is no reason to have no identity.
	env := w.env("ann")
	env.Relay = "http://127.0.0.1:1"
	got := w.runIn(t.Context(), env, "init", "-np", "-u", "lonely")
	if got.code != 0 || !strings.Contains(got.err, "warning") {
		t.Fatalf("%d %s", got.code, got.err)
	}
}

// 6.1 share, show, 6.3: history is kept when asked for, sealed, and shown in order; control characters are not.
func TestL2_HistoryAndShow(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	w.do("alice", "send", "--peer", "bob", "not kept")
	w.receive("bob", "alice")
	equal(t, "nothing", w.do("alice", "history").out, "")
	contains(t, w.run("alice", "show", "alice", "bob").out, "no saved messages")
	w.do("alice", "send", "--peer", "bob", "hello\x1b[31m bob", "--save")
	env := w.env("bob")
	env.SaveMessage = "Yes"
	if r := w.runIn(t.Context(), env, "receive", "--peer", "alice", "-u", "bob"); r.code != 0 {
		t.Fatal(r.err)
	}
	w.do("bob", "send", "--peer", "alice", "hi alice", "--save")
	w.receive("alice", "bob", "--save")
	hist := w.records(w.do("bob", "history", "--peer", "alice").out)
	equal(t, "history", []any{hist[0]["direction"], hist[0]["name"], hist[1]["direction"], hist[1]["name"], len(hist), len(hist[0])}, []any{"in", "alice", "out", "bob", 2, 5})
	out := w.run("alice", "show", "alice", "bob").out
	contains(t, out, "💬 alice ⇄ bob", "alice 🟢", "🔵 bob · ", "📅 "+time.Now().Format("2006-01"), "hello[31m bob", "hi alice")
	if strings.Contains(out, "\x1b") || strings.Index(out, "hello") > strings.Index(out, "hi alice") {
		t.Fatal(out)
	}
	contains(t, w.run("alice", "show", "bob", "--dir", w.dir("alice")).out, "alice ⇄ bob")
	contains(t, w.run("alice", "show", "alice", "bob", "--dir", w.dir("alice")).err, "--dir")
	contains(t, w.run("alice", "show").err, "--dir")
	contains(t, w.run("alice", "show", "alice").err, "--web")
	for _, name := range []string{store.FileName, store.FileName + "-wal"} {
		b, err := os.ReadFile(filepath.Join(w.dir("alice"), name))
		if err == nil && (strings.Contains(string(b), "hi alice") || strings.Contains(string(b), "hello")) {
			t.Fatalf("%s holds a letter in the clear", name)
		}
	}
}
