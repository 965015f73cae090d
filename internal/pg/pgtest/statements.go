package pgtest

import (
	"context"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/pg"
)

// Statements are those that a pool sends while they are recorded, BEGIN and COMMIT
// too. A statement of a batch counts like any other; trips are what is waited for.
type Statements struct {
	mu    sync.Mutex
	on    bool
	list  []string
	trips int
}

// Record lets the statements of the pool be recorded.
func Record(into *Statements) Option { return func(c *pg.Config) { c.Tracer = into } }

// Of runs fn and gives what was sent meanwhile, each on one line, in order, and in
// how many round trips.
func (s *Statements) Of(fn func()) (list []string, trips int) {
	s.mu.Lock()
	s.on, s.list, s.trips = true, nil, 0
	s.mu.Unlock()
	fn()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = false
	return s.list, s.trips
}

func (s *Statements) add(sql string, trips int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.on {
		return
	}
	s.trips += trips
	if sql != "" {
		s.list = append(s.list, strings.Join(strings.Fields(sql), " "))
	}
}

// TraceQueryStart implements pgx.QueryTracer.
func (s *Statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	s.add(d.SQL, 1)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (*Statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements pgx.BatchTracer.
func (s *Statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	s.add("", 1)
	for _, q := range d.Batch.QueuedQueries {
		s.add(q.SQL, 0)
	}
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (*Statements) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (*Statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
