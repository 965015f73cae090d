package cli_test

import (
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/letterbox/cli"
	"github.com/agntchat/agntchat/internal/letterbox/post"
	"github.com/agntchat/agntchat/internal/letterbox/store"
)

// 6.1 multi_machine, e2ee: three people at machines of their own, each brought in by an invitation; nobody's mail reaches another;
// one introduces the other two; a block and its end. The relay never has a word that was written, and nothing when all was fetched.
func TestL2_ThreeMachines(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("ana")
	w.people("ben")
	w.people("cal")
	join := func(who string) {
		t.Helper()
		code := w.records(w.do("ana", "invite", "new").out)[0]["code"].(string)
		text := w.do("ana", "id", "--invite-message", "--code", code).out
		m := regexp.MustCompile(`agnt letter request (\S+) --code (\S+) --peer (\S+)`).FindStringSubmatch(text)
		if m == nil {
			t.Fatal(text)
		}
		w.do(who, "request", m[1], "--code", m[2], "--peer", m[3])
		equal(t, who, w.records(w.do("ana", "invite", "watch").out)[0]["kind"], "contact_accepted")
		w.receive(who, "ana")
	}
	join("ben")
	join("cal")
	const secret = "a word that nobody else may read"
	for _, who := range []string{"ben", "cal"} {
		w.do("ana", "send", "--peer", who, secret+" "+who)
	}
	for _, m := range append(w.plain.Mail(w.ids["ben"]), w.plain.Mail(w.ids["cal"])...) {
		raw, err := base64.StdEncoding.DecodeString(m.Body)
		if err != nil || strings.Contains(string(raw), "nobody else") || strings.Contains(m.Body, "nobody else") {
			t.Fatalf("the relay can read a letter: %v", err)
		}
	}
	for _, who := range []string{"ben", "cal"} {
		equal(t, who, texts(w.receive(who, "ana")), []string{secret + " " + who})
	}
	// An introduction: ben and cal write to each other with pinned keys.
	w.do("ana", "share", "ben", "--peer", "cal")
	w.do("ana", "share", "cal", "--peer", "ben")
	for _, who := range []string{"ben", "cal"} {
		w.receive(who, "ana")
		w.do(who, "import", "--inbox")
	}
	contains(t, w.do("ben", "contacts").out, "cal\t"+w.ids["cal"]+"\tverified")
	w.do("ben", "send", "--peer", "cal", "we have met")
	equal(t, "cal", texts(w.receive("cal", "ben")), []string{"we have met"})
	// Blocked, and healed.
	w.do("cal", "block", "ben")
	w.do("ben", "send", "--peer", "cal", "not this one")
	equal(t, "blocked", w.do("cal", "receive", "--all").out, "")
	w.do("cal", "block", "ben", "--remove")
	w.do("ben", "sync")
	w.do("ben", "send", "--peer", "cal", "and this one")
	got := texts(w.receive("cal", "ben"))
	equal(t, "healed", got[len(got)-1], "and this one")
	for range 3 {
		for _, who := range []string{"ana", "ben", "cal"} {
			w.do(who, "receive", "--all")
		}
	}
	for _, who := range []string{"ana", "ben", "cal"} {
		if n := len(w.plain.Mail(w.ids[who])); n > 0 {
			t.Fatalf("%d letters of %s are left at the relay", n, who)
		}
	}
}

// 6.1 library_api: what other programs of ours do with an identity and what the commands do is one thing, on one store.
func TestL2_PackageAndCommandsShareAStore(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	w.do("alice", "group", "create", "team", "bob")
	s := w.open("alice")
	b, err := post.Open(t.Context(), post.Config{Store: s, Book: store.OpenBook(w.home("alice")), Relay: w.url})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	sent, err := b.Send(t.Context(), w.ids["bob"], "from a program", true)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "outbox", w.records(w.do("alice", "outbox", "--json").out)[0]["id"], sent.ID)
	room, err := b.SendGroup(t.Context(), "team", "to all", true)
	if err != nil || room.Sent != 1 {
		t.Fatalf("%+v %v", room, err)
	}
	equal(t, "history", texts(w.records(w.do("alice", "history").out)), []string{"from a program", "to all"})
	equal(t, "bob", texts(w.receive("bob", "alice")), []string{"from a program", "to all"})
	w.do("bob", "send", "--peer", "alice", "for the program")
	var got []string
	if _, err := b.Receive(t.Context(), post.ReceiveOptions{Peers: []string{w.ids["bob"]}}, func(l post.Letter) error { got = append(got, l.Text); return nil }); err != nil {
		t.Fatal(err)
	}
	equal(t, "program", got, []string{"for the program"})
	equal(t, "outbox", w.outbox("alice"), []string(nil))
	if _, _, err := b.LeaveGroup(t.Context(), "team"); err != nil {
		t.Fatal(err)
	}
	equal(t, "left", w.do("alice", "group", "list").out, "")
	w.do("alice", "group", "join", "team")
	w.do("alice", "add", address1, "--peer", "dora")
	contacts, err := b.Contacts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := contacts.ByName("dora"); !ok || c.Address != address1 {
		t.Fatalf("%+v", contacts)
	}
}

// 6.1 sync: a refusal that the relay has forgotten lets the letter through; until then its sender, who never receives, sends it once
// more and then no more.
func TestL2_ExpiredRefusalLetsTheLetterThrough(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	w.do("bob", "block", "alice")
	w.do("alice", "send", "--peer", "bob", "in the end")
	w.do("bob", "receive", "--all")
	w.do("bob", "block", "alice", "--remove")
	w.plain.ForgetRefusals()
	contains(t, w.do("alice", "sync").out, `"resent": 1`)
	equal(t, "texts", texts(w.receive("bob", "alice")), []string{"in the end"})
	w.receive("alice", "bob")
	uploads := func() int {
		n := 0
		for _, c := range w.plain.Calls("send_message") {
			if c.From == w.ids["alice"] {
				n++
			}
		}
		return n
	}
	w.do("bob", "block", "alice")
	w.do("alice", "send", "--peer", "bob", "never")
	for range 2 {
		w.do("bob", "receive", "--all")
		w.do("alice", "sync")
	}
	before := uploads()
	w.do("alice", "sync")
	if uploads() != before {
		t.Fatal("a letter that was refused twice is sent again")
	}
}

// 6.1 block: a blocked stranger costs no handshake: neither its keys are asked for nor one of ours is used up.
func TestL2_BlockedStrangersCostNothing(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("bob")
	w.people("eve")
	w.do("bob", "block", w.ids["eve"])
	w.do("eve", "send", "--peer", w.ids["bob"], "let me in")
	s := w.open("bob")
	var before, after []byte
	account := func(into *[]byte) {
		t.Helper()
		if err := s.Tx(t.Context(), func(tx *store.Tx) (err error) { *into, err = tx.Account(); return err }); err != nil {
			t.Fatal(err)
		}
	}
	account(&before)
	equal(t, "blocked", w.do("bob", "receive", "--all").out, "")
	account(&after)
	if string(before) != string(after) {
		t.Fatal("the account changed")
	}
	for _, c := range append(w.plain.Calls("get_keys"), w.plain.Calls("claim_key")...) {
		if c.From == w.ids["bob"] {
			t.Fatalf("%s was asked for", c.Tool)
		}
	}
	equal(t, "refused", len(w.plain.Calls("nack")), 1)
}

// 8.1 bug 15: an invitation carries the real address, cards are JSON, and what a command is told is kept.
func TestL2_Bug15_InvitationsAndCardsAreReal(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	code := w.records(w.do("alice", "invite", "new", "--peer", "carol").out)[0]["code"].(string)
	contains(t, w.do("alice", "id", "--invite-message", "--last").out, w.ids["alice"], code)
	card := w.records(w.do("alice", "id", "--card", "--json").out)
	equal(t, "own card", []any{len(card), card[0]["fingerprint"]}, []any{1, w.ids["alice"]})
	equal(t, "a contact's card", w.records(w.do("alice", "contacts", "--show", "bob", "--json").out)[0]["fingerprint"], w.ids["bob"])
	// A group's receipt names what its sender keeps and finds again.
	w.do("alice", "group", "create", "team", "bob")
	sent := w.records(w.do("alice", "send", "--group", "team", "hello", "--save").out)[0]
	equal(t, "history", w.records(w.do("alice", "history", "--group", "team").out)[0]["id"], sent["id"])
}

// Every line of the contract's list of checks (letters 6.1, 6.2, 6.3) and every bug of its table 8.1 has a test of ours: those of the
// client and the relay name it in their comment, "6.1 sync: …", "8.1 bug 3", the others stand in a list.
func TestL2_EveryCheckIsNamed(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, dir := range []string{"..", "../../relay", "../../app", "../../wire/letter"} {
		err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "checks_test.go") {
				return err
			}
			b, err := os.ReadFile(path)
			text.Write(b)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	own, err := os.ReadFile("checks_test.go")
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(own), "// Every line of the contract's list")
	text.WriteString(head)
	all := text.String()
	named := func(section, name string) bool {
		// A doc comment names the section and then, on the same line or the next, one or several names.
		return regexp.MustCompile(`//.*\b` + section + `\b[^\n]*(\n//[^\n]*)?\b` + name + `\b`).MatchString(all)
	}
	for section, names := range map[string][]string{
		`6\.1`: {
			"e2ee", "crossed_sessions", "hardening", "mailbox_cap", "multi_audience", "admin_api_keys", "sync", "block", "cli", "receive_multi", "contacts", "add_fingerprint", "global_contacts",
			"share", "groups", "invite", "invite_codes", "invite_watch", "passphrase_file", "library_api", "multi_machine", "show", "show_web",
		},
		`6\.3`: {"beside it arrive", "one-time key", "control characters"},
	} {
		for _, name := range names {
			if !named(section, name) {
				t.Errorf("no test names %s %s", strings.ReplaceAll(section, `\`, ""), name)
			}
		}
	}
	for _, bug := range bugs81 {
		if !regexp.MustCompile(`8\.1 bug ` + bug + `\b|Bug` + bug + `_`).MatchString(all) {
			t.Errorf("no test names 8.1 bug %s", bug)
		}
	}
	for check, tests := range elsewhere {
		for _, name := range tests {
			if !strings.Contains(all, "func "+name+"(") {
				t.Errorf("%s: there is no %s any more", check, name)
			}
		}
	}
}

// bugs81 are those of the client and the relay. 18 (one device, no revocation) is a limit that docs/letters.md says.
var bugs81 = []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "15", "17"}

// elsewhere are the checks of followers, spools and alarms, and the tests that show them.
var elsewhere = map[string][]string{
	"6.2 spool_writer":     {"TestL4_WriterOfAgentTalk", "TestL4_FanOut", "TestL4_GarbageCollection"},
	"6.2 inbox_hook":       {"TestL4_HookOfAgentTalkSharesTheCursor", "TestL4_TruncatedAndRefilled", "TestL5_SixteenHooksAtOnceOverEightSpools"},
	"6.2 codex_wake":       {"TestL5_CodexIsWokenUnderItsConditions", "TestL5_CodexIsWokenOnceForWhatIsUnread"},
	"6.2 monitor":          {"TestL4_MonitorsOfAgentTalk", "TestL5_MonitorWaits"},
	"6.2 requests_monitor": {"TestL4_MonitorsOfAgentTalk", "TestL3_InviteWatcher"},
	"6.2 follow_scripts":   {"TestL3_StartStatusStop"},
	"6.2 install_hooks":    {"TestL5_InstallAndRemoveExactly"},
	"6.2 plugin":           {"TestL5_ClaudeCodeRunsThePlugin"},
	"6.3 registration":     {"TestL4_UnreadIsReplayed"},
	"6.3 rotation":         {"TestL4_RotationLosesNothing"},
	"6.3 two agents":       {"TestL5_TwoAnsweringAgentsStop"},
	"8.1 bug 10":           {"TestL3_FailuresAreTriedAgain", "TestL3_Backoff"},
	"8.1 bug 11":           {"TestL4_RotationLosesNothing", "TestL4_Registry"},
	"8.1 bug 12":           {"TestL5_SessionIsRegisteredByWhateverHookComesFirst"},
	"8.1 bug 13":           {"TestL5_TwoAnsweringAgentsStop", "TestL5_LimitsOfWakes"},
	"8.1 bug 14":           {"TestL5_LetterIsQuotedData", "TestL5_WakeCarriesNothingOfALetter"},
	"8.1 bug 16":           {"TestL3_OneFollowerOfAnIdentity", "TestL3_ZombiesAndReusedIDs"},
}

// What an invitation says is pasted into a shell that knows nothing of letters, and every line of it works.
func TestL2_InvitationWorksAsPasted(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("ana")
	code := w.records(w.do("ana", "invite", "new").out)[0]["code"].(string)
	for who, invitation := range map[string]string{
		"ben": w.do("ana", "id", "--invite-message").out,
		"cal": w.do("ana", "id", "--invite-message", "--code", code).out,
	} {
		block := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(invitation), "```bash\n"), "```")
		home := filepath.Join(w.tmp, "pasted-"+who)
		if err := os.MkdirAll(home, 0o700); err != nil {
			t.Fatal(err)
		}
		// The shell runs everything but our program, and says with what it would have been run.
		told := `agnt() { printf '%s\0' "$RETALK_RELAY" "$RETALK_USER" "$RETALK_PASSPHRASE_FILE" "$@"; echo; }` + "\nset -e\n"
		shell := exec.CommandContext(t.Context(), "bash", "-c", told+block)
		shell.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		out, err := shell.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for line := range strings.Lines(string(out)) {
			words := strings.Split(strings.TrimSuffix(line, "\x00\n"), "\x00")
			if len(words) < 5 || words[3] != "letter" {
				t.Fatalf("unexpected output of the shell: %q", line)
			}
			env := cli.Env{Home: filepath.Join(home, ".retalk"), UserHome: home, Login: "login", Relay: words[0], User: words[1], PassphraseFile: words[2]}
			if r := w.runIn(t.Context(), env, words[4:]...); r.code != 0 {
				t.Fatalf("agnt %s: exit code %d: %s", strings.Join(words[3:], " "), r.code, r.err)
			}
		}
		if i, err := os.Stat(filepath.Join(home, ".retalk-passphrase")); err != nil || i.Mode().Perm() != 0o600 {
			t.Fatalf("the passphrase: %v, %v", i, err)
		}
	}
}
