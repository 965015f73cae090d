//go:build unix

package alarmcli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/bridge/bridgetest"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest/fakemodel"
	"github.com/agntchat/agntchat/internal/letterbox/alarm"
	"github.com/agntchat/agntchat/internal/letterbox/spool"
)

const bob = "00112233445566778899aabbccddeeff"

var built struct {
	sync.Once
	dir, out string
	err      error
}

// program is agnt as it is shipped.
func program(t *testing.T) string {
	t.Helper()
	built.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "agnt-alarm-*"); built.err != nil {
			return
		}
		var out []byte
		out, built.err = exec.Command("go", "build", "-o", built.dir+"/", "github.com/agntchat/agntchat/cmd/agnt").CombinedOutput()
		built.out = string(out)
	})
	if built.err != nil {
		t.Fatalf("build agnt: %v\n%s", built.err, built.out)
	}
	return filepath.Join(built.dir, "agnt")
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// lab is a person's machine with a model of its own: real agent CLIs, a fake provider.
type lab struct {
	t     *testing.T
	home  string
	agnt  string
	model *fakemodel.Server
	user  spool.User
	reg   *spool.Registry
	ids   int
	env   []string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t, home: t.TempDir(), agnt: program(t), model: fakemodel.New(t)}
	l.reg = spool.OpenRegistry(l.home)
	for _, dir := range []string{"work", "claude", "codex"} {
		if err := os.Mkdir(filepath.Join(l.home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	l.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + l.home, "CLAUDE_CONFIG_DIR=" + filepath.Join(l.home, "claude"), "CODEX_HOME=" + filepath.Join(l.home, "codex"), "FAKE_API_KEY=sk-made-up-key",
		"ANTHROPIC_BASE_URL=" + l.model.URL, "ANTHROPIC_API_KEY=sk-made-up-key", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "DISABLE_AUTOUPDATER=1", "IS_SANDBOX=1",
	}
	t.Cleanup(l.end)
	l.letter("init", "-u", "alice", "-np", "--no-register")
	var err error
	if l.user, err = spool.Of(filepath.Join(l.home, ".retalk", "alice")); err != nil {
		t.Fatal(err)
	}
	return l
}

// end ends what the lab's programs started and left, as a terminal that is closed does: they write into the folder that goes next. Each has the lab's folder in its
// environment, and no other process has.
func (l *lab) end() {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for tries := 0; ; tries++ {
		found := false
		names, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, name := range names {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			if err != nil || pid == os.Getpid() {
				continue
			}
			if env, err := os.ReadFile(name); err == nil && bytes.Contains(env, []byte("HOME="+l.home+"\x00")) {
				found = true
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if !found {
			return
		}
		if tries == 1000 {
			l.t.Error("a program of the lab does not end")
			return
		}
		<-again.C
	}
}

func (l *lab) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env, cmd.Dir = l.env, filepath.Join(l.home, "work")
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// run runs a program to its end and gives both outputs.
func (l *lab) run(name string, args ...string) (string, error) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), 2*time.Minute)
	defer cancel()
	out, err := l.command(ctx, name, args...).CombinedOutput()
	return string(out), err
}

func (l *lab) must(name string, args ...string) string {
	l.t.Helper()
	out, err := l.run(name, args...)
	if err != nil {
		l.t.Fatalf("%s %v: %v\n%s", filepath.Base(name), args, err, out)
	}
	return out
}

func (l *lab) letter(args ...string) string {
	l.t.Helper()
	return l.must(l.agnt, append([]string{"letter"}, args...)...)
}

// arrives writes a letter of a verified contact as the follower does.
func (l *lab) arrives(text string) {
	l.t.Helper()
	l.ids++
	raw, err := json.Marshal(map[string]any{"id": fmt.Sprintf("%032x", l.ids), "from": bob, "name": "bob", "text": text, "verified": true})
	if err != nil {
		l.t.Fatal(err)
	}
	if _, err := spool.NewWriter(l.user, l.reg, spool.WriterOptions{}).Append(l.t.Context(), spool.Messages, raw); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) read(name string) string {
	l.t.Helper()
	raw, err := os.ReadFile(filepath.Join(l.home, name))
	if err != nil {
		l.t.Fatal(err)
	}
	return string(raw)
}

func (l *lab) write(name, text string) {
	l.t.Helper()
	if err := os.WriteFile(filepath.Join(l.home, name), []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) claude(args ...string) string {
	l.t.Helper()
	return l.must(bridgetest.CLI(l.t, "claude"), args...)
}

// asked gives the requests of the model whose text contains a part.
func (l *lab) asked(path, part string) (list []fakemodel.Request) {
	for _, r := range l.model.Requests(path) {
		if strings.Contains(r.Raw, part) {
			list = append(list, r)
		}
	}
	return list
}

// conversation is a child that is spoken to in lines.
type conversation struct {
	t     *testing.T
	in    io.WriteCloser
	lines chan string
}

func (l *lab) talk(name string, args ...string) *conversation {
	l.t.Helper()
	cmd := l.command(context.Background(), name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // agent CLIs are wrappers that start another program
	in, err := cmd.StdinPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	c := &conversation{l.t, in, make(chan string, 1000)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(c.lines)
		r := bufio.NewReaderSize(out, 1<<20)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				c.lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	l.t.Cleanup(func() {
		_ = in.Close()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		for range c.lines {
		}
		<-read
		_ = cmd.Wait()
	})
	return c
}

// call makes a JSON-RPC call and gives its result.
func (c *conversation) call(id int, method string, params any) map[string]any {
	c.t.Helper()
	c.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	for line := range c.lines {
		var m struct {
			ID     any            `json:"id"`
			Method string         `json:"method"`
			Result map[string]any `json:"result"`
			Error  any            `json:"error"`
		}
		if json.Unmarshal([]byte(line), &m) != nil || m.Method != "" || m.ID != float64(id) {
			continue
		}
		if m.Error != nil {
			c.t.Fatalf("%s: %v", method, m.Error)
		}
		return m.Result
	}
	c.t.Fatalf("%s: the program ended", method)
	return nil
}

func (c *conversation) send(v any) {
	c.t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.in.Write(append(raw, '\n')); err != nil {
		c.t.Fatal(err)
	}
}

// quoted says how often a text stands as a quoted line in a request's JSON.
func quoted(raw, text string) int { return strings.Count(raw, `> `+text+`\n`) }

var _ = alarm.WakeText
