package pgtest

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/pg"
)

// Mode says how the tests reach Postgres.
type Mode string

// The modes of AGNTCHAT_TEST_PG.
const (
	Direct Mode = "direct"
	Pooler Mode = "pooler"
	Exec   Mode = "exec"
)

// CurrentMode is the mode of this run.
func CurrentMode(t testing.TB) Mode {
	t.Helper()
	switch m := Mode(os.Getenv("AGNTCHAT_TEST_PG")); m {
	case "":
		return Direct
	case Direct, Pooler, Exec:
		return m
	default:
		t.Fatalf("AGNTCHAT_TEST_PG is %q: want direct, pooler or exec", m)
		return ""
	}
}

// Option changes the configuration of a test database before it is opened.
type Option func(*pg.Config)

// Config makes a new migrated database and returns how to reach it: URL in the
// mode of this run, DirectURL always direct. It is dropped after the test. Use it
// for tests of whole programs, and DB for the rest.
func Config(t testing.TB, opts ...Option) pg.Config {
	t.Helper()
	f := factory(t)
	name, err := f.take()
	if err != nil {
		t.Fatalf("make test database: %v", err)
	}
	t.Cleanup(func() { f.giveBack(name) })
	cfg := f.config(t, name)
	for _, o := range opts {
		o(&cfg)
	}
	return cfg
}

// DB is an own migrated database, dropped after the test. The pool is small (8)
// and strict. A connection that is still in use 10 s after the test fails it.
func DB(t testing.TB, opts ...Option) *pg.DB {
	t.Helper()
	return open(t, Config(t, opts...))
}

// Tx is a transaction on a database that all such tests of the binary share; it
// is rolled back. What it publishes is recorded (tx.Events) and not delivered.
func Tx(t testing.TB) *pg.Tx {
	t.Helper()
	db := factory(t).common(t)
	raw, err := db.Pool().Begin(t.Context())
	if err != nil {
		t.Fatalf("begin test transaction: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = raw.Rollback(ctx) // fails only when the test broke the connection
	})
	return pg.NewTx(raw)
}

// PoolerURL leads through a pgbouncer in transaction mode to the database of cfg,
// whatever the mode of this run.
func PoolerURL(t testing.TB, cfg pg.Config) string {
	t.Helper()
	f := factory(t)
	if f.server.pooler == "" {
		t.Fatal("this test needs pgbouncer: " + installLine)
	}
	cc, err := pgx.ParseConfig(cfg.DirectURL)
	if err != nil {
		t.Fatalf("parse test address: %v", err)
	}
	return f.poolerURL(cc.Database)
}

func open(t testing.TB, cfg pg.Config) *pg.DB {
	t.Helper()
	db, err := pg.Open(context.Background(), cfg)
	if err != nil {
		t.Fatalf("open test database: %v", err)
	}
	t.Cleanup(func() {
		closed := make(chan struct{})
		go func() { db.Close(); close(closed) }()
		select {
		case <-closed:
		case <-time.After(10 * time.Second):
			t.Error("a database connection was never given back: close rows, end transactions")
		}
	})
	return db
}

func (f *maker) config(t testing.TB, name string) pg.Config {
	t.Helper()
	cfg := pg.Config{URL: f.url(name), DirectURL: f.url(name), Link: pg.LinkDirect, MaxConns: 8, Strict: true}
	switch CurrentMode(t) {
	case Exec:
		cfg.URL = withParam(cfg.URL, "default_query_exec_mode", "exec")
	case Pooler:
		if f.server.pooler == "" {
			t.Fatal("AGNTCHAT_TEST_PG=pooler needs pgbouncer: " + installLine)
		}
		cfg.URL, cfg.Link = f.poolerURL(name), pg.LinkTransaction
	case Direct:
	}
	return cfg
}

// url is the direct address of a database.
func (f *maker) url(name string) string {
	u, err := url.Parse(f.server.admin)
	if err != nil {
		return f.server.admin
	}
	u.Path = "/" + name
	return u.String()
}

func (f *maker) poolerURL(name string) string {
	return "postgres://postgres@/" + name + "?host=" + url.QueryEscape(filepath.Clean(f.server.pooler)) + "&port=" + bouncerPort + "&sslmode=disable"
}

func withParam(address, key, value string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	q := u.Query()
	q.Set(key, value)
	u.RawQuery = q.Encode()
	return u.String()
}
