package pg

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golang-migrate/migrate/v4"
	migratepgx "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/migrations"
)

// migrateLock is the session advisory lock that all migrating processes share.
// golang-migrate takes its own inside; ours also covers River's part.
const migrateLock = 7_263_841_905

// ErrTransactionPooler is the refusal to migrate where a session is not kept:
// golang-migrate's lock would stay behind in a pooled backend (decision 29).
var ErrTransactionPooler = fault.New(fault.Invalid, "transaction_pooler",
	"This address is a transaction-mode pooler. Migrations need a direct or session address: set DATABASE_DIRECT_URL.")

// MigrateConfig tunes Migrate. Zero fields take the defaults that stand with them.
type MigrateConfig struct {
	// LockTimeout bounds the wait of one statement for a lock on a table. Default 10 s.
	LockTimeout time.Duration
	Logger      *slog.Logger

	files fs.FS // tests only
}

// Migrate brings the schema to the newest version: ours, then River's. It needs a
// direct or session address and refuses a transaction pooler. Several processes
// may call it at once: one applies, the others wait and find nothing to do. Each
// file runs in one transaction of its own, so a file that fails leaves nothing.
func Migrate(ctx context.Context, directURL string, cfg MigrateConfig) error {
	if cfg.LockTimeout == 0 {
		cfg.LockTimeout = 10 * time.Second
	}
	if cfg.files == nil {
		cfg.files = migrations.FS
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return withMigrateLock(ctx, directURL, cfg, func(cc *pgx.ConnConfig) error {
		if err := migrateOurs(ctx, cc, cfg); err != nil {
			return err
		}
		return migrateRiver(ctx, cc, cfg)
	})
}

func withMigrateLock(ctx context.Context, url string, cfg MigrateConfig, fn func(*pgx.ConnConfig) error) error {
	link, err := FindLink(ctx, url)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if link == LinkTransaction {
		return ErrTransactionPooler
	}
	cc, err := pgx.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("parse database url: %w", redact(err))
	}
	c, err := pgx.ConnectConfig(ctx, cc)
	if err != nil {
		return fmt.Errorf("migrate: %w", mapErr(err))
	}
	defer closeConn(ctx, c) // which also gives the lock back
	if _, err := c.Exec(ctx, `SELECT pg_advisory_lock($1)`, int64(migrateLock)); err != nil {
		return fmt.Errorf("wait for another migration: %w", err)
	}
	work := cc.Copy()
	if link == LinkDirect { // a pooler may refuse startup parameters
		work.RuntimeParams["lock_timeout"] = millis(cfg.LockTimeout)
	}
	return fn(work)
}

func migrateOurs(ctx context.Context, cc *pgx.ConnConfig, cfg MigrateConfig) error {
	return withMigrator(cc, cfg, func(m *migrate.Migrate) error {
		stop := context.AfterFunc(ctx, func() { m.GracefulStop <- true })
		defer stop()
		before, dirty, err := m.Version()
		if err != nil && !errors.Is(err, migrate.ErrNilVersion) {
			return fmt.Errorf("read schema version: %w", err)
		}
		if dirty {
			return fmt.Errorf("schema version %d is marked dirty: a migration was cut off. Look whether its tables exist, then set schema_migrations to the version that is true", before)
		}
		known, err := versions(cfg.files)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(known, func(f migrationFile) bool { return f.version >= int64(before) }); i < 0 && before > 0 {
			return fmt.Errorf("the database has schema version %d, which this program does not know: a newer program has used it. Run that one, or restore a backup from before", before)
		}
		err = m.Up()
		if err == nil || errors.Is(err, migrate.ErrNoChange) {
			return ctx.Err()
		}
		return errors.Join(fmt.Errorf("apply migrations: %w", err), undirty(m, cfg.files))
	})
}

// undirty sets the version back after a file that failed: the file ran in one
// transaction, so it left nothing. Files that manage transactions themselves stay
// marked.
func undirty(m *migrate.Migrate, files fs.FS) error {
	v, dirty, err := m.Version()
	if err != nil || !dirty {
		return err
	}
	all, err := versions(files)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(f migrationFile) bool { return f.version == int64(v) })
	if i < 0 {
		return nil
	}
	body, err := fs.ReadFile(files, all[i].name)
	if err != nil || strings.Contains(strings.ToUpper(string(body)), "CONCURRENTLY") || strings.Contains(strings.ToUpper(string(body)), "COMMIT;") {
		return err
	}
	previous := -1 // golang-migrate's word for "none"
	if i > 0 {
		previous = int(all[i-1].version)
	}
	return m.Force(previous)
}

func withMigrator(cc *pgx.ConnConfig, cfg MigrateConfig, fn func(*migrate.Migrate) error) (err error) {
	src, err := iofs.New(cfg.files, ".")
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	db := sql.OpenDB(stdlib.GetConnector(*cc))
	defer func() { _ = db.Close() }()
	drv, err := migratepgx.WithInstance(db, &migratepgx.Config{})
	if err != nil {
		return fmt.Errorf("prepare migrations: %w", mapErr(err))
	}
	m, err := migrate.NewWithInstance("iofs", src, "pgx5", drv)
	if err != nil {
		return fmt.Errorf("prepare migrations: %w", err)
	}
	m.Log = migrateLog{cfg.Logger}
	defer func() {
		srcErr, dbErr := m.Close()
		err = errors.Join(err, srcErr, dbErr)
	}()
	return fn(m)
}

// queryLockTables turns row level security on for the tables that we do not write
// ourselves (River's and the version table): on Supabase the schema is reachable
// by other roles. The owner is not bound by it.
const queryLockTables = `DO $$
DECLARE t regclass;
BEGIN
  FOR t IN SELECT c.oid::regclass FROM pg_class c
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
      AND NOT c.relrowsecurity AND pg_get_userbyid(c.relowner) = current_user
  LOOP EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', t); END LOOP;
END $$`

func migrateRiver(ctx context.Context, cc *pgx.ConnConfig, cfg MigrateConfig) error {
	pc, err := pgxpool.ParseConfig(cc.ConnString())
	if err != nil {
		return fmt.Errorf("prepare River's migrations: %w", err)
	}
	pc.ConnConfig = cc
	pc.MaxConns = 2
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return fmt.Errorf("prepare River's migrations: %w", err)
	}
	defer pool.Close()
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: quiet(cfg.Logger)})
	if err != nil {
		return fmt.Errorf("prepare River's migrations: %w", err)
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("apply River's migrations: %w", mapErr(err))
	}
	if _, err := pool.Exec(ctx, queryLockTables); err != nil {
		return fmt.Errorf("enable row level security: %w", err)
	}
	return nil
}

// quiet lets River's warnings through and drops its progress lines.
func quiet(l *slog.Logger) *slog.Logger {
	if l.Enabled(context.Background(), slog.LevelDebug) {
		return l
	}
	return slog.New(slog.DiscardHandler)
}

type migrateLog struct{ log *slog.Logger }

func (l migrateLog) Printf(format string, v ...any) {
	l.log.Debug("migration", slog.String("step", strings.TrimSpace(fmt.Sprintf(format, v...))))
}
func (migrateLog) Verbose() bool { return false }

type migrationFile struct {
	version int64
	name    string
}

// versions lists the up files in order.
func versions(files fs.FS) ([]migrationFile, error) {
	names, err := fs.Glob(files, "*.up.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	out := make([]migrationFile, 0, len(names))
	for _, n := range names {
		number, _, _ := strings.Cut(n, "_")
		v, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("migration %q has no number", n)
		}
		out = append(out, migrationFile{v, n})
	}
	slices.SortFunc(out, func(a, b migrationFile) int { return int(a.version - b.version) })
	return out, nil
}
