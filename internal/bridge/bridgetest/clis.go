package bridgetest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/agntchat/agntchat/internal/bridge/workdir"
)

// CLI is the path of a pinned agent CLI. A missing one fails the test: a
// backend counts only when its real CLI ran.
func CLI(t testing.TB, name string) string {
	t.Helper()
	_, self, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(self), "..", "..", "..")
	path := filepath.Join(root, "interop", "clis", "node_modules", ".bin", name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s is not installed; run: npm ci --prefix interop/clis", name)
	}
	return path
}

// Dir is a fresh agent folder.
func Dir(t testing.TB) *workdir.Dir {
	t.Helper()
	d, err := workdir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return d
}
