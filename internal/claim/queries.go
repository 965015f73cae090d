package claim

import (
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// The statements are templates over {table}, {room} and {columns}. Three
// rules keep their plans fast however the table grows (design: infra A3):
//   - rows to lock are found by (agent, seq), never in the order of the primary key,
//     which would walk past every row;
//   - they reach the UPDATE as = ANY(ARRAY(…)), which runs once and is an index scan
//     also in a generic plan; a join or IN (…) is neither;
//   - LIMIT is a literal: for a parameter the planner assumes a tenth of the table.
//
// The oldest row is asked for by a scalar subselect because the planner cannot turn
// that into a join over the whole table, as it may with NOT EXISTS; and by <= though
// = would do, because the planner thinks = so rare that it reads all rows of the
// agent and sorts them instead of walking in order and stopping at the LIMIT.
const (
	queryClaim = `UPDATE {table} AS q
SET lease_until = now() + make_interval(secs => $3::float8), claimed_at = now(), seen_at = NULL,
    generation = q.generation + 1, attempt = q.attempt + 1, executor_id = $2::uuid
WHERE q.id = ANY(ARRAY(
    SELECT c.id FROM {table} AS c
    WHERE c.agent_id = $1::uuid AND c.lease_until IS NULL{bound}{oldest}{barred}
    ORDER BY c.seq LIMIT {limit} FOR UPDATE SKIP LOCKED))
RETURNING {columns}`

	clauseOldest = `
      AND c.seq <= (SELECT min(o.seq) FROM {table} AS o WHERE o.{room} = c.{room} AND o.agent_id = c.agent_id)`

	clauseBound = ` AND (c.{only} IS NULL OR c.{only} = $2::uuid)`

	queryMerge = `UPDATE {table} AS q
SET lease_until = now() + make_interval(secs => $3::float8), claimed_at = now(), seen_at = NULL,
    generation = q.generation + 1, attempt = q.attempt + 1, executor_id = $2::uuid
WHERE q.id = ANY(ARRAY(
    SELECT c.id FROM {table} AS c
    WHERE c.{room} = ANY($4::uuid[]) AND c.agent_id = $1::uuid AND c.lease_until IS NULL{bound}
    ORDER BY c.seq LIMIT 200 FOR UPDATE SKIP LOCKED))
RETURNING {columns}`

	// Statements over several rows lock them in the order of id before they change
	// any, so that two of them never wait for each other.
	clauseWhere    = ` WHERE q.id = ANY(ARRAY(SELECT c.id FROM {table} AS c WHERE `
	clauseInOrder  = ` ORDER BY c.id FOR UPDATE)) RETURNING {columns}`
	clauseHeldMany = clauseWhere + `c.id = ANY($1::uuid[]) AND c.executor_id = $2::uuid AND c.lease_until IS NOT NULL
    AND ($3::bigint[])[array_position($1::uuid[], c.id)] IN (0, c.generation)` + clauseInOrder

	queryExtend = `UPDATE {table} AS q
SET lease_until = LEAST(now() + make_interval(secs => $4::float8), q.claimed_at + make_interval(secs => $5::float8)),
    seen_at = COALESCE(q.seen_at, now())` + clauseHeldMany

	// A claim is held by its executor and, when the caller names one, in its generation.
	queryHold = `SELECT {columns} FROM {table} AS q
WHERE q.id = $1::uuid AND q.executor_id = $2::uuid AND q.lease_until IS NOT NULL AND $3::bigint IN (0, q.generation) FOR UPDATE`

	queryRemove = `DELETE FROM {table} AS q` + clauseWhere + `c.id = ANY($1::uuid[])` + clauseInOrder

	// An answered row is not opened: its lease ends and its executor stays, so that a late ack finds it.
	queryOpen = `UPDATE {table} AS q
SET lease_until = CASE WHEN q.answered_at IS NULL THEN NULL ELSE LEAST(q.lease_until, now()) END,
    executor_id = CASE WHEN q.answered_at IS NULL THEN NULL ELSE q.executor_id END,
    claimed_at = CASE WHEN q.answered_at IS NULL THEN NULL ELSE q.claimed_at END`

	queryRelease          = queryOpen + clauseHeldMany
	queryReleaseAllUnseen = queryOpen + clauseWhere + `c.lease_until IS NOT NULL AND c.seen_at IS NULL` + clauseInOrder
	queryReopen           = queryOpen + clauseWhere + `c.id = ANY($1::uuid[]) AND c.lease_until IS NOT NULL` + clauseInOrder

	queryExpire = `SELECT {columns} FROM {table} AS q WHERE q.lease_until <= now()
ORDER BY q.lease_until LIMIT 200 FOR UPDATE SKIP LOCKED`

	queryClaims = `SELECT {columns} FROM {table} AS q
WHERE q.agent_id = $1::uuid AND q.executor_id = $2::uuid AND q.lease_until IS NOT NULL ORDER BY q.seq LIMIT 500`
)

type statements struct {
	claim                                             [MaxBatch + 1]string
	merge, extend, hold, remove                       string
	release, releaseAllUnseen, reopen, expire, claims string
}

func build(t Table) statements {
	name := func(s string) string { return pgx.Identifier{s}.Sanitize() }
	columns := []string{"q.id", "q.seq", "q.agent_id", "q.conversation_id", "q.generation", "q.attempt",
		"q.executor_id", "q.inserted_at", "q.lease_until", "q.claimed_at", "q.seen_at", "q.answered_at"}
	oldest, room := clauseOldest, "conversation_id"
	if t.NoConversations {
		columns[3], oldest, room = "NULL::uuid AS conversation_id", "", "id"
	}
	for _, c := range t.Payload {
		columns = append(columns, "q."+name(c))
	}
	bound := ""
	if t.BoundColumn != "" {
		bound = strings.ReplaceAll(clauseBound, "{only}", name(t.BoundColumn))
	}
	barred := ""
	if t.Barred != "" {
		barred = " AND NOT " + t.Barred
	}
	fill := strings.NewReplacer("{barred}", barred, "{table}", name(t.Name), "{room}", room, "{bound}", bound, "{columns}", strings.Join(columns, ", ")).Replace
	s := statements{
		merge: fill(queryMerge), extend: fill(queryExtend), hold: fill(queryHold), remove: fill(queryRemove), release: fill(queryRelease),
		releaseAllUnseen: fill(queryReleaseAllUnseen), reopen: fill(queryReopen), expire: fill(queryExpire), claims: fill(queryClaims),
	}
	for n := 1; n <= MaxBatch; n++ {
		s.claim[n] = fill(strings.Replace(strings.Replace(queryClaim, "{oldest}", oldest, 1), "{limit}", strconv.Itoa(n), 1))
	}
	return s
}

// All lists every statement, for the test that plans them against the schema.
func (q *Queue[T]) All() []string {
	s := q.sql
	return []string{s.claim[1], s.claim[MaxBatch], s.merge, s.extend, s.hold, s.remove, s.release, s.releaseAllUnseen, s.reopen, s.expire, s.claims}
}
