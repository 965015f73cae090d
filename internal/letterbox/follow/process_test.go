//go:build linux

package follow_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/follow"
	"github.com/agntchat/agntchat/internal/letterbox/spool"
	wire "github.com/agntchat/agntchat/internal/wire/letter"
)

// The follower begins in the background, brings letters into the files of sessions, says what it is doing, and ends. Only the chosen
// peers' letters are fetched. 6.2 follow_scripts: the texts, and the file with its process id.
func TestL3_StartStatusStop(t *testing.T) {
	t.Parallel()
	for name, world := range map[string]func(*testing.T) *world{"retalk's relay": plainWorld, "our relay": ourWorld} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world(t)
			w.people("alice", "bob", "carol")
			if r := w.run("alice", "follow", "status"); r.code != 2 || !strings.HasPrefix(r.out, "not following\n--- recent messages ---\n(none yet)\n") {
				t.Fatalf("%+v", r)
			}
			if r := w.run("alice", "follow", "start"); r.code != 2 || !strings.Contains(r.err, "--peer") {
				t.Fatalf("%+v", r)
			}
			w.do("bob", "send", "--peer", "alice", "before")
			w.do("carol", "send", "--peer", "alice", "nobody asked for this one")
			equal(t, "session", w.do("alice", "session", "start", "--session", "s1"), `{"replayed":0,"session":"s1"}`+"\n")
			m := regexp.MustCompile(`^following bob \(pid (\d+)\)\n$`).FindStringSubmatch(w.start("alice", "--peer", "bob", "--interval", "5"))
			if m == nil {
				t.Fatal("start said something else")
			}
			pid, _ := strconv.Atoi(m[1])
			w.until("the letter that waited", func() bool { return len(w.spool("alice", "s1", spool.Messages)) == 1 })
			l := w.spool("alice", "s1", spool.Messages)[0]
			if l.Text != "before" || l.From != w.ids["bob"] || l.Name != "bob" || !l.Verified || l.TS == "" {
				t.Fatalf("%+v", l)
			}
			w.do("bob", "send", "--peer", "alice", "after")
			w.until("the letter that came", func() bool { return len(w.spool("alice", "s1", spool.Messages)) == 2 })
			equal(t, "inbox", texts(w.inbox("alice")), "[before after]")
			if w.plain != nil {
				equal(t, "carol's letter is where it was", len(w.plain.Mail(w.ids["alice"])), 1)
			}
			// It outlives its terminal: it is in a session of its own, and its parent is gone.
			sid, _, errno := syscall.Syscall(syscall.SYS_GETSID, uintptr(pid), 0, 0)
			if errno != 0 || int(sid) != pid {
				t.Fatalf("session %d of process %d: %v", sid, pid, errno)
			}
			r := w.run("alice", "follow", "status")
			contains(t, r.out, fmt.Sprintf("following: bob (pid %d)\n", pid), "--- recent messages ---\n", `"text": "after"`)
			equal(t, "exit code", r.code, 0)
			w.until("the sender's outbox is empty", func() bool {
				w.do("bob", "receive", "--peer", "alice")
				return w.do("bob", "outbox") == ""
			})
			b, err := os.ReadFile(filepath.Join(w.dir("alice"), "follow.bob.pid"))
			w.must(err)
			equal(t, "file for scripts", string(b), fmt.Sprintf("%d\n", pid))
			equal(t, "again", w.do("alice", "follow", "start", "--peer", "carol"), fmt.Sprintf("already following bob (pid %d)\n", pid))
			if r := w.run("alice", "follow", "--peer", "bob"); r.code != 2 || !strings.Contains(r.err, "runs already") {
				t.Fatalf("%+v", r)
			}
			var s follow.Status
			w.must(json.Unmarshal([]byte(w.do("alice", "follow", "status", "--json")), &s))
			if !s.Running || s.PID != pid || s.Report.State != follow.Following || s.Report.Letters != 2 || s.Report.Push != (w.plain == nil) {
				t.Fatalf("%+v", s)
			}
			equal(t, "stop", w.do("alice", "follow", "stop"), "stopped following\n")
			equal(t, "stop again", w.do("alice", "follow", "stop"), "not following\n")
			if err := syscall.Kill(pid, 0); err == nil {
				w.until("the process has ended", func() bool { return syscall.Kill(pid, 0) != nil || zombie(pid) })
			}
			contains(t, w.run("alice", "follow", "status").out, "not following\n", "it was told to stop")
			for _, name := range []string{"follow.bob.pid", "follow.sock"} {
				if _, err := os.Stat(filepath.Join(w.dir("alice"), name)); err == nil {
					t.Errorf("%s is still there", name)
				}
			}
			for _, name := range []string{"follow.json", "follow.err", "inbox.ndjson", "letters.db.follow.lock"} {
				if st, err := os.Stat(filepath.Join(w.dir("alice"), name)); err != nil || st.Mode().Perm() != 0o600 {
					t.Errorf("%s: %v %v", name, st, err)
				}
			}
			b, err = os.ReadFile(w.place("alice").LogPath())
			w.must(err)
			for _, secret := range []string{"before", "after"} {
				if strings.Contains(string(b), secret) {
					t.Errorf("a letter is in the log:\n%s", b)
				}
			}
		})
	}
}

func zombie(pid int) bool { return inState(pid, "Z") }

func inState(pid int, state string) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(b), ") "+state+" ")
}

// foreground starts a follower as a child of the test.
func (w *world) foreground(who string, args ...string) *exec.Cmd {
	w.t.Helper()
	cmd := w.command(who, append([]string{"follow"}, args...)...)
	w.must(cmd.Start())
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	w.until("it follows", func() bool { return w.status(who).Report.State == follow.Following })
	return cmd
}

// A killed follower that nobody has waited for, and a process that has its id by chance, are no followers: they stop no other one from
// starting, and nobody is killed in their stead.
func TestL3_ZombiesAndReusedIDs(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	cmd := w.foreground("alice", "--peer", "bob")
	pid := cmd.Process.Pid
	equal(t, "pid", w.status("alice").PID, pid)
	w.must(cmd.Process.Kill())
	w.until("it is a zombie", func() bool { return zombie(pid) })
	s := w.status("alice")
	if s.Running || s.Report.State != follow.Stopped || !strings.Contains(s.Report.Reason, "killed") {
		t.Fatalf("%+v", s)
	}
	if _, err := os.Stat(filepath.Join(w.dir("alice"), "follow.bob.pid")); err != nil {
		t.Fatal("the file of the killed follower should be there: ", err)
	}
	// Its id belongs to another process now.
	other := exec.Command("/bin/sh", "-c", "read x")
	in, err := other.StdinPipe()
	w.must(err)
	w.must(other.Start())
	defer func() { _ = other.Wait() }()
	defer func() { _ = in.Close() }()
	state := filepath.Join(w.dir("alice"), "follow.json")
	b, err := os.ReadFile(state)
	w.must(err)
	w.must(os.WriteFile(state, []byte(strings.ReplaceAll(string(b), fmt.Sprintf(`"pid": %d`, pid), fmt.Sprintf(`"pid": %d`, other.Process.Pid))), 0o600))
	w.must(os.WriteFile(filepath.Join(w.dir("alice"), "follow.bob.pid"), fmt.Appendf(nil, "%d\n", other.Process.Pid), 0o600))
	if w.status("alice").Running {
		t.Fatal("a foreign process was taken for the follower")
	}
	equal(t, "stop", w.do("alice", "follow", "stop"), "not following\n")
	if zombie(other.Process.Pid) || syscall.Kill(other.Process.Pid, 0) != nil {
		t.Fatal("a foreign process was killed")
	}
	contains(t, w.start("alice", "--peer", "bob"), "following bob")
	b, err = os.ReadFile(filepath.Join(w.dir("alice"), "follow.bob.pid"))
	w.must(err)
	equal(t, "file for scripts", strings.TrimSpace(string(b)), fmt.Sprint(w.status("alice").PID))
}

// One that hangs is seen to hang and is ended; one that cannot be proven to be the process it says is left alone.
func TestL3_HungFollowerIsEnded(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	cmd := w.foreground("alice", "--peer", "bob")
	w.must(cmd.Process.Signal(syscall.SIGSTOP))
	w.until("it is stopped", func() bool { return inState(cmd.Process.Pid, "T") })
	if s := w.status("alice"); !s.Running || !s.Silent || s.PID != cmd.Process.Pid {
		t.Fatalf("%+v", s)
	}
	state := filepath.Join(w.dir("alice"), "follow.json")
	b, err := os.ReadFile(state)
	w.must(err)
	w.must(os.WriteFile(state, []byte(strings.Replace(string(b), `"started": "`, `"started": "1`, 1)), 0o600))
	if r := w.run("alice", "follow", "stop"); r.code != 2 || !strings.Contains(r.err, "cannot be proven") {
		t.Fatalf("%+v", r)
	}
	w.must(os.WriteFile(state, b, 0o600))
	equal(t, "stop", w.do("alice", "follow", "stop"), "stopped following\n")
	if err := cmd.Wait(); err == nil || w.status("alice").Running {
		t.Fatalf("%v", err)
	}
}

// Of many that start at once, one follows.
func TestL3_OneFollowerOfAnIdentity(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	w.start("alice", "--peer", "bob")
	w.do("alice", "follow", "stop")
	var wg sync.WaitGroup
	out := make([]result, 6)
	for n := range out {
		wg.Go(func() { out[n] = w.run("alice", "follow", "start", "--peer", "bob") })
	}
	wg.Wait()
	pid := fmt.Sprintf("(pid %d)", w.status("alice").PID)
	fresh := 0
	for _, r := range out {
		if r.code != 0 || !strings.Contains(r.out, pid) {
			t.Fatalf("%+v, want %s", r, pid)
		}
		if strings.HasPrefix(r.out, "following") {
			fresh++
		}
	}
	equal(t, "how many began", fresh, 1)
}

// What keeps it from beginning is told by start; nothing runs then. Secrets are on no command line.
func TestL3_StartTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.do("alice", "init", "-p", "the secret", "--display-name", "alice")
	for says, args := range map[string][]string{
		"no passphrase":    {"--peer", strings.Repeat("0a", 16)},
		"wrong passphrase": {"--peer", strings.Repeat("0a", 16), "-p", "another"},
		"unknown peer":     {"--peer", "nobody", "-p", "the secret"},
		"from 5 to":        {"--peer", "nobody", "-p", "the secret", "--interval", "1"},
		"relay address":    {"--peer", strings.Repeat("0a", 16), "-p", "the secret", "--relay", "ftp://x"},
	} {
		r := w.run("alice", append([]string{"follow", "start"}, args...)...)
		if r.code != 2 || !strings.Contains(r.err, says) || w.status("alice").Running {
			t.Fatalf("%v: %+v", args, r)
		}
	}
	w.start("alice", "--peer", strings.Repeat("0a", 16), "-p", "the secret", "--api-key", "the key")
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", w.status("alice").PID))
	w.must(err)
	if strings.Contains(string(b), "the") {
		t.Fatalf("a secret is on the command line: %q", b)
	}
	w.must(os.WriteFile(filepath.Join(w.dir("alice"), "receive-from"), []byte("nobody\n"), 0o600))
	w.do("alice", "follow", "stop")
	if r := w.run("alice", "follow", "start", "-p", "the secret"); r.code != 2 || !strings.Contains(r.err, "unknown peer 'nobody'") {
		t.Fatalf("%+v", r)
	}
}

// A false key stops it for good and loudly: exit code 1, the state, the reason.
func TestL3_PinMismatchStopsIt(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob", "mallory")
	keys := func(who string) (k wire.Keys) {
		w.must(json.Unmarshal([]byte(w.do(who, "id", "--json")), &k))
		return k
	}
	// A letter of somebody whose keys alice never saw; the relay gives others.
	w.do("alice", "contacts", "--remove", "bob")
	w.do("bob", "send", "--peer", "alice", "hello")
	w.plain.Lock(func() { w.plain.TamperedKeys[w.ids["bob"]] = keys("mallory") })
	fresh := plainPeer(w)
	w.do("alice", "session", "start", "--session", "s")
	cmd := w.command("alice", "follow", "--peer", fresh, "--peer", "mallory")
	b, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(b), "PIN MISMATCH") {
		t.Fatalf("exit code %d, %v\n%s", cmd.ProcessState.ExitCode(), err, b)
	}
	s := w.status("alice")
	if s.Running || s.Report.State != follow.Stopped || !strings.HasPrefix(s.Report.Reason, "PIN MISMATCH") {
		t.Fatalf("%+v", s)
	}
	r := w.run("alice", "follow", "status")
	contains(t, r.out, "not following\n", "PIN MISMATCH")
	told := w.spool("alice", "s", spool.Messages)
	if len(told) != 1 || told[0].From != w.ids["alice"] || told[0].Verified {
		t.Fatalf("the session was told %+v", told)
	}
	contains(t, told[0].Text, "PIN MISMATCH", fresh)
	// A letter that has its id would keep it from being read: whoever knows the day and the reason must not know that.
	if sum := sha256.Sum256([]byte(time.Now().UTC().Format(time.DateOnly) + s.Report.Reason)); told[0].ID == hex.EncodeToString(sum[:16]) {
		t.Error("the id of what the sessions are told can be guessed")
	}
	if r := w.run("alice", "follow", "start", "--peer", fresh); r.code != 1 || !strings.Contains(r.err, "PIN MISMATCH") {
		t.Fatalf("start: %+v", r)
	}
	equal(t, "told again on the same day", len(w.spool("alice", "s", spool.Messages)), 1)
}

// plainPeer is a sender whose keys the recipient has to ask the relay for, and gets wrong.
func plainPeer(w *world) string {
	w.ids["dave"] = strings.TrimSpace(w.do("dave", "init", "-np"))
	w.do("dave", "add", w.ids["alice"], "--peer", "alice")
	w.do("dave", "send", "--peer", "alice", "hello from a stranger")
	w.plain.Lock(func() { w.plain.TamperedKeys[w.ids["dave"]] = w.plain.TamperedKeys[w.ids["bob"]] })
	return w.ids["dave"]
}

// A relay that fails is tried again, and the status says why meanwhile; what came in between arrives.
func TestL3_FailuresAreTriedAgain(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	w.start("alice", "--peer", "bob", "--interval", "5")
	w.plain.Lock(func() {
		w.plain.Before = nil
	})
	failing := fmt.Errorf("the database is away")
	w.plain.Lock(func() { w.plain.Before = failFor(w.ids["alice"], failing) })
	w.until("it fails", func() bool {
		w.must(w.place("alice").Look(t.Context()))
		s := w.status("alice")
		return s.Report.State == follow.Failing && strings.Contains(s.Report.Reason, failing.Error()) && s.Report.Failures > 1
	})
	r := w.run("alice", "follow", "status")
	contains(t, r.out, "following: bob", "failing since", failing.Error())
	equal(t, "exit code", r.code, 2)
	w.do("bob", "send", "--peer", "alice", "meanwhile")
	w.plain.Lock(func() { w.plain.Before = nil })
	w.until("it works again", func() bool {
		return len(w.inbox("alice")) == 1 && w.status("alice").Report.State == follow.Following
	})
}

// Contact requests go to a file of their own, with an alarm of its own, and never into that of letters; `*contacts*` takes the new
// contact in.
func TestL3_InviteWatcher(t *testing.T) {
	t.Parallel()
	w := ourWorld(t)
	w.people("alice")
	w.ids["bob"] = strings.TrimSpace(w.do("bob", "init", "-np"))
	var invite struct{ Code string }
	w.must(json.Unmarshal([]byte(w.do("alice", "invite", "new", "--peer", "bob")), &invite))
	w.must(os.WriteFile(filepath.Join(w.dir("alice"), "receive-from"), []byte(follow.AllContacts+"\n"), 0o600))
	w.do("alice", "session", "start", "--session", "s")
	w.start("alice", "--invites")
	b, err := os.ReadFile(filepath.Join(w.dir("alice"), "invite-watch.pid"))
	w.must(err)
	equal(t, "file for scripts", strings.TrimSpace(string(b)), fmt.Sprint(w.status("alice").PID))
	w.do("bob", "request", w.ids["alice"], "--code", "nonsense", "--peer", "alice")
	w.until("the refusal", func() bool { return len(w.spool("alice", "s", spool.Requests)) == 1 })
	w.do("bob", "request", w.ids["alice"], "--code", invite.Code, "--peer", "alice")
	w.until("the acceptance", func() bool { return len(w.spool("alice", "s", spool.Requests)) == 2 })
	list := w.spool("alice", "s", spool.Requests)
	equal(t, "kinds", list[0].Kind+" "+list[1].Kind, "contact_request_rejected contact_accepted")
	if list[0].Letter == "" || list[0].Verified || list[1].Letter == "" || !list[1].Verified || list[1].Name != "bob" {
		t.Fatalf("%+v", list)
	}
	w.do("bob", "send", "--peer", "alice", "now that we know each other")
	w.until("the new contact's letter", func() bool { return len(w.spool("alice", "s", spool.Messages)) == 1 })
	equal(t, "requests beside", len(w.spool("alice", "s", spool.Requests)), 2)
	if _, err := os.Stat(w.place("alice").User().Inbox(spool.Requests)); err == nil {
		t.Fatal("a session was there, and the request is in the file for nobody")
	}
}

// A letter that cannot be written into every session's file is not acknowledged: its sender keeps it, the follower says why, and once
// there is room it arrives, once in each file.
func TestL3_NothingIsAcknowledgedBeforeItIsSpooled(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	w.do("alice", "session", "start", "--session", "a")
	w.do("alice", "session", "start", "--session", "b")
	path, err := w.place("alice").User().Spool("b", spool.Messages)
	w.must(err)
	w.must(os.Remove(path))
	w.must(os.Mkdir(path, 0o700))
	w.do("bob", "send", "--peer", "alice", "keep me")
	w.start("alice", "--peer", "bob", "--interval", "5")
	w.until("it fails", func() bool { s := w.status("alice"); return s.Report.State == follow.Failing && s.Report.Failures > 1 })
	contains(t, w.status("alice").Report.Reason, "spool", "directory")
	equal(t, "the other session", texts(w.spool("alice", "a", spool.Messages)), "[keep me]")
	w.do("bob", "receive", "--peer", "alice")
	contains(t, w.do("bob", "outbox"), "at_relay")
	w.must(os.Remove(path))
	w.until("it arrives", func() bool { return len(w.spool("alice", "b", spool.Messages)) == 1 })
	w.until("the sender knows", func() bool {
		w.do("bob", "receive", "--peer", "alice")
		return w.do("bob", "outbox") == ""
	})
	equal(t, "the other session", texts(w.spool("alice", "a", spool.Messages)), "[keep me]")
	equal(t, "inbox", texts(w.inbox("alice")), "[keep me]")
}

// Another passphrase stops the follower, which has the old key, and the status says what to do.
func TestL3_ChangedPassphraseStopsIt(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.do("alice", "init", "-p", "old")
	w.start("alice", "--peer", strings.Repeat("0a", 16), "-p", "old")
	file := filepath.Join(w.tmp, "new")
	w.must(os.WriteFile(file, []byte("new"), 0o600))
	w.do("alice", "passphrase", "change", "-p", "old", "--new-passphrase-file", file)
	w.until("it stopped", func() bool {
		w.must(w.place("alice").Look(t.Context()))
		return !w.status("alice").Running
	})
	contains(t, w.run("alice", "follow", "status").out, "not following", "start it again")
	contains(t, w.do("alice", "follow", "start", "--peer", strings.Repeat("0a", 16), "--passphrase-file", file), "following")
}

// A relay that forgot everything has the keys again after the next look at them, and what nobody acknowledged is sent again.
func TestL3_KeysAndOutboxAreLookedAfter(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	w.do("alice", "send", "--peer", "bob", "lost with the relay")
	w.start("alice", "--peer", "bob")
	published := func() (n int) {
		for _, c := range w.plain.Calls("publish_keys") {
			if c.From == w.ids["alice"] {
				n++
			}
		}
		return n
	}
	before := published()
	w.plain.Wipe()
	w.do("bob", "sync")
	w.until("keys and letter are back", func() bool {
		w.must(w.place("alice").Look(t.Context()))
		return published() > before && len(w.plain.Mail(w.ids["bob"])) > 0
	})
	contains(t, w.do("bob", "receive", "--peer", "alice"), "lost with the relay")
}

// Who follows many people asks a relay of ours whose letters wait, and fetches those alone; a stranger's stay where they are.
func TestL3_FollowingManyCostsFewCalls(t *testing.T) {
	t.Parallel()
	w := ourWorld(t)
	w.people("alice", "bob", "carol", "dave", "erin")
	w.do("alice", "contacts", "--remove", "erin")
	w.do("carol", "send", "--peer", "alice", "one of many")
	w.do("erin", "send", "--peer", "alice", "not a contact any more")
	count := func(tool string) int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.calls[tool]
	}
	before := count(wire.ToolLease)
	contains(t, w.do("alice", "receive", "--peer", "bob", "--peer", "carol", "--peer", "dave"), "one of many")
	equal(t, "fetched from", count(wire.ToolLease)-before, 1)
	equal(t, "asked whose letters wait", count(wire.ToolSenders), 1)
	w.do("dave", "send", "--peer", "alice", "another")
	w.start("alice", "--peer", follow.AllContacts)
	w.until("the letter", func() bool { return len(w.inbox("alice")) == 1 })
	equal(t, "inbox", texts(w.inbox("alice")), "[another]")
}
