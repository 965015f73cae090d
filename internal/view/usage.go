package view

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// Usage is what an agent's model calls took, as its bridge reported them. Input is
// what was neither read from nor written to the provider's cache.
type Usage struct {
	Requests   int
	Input      int64
	Output     int64
	CacheRead  int64
	CacheWrite int64
	Parts      []StablePart `db:"-"` // newest first
}

// StablePart names what an agent was told that does not change between turns, by
// the hash of its content, and since when.
type StablePart struct {
	Hash  string
	Since time.Time
}

const (
	usageSQL = `SELECT count(*)::int AS requests, coalesce(sum(input_tokens), 0)::bigint AS input, coalesce(sum(output_tokens), 0)::bigint AS output,
		coalesce(sum(cache_read_tokens), 0)::bigint AS cache_read, coalesce(sum(cache_write_tokens), 0)::bigint AS cache_write
		FROM usage_records WHERE agent_id = $1::uuid AND inserted_at > now() - make_interval(days => $2::integer)`

	partsSQL = `SELECT hash, inserted_at FROM directive_parts WHERE agent_id = $1::uuid ORDER BY inserted_at DESC LIMIT 10`
)

// UsageOf sums the agent's model calls of the last days.
func UsageOf(ctx context.Context, q pg.Querier, agent id.Participant, days int) (Usage, error) {
	rows, err := q.Query(ctx, usageSQL, agent, days)
	if err != nil {
		return Usage{}, fmt.Errorf("sum usage: %w", err)
	}
	u, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Usage])
	if err != nil {
		return Usage{}, fmt.Errorf("sum usage: %w", err)
	}
	if rows, err = q.Query(ctx, partsSQL, agent); err != nil {
		return Usage{}, fmt.Errorf("list stable parts: %w", err)
	}
	var hash []byte
	var at time.Time
	_, err = pgx.ForEachRow(rows, []any{&hash, &at}, func() error {
		u.Parts = append(u.Parts, StablePart{hex.EncodeToString(hash), at})
		return nil
	})
	if err != nil {
		return Usage{}, fmt.Errorf("list stable parts: %w", err)
	}
	return u, nil
}
