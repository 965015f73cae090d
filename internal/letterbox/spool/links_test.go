//go:build unix

package spool_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/alarm"
	"github.com/agntchat/agntchat/internal/letterbox/spool"
)

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
