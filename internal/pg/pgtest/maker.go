package pgtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/migrations"
)

const (
	stockSize    = 3 // clones that are made ahead, in the background
	adminTimeout = 60 * time.Second
	templateLock = 5_121_993 // advisory lock of whoever builds the template
	commonConns  = 24
)

// maker clones databases. It keeps one plain connection (a pool would leave
// goroutines behind, which goleak reports).
type maker struct {
	server   *server
	template string
	mu       sync.Mutex // guards conn
	conn     *pgx.Conn
	stock    chan string
	number   chan int
	once     sync.Once
	shared   *pg.DB
}

var theMaker = sync.OnceValues(newMaker)

func factory(t testing.TB) *maker {
	t.Helper()
	f, err := theMaker()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func newMaker() (*maker, error) {
	s, err := shared()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.admin)
	if err != nil {
		return nil, fmt.Errorf("connect to test server: %w", err)
	}
	f := &maker{server: s, conn: conn, stock: make(chan string, stockSize), number: make(chan int, 1)}
	f.number <- 0
	if f.template, err = templateName(); err != nil {
		return nil, err
	}
	if err := f.buildTemplate(ctx); err != nil {
		return nil, fmt.Errorf("build template database: %w", err)
	}
	go f.sweep()
	return f, nil
}

// templateName changes whenever a migration or the version of River does.
func templateName() (string, error) {
	h := sha256.New()
	err := fs.WalkDir(migrations.FS, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(migrations.FS, path)
		fmt.Fprintf(h, "%s %d\n%s\n", path, len(body), body)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read migrations: %w", err)
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if strings.HasPrefix(d.Path, "github.com/riverqueue/river") {
				fmt.Fprintln(h, d.Path, d.Version)
			}
		}
	}
	return "tpl_" + hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// buildTemplate makes the migrated template once per server.
func (f *maker) buildTemplate(ctx context.Context) (err error) {
	if _, err := f.conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, templateLock); err != nil {
		return err
	}
	defer func() {
		_, unlockErr := f.conn.Exec(ctx, `SELECT pg_advisory_unlock($1)`, templateLock)
		err = errors.Join(err, unlockErr)
	}()
	var there bool
	if err := f.conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, f.template).Scan(&there); err != nil || there {
		return err
	}
	building := f.template + "_new"
	for _, sql := range []string{"DROP DATABASE IF EXISTS " + building + " WITH (FORCE)", "CREATE DATABASE " + building + " STRATEGY file_copy"} {
		if _, err := f.conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	if err := pg.Migrate(ctx, f.url(building), pg.MigrateConfig{}); err != nil {
		return err
	}
	for _, sql := range []string{
		"ALTER DATABASE " + building + " WITH IS_TEMPLATE true ALLOW_CONNECTIONS false",
		"ALTER DATABASE " + building + " RENAME TO " + f.template,
	} {
		if _, err := f.conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// take gives a fresh clone and refills the stock behind the caller's back.
func (f *maker) take() (string, error) {
	var name string
	var err error
	select {
	case name = <-f.stock:
	default:
		name, err = f.clone()
	}
	if len(f.stock) < stockSize {
		go func() {
			more, err := f.clone()
			if err != nil {
				return // the next take reports it
			}
			select {
			case f.stock <- more:
			default:
				f.drop(more)
			}
		}()
	}
	return name, err
}

func (f *maker) clone() (string, error) {
	n := <-f.number
	f.number <- n + 1
	name := fmt.Sprintf("t_%d_%d", os.Getpid(), n)
	return name, f.exec("CREATE DATABASE " + name + " TEMPLATE " + f.template + " STRATEGY file_copy")
}

func (f *maker) giveBack(name string) { go f.drop(name) }

func (f *maker) drop(name string) {
	_ = f.exec("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)") // a later binary's sweep tries again
}

func (f *maker) exec(sql string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	_, err := f.conn.Exec(ctx, sql)
	return err
}

// sweep drops what test binaries that have ended left behind.
func (f *maker) sweep() {
	f.mu.Lock()
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	rows, _ := f.conn.Query(ctx, `SELECT datname FROM pg_database WHERE datname LIKE 't\_%'`)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	cancel()
	f.mu.Unlock()
	if err != nil {
		return
	}
	for _, n := range names {
		parts := strings.Split(n, "_")
		pid, err := strconv.Atoi(parts[1])
		if err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			f.drop(n)
		}
	}
}

// common is the database that all Tx tests of this binary share. It lives until
// the binary ends; sweep removes it later.
func (f *maker) common(t testing.TB) *pg.DB {
	t.Helper()
	f.once.Do(func() {
		name, err := f.take()
		if err != nil {
			t.Fatalf("make test database: %v", err)
		}
		cfg := f.config(t, name)
		cfg.MaxConns = commonConns
		if f.shared, err = pg.Open(context.Background(), cfg); err != nil {
			t.Fatalf("open test database: %v", err)
		}
	})
	if f.shared == nil {
		t.Fatal("the shared test database could not be made: see the first failure")
	}
	return f.shared
}
