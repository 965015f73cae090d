package bridgetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agntchat/agntchat/internal/bridge/workdir"
)

// CLI is the path of a pinned agent CLI. A missing one fails the test: a
// backend counts only when its real CLI ran.
func CLI(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(moduleRoot(t), "interop", "clis", "node_modules", ".bin", name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s is not installed; run: npm ci --prefix interop/clis", name)
	}
	return path
}

// moduleRoot is the nearest folder above the test's own with a go.mod.
func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	t.Fatal("no go.mod above the test")
	return ""
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
