package blob_test

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/blob"
)

func TestK3_BlobsAreWholeOrAbsent(t *testing.T) {
	t.Parallel()
	s := blob.Store{Dir: filepath.Join(t.TempDir(), "deep", "files")}
	sum, err := s.Put("abc-1", strings.NewReader("hello"), 5)
	if want := sha256.Sum256([]byte("hello")); err != nil || string(sum) != string(want[:]) {
		t.Fatalf("%x %v", sum, err)
	}
	for name, size := range map[string]int64{"abc-2": 4, "abc-3": 6} {
		if _, err := s.Put(name, strings.NewReader("hello"), size); !errors.Is(err, blob.ErrTooLong) && !errors.Is(err, blob.ErrTooShort) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := s.Open(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", name, err)
		}
	}
	f, err := s.Open("abc-1")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, _ := io.ReadAll(f); string(b) != "hello" {
		t.Errorf("read %q", b)
	}
	if left, _ := os.ReadDir(filepath.Join(s.Dir, "ab")); len(left) != 1 {
		t.Errorf("%d files are left of three uploads", len(left))
	}
	for range 2 {
		if err := s.Delete("abc-1"); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"../../x", "a/b-c", "", "a", ".new", "ABC-1"} {
		if _, err := s.Put(bad, strings.NewReader("x"), 1); err == nil {
			t.Errorf("%q is a name", bad)
		}
	}
}
