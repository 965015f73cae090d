package pg

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/agntchat/agntchat/migrations"
)

const (
	queryVersion      = `SELECT version, dirty FROM schema_migrations`
	queryRiverVersion = `SELECT COALESCE(max(version), 0) FROM river_migration WHERE line = 'main'`
)

// Migration is one file of the schema.
type Migration struct {
	Version int64
	Name    string // "create_identity"
	Applied bool
}

// Status is how far the schema is.
type Status struct {
	Have, Want           int64 // our version; 0 = empty
	Dirty                bool  // a migration was cut off
	RiverHave, RiverWant int
	Migrations           []Migration
}

// Current reports that the schema is the one this program was built for.
func (s Status) Current() bool {
	return s.Have == s.Want && !s.Dirty && s.RiverHave == s.RiverWant
}

// MigrationStatus reads how far the schema is. It only reads, so it works over
// any address. An empty database is not an error.
func MigrationStatus(ctx context.Context, q Querier) (Status, error) {
	files, err := versions(migrations.FS)
	if err != nil {
		return Status{}, err
	}
	var s Status
	err = q.QueryRow(ctx, queryVersion).Scan(&s.Have, &s.Dirty)
	if err != nil && !IsNotFound(err) && !isUndefinedTable(err) {
		return Status{}, fmt.Errorf("read schema version: %w", err)
	}
	if err == nil {
		err = q.QueryRow(ctx, queryRiverVersion).Scan(&s.RiverHave)
		if err != nil && !isUndefinedTable(err) {
			return Status{}, fmt.Errorf("read River's schema version: %w", err)
		}
	}
	for _, f := range files {
		_, name, _ := strings.Cut(strings.TrimSuffix(f.name, ".up.sql"), "_")
		s.Migrations = append(s.Migrations, Migration{Version: f.version, Name: name, Applied: f.version <= s.Have})
		s.Want = f.version
	}
	if s.RiverWant, err = riverVersion(); err != nil {
		return Status{}, err
	}
	return s, nil
}

// SchemaCurrent is MigrationStatus in short, for /readyz.
func SchemaCurrent(ctx context.Context, q Querier) (current bool, have, want int64, err error) {
	s, err := MigrationStatus(ctx, q)
	return err == nil && s.Current(), s.Have, s.Want, err
}

func riverVersion() (int, error) {
	m, err := rivermigrate.New[pgx.Tx](riverpgxv5.New(nil), nil)
	if err != nil {
		return 0, fmt.Errorf("read River's migrations: %w", err)
	}
	all := m.AllVersions()
	return all[len(all)-1].Version, nil
}

func isUndefinedTable(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "42P01"
}
