//go:build unix

package app

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agntchat/agntchat/internal/config"
)

const runAsFolder = "AGNTCHAT_TEST_RUN_AS_FOLDER"

// A process that is started as root and told so becomes that account, owns the folder
// of files and cannot go back; one that is not root stays who it is. It is shown in a
// process of its own: nothing gives root back.
func TestM6_RootIsGivenUp(t *testing.T) {
	t.Parallel()
	if folder := os.Getenv(runAsFolder); folder != "" {
		if err := runAs(config.Account{UID: 65532, GID: 65531, Given: true}, folder); err != nil {
			t.Fatal(err)
		}
		back := syscall.Setuid(0)
		_, written := os.Create(filepath.Join(folder, "ab", "new"))
		fmt.Printf("now %d %d back %v written %v\n", os.Geteuid(), os.Getegid(), back == nil && os.Getuid() == 0, written == nil)
		return
	}
	base := t.TempDir()
	folder := filepath.Join(base, "files")
	if err := os.MkdirAll(filepath.Join(folder, "ab"), 0o700); err != nil {
		t.Fatal(err)
	}
	for dir := base; dir != filepath.Dir(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
		if st, err := os.Stat(dir); err == nil && os.Geteuid() == 0 && strings.Contains(dir, t.Name()) {
			_ = os.Chmod(dir, st.Mode().Perm()|0o011) // the other account has to get through
		}
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), runAsFolder+"="+folder)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := "now 65532 65531 back false written true"
	if os.Geteuid() != 0 {
		want = fmt.Sprintf("now %d %d back false written true", os.Geteuid(), os.Getegid())
	}
	if !strings.Contains(string(out), want) {
		t.Fatalf("want %q in\n%s", want, out)
	}
}
