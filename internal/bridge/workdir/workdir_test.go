package workdir_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/bridge/workdir"
)

func TestB1_FoldersAndFilesArePrivate(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "agent")
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	d, err := workdir.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := d.Private("mcp-../../x", ".json", []byte("token"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(secret, root) || strings.HasPrefix(secret, d.Work()) {
		t.Fatalf("the secret lies at %s", secret)
	}
	for path, mode := range map[string]os.FileMode{root: 0o700, d.Work(): 0o700, filepath.Dir(secret): 0o700, secret: 0o600} {
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%s: mode %v, error %v", path, st.Mode(), err)
		}
	}
}

func TestB2_SessionsAreKeptPerConversationAndCLI(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d, err := workdir.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.SaveSession("claude", "room", workdir.Session{ID: "s1", LastMessage: "m1", Started: true}); err != nil {
		t.Fatal(err)
	}
	again, err := workdir.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := again.LoadSession("claude", "room"); !ok || s.ID != "s1" || s.LastMessage != "m1" || !s.Started {
		t.Fatalf("session %+v %v", s, ok)
	}
	for _, other := range [][2]string{{"codex", "room"}, {"claude", "other"}} {
		if _, ok := again.LoadSession(other[0], other[1]); ok {
			t.Fatalf("%v has a session", other)
		}
	}
	again.DropSession("claude", "room")
	if _, ok := again.LoadSession("claude", "room"); ok {
		t.Fatal("the session is still there")
	}
}
