package pg_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/pg/pgtest"
	"github.com/agntchat/agntchat/migrations"
)

// empty makes a database without any table of ours and returns its address.
func empty(t *testing.T) string {
	t.Helper()
	cfg := pgtest.Config(t)
	c, err := pgx.Connect(t.Context(), cfg.DirectURL)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.WithoutCancel(t.Context()))
	if _, err := c.Exec(t.Context(), `DROP SCHEMA public CASCADE; CREATE SCHEMA public`); err != nil {
		t.Fatal(err)
	}
	return cfg.DirectURL
}

func status(t *testing.T, url string) pg.Status {
	t.Helper()
	db, err := pg.Open(t.Context(), pg.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, err := pg.MigrationStatus(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMigrateFromManyProcessesAtOnce(t *testing.T) {
	t.Parallel()
	url := empty(t)
	if s := status(t, url); s.Current() || s.Have != 0 {
		t.Fatalf("empty database: %+v", s)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := pg.Migrate(t.Context(), url, pg.MigrateConfig{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s := status(t, url)
	if !s.Current() || s.Dirty || !s.Migrations[0].Applied {
		t.Fatalf("%+v", s)
	}
}

func TestMigrateUpDownUp(t *testing.T) {
	t.Parallel()
	url := empty(t)
	if err := pg.Migrate(t.Context(), url, pg.MigrateConfig{}); err != nil {
		t.Fatal(err)
	}
	if err := pg.MigrateDown(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	if s := status(t, url); s.Have != 0 {
		t.Fatalf("after down: %+v", s)
	}
	if err := pg.Migrate(t.Context(), url, pg.MigrateConfig{}); err != nil {
		t.Fatal(err)
	}
	if s := status(t, url); !s.Current() {
		t.Fatalf("after up again: %+v", s)
	}
}

func TestMigrationsAreNumberedWithoutGapsAndNameTheirOwner(t *testing.T) {
	t.Parallel()
	ups, err := filepath.Glob("../../migrations/*.up.sql")
	if err != nil || len(ups) == 0 {
		t.Fatalf("%d files, %v", len(ups), err)
	}
	for i, up := range ups {
		if want := fmt.Sprintf("%06d", i+1); !strings.HasPrefix(filepath.Base(up), want+"_") {
			t.Errorf("%s: want number %s", up, want)
		}
		body, err := os.ReadFile(up)
		if err != nil || !strings.HasPrefix(string(body), "-- Owner: ") {
			t.Errorf("%s: the first line names no owner (%v)", up, err)
		}
		if _, err := os.Stat(strings.Replace(up, ".up.", ".down.", 1)); err != nil {
			t.Errorf("%s: %v", up, err)
		}
	}
}

func TestAMigrationThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	url := empty(t)
	good := &fstest.MapFile{Data: []byte("CREATE TABLE a (x int);")}
	files := fstest.MapFS{"000001_make_a.up.sql": good, "000002_make_b.up.sql": {Data: []byte("CREATE TABLE b (x int); SELECT no_such_function();")}}
	err := pg.MigrateFiles(t.Context(), url, files)
	if err == nil || !strings.Contains(err.Error(), "no_such_function") {
		t.Fatalf("err %v", err)
	}
	s := status(t, url)
	if s.Have != 1 || s.Dirty {
		t.Fatalf("%+v", s)
	}
	files["000002_make_b.up.sql"] = &fstest.MapFile{Data: []byte("CREATE TABLE b (x int);")}
	if err := pg.MigrateFiles(t.Context(), url, files); err != nil {
		t.Fatal(err)
	}
}

// A program that is older than the database says so and changes nothing.
func TestMigrateByAnOlderProgramSaysSo(t *testing.T) {
	t.Parallel()
	cfg := pgtest.Config(t)
	all, err := fs.Glob(migrations.FS, "*.up.sql")
	if err != nil {
		t.Fatal(err)
	}
	older := fstest.MapFS{}
	for _, n := range all[:len(all)-1] {
		older[n] = &fstest.MapFile{Data: []byte("SELECT 1")}
	}
	err = pg.MigrateFiles(t.Context(), cfg.DirectURL, older)
	if err == nil || !strings.Contains(err.Error(), "a newer program has used it") {
		t.Fatalf("got %v", err)
	}
	if err := pg.MigrateFiles(t.Context(), cfg.DirectURL, migrations.FS); err != nil {
		t.Fatalf("the newer program cannot go on: %v", err)
	}
}

func TestMigrateRefusesATransactionPooler(t *testing.T) {
	t.Parallel()
	cfg := pgtest.Config(t)
	if err := pg.Migrate(t.Context(), pgtest.PoolerURL(t, cfg), pg.MigrateConfig{}); !errors.Is(err, pg.ErrTransactionPooler) {
		t.Errorf("pgbouncer: %v", err)
	}
	if err := pg.Migrate(t.Context(), "postgres://x@nowhere.invalid:6543/x", pg.MigrateConfig{}); !errors.Is(err, pg.ErrTransactionPooler) {
		t.Errorf("port 6543: %v", err)
	}
}

func TestFindLink(t *testing.T) {
	t.Parallel()
	cfg := pgtest.Config(t)
	for url, want := range map[string]pg.Link{cfg.DirectURL: pg.LinkDirect, pgtest.PoolerURL(t, cfg): pg.LinkTransaction} {
		if got, err := pg.FindLink(t.Context(), url); got != want || err != nil {
			t.Errorf("got %q, want %q, err %v", got, want, err)
		}
	}
}

func TestOpenFindsThePooler(t *testing.T) {
	t.Parallel()
	cfg := pgtest.Config(t)
	for url, want := range map[string]pgx.QueryExecMode{
		cfg.DirectURL:            pgx.QueryExecModeCacheStatement,
		pgtest.PoolerURL(t, cfg): pgx.QueryExecModeCacheDescribe,
		cfg.DirectURL + "&default_query_exec_mode=exec": pgx.QueryExecModeExec,
	} {
		db, err := pg.Open(t.Context(), pg.Config{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		if got := db.Pool().Config().ConnConfig.DefaultQueryExecMode; got != want {
			t.Errorf("got %v, want %v", got, want)
		}
		db.Close()
	}
}

func TestABadAddressIsNotShown(t *testing.T) {
	t.Parallel()
	_, err := pg.Open(t.Context(), pg.Config{URL: "postgres://u:hunter2@h:port/db"})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Fatalf("err %v", err)
	}
}
