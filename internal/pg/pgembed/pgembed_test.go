//go:build unix

package pgembed_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/pg/pgembed"
)

func start(t *testing.T, o pgembed.Options) *pgembed.Server {
	t.Helper()
	began := time.Now()
	s, err := pgembed.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("started in %v", time.Since(began).Round(time.Millisecond))
	t.Cleanup(func() { stop(t, s) })
	return s
}

func stop(t *testing.T, s *pgembed.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Error(err)
	}
}

// query retries until Postgres answers: it may be on its way up again.
func query(t *testing.T, url, sql string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		out, err := tryQuery(ctx, url, sql)
		if err == nil {
			return out
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal(err)
		}
	}
}

func tryQuery(ctx context.Context, url, sql string) (out string, err error) {
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", err
	}
	defer c.Close(ctx)
	if strings.HasPrefix(sql, "SELECT") {
		err = c.QueryRow(ctx, sql).Scan(&out)
		return out, err
	}
	_, err = c.Exec(ctx, sql)
	return "", err
}

const fill = `CREATE TABLE kept AS SELECT 'still here' AS word`
const read = `SELECT word FROM kept`

func expectKept(t *testing.T, url string) {
	t.Helper()
	if got := query(t, url, read); got != "still here" {
		t.Fatalf("got %q", got)
	}
}

// tmp is on the RAM disk where there is one: many data folders are made here.
func tmp(t *testing.T) string {
	t.Helper()
	base := "/dev/shm"
	if _, err := os.Stat(base); err != nil {
		base = ""
	}
	dir, err := os.MkdirTemp(base, "pgembed-test-") // TempDir may be on a slow disk
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// closed is a data folder below one that only its owner may enter (decision 28).
func closed(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(tmp(t), "private")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "data")
}

func TestDataIsKeptBetweenRuns(t *testing.T) {
	t.Parallel()
	o := pgembed.Options{DataDir: tmp(t)}
	s := start(t, o)
	query(t, s.URL(), fill)
	if _, err := pgembed.Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("a second server on the folder: %v", err)
	}
	began := time.Now()
	stop(t, s)
	t.Logf("stopped in %v", time.Since(began).Round(time.Millisecond))
	if err := s.Wait(); err == nil || s.PID() != 0 {
		t.Errorf("after stop: %v, pid %d", err, s.PID())
	}
	expectKept(t, start(t, o).URL())
}

func TestPostgresThatDiesIsStartedAgain(t *testing.T) {
	t.Parallel()
	s := start(t, pgembed.Options{DataDir: tmp(t)})
	query(t, s.URL(), fill)
	for range 2 {
		pid := s.PID()
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		expectKept(t, s.URL())
		if s.PID() == pid {
			t.Fatal("it is the same process")
		}
	}
}

// TestP1_PostgresComesBackWhenItCanRunAgain: as after a full disk. However often it
// failed meanwhile, nobody has to start the server anew.
func TestP1_PostgresComesBackWhenItCanRunAgain(t *testing.T) {
	t.Parallel()
	installed, err := pgembed.Find("")
	if err != nil {
		t.Fatal(err)
	}
	dir := tmp(t)
	tries := filepath.Join(dir, "tries")
	put := func(name, script string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path+".new", []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"postgres", "initdb"} {
		put(name, "exec "+filepath.Join(installed.Dir, name)+` "$@"`)
	}
	if err := os.WriteFile(tries, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(tries, 0o666); err != nil {
		t.Fatal(err)
	}
	s := start(t, pgembed.Options{DataDir: filepath.Join(dir, "data"), BinDir: dir}.Impatient())
	query(t, s.URL(), fill)
	put("postgres", "echo x >> "+tries+"; echo 'FATAL:  could not write: No space left on device'; exit 1")
	if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; {
		b, err := os.ReadFile(tries)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("tried %d times: %v", len(b)/2, err)
		}
		if len(b)/2 > 5 {
			break
		}
		select {
		case <-s.Done():
			t.Fatalf("it gave up: %v", s.Wait())
		case <-time.After(10 * time.Millisecond):
		}
	}
	put("postgres", "exec "+filepath.Join(installed.Dir, "postgres")+` "$@"`)
	expectKept(t, s.URL())
}

// TestP1_RootGoesOnWithAFolderOfAUser: first without rights, then with sudo.
func TestP1_RootGoesOnWithAFolderOfAUser(t *testing.T) {
	t.Parallel()
	dir := tmp(t)
	s := start(t, pgembed.Options{DataDir: dir})
	query(t, s.URL(), fill)
	stop(t, s)
	const somebody = 12345
	if os.Geteuid() == 0 { // who is not root can only show that nothing changes
		err := filepath.WalkDir(filepath.Join(dir, "pg"), func(path string, _ os.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, somebody, somebody))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	expectKept(t, start(t, pgembed.Options{DataDir: dir}).URL())
}

func TestRootMayUseItsOwnFolders(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]pgembed.Options{
		"as chosen":         {DataDir: closed(t)},
		"with capabilities": pgembed.Options{DataDir: closed(t)}.WithCaps(),
		"in a namespace":    pgembed.Options{DataDir: closed(t)}.InNamespace(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, o)
			query(t, s.URL(), fill)
			stop(t, s)
			expectKept(t, start(t, o).URL())
		})
	}
}

func TestKilledParentLeavesACleanShutdown(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"caps", "namespace"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			dir := closed(t)
			parent, pid, url, in := child(t, dir, how)
			defer in.Close()
			query(t, url, fill)
			if err := parent.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = parent.Wait()
			waitGone(t, pid)
			state := controlState(t, dir)
			if state != "shut down" {
				t.Errorf("the cluster is %q", state)
			}
			o := pgembed.Options{DataDir: dir}
			if how == "namespace" {
				o = o.InNamespace()
			}
			expectKept(t, start(t, o).URL())
		})
	}
}

// TestBothKilled is the power cut: recovery, and backends that are still ending.
func TestBothKilled(t *testing.T) {
	t.Parallel()
	dir := tmp(t)
	parent, pid, url, in := child(t, dir, "")
	defer in.Close()
	query(t, url, fill)
	_ = syscall.Kill(pid, syscall.SIGKILL)
	_ = parent.Process.Kill()
	_ = parent.Wait()
	expectKept(t, start(t, pgembed.Options{DataDir: dir}).URL())
}

func TestLeftoverIsEnded(t *testing.T) {
	t.Parallel()
	o := pgembed.Options{DataDir: tmp(t)}
	s := start(t, o)
	query(t, s.URL(), fill)
	path, args, owner := pgembed.CommandOf(s)
	stop(t, s)
	left := owner.Command(path, args...) // tied to nobody, as on systems without Pdeathsig
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	query(t, s.URL(), "SELECT 'up'")
	ended := make(chan error, 1)
	go func() { ended <- left.Wait() }()
	expectKept(t, start(t, o).URL())
	if err := <-ended; err != nil {
		t.Errorf("it did not end cleanly: %v", err)
	}
}

func TestLongPathPutsTheSocketElsewhere(t *testing.T) {
	t.Parallel()
	s := start(t, pgembed.Options{DataDir: filepath.Join(tmp(t), strings.Repeat("long/", 20))})
	query(t, s.URL(), "SELECT 'up'")
}

// TestP1_FoldersOfAnyName: a project lies where its person put it.
func TestP1_FoldersOfAnyName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"with spaces", "ümläut 数据", "a,b", "50%25 & 'quoted' \"twice\"", "#hash?q=1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(tmp(t), name)
			s := start(t, pgembed.Options{DataDir: dir})
			query(t, s.URL(), fill)
			stop(t, s)
			again := start(t, pgembed.Options{DataDir: dir})
			expectKept(t, again.URL())
		})
	}
}

func TestClearErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    pgembed.Options
		want string
	}{
		"no folder":        {pgembed.Options{}, "no data folder"},
		"fsync off":        {pgembed.Options{DataDir: tmp(t), Settings: map[string]string{"fsync": "off"}}, "must stay on"},
		"no such setting":  {pgembed.Options{DataDir: tmp(t), Settings: map[string]string{"no_such_setting": "1"}}, "no_such_setting"},
		"no such binaries": {pgembed.Options{DataDir: tmp(t), BinDir: t.TempDir()}, "no usable postgres"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			_, err := pgembed.Start(t.Context(), c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("err %v", err)
			}
			if time.Since(began) > 20*time.Second {
				t.Errorf("it took %v to say so", time.Since(began))
			}
		})
	}
	for _, way := range []string{"apt-get install -y postgresql", "make deps/run", "DATABASE_URL"} {
		if !strings.Contains(pgembed.ErrNoBinaries.Error(), way) {
			t.Errorf("the error without binaries does not name %q", way)
		}
	}
}

func TestDataOfAnotherMajorIsNotPassedOver(t *testing.T) {
	t.Parallel()
	dir := tmp(t)
	old := filepath.Join(dir, "pg", "14")
	if err := os.MkdirAll(old, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(old, "PG_VERSION"), []byte("14\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := pgembed.Start(t.Context(), pgembed.Options{DataDir: dir}); err == nil || !strings.Contains(err.Error(), "Postgres 14") {
		t.Errorf("err %v", err)
	}
}

const childDir, childHow = "PGEMBED_TEST_DIR", "PGEMBED_TEST_HOW"

// child runs this binary again as the process that owns a server.
func child(t *testing.T, dir, how string) (cmd *exec.Cmd, pid int, url string, in io.Closer) {
	t.Helper()
	cmd = exec.Command(os.Args[0], "-test.run=^TestChildProcess$", "-test.v")
	cmd.Env = append(os.Environ(), childDir+"="+dir, childHow+"="+how)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if n, _ := fmt.Sscanf(lines.Text(), "child %d %s", &pid, &url); n == 2 {
			return cmd, pid, url, in
		}
	}
	t.Fatal("the child did not start its server")
	return nil, 0, "", nil
}

// TestChildProcess is not a test: it is the child, and returns at once otherwise.
func TestChildProcess(t *testing.T) { //nolint:paralleltest // runs alone in its process
	dir := os.Getenv(childDir)
	if dir == "" {
		return
	}
	o := pgembed.Options{DataDir: dir}
	switch os.Getenv(childHow) {
	case "caps":
		o = o.WithCaps()
	case "namespace":
		o = o.InNamespace()
	}
	s, err := pgembed.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("\nchild %d %s\n", s.PID(), s.URL())
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
}

func waitGone(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for syscall.Kill(pid, 0) == nil {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && strings.Contains(string(stat), ") Z ") {
			return // ended, and not yet reaped by whoever adopted it
		}
		if time.Now().After(deadline) {
			t.Fatalf("postgres %d survived its parent", pid)
		}
		<-tick.C
	}
}

// controlState is what the data folder says about how the server ended: the state
// in its control file, after two numbers of 8 and twice 4 bytes.
func controlState(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "pg", "*", "global", "pg_control"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d control files, %v", len(files), err)
	}
	body, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if state := binary.NativeEndian.Uint32(body[16:]); state != 1 {
		return fmt.Sprintf("in state %d", state)
	}
	return "shut down"
}
