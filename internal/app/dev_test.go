package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/agntchat/agntchat/internal/app"
	"github.com/agntchat/agntchat/internal/app/apptest"
	"github.com/agntchat/agntchat/internal/realtime/phxtest"
)

// devRun is `agntchat dev` as its user runs it.
type devRun struct {
	t    *testing.T
	dir  string
	base string
	*apptest.Child
}

func startDev(t *testing.T, dir string, args ...string) devRun {
	t.Helper()
	addr := apptest.FreeAddr(t)
	args = append([]string{"dev", "--addr", addr, "--data-dir", dir}, args...)
	env := []string{"AGNTCHAT_METRICS_ADDR=off", "AGNTCHAT_PASSWORD_MEMORY_KIB=64", "AGNTCHAT_PASSWORD_PASSES=1", "AGNTCHAT_LOG_LEVEL=debug"}
	d := devRun{t, dir, "http://" + addr, apptest.Start(t, "agntchat dev", t.TempDir(), env, filepath.Join(apptest.Programs(t), "agntchat"), args...)}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	line, err := d.WaitOutput(ctx, "ready http")
	if err != nil {
		t.Fatalf("%v\n%s", err, d.Output())
	}
	if line != "ready "+d.base {
		t.Errorf("it says %q, want ready %s", line, d.base)
	}
	if code, body, err := apptest.Get(ctx, d.base+"/readyz"); err != nil || code != 200 {
		t.Errorf("readyz after ready: %d %s %v", code, body, err)
	}
	return d
}

// link waits for the printed address and returns its code.
func (d devRun) link() string {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	line, err := d.WaitOutput(ctx, "/login#token=")
	if err != nil {
		d.t.Fatal(err)
	}
	m := regexp.MustCompile(`Open (\S+)/login#token=(\S+)$`).FindStringSubmatch(line)
	if m == nil || m[1] != d.base {
		d.t.Fatalf("no clickable address in %q", line)
	}
	return m[2]
}

// signIn opens the first account by the printed link.
func (d devRun) signIn() (token, id string) {
	d.t.Helper()
	code := d.link()
	var in struct {
		Token       string
		Participant struct{ ID string }
	}
	call(d.t, d.base, "", "POST", "/api/auth/one-time", map[string]any{"code": code}, 200, &in)
	if status := call(d.t, d.base, "", "POST", "/api/auth/one-time", map[string]any{"code": code}, 0, nil); status/100 != 4 || status == 401 {
		d.t.Errorf("the link was used twice: status %d", status)
	}
	return in.Token, in.Participant.ID
}

// ask writes to the demo agent and waits for its answer.
func (d devRun) ask(token, id, text, want string) {
	d.t.Helper()
	var rooms struct {
		Conversations []struct{ ID, Type string }
	}
	call(d.t, d.base, token, "GET", "/api/conversations?scope=personal", nil, 200, &rooms)
	if len(rooms.Conversations) != 1 || rooms.Conversations[0].Type != "direct" {
		d.t.Fatalf("the first account has the rooms %+v, want one with the demo agent", rooms.Conversations)
	}
	room := rooms.Conversations[0].ID
	c := phxtest.Dial(d.t, d.base, phxtest.Options{Token: token})
	ch := c.Join("conversation:"+room, map[string]any{})
	call(d.t, d.base, token, "POST", "/api/conversations/"+room+"/messages", map[string]any{"content": text}, 0, nil)
	ch.Expect("message_streaming") // it is seen writing
	for {
		var m struct{ SenderID, Content string }
		if err := json.Unmarshal(ch.Expect("new_message"), &m); err != nil {
			d.t.Fatal(err)
		}
		if m.SenderID != id {
			if !strings.Contains(m.Content, want) {
				d.t.Errorf("the demo answered %q", m.Content)
			}
			return
		}
	}
}

// stopped checks that nothing of the run is left.
func (d devRun) stopped() {
	d.t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		d.t.Fatal(err)
	}
	for _, l := range links {
		if cwd, err := os.Readlink(l); err == nil && strings.HasPrefix(cwd, d.dir) {
			cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(l), "cmdline"))
			d.t.Errorf("still runs: %s", strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	if left, _ := filepath.Glob(filepath.Join(d.dir, "pg", "*", "postmaster.pid")); len(left) > 0 {
		d.t.Error("Postgres was not shut down")
	}
}

// TestP1_DevInAnEmptyFolder is what a newcomer does: start, open the link, ask the
// demo, Ctrl-C; then a crash and a start that recovers.
func TestP1_DevInAnEmptyFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(apptest.DataDir(t), "data")
	apptest.Programs(t) // a first build may take minutes: not on this clock
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()

	first := startDev(t, dir)
	token, id := first.signIn()
	first.ask(token, id, "help", "I am a script")
	if err := first.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code, err := first.Wait(ctx); err != nil || code != 0 {
		t.Errorf("Ctrl-C: exit code %d, %v", code, err)
	}
	first.stopped()
	for _, secret := range []string{"secret.key", "local-agents.json"} {
		if st, err := os.Stat(filepath.Join(dir, secret)); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s must be 0600: %v %v", secret, st, err)
		}
	}

	second := startDev(t, dir)
	call(t, second.base, token, "GET", "/api/me", nil, 200, nil) // the session of the first run still counts
	second.Kill()

	third := startDev(t, dir)
	third.ask(token, id, "hello again", "script")
	third.link() // every start prints a fresh link
	var agents struct{ Agents []struct{ ID string } }
	call(t, third.base, token, "GET", "/api/agents", nil, 200, &agents)
	call(t, third.base, token, "DELETE", "/api/agents/"+agents.Agents[0].ID, nil, 0, nil)
	if _, err := third.WaitOutput(ctx, "local bridge was refused"); err != nil { // and is not started again for ever
		t.Error(err)
	}
	if err := third.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code, err := third.Wait(ctx); err != nil || code != 0 {
		t.Errorf("SIGTERM: exit code %d, %v", code, err)
	}
	third.stopped()
}

// TestP1_DevPrintsAnotherLink: a link signs one browser in; Enter in the terminal
// of the server makes the next one.
func TestP1_DevPrintsAnotherLink(t *testing.T) {
	t.Parallel()
	addr := apptest.FreeAddr(t)
	typed, keys := io.Pipe()
	screen, out := io.Pipe()
	t.Cleanup(func() { _ = typed.Close(); _ = screen.Close() })
	ctx, stop := context.WithTimeout(t.Context(), 4*patience)
	defer stop()
	done := make(chan error, 1)
	go func() {
		done <- app.Main(ctx, app.Program{
			Args:    []string{"dev", "--addr", addr, "--data-dir", filepath.Join(apptest.DataDir(t), "data"), "--demo=false"},
			Environ: append(os.Environ(), "AGNTCHAT_METRICS_ADDR=off", "AGNTCHAT_PASSWORD_MEMORY_KIB=64", "AGNTCHAT_PASSWORD_PASSES=1"),
			Stdin:   typed, Stdout: out, Stderr: io.Discard,
		})
	}()
	lines := bufio.NewScanner(screen)
	if !lines.Scan() || lines.Text() != "ready http://"+addr {
		t.Fatalf("it says %q", lines.Text())
	}
	_, id := person(t, "http://"+addr)
	if _, err := keys.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	code := ""
	for code == "" && lines.Scan() {
		if m := regexp.MustCompile(`Open (\S+)/login#token=(\S+)$`).FindStringSubmatch(lines.Text()); m != nil {
			code = m[2]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, screen) }()
	var in struct{ Participant struct{ ID string } }
	call(t, "http://"+addr, "", "POST", "/api/auth/one-time", map[string]any{"code": code}, 200, &in)
	if in.Participant.ID != id {
		t.Errorf("the link signs %q in, want %q", in.Participant.ID, id)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestP1_DevWithoutDemo starts with no account and no agent.
func TestP1_DevWithoutDemo(t *testing.T) {
	t.Parallel()
	d := startDev(t, filepath.Join(apptest.DataDir(t), "data"), "--demo=false")
	token, _ := person(t, d.base) // open sign-up, no mail confirmation
	var agents struct{ Agents []any }
	call(t, d.base, token, "GET", "/api/agents", nil, 200, &agents)
	if len(agents.Agents) != 0 {
		t.Errorf("there are agents: %v", agents.Agents)
	}
	if strings.Contains(d.Output(), "login#token=") {
		t.Error("a link to an account was printed, but there is none")
	}
}
