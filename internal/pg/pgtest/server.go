package pgtest

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agntchat/agntchat/internal/pg/pgembed"
)

const (
	lingerSeconds = 60
	bouncerPort   = "6432"
	minRAMDisk    = 1 << 30
	startTimeout  = 60 * time.Second
)

// installLine is what a machine without Postgres is told (decision 31).
const installLine = "these tests need Postgres: sudo apt-get install -y postgresql pgbouncer"

//go:embed watch.sh
var watchScript string

// settings trade durability for speed: the data lives as long as the test run.
var settings = strings.Join([]string{
	"listen_addresses = ''", "unix_socket_permissions = 0700", "max_connections = 600", "shared_buffers = '128MB'",
	"fsync = off", "synchronous_commit = off", "full_page_writes = off", "wal_level = minimal", "max_wal_senders = 0",
	"max_wal_size = '2GB'", "autovacuum = off", "jit = off", "timezone = 'Canada/Newfoundland'",
	"log_timezone = 'UTC'", "log_min_messages = warning", "log_min_error_statement = panic",
}, "\n") + "\n"

// server is where the shared server listens.
type server struct {
	admin  string // address of the maintenance database
	pooler string // folder of pgbouncer's socket, "" when there is none
	lock   *os.File
}

// shared is the one server of this test binary. The state is the process's own:
// a lock that tells other binaries that the server is in use.
var shared = sync.OnceValues(startShared)

func startShared() (*server, error) {
	if url := os.Getenv("AGNTCHAT_TEST_DATABASE_URL"); url != "" {
		return &server{admin: url}, nil
	}
	bins, err := pgembed.Find(os.Getenv("AGNTCHAT_PG_BINDIR"))
	if err != nil {
		return nil, fmt.Errorf("%s (%w)", installLine, err)
	}
	bouncer := findBouncer()
	base := ramDisk()
	owner := pgembed.OwnerFor(filepath.Join(base, "x"), filepath.Join(bins.Dir, "postgres"))
	sum := sha256.Sum256([]byte(bins.Dir + bouncer + settings + watchScript + bouncerIni("")))
	home := filepath.Join(base, fmt.Sprintf("agntchat-pgtest-%d-%s", os.Geteuid(), hex.EncodeToString(sum[:4])))
	if err := makeHome(home, owner); err != nil {
		return nil, err
	}
	starting, err := lockFile(filepath.Join(home, "start.lock"), syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer starting.Close()
	using, err := lockFile(filepath.Join(home, "users.lock"), syscall.LOCK_SH) // held until this process ends
	if err != nil {
		return nil, err
	}
	run, err := running(home)
	if err != nil {
		run, err = launch(home, bins, bouncer, owner)
	}
	if err != nil {
		return nil, err
	}
	s := &server{admin: pgembed.URL(run, "postgres"), lock: using}
	if bouncer != "" {
		s.pooler = run
	}
	return s, nil
}

// ramDisk is where the server lives: /dev/shm when it has room.
func ramDisk() string {
	var st syscall.Statfs_t
	if err := syscall.Statfs("/dev/shm", &st); err == nil && st.Bavail*uint64(st.Bsize) > minRAMDisk {
		return "/dev/shm"
	}
	return os.TempDir()
}

func findBouncer() string {
	for _, p := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if found, err := exec.LookPath(p); err == nil {
			return found
		}
	}
	return ""
}

func makeHome(home string, owner pgembed.Owner) error {
	if err := os.Mkdir(home, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("make test server folder: %w", err)
	}
	if !owner.Owns(home) && os.Geteuid() != 0 {
		return fmt.Errorf("%s belongs to somebody else", home)
	}
	files := []string{home}
	for _, name := range []string{"start.lock", "users.lock"} {
		f, err := os.OpenFile(filepath.Join(home, name), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return fmt.Errorf("make test server folder: %w", err)
		}
		f.Close()
		files = append(files, f.Name())
	}
	for _, f := range files {
		if err := owner.Chown(f); err != nil {
			return fmt.Errorf("make test server folder: %w", err)
		}
	}
	return nil
}

func lockFile(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("lock test server: %w", err)
	}
	for {
		err = syscall.Flock(int(f.Fd()), how)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock test server: %w", err), f.Close())
		}
	}
}

// running finds a server that another test binary has started.
func running(home string) (string, error) {
	name, err := os.ReadFile(filepath.Join(home, "current"))
	if err != nil {
		return "", err
	}
	run := filepath.Join(home, string(name))
	c, err := net.Dial("unix", pgembed.SocketPath(run))
	if err != nil {
		return "", err // nobody listens
	}
	c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return run, pgembed.WaitReady(ctx, run)
}

// launch starts a server under a watcher that outlives this process.
func launch(home string, bins pgembed.Binaries, bouncer string, owner pgembed.Owner) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	run, err := os.MkdirTemp(home, "run-")
	if err != nil {
		return "", fmt.Errorf("start test server: %w", err)
	}
	if err := owner.Chown(run); err != nil {
		return "", fmt.Errorf("start test server: %w", err)
	}
	if err := pgembed.Init(ctx, bins, owner, filepath.Join(run, "data"), "--no-sync"); err != nil {
		return "", fmt.Errorf("start test server: %w", err)
	}
	if err := configure(run, owner); err != nil {
		return "", fmt.Errorf("start test server: %w", err)
	}
	cmd := owner.Command("/bin/sh", "-c", watchScript, "pgtest-watch", run, bins.Dir, bouncer, strconv.Itoa(lingerSeconds))
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("start test server: %w", err)
	}
	go func() { _ = cmd.Wait() }() // it outlives us; this only reaps it should it end first
	if err := pgembed.WaitReady(ctx, run); err != nil {
		return "", fmt.Errorf("start test server: %w: see %s", err, filepath.Join(run, "server.log"))
	}
	if bouncer != "" {
		if err := waitSocket(ctx, filepath.Join(run, ".s.PGSQL."+bouncerPort)); err != nil {
			return "", fmt.Errorf("start pgbouncer: %w: see %s", err, filepath.Join(run, "server.log"))
		}
	}
	if err := os.WriteFile(filepath.Join(home, "current"), []byte(filepath.Base(run)), 0o644); err != nil {
		return "", fmt.Errorf("start test server: %w", err)
	}
	return run, nil
}

func configure(run string, owner pgembed.Owner) error {
	conf, err := os.OpenFile(filepath.Join(run, "data", "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := conf.WriteString(settings); err != nil {
		return errors.Join(err, conf.Close())
	}
	if err := conf.Close(); err != nil {
		return err
	}
	ini := filepath.Join(run, "pgbouncer.ini")
	if err := os.WriteFile(ini, []byte(bouncerIni(run)), 0o600); err != nil {
		return err
	}
	return owner.Chown(ini)
}

// bouncerIni is transaction mode as production's poolers have it: no startup
// parameter is let through.
func bouncerIni(run string) string {
	return `[databases]
* = host=` + run + ` port=5432 user=postgres
[pgbouncer]
listen_addr =
listen_port = ` + bouncerPort + `
unix_socket_dir = ` + run + `
auth_type = any
pool_mode = transaction
max_client_conn = 5000
default_pool_size = 20
server_idle_timeout = 5
autodb_idle_timeout = 5
log_connections = 0
log_disconnections = 0
`
}

func waitSocket(ctx context.Context, path string) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		c, err := net.Dial("unix", path)
		if err == nil {
			return c.Close()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		}
	}
}
