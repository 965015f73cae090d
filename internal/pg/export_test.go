package pg

import (
	"context"
	"io/fs"
	"time"

	"github.com/golang-migrate/migrate/v4"
	"github.com/jackc/pgx/v5"

	"log/slog"

	"github.com/agntchat/agntchat/migrations"
)

func testConfig(files fs.FS) MigrateConfig {
	return MigrateConfig{LockTimeout: 10 * time.Second, Logger: slog.New(slog.DiscardHandler), files: files}
}

// MigrateDown takes our schema down to nothing.
func MigrateDown(ctx context.Context, url string) error {
	cfg := testConfig(migrations.FS)
	return withMigrateLock(ctx, url, cfg, func(cc *pgx.ConnConfig) error {
		return withMigrator(cc, cfg, func(m *migrate.Migrate) error { return m.Down() })
	})
}

// MigrateFiles applies other files than ours.
func MigrateFiles(ctx context.Context, url string, files fs.FS) error {
	return Migrate(ctx, url, testConfig(files))
}

// IsQuiet looks at an idle connection.
var IsQuiet = isQuiet
