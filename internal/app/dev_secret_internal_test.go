package app

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agntchat/agntchat/internal/secret"
)

// TestP1_OneSecretKeyWhateverHappens: starts at the same moment agree on one key, and a
// file that holds none is named together with what to do.
func TestP1_OneSecretKeyWhateverHappens(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret.key")
	keys := make([]string, 16)
	var wg sync.WaitGroup
	for n := range keys {
		wg.Go(func() {
			var err error
			if keys[n], err = keptSecret(path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, k := range keys {
		if k == "" || k != keys[0] {
			t.Fatalf("two starts have two keys, or none: %q and %q", keys[0], k)
		}
	}
	left, err := filepath.Glob(path + "*")
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its file: %v %v", info.Mode(), err)
	}
	for _, damaged := range []string{"", "nonsense", secret.Generate()[:20]} {
		if err := os.WriteFile(path, []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := keptSecret(path); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "backup") {
			t.Errorf("a key file that holds %q: %v", damaged, err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if k, err := keptSecret(path); err != nil || k == keys[0] {
		t.Errorf("after it was removed: %v", err)
	}
}
