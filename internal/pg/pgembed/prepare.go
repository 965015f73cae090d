//go:build unix

package pgembed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// maxSocketPath is the kernel's limit for the path of a Unix socket, with room for
// Postgres's lock file beside it.
const maxSocketPath = 100

// prepare makes everything ready for the first run: folders, lock, data, and no
// other server on them.
func (s *Server) prepare(ctx context.Context) (err error) {
	if s.opts.DataDir == "" {
		return errors.New("no data folder given")
	}
	if s.opts.DataDir, err = filepath.Abs(s.opts.DataDir); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	root := filepath.Join(s.opts.DataDir, "pg")
	if err := os.MkdirAll(root, 0o711); err != nil { // its user may walk through, nobody may list
		return fmt.Errorf("make data folder: %w", err)
	}
	if s.bins, err = choose(root, s.opts.BinDir); err != nil {
		return err
	}
	major := strconv.Itoa(s.bins.Major)
	s.dataDir = filepath.Join(root, major)
	s.owner = OwnerFor(s.dataDir, filepath.Join(s.bins.Dir, "postgres"))
	if s.opts.handover != nil && os.Geteuid() == 0 {
		s.owner.how = *s.opts.handover
	}
	s.output = newLogWriter(s.log)
	if s.lock, err = lockFolder(filepath.Join(root, major+".lock")); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = s.lock.Close()
		}
	}()
	if s.socketDir, err = makeSocketDir(root, s.owner); err != nil {
		return err
	}
	return s.prepareData(ctx)
}

// choose prefers the binaries of the major whose data is there already: another
// one would start with an empty database.
func choose(root, binDir string) (Binaries, error) {
	have := existingMajors(root)
	if binDir == "" {
		for _, major := range have {
			if b, ok := findMajor(major); ok {
				return b, nil
			}
		}
	}
	b, err := Find(binDir)
	if err != nil {
		return b, err
	}
	for _, major := range have {
		if major == b.Major {
			return b, nil
		}
	}
	if len(have) > 0 {
		return b, fmt.Errorf("the data in %s was made by Postgres %d, and only Postgres %d was found: install version %d, or give another --data-dir",
			root, have[0], b.Major, have[0])
	}
	return b, nil
}

func existingMajors(root string) (majors []int) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		major, err := strconv.Atoi(e.Name())
		if err != nil || !e.IsDir() {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, e.Name(), "PG_VERSION")); err == nil {
			majors = append([]int{major}, majors...) // highest first
		}
	}
	return majors
}

// lockFolder keeps a second server off the data. The kernel gives the lock back
// when this process ends, however it ends.
func lockFolder(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock data folder: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder := make([]byte, 20)
		n, _ := f.Read(holder)
		_ = f.Close()
		return nil, fmt.Errorf("another agntchat (process %s) is running on this data folder: stop it, or give another --data-dir", strings.TrimSpace(string(holder[:n])))
	}
	if err := f.Truncate(0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if _, err := f.WriteString(strconv.Itoa(os.Getpid()) + "\n"); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// prepareData ends a leftover server, or makes the data folder. A half-made folder
// never gets the final name.
func (s *Server) prepareData(ctx context.Context) error {
	version, err := os.ReadFile(filepath.Join(s.dataDir, "PG_VERSION"))
	if err == nil {
		if strings.TrimSpace(string(version)) != strconv.Itoa(s.bins.Major) {
			return fmt.Errorf("%s holds data of Postgres %s: move it away", s.dataDir, strings.TrimSpace(string(version)))
		}
		if !s.owner.Owns(s.dataDir) {
			if err := s.owner.ChownAll(s.dataDir); err != nil { // it was made by another user, as when root ran it first
				return fmt.Errorf("give data folder to postgres: %w", err)
			}
		}
		return endLeftover(ctx, s.dataDir, s.socketDir)
	}
	if !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read data folder: %w", err)
	}
	fresh := s.dataDir + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	// Waiting for the disk would double the time of a first start: it is told to
	// write behind our back instead.
	if err := Init(ctx, s.bins, s.owner, fresh, "--no-sync"); err != nil {
		return err
	}
	defer func() { go syscall.Sync() }()
	if err := os.Rename(fresh, s.dataDir); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	return nil
}

// endLeftover ends a server that an earlier process left on this data folder: it
// is shutting down already, or, where the kernel could not tell it, still runs.
// When it returns nil no process uses the folder, so what is left of the lock files
// is stale; we hold the lock that counts.
func endLeftover(ctx context.Context, dataDir, socketDir string) error {
	pidFile := filepath.Join(dataDir, "postmaster.pid")
	pid := readPID(pidFile)
	for _, step := range []struct {
		sig syscall.Signal
		max time.Duration
	}{{syscall.SIGINT, 15 * time.Second}, {syscall.SIGQUIT, 10 * time.Second}} {
		if pid <= 1 || !isPostmaster(pid, dataDir) {
			break
		}
		_ = syscall.Kill(pid, step.sig) // it may end between the two lines
		until(ctx, step.max, func() bool { return !isPostmaster(pid, dataDir) })
	}
	// Backends of a postmaster that was killed end by themselves, within moments.
	if !until(ctx, 15*time.Second, func() bool { return !inUse(dataDir) && (pid <= 1 || !isPostmaster(pid, dataDir)) }) {
		return fmt.Errorf("a Postgres of an earlier run (process %d) does not end", pid)
	}
	stale := []string{SocketPath(socketDir), SocketPath(socketDir) + ".lock"}
	if pid > 1 && syscall.Kill(pid, 0) == nil { // a zombie, or the number is another program's: Postgres would refuse to start
		stale = append(stale, pidFile)
	}
	for _, f := range stale {
		if err := os.Remove(f); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove stale lock: %w", err)
		}
	}
	return nil
}

// readPID reads the first line of a lock file of Postgres; 0 when there is none.
func readPID(path string) int {
	body, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(body), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil {
		return 0
	}
	return pid
}

// until asks again every 10 ms; false means that the time is over.
func until(ctx context.Context, limit time.Duration, done func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// takesSocket reports whether a folder's path is short enough for a socket and can
// be said in an address and in Postgres's settings: a comma ends a path in both, and
// people keep projects below folders with spaces and letters of any script.
func takesSocket(dir string) bool {
	return len(SocketPath(dir)) <= maxSocketPath && !strings.ContainsFunc(dir, func(r rune) bool {
		plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-", r)
		return !plain
	})
}

// makeSocketDir makes a folder that only Postgres's user (and we) may enter: below
// root if its path takes a socket, else in the temp folder.
func makeSocketDir(root string, owner Owner) (string, error) {
	dir := filepath.Join(root, "run")
	shared := !takesSocket(dir)
	if shared {
		sum := sha256.Sum256([]byte(root))
		base := os.TempDir()
		if len(base) > 60 || !takesSocket(base) {
			base = "/tmp"
		}
		dir = filepath.Join(base, fmt.Sprintf("agntchat-%d-%s", os.Geteuid(), hex.EncodeToString(sum[:6])))
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("make socket folder: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return "", fmt.Errorf("make socket folder: %s is not a folder", dir)
	}
	// In the temp folder anybody may have made it. Below the data folder a user may have, and root goes on with it.
	mine := !shared && os.Geteuid() == 0
	if st, ok := info.Sys().(*syscall.Stat_t); ok && !mine && int(st.Uid) != os.Geteuid() && !owner.Owns(dir) {
		return "", fmt.Errorf("make socket folder: %s belongs to somebody else", dir)
	}
	if err := owner.Chown(dir); err != nil {
		return "", fmt.Errorf("make socket folder: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return "", fmt.Errorf("make socket folder: %w", err)
	}
	return dir, nil
}

// ensureDatabase makes the database if the server does not have it.
func ensureDatabase(ctx context.Context, socketDir, name string) error {
	c, err := pgx.Connect(ctx, URL(socketDir, name))
	if err == nil {
		return c.Close(ctx)
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "3D000" {
		return fmt.Errorf("connect: %w", err)
	}
	if c, err = pgx.Connect(ctx, URL(socketDir, superuser)); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	_, err = c.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	if err := errors.Join(err, c.Close(ctx)); err != nil {
		return fmt.Errorf("make database: %w", err)
	}
	return nil
}
