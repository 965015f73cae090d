package pg

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Link says what stands between us and Postgres.
type Link string

// The links. Only the first two keep a session.
const (
	LinkDirect      Link = "direct"
	LinkSession     Link = "session pooler"
	LinkTransaction Link = "transaction pooler"
)

// transactionPoolerPort is where Supabase's poolers listen in transaction mode.
const transactionPoolerPort = 6543

const queryBackend = `SELECT pg_backend_pid()`

// modeIsGiven reports that the address itself names the exec mode.
func modeIsGiven(url string) bool { return strings.Contains(url, "default_query_exec_mode=") }

// detectPooler reports whether a pooler of any kind answers at the address. A
// pooler hands out a cancel key of its own, so the process id in it is not the
// one of the backend that runs the query.
func detectPooler(ctx context.Context, cc *pgx.ConnConfig, cfg Config) (bool, error) {
	if cfg.Link != "" || cc.Port == transactionPoolerPort {
		return cfg.Link != LinkDirect, nil
	}
	probe := cc.Copy()
	probe.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	deadline := time.Now().Add(cfg.WaitTimeout)
	for {
		pooled, err := probeOnce(ctx, probe)
		if err == nil || !isConnectionTrouble(err) {
			return pooled, err
		}
		if ctx.Err() != nil || time.Now().After(deadline) || !sleep(ctx, 20*time.Millisecond) {
			return false, unavailable(err)
		}
	}
}

func probeOnce(ctx context.Context, cc *pgx.ConnConfig) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c, err := pgx.ConnectConfig(ctx, cc)
	if err != nil {
		return false, err
	}
	defer closeConn(ctx, c)
	pid, err := backend(ctx, c)
	return pid != c.PgConn().PID(), err
}

func backend(ctx context.Context, q interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
},
) (pid uint32, err error) {
	err = q.QueryRow(ctx, queryBackend).Scan(&pid)
	return pid, err
}

func closeConn(ctx context.Context, c *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = c.Close(ctx) // the connection is given up either way
}

// FindLink finds out what answers at url. Behind a pooler it holds one backend in
// a transaction and looks whether another connection then moves to a new backend:
// in session mode it never does.
func FindLink(ctx context.Context, url string) (Link, error) {
	cc, err := pgx.ParseConfig(url)
	if err != nil {
		return "", fmt.Errorf("parse database url: %w", redact(err))
	}
	if cc.Port == transactionPoolerPort {
		return LinkTransaction, nil
	}
	cc.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	a, err := pgx.ConnectConfig(ctx, cc)
	if err != nil {
		return "", fmt.Errorf("connect: %w", mapErr(err))
	}
	defer closeConn(ctx, a)
	first, err := backend(ctx, a)
	if err != nil {
		return "", fmt.Errorf("probe: %w", err)
	}
	if first == a.PgConn().PID() {
		return LinkDirect, nil
	}
	moved, err := moves(ctx, cc, a, first)
	if err != nil {
		return "", fmt.Errorf("probe: %w", err)
	}
	if moved {
		return LinkTransaction, nil
	}
	return LinkSession, nil
}

// moves reports whether a's backend changes while others hold theirs.
func moves(ctx context.Context, cc *pgx.ConnConfig, a *pgx.Conn, first uint32) (moved bool, err error) {
	const others = 4
	for range others {
		b, err := pgx.ConnectConfig(ctx, cc)
		if err != nil {
			return false, err
		}
		defer closeConn(ctx, b)
		tx, err := b.Begin(ctx)
		if err != nil {
			return false, err
		}
		defer func() { err = errors.Join(err, tx.Rollback(context.WithoutCancel(ctx))) }()
		if _, err := backend(ctx, tx); err != nil {
			return false, err
		}
		now, err := backend(ctx, a)
		if err != nil || now != first {
			return err == nil, err
		}
	}
	return false, nil
}
