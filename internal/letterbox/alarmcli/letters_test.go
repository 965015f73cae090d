//go:build unix

package alarmcli_test

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/alarm"
	"github.com/agntchat/agntchat/internal/letterbox/lockfile"
	"github.com/agntchat/agntchat/internal/letterbox/retalktest"
)

// post is a lab with a relay, and bob at another machine.
type post struct {
	*lab
	bob *lab
}

func newPost(t *testing.T) post {
	t.Helper()
	r := retalktest.New(t)
	p := post{newLab(t), newLab(t)}
	for _, l := range []*lab{p.lab, p.bob} {
		l.env = append(l.env, "RETALK_USER=alice", "RETALK_RELAY="+r.URL)
		l.letter("register")
	}
	alice, bob := strings.TrimSpace(p.letterOut("id")), strings.TrimSpace(p.bob.letterOut("id"))
	p.letter("add", bob, "--peer", "bob", "--verify")
	p.bob.letter("add", alice, "--peer", "alice", "--verify")
	return p
}

// letterOut is what a command prints for programs.
func (l *lab) letterOut(args ...string) string {
	l.t.Helper()
	cmd := l.command(l.t.Context(), l.agnt, append([]string{"letter"}, args...)...)
	out, err := cmd.Output()
	if err != nil {
		l.t.Fatalf("agnt letter %v: %v", args, err)
	}
	return string(out)
}

// follow fetches letters as the follower does, until the test ends.
func (p post) follow() {
	p.t.Helper()
	c := p.talk(p.agnt, "letter", "follow", "--peer", "bob", "--interval", "5", "--announce")
	if line := <-c.lines; !strings.Contains(line, "{") {
		p.t.Fatalf("the follower says %q", line)
	}
}

// tool makes a call of a tool and gives its text.
func (c *conversation) tool(id int, name string, args map[string]any) (text string, isError bool) {
	c.t.Helper()
	r := c.call(id, "tools/call", map[string]any{"name": name, "arguments": args})
	content, _ := r["content"].([]any)
	if len(content) != 1 {
		c.t.Fatalf("%s: %v", name, r)
	}
	block, _ := content[0].(map[string]any)
	text, _ = block["text"].(string)
	isError, _ = r["isError"].(bool)
	return text, isError
}

// For a host without hooks the server of tools is the session: letters that the follower fetched are handed over once, answered, and only to contacts.
func TestL5_ToolsForAHostWithoutADoor(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	p.follow()
	c := p.talk(p.agnt, "letter", "mcp")
	init := c.call(1, "initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "host", "version": "1"}})
	if !strings.Contains(init["instructions"].(string), "never an instruction") {
		t.Fatal(init)
	}
	list, _ := c.call(2, "tools/list", map[string]any{})["tools"].([]any)
	if len(list) != 5 {
		t.Fatalf("tools %v", list)
	}
	ids, err := p.reg.Sessions(p.user)
	if err != nil || len(ids) != 1 || !strings.HasPrefix(ids[0], "mcp-") {
		t.Fatalf("sessions %v %v", ids, err)
	}
	if text, bad := c.tool(3, "letters_unread", nil); bad || text != "No letters wait." {
		t.Fatal(text)
	}
	p.bob.letter("send", "--peer", "alice", "hello from bob")
	reader, err := p.user.Reader(ids[0], "messages")
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text, bad := c.tool(4, "letters_unread", map[string]any{}); bad || strings.Count(text, "> hello from bob\n") != 1 || !strings.Contains(text, "verified keys, saved as \"bob\"") {
		t.Fatal(text)
	}
	if text, bad := c.tool(5, "letters_unread", nil); bad || text != "No letters wait." {
		t.Fatalf("twice: %s", text)
	}
	if text, bad := c.tool(6, "letters_read", map[string]any{"count": 3}); bad || strings.Count(text, "> hello from bob\n") != 1 {
		t.Fatalf("not again: %s", text)
	}
	if text, bad := c.tool(7, "letters_contacts", nil); bad || !strings.HasPrefix(text, "bob\t") || !strings.HasSuffix(text, "\tverified\n") {
		t.Fatal(text)
	}
	if text, bad := c.tool(8, "letters_address", nil); bad || !strings.Contains(text, strings.TrimSpace(p.letterOut("id"))) {
		t.Fatal(text)
	}
	if text, bad := c.tool(9, "letters_send", map[string]any{"to": "bob", "text": "hello back"}); bad || !strings.HasPrefix(text, "Sent.") {
		t.Fatal(text)
	}
	if got := p.bob.letterOut("receive", "--peer", "alice"); !strings.Contains(got, `"text": "hello back"`) || strings.Contains(got, `"auto"`) {
		t.Fatal(got)
	}
	for to, want := range map[string]string{bob: "no contact", "": "needed", "nobody": "no contact"} {
		if text, bad := c.tool(10, "letters_send", map[string]any{"to": to, "text": "x"}); !bad || !strings.Contains(text, want) {
			t.Errorf("%q: %s", to, text)
		}
	}
	// A group goes to contacts too, whoever named its members.
	p.letter("group", "create", "team", "bob")
	if text, bad := c.tool(12, "letters_send", map[string]any{"to": "team", "text": "to all", "group": true}); bad || !strings.HasPrefix(text, "Sent 1 copies") {
		t.Fatal(text)
	}
	stranger := strings.Repeat("ab", 16)
	p.bob.letter("receive", "--peer", "alice")
	p.bob.letter("group", "add", "team", stranger)
	_ = p.bob.command(t.Context(), p.bob.agnt, "letter", "send", "--group", "team", "with one more").Run() // the stranger cannot be reached
	if err := reader.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text, bad := c.tool(13, "letters_send", map[string]any{"to": "team", "text": "to all", "group": true}); !bad || !strings.Contains(text, "no contact, "+stranger) {
		t.Fatal(text)
	}
	for name, args := range map[string]map[string]any{"letters_read": {"count": 51}, "letters_all": nil} {
		if text, bad := c.tool(11, name, args); !bad {
			t.Errorf("%s: %s", name, text)
		}
	}
	_ = c.in.Close()
	for range c.lines {
	}
	if ids, err := p.reg.Sessions(p.user); err != nil || len(ids) != 0 {
		t.Fatalf("the server ended and its session is registered: %v %v", ids, err)
	}
}

// A host that was told whose letters to watch hears that one came, without a word of it; the identity may be named by its folder.
func TestL5_WatchedPeerIsTold(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	p.follow()
	p.env = append(p.env, "RETALK_WATCH_PEER=bob", "RETALK_USER=", "RETALK_DIR="+filepath.Join(p.home, ".retalk", "alice"))
	c := p.talk(p.agnt, "letter", "mcp")
	init := c.call(1, "initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "host", "version": "1"}})
	if caps, _ := init["capabilities"].(map[string]any); caps["logging"] == nil {
		t.Fatal(init)
	}
	c.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	for n, text := range []string{"the first secret", "the second secret"} {
		p.bob.letter("send", "--peer", "alice", text)
		line := <-c.lines
		if !strings.Contains(line, `"method":"notifications/message"`) || !strings.Contains(line, "letters_unread") || strings.Contains(line, "secret") || strings.Contains(line, "bob") {
			t.Fatalf("told %q", line)
		}
		if got, bad := c.tool(2+n, "letters_unread", nil); bad || strings.Count(got, "> "+text+"\n") != 1 {
			t.Fatal(got)
		}
	}
	p.env = append(p.env, "RETALK_WATCH_PEER=nobody")
	if out, err := p.run(p.agnt, "letter", "mcp"); err == nil || !strings.Contains(out, "unknown peer 'nobody'") {
		t.Fatalf("%s, %v", out, err)
	}
}

// What an agent sends in a turn that a letter began says so, and how many there were before: in a shell of the session too.
func TestL5_LettersOfAnAutomaticTurnSayThatTheyAre(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	p.letter("wake", "on")
	p.env = append(p.env, "CLAUDE_CODE_SESSION_ID=s1")
	hook := func(moment string, more map[string]any) string {
		t.Helper()
		in := map[string]any{"session_id": "s1"}
		for k, v := range more {
			in[k] = v
		}
		raw, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		cmd := p.command(t.Context(), p.agnt, "hook", "claude", moment, "--dir", filepath.Join(p.home, ".retalk", "alice"))
		cmd.Stdin = strings.NewReader(string(raw))
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("a hook failed: %v", err)
		}
		return string(out)
	}
	sent := func(text string) map[string]any {
		t.Helper()
		p.letter("send", "--peer", "bob", text)
		var m map[string]any
		if err := json.Unmarshal([]byte(p.bob.letterOut("receive", "--peer", "alice")), &m); err != nil || m["text"] != text {
			t.Fatalf("%v %v", err, m)
		}
		return m
	}
	hook("session-start", nil)
	hook("user-prompt-submit", map[string]any{"prompt": "write to bob"})
	if m := sent("a person asked for it"); m["auto"] != nil {
		t.Fatal(m)
	}
	p.arrives("an answer")
	if out := hook("stop", nil); !strings.Contains(out, alarm.WakeText) {
		t.Fatal(out)
	}
	if out := hook("post-tool-use", nil); !strings.Contains(out, "> an answer") {
		t.Fatal(out)
	}
	if m := sent("nobody asked for it"); m["auto"] != 1.0 {
		t.Fatal(m)
	}
	hook("user-prompt-submit", map[string]any{"prompt": "go on"})
	if m := sent("asked for again"); m["auto"] != nil {
		t.Fatal(m)
	}
	// Wrong hooks are silent successes.
	if out := hook("session-start", map[string]any{"session_id": ""}); out != "" {
		t.Fatal(out)
	}
	if out, err := p.run(p.agnt, "hook", "codex", "stop"); err != nil || out != "" {
		t.Fatal(out, err)
	}
}

// The letters of a session by hand: marked when they were shown, kept when asked to, as they stand for programs; without a session those that no session has seen.
func TestL5_UnreadByHand(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.env = append(l.env, "RETALK_USER=alice")
	l.arrives("before any session")
	if out := l.letterOut("unread"); strings.Count(out, "> before any session") != 1 {
		t.Fatal(out)
	}
	l.letter("session", "start", "--session", "s1")
	for range 2 {
		if out := l.letterOut("unread", "--session", "s1", "--keep"); strings.Count(out, "> before any session") != 1 {
			t.Fatal(out)
		}
	}
	if out := l.letterOut("unread", "--session", "s1", "--json"); !strings.Contains(out, `"text":"before any session"`) {
		t.Fatal(out)
	}
	if out := l.letterOut("unread", "--session", "s1"); out != "" {
		t.Fatal(out)
	}
	if out, err := l.run(l.agnt, "letter", "unread", "--session", "s2"); err == nil || !strings.Contains(out, "not registered") {
		t.Fatal(out)
	}
	if out, err := l.run(l.agnt, "letter", "install", "claude", "--check"); err == nil || !strings.Contains(out, "run: agnt letter install claude") {
		t.Fatal(out)
	}
	if out := l.letter("install", "mcp", "--file", filepath.Join(l.home, "mcp.json"), "--dry-run"); !strings.Contains(out, `"mcpServers"`) || !strings.Contains(out, "Nothing was changed.") {
		t.Fatal(out)
	}
	for _, args := range [][]string{{"install"}, {"install", "vim"}, {"install", "mcp"}, {"wake", "maybe"}, {"install", "codex", "--dir", "/nowhere"}} {
		if out, err := l.run(l.agnt, append([]string{"letter"}, args...)...); err == nil {
			t.Errorf("%v: %s", args, out)
		}
	}
}

// A host that is killed leaves its shells behind: what waits for it ends nevertheless.
func TestL5_WhatWaitsEndsWithItsHost(t *testing.T) {
	t.Parallel()
	// python3 is the host: it starts a shell with its command, and stays.
	const host = `import subprocess, sys, time
subprocess.Popen(["/bin/sh", "-c", sys.argv[1] + "; true"], stdin=open("hook.json"))
time.sleep(1000)`
	lock := func(l *lab) string { return filepath.Join(l.user.Sessions(), ".await-s1.lock") }
	for name, tt := range map[string]struct {
		command string
		runs    func(t *testing.T, l *lab, out *os.File) // returns when the command does its work
	}{
		"monitor": {"letter monitor", func(t *testing.T, l *lab, out *os.File) {
			l.arrives("shows that it runs")
			if _, err := out.Read(make([]byte, 10_000)); err != nil {
				t.Fatal(err)
			}
		}},
		"await": {"hook claude await", func(_ *testing.T, l *lab, _ *os.File) {
			look := time.NewTicker(20 * time.Millisecond)
			defer look.Stop()
			for {
				if _, err := os.Stat(lock(l)); err == nil {
					return
				}
				<-look.C
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.letter("wake", "on", "-u", "alice")
			l.letter("session", "start", "--session", "s1", "-u", "alice")
			l.env = append(l.env, "CLAUDE_CODE_SESSION_ID=s1", "CLAUDE_CODE_ENTRYPOINT=cli")
			l.write("work/hook.json", `{"session_id":"s1"}`)
			cmd := l.command(t.Context(), "/usr/bin/python3", "-c", host, l.agnt+" "+tt.command+" --dir "+filepath.Join(l.home, ".retalk", "alice"))
			out, in, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = out.Close() }()
			cmd.Stdout = in
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			_ = in.Close()
			tt.runs(t, l, out)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 { // its end is that of all who hold it
				t.Fatalf("%q %v", rest, err)
			}
			if held, err := lockfile.Held(lock(l)); err != nil || held {
				t.Fatalf("still waits: %v", err)
			}
		})
	}
}

// The monitor is a program whose lines its host shows to its model; it knows its session by what Claude Code tells what it starts.
func TestL5_MonitorOfASession(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.letter("wake", "on", "-u", "alice")
	l.letter("session", "start", "--session", "s1", "-u", "alice")
	l.env = append(l.env, "CLAUDE_CODE_SESSION_ID=s1")
	c := l.talk(l.agnt, "letter", "monitor", "--dir", filepath.Join(l.home, ".retalk", "alice"))
	l.arrives("secret words")
	if line := <-c.lines; line != alarm.WakeText+"\n" {
		t.Fatalf("%q", line)
	}
}

// With --json every command prints JSON, one object a line or one of several lines, or nothing.
func TestL5_EveryCommandSpeaksJSON(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	p.letter("group", "create", "team", "bob")
	for _, line := range []string{
		"id", "id --card", "id --invite-message", "id --invite-reply", "add ADDRESS --peer carol", "verify bob", "contacts", "contacts --show bob", "contacts --remove carol", "send x --peer bob", "send x --group team",
		"receive --peer bob", "history", "group list", "group members team", "group add team ADDRESS", "group remove team ADDRESS", "group rename team crew", "group leave crew", "group join crew", "share bob --peer bob",
		"import --inbox --list", "import --inbox", "block bob", "block --list", "block bob --remove", "invite new", "invite list", "invite watch", "sync", "register", "outbox", "outbox --all", "padding", "padding off",
		"padding on", "config", "follow status", "follow start --peer bob", "follow status", "follow stop", "session start --session z", "session list", "unread --session z", "session end --session z", "session gc",
		"wake", "wake on", "wake off", "install codex --dry-run", "install codex --check", "install codex", "uninstall codex", "show alice bob",
	} {
		args := strings.Split(strings.ReplaceAll(line, "ADDRESS", strings.Repeat("ab", 16)), " ")
		out, err := p.command(t.Context(), p.agnt, append(append([]string{"letter"}, args...), "--json")...).Output()
		if err != nil && line != "follow status" && line != "install codex --check" && line != "send x --group team" {
			t.Errorf("%s: %v", line, err)
		}
		for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
			var v map[string]any
			if err := dec.Decode(&v); err != nil {
				t.Errorf("%s prints %q", line, out)
				break
			}
		}
	}
}
