//go:build unix

package spool_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/alarm"
	"github.com/agntchat/agntchat/internal/letterbox/spool"
)

// A pipe in the place of a spool is not waited for: there is nothing to read, nothing is lost in it, and what asked goes on.
func TestL4_APipeIsNoSpool(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	user, err := spool.At(dir)
	if err != nil {
		t.Fatal(err)
	}
	registry := spool.OpenRegistry(home)
	if _, err := user.Attach(t.Context(), registry, "s1"); err != nil {
		t.Fatal(err)
	}
	w := spool.NewWriter(user, registry, spool.WriterOptions{})
	line := []byte(`{"id": "1", "from": "x", "text": "hello"}`)
	for _, name := range []string{"sessions/s1.ndjson.1", "sessions/s1.ndjson", "inbox.ndjson.1"} {
		pipe := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.RemoveAll(pipe); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Append(t.Context(), spool.Messages, line); err == nil {
		t.Error("a letter went into a pipe")
	}
	r, err := user.Reader("s1", spool.Messages)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := r.Next(spool.Limit{}); err != nil || len(b.Lines) > 0 {
		t.Errorf("read %v, %v", b.Lines, err)
	}
	d, err := alarm.OpenDesk(user, "s1", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if quote, err := d.Again(5); err != nil || quote != "" {
		t.Errorf("shown %q, %v", quote, err)
	}
	if b, err := user.Unread(t.Context(), registry, "", spool.Messages, spool.Limit{}); err != nil || len(b.Lines) != 1 {
		t.Errorf("in the inbox: %v, %v", b.Lines, err)
	}
}

// A folder that came from somebody else, such as a cloned one, may hold links of the names
// that we write. None of the person's files is written to, cut or given another mode by them.
func TestL4_LinksLeadToNoFileOfThePerson(t *testing.T) {
	t.Parallel()
	const mine = "alias ll='ls -l'\n"
	for _, name := range []string{
		"inbox.ndjson", "sessions/s1.ndjson", "sessions/.codex-hook-state.json.tmp", "sessions/.codex-hook-state.json.lock", "sessions/.alarm-state.json.tmp",
		"sessions/.alarm-state.json.lock", "alarms.json.tmp", "alarms.log",
	} {
		home, dir := t.TempDir(), t.TempDir()
		target, link := filepath.Join(home, ".bashrc"), filepath.Join(dir, filepath.FromSlash(name))
		if err := os.WriteFile(target, []byte(mine), 0o644); err != nil { //nolint:gosec // others may read it: that must stay
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		user, err := spool.At(dir)
		if err != nil {
			t.Fatal(err)
		}
		registry := spool.OpenRegistry(home)
		// All of these may fail, and some of them must.
		_, attached := user.Attach(t.Context(), registry, "s1")
		_ = registry.Register("s1", user)
		_, written := spool.NewWriter(user, registry, spool.WriterOptions{}).Append(t.Context(), spool.Messages, []byte(`{"id":"1","from":"f","text":"$(id)"}`))
		saved := alarm.SaveSettings(dir, alarm.Defaults())
		var asked error
		if d, err := alarm.OpenDesk(user, "s1", time.Now); err == nil {
			asked = d.Prompted(t.Context())
		}
		st, err := os.Stat(target)
		raw, readErr := os.ReadFile(target)
		if err != nil || readErr != nil || string(raw) != mine || st.Mode().Perm() != 0o644 {
			t.Errorf("%s: %q %v %v %v", name, raw, st.Mode(), err, readErr)
		}
		if name != "alarms.log" && attached == nil && written == nil && saved == nil && asked == nil {
			t.Errorf("%s: nothing says that it is a link", name)
		}
	}
}
