package pgtest_test

import (
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/pg/pgtest"
)

func TestDatabasesAreIsolatedAndMigrated(t *testing.T) {
	t.Parallel()
	for range 6 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			db := pgtest.DB(t)
			if _, err := db.Exec(t.Context(), `CREATE TABLE only_here (x int)`); err != nil {
				t.Fatal(err)
			}
			ok, have, want, err := pg.SchemaCurrent(t.Context(), db)
			if err != nil || !ok || have != want || want == 0 {
				t.Fatalf("current %v, have %d, want %d, err %v", ok, have, want, err)
			}
		})
	}
}

func TestServerIsNotInUTC(t *testing.T) {
	t.Parallel()
	var zone string
	if err := pgtest.Tx(t).QueryRow(t.Context(), `SHOW timezone`).Scan(&zone); err != nil || zone != "Canada/Newfoundland" {
		t.Fatalf("zone %q, err %v", zone, err)
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	plan := pgtest.Plan(t, `SELECT id FROM queued_messages WHERE id = $1`)
	if !strings.Contains(plan, "queued_messages") {
		t.Fatal(plan)
	}
}

func TestRowLevelSecurityEverywhere(t *testing.T) {
	t.Parallel()
	var open int
	err := pgtest.Tx(t).QueryRow(t.Context(), `SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace
		AND relkind IN ('r', 'p') AND NOT relrowsecurity`).Scan(&open)
	if err != nil || open != 0 {
		t.Fatalf("%d tables without row level security, err %v", open, err)
	}
}
