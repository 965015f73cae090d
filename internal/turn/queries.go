package turn

const queryClaimColumns = `id, agent_id, conversation_id, message_id, inserted_at, executor_id, generation, attempt,
  lease_until, claimed_at, seen_at, answered_at, answer_id, stale_refused, passed_reason`

// queryEnqueue ignores pairs that wait already and pairs whose turn is over. The
// scalar subselect cannot become a join that reads every turn.
const queryEnqueue = `INSERT INTO queued_messages (agent_id, conversation_id, message_id)
SELECT i.agent_id, i.conversation_id, i.message_id
FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS i (agent_id, conversation_id, message_id)
WHERE (SELECT t.id FROM turns t WHERE t.agent_id = i.agent_id AND t.message_id = i.message_id) IS NULL
ON CONFLICT (agent_id, message_id) DO NOTHING`

// queryEnqueueOne is for the usual single item: Postgres keeps its plan, and plans
// the one over lists each time.
const queryEnqueueOne = `INSERT INTO queued_messages (agent_id, conversation_id, message_id) SELECT $1::uuid, $2::uuid, $3::uuid
WHERE (SELECT t.id FROM turns t WHERE t.agent_id = $1::uuid AND t.message_id = $3::uuid) IS NULL
ON CONFLICT (agent_id, message_id) DO NOTHING`

const queryOpenClaim = `SELECT ` + queryClaimColumns + ` FROM queued_messages
WHERE conversation_id = $2 AND agent_id = $1 AND lease_until IS NOT NULL
ORDER BY seq DESC LIMIT 1 FOR UPDATE`

const queryRow = `SELECT ` + queryClaimColumns + ` FROM queued_messages WHERE id = $1`

const queryLockRow = queryRow + ` FOR UPDATE`

// queryLockGroup locks every row of the turn that $1 belongs to, the head last. The
// lease is asked for once more outside: whoever waited for the lock sees it there.
const queryLockGroup = `SELECT ` + queryClaimColumns + ` FROM queued_messages
WHERE lease_until IS NOT NULL AND id IN (SELECT g.id FROM queued_messages g JOIN queued_messages h
    ON g.agent_id = h.agent_id AND g.conversation_id = h.conversation_id
   AND g.executor_id = h.executor_id AND g.claimed_at = h.claimed_at AND g.lease_until IS NOT NULL
  WHERE h.id = $1)
ORDER BY seq FOR UPDATE`

// queryLockOpenGroup locks the rows of the turn that an agent runs in a room.
const queryLockOpenGroup = `SELECT ` + queryClaimColumns + ` FROM queued_messages
WHERE lease_until IS NOT NULL AND id IN (SELECT g.id FROM queued_messages g JOIN queued_messages h
    ON g.agent_id = h.agent_id AND g.conversation_id = h.conversation_id
   AND g.executor_id = h.executor_id AND g.claimed_at = h.claimed_at AND g.lease_until IS NOT NULL
  WHERE h.id = (SELECT o.id FROM queued_messages o WHERE o.conversation_id = $2 AND o.agent_id = $1 AND o.lease_until IS NOT NULL
    ORDER BY o.seq DESC LIMIT 1))
ORDER BY seq FOR UPDATE`

// clauseGroup is the rows of the turn that $1 belongs to, locked in the order of queryLockGroup.
const clauseGroup = ` WHERE lease_until IS NOT NULL AND id = ANY(ARRAY(SELECT g.id FROM queued_messages g JOIN queued_messages h
    ON g.agent_id = h.agent_id AND g.conversation_id = h.conversation_id
   AND g.executor_id = h.executor_id AND g.claimed_at = h.claimed_at AND g.lease_until IS NOT NULL
  WHERE h.id = $1 ORDER BY g.seq FOR UPDATE OF g))`

const queryMarkAnswered = `UPDATE queued_messages SET answered_at = now(), answer_id = $2, seen_at = coalesce(seen_at, now())` + clauseGroup

const queryMarkPassed = `UPDATE queued_messages SET answered_at = coalesce(answered_at, now()), passed_reason = $2, seen_at = coalesce(seen_at, now())` + clauseGroup

const queryMarkStale = `UPDATE queued_messages SET stale_refused = true WHERE id = $1`

const queryHeldBy = `SELECT ` + queryClaimColumns + ` FROM queued_messages
WHERE agent_id = $1 AND executor_id = $2 AND lease_until IS NOT NULL ORDER BY seq FOR UPDATE`

const queryHeldInRoom = `SELECT ` + queryClaimColumns + ` FROM queued_messages
WHERE conversation_id = $1 AND ($2::uuid IS NULL OR agent_id = $2::uuid) ORDER BY seq FOR UPDATE`

const queryWaitingRows = `SELECT ` + queryClaimColumns + ` FROM queued_messages
WHERE message_id = $1 AND lease_until IS NULL ORDER BY seq FOR UPDATE`

const queryOfAgent = `SELECT ` + queryClaimColumns + ` FROM queued_messages
WHERE agent_id = $1 ORDER BY seq LIMIT $2::integer`

// queryUnseen is read once, at start: claims that nobody has confirmed.
const queryUnseen = `SELECT ` + queryClaimColumns + ` FROM queued_messages
WHERE lease_until IS NOT NULL AND seen_at IS NULL AND answered_at IS NULL ORDER BY seq LIMIT $1`

// queryHolders is read once, at start: agents that hold claims.
const queryHolders = `SELECT DISTINCT agent_id FROM queued_messages WHERE lease_until IS NOT NULL`

const queryInFlight = `SELECT count(DISTINCT conversation_id) FROM queued_messages
WHERE agent_id = $1 AND executor_id = $2 AND lease_until IS NOT NULL`

const queryWaitingCount = `SELECT count(*) FROM queued_messages WHERE agent_id = $1 AND lease_until IS NULL`

const queryWaitingInRoom = `SELECT message_id FROM queued_messages
WHERE conversation_id = $2 AND agent_id = $1 AND lease_until IS NULL ORDER BY seq LIMIT 500`

const queryWaiting = `SELECT DISTINCT agent_id FROM queued_messages
WHERE agent_id = ANY($1::uuid[]) AND lease_until IS NULL`

// queryLapsed finds the heads of turns whose lease or whose whole time is over.
const queryLapsed = `SELECT DISTINCT ON (agent_id, conversation_id) ` + queryClaimColumns + ` FROM queued_messages
WHERE agent_id = ANY($1::uuid[]) AND lease_until IS NOT NULL
  AND (lease_until <= now() OR claimed_at + make_interval(secs => $2) <= now())
ORDER BY agent_id, conversation_id, seq DESC LIMIT 1000`

// queryLease tells whether a locked turn is over by the database's clock.
const queryLease = `SELECT coalesce(lease_until <= now() OR claimed_at + make_interval(secs => $2) <= now(), true)
FROM queued_messages WHERE id = $1`

const queryRelease = `UPDATE queued_messages SET lease_until = NULL, executor_id = NULL, claimed_at = NULL, seen_at = NULL,
  stale_refused = false, attempt = greatest(attempt - $2::integer, 0)
WHERE id = ANY($1::uuid[]) AND answered_at IS NULL`

// queryFinish moves rows to turns. $2 is the head: its turn has the id $3; $18 is
// what it was merged into, $19 its message, into which the others are merged.
const queryFinish = `WITH gone AS (
  DELETE FROM queued_messages WHERE id = ANY($1::uuid[])
  RETURNING id, agent_id, conversation_id, message_id, generation, executor_id, attempt, inserted_at, claimed_at
)
INSERT INTO turns (id, agent_id, conversation_id, message_id, queue_id, generation, executor_id, outcome, merged_into, answer_id,
  error_code, error_message, model, backend, attempt, tool_calls, iterations, input_tokens, output_tokens, cache_read_tokens,
  cache_write_tokens, duration_ms, queued_at, started_at)
SELECT CASE WHEN id = $2 THEN $3::uuid ELSE gen_random_uuid() END, agent_id, conversation_id, message_id, id, generation, executor_id,
  CASE WHEN id = $2 THEN $4::text ELSE $5::text END, CASE WHEN id = $2 THEN $18::uuid ELSE $19::uuid END, $6::uuid,
  $7::text, $8::text, $9::text, $10::text, attempt, CASE WHEN id = $2 THEN $11::integer ELSE 0 END, CASE WHEN id = $2 THEN $12::integer ELSE 0 END,
  CASE WHEN id = $2 THEN $13::bigint ELSE 0 END, CASE WHEN id = $2 THEN $14::bigint ELSE 0 END,
  CASE WHEN id = $2 THEN $15::bigint ELSE 0 END, CASE WHEN id = $2 THEN $16::bigint ELSE 0 END,
  coalesce($17::bigint, (extract(epoch FROM now() - claimed_at) * 1000)::bigint), inserted_at, claimed_at
FROM gone
ON CONFLICT (agent_id, message_id) DO NOTHING`

const queryTurnColumns = `id, agent_id, conversation_id, message_id, queue_id, generation, executor_id, outcome, merged_into, answer_id,
  error_code, error_message`

const queryFinished = `SELECT ` + queryTurnColumns + ` FROM turns WHERE queue_id = $1 AND agent_id = $2 LIMIT 1`

// queryReturned finds a row that was claimed once, went back, and was answered late.
const queryReturned = `SELECT ` + queryClaimColumns + ` FROM queued_messages
WHERE conversation_id = $2 AND agent_id = $1 AND lease_until IS NULL AND generation > 0 AND answered_at IS NULL
ORDER BY seq LIMIT 1 FOR UPDATE`

const querySettle = `UPDATE turns SET outcome = $3, answer_id = $4
WHERE agent_id = $1 AND id = (SELECT id FROM turns t WHERE t.agent_id = $1 AND t.conversation_id = $2
    AND t.outcome = 'unanswered' AND t.ended_at > now() - interval '1 hour' ORDER BY t.ended_at DESC LIMIT 1)
RETURNING message_id`

const queryFinishReturned = `WITH gone AS (
  DELETE FROM queued_messages WHERE id = $1 RETURNING id, agent_id, conversation_id, message_id, generation, attempt, inserted_at
)
INSERT INTO turns (id, agent_id, conversation_id, message_id, queue_id, generation, outcome, answer_id, attempt, queued_at)
SELECT gen_random_uuid(), agent_id, conversation_id, message_id, id, generation, $2::text, $3::uuid, attempt, inserted_at FROM gone
ON CONFLICT (agent_id, message_id) DO NOTHING`

const queryUsage = `INSERT INTO usage_records (agent_id, conversation_id, turn_id, model, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, turn)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb)`

const queryFault = `INSERT INTO runtime_faults (agent_id, kind, conversation_id, message_id, detail, meta) VALUES ($1, $2, $3, $4, $5, $6::jsonb)`

const queryToolUses = `INSERT INTO cli_tool_uses (agent_id, conversation_id, name, uses)
SELECT $1, $2, u.name, u.uses FROM unnest($3::text[], $4::integer[]) AS u (name, uses)`

const queryDirective = `INSERT INTO directive_parts (hash, agent_id, body) VALUES (decode($1::text, 'hex'), $2, $3::jsonb) ON CONFLICT (hash) DO NOTHING`

const queryWaitingFor = `SELECT agent_id FROM queued_messages
WHERE conversation_id = $1 AND message_id = $2 AND lease_until IS NULL`

// queryRoomsInWork are the rooms in which the agent is known to work.
const queryRoomsInWork = `SELECT DISTINCT conversation_id FROM queued_messages
WHERE agent_id = $1 AND lease_until IS NOT NULL AND seen_at IS NOT NULL LIMIT 200`

const queryHeads = `SELECT DISTINCT ON (conversation_id) ` + queryClaimColumns + ` FROM queued_messages
WHERE agent_id = $1 AND executor_id = $2 AND lease_until IS NOT NULL ORDER BY conversation_id, seq DESC LIMIT 1000`

// queryBehind finds where a waiting message stands behind a running turn.
const queryBehind = `SELECT DISTINCT w.agent_id, w.id AS queue_id, h.executor_id FROM queued_messages w
JOIN queued_messages h ON h.conversation_id = w.conversation_id AND h.agent_id = w.agent_id AND h.lease_until IS NOT NULL AND h.executor_id IS NOT NULL
WHERE w.conversation_id = $1 AND w.message_id = $2 AND w.lease_until IS NULL`

// queryUsageOf sums what a stock bridge reported since the claim $2: its reports name
// no room, so they are the turn's own only while the agent works in no other.
const queryUsageOf = `SELECT coalesce(sum(input_tokens), 0)::bigint AS input, coalesce(sum(output_tokens), 0)::bigint AS output,
  coalesce(sum(cache_read_tokens), 0)::bigint AS cache_read, coalesce(sum(cache_write_tokens), 0)::bigint AS cache_write
FROM usage_records WHERE agent_id = $1 AND conversation_id IS NULL AND inserted_at >= (SELECT claimed_at FROM queued_messages WHERE id = $2)
  AND (SELECT count(DISTINCT conversation_id) FROM queued_messages WHERE agent_id = $1 AND lease_until IS NOT NULL AND seen_at IS NOT NULL) <= 1`

// querySettleStale covers the room's last unanswered turn by a newer message: $3,
// or the oldest that waits.
const querySettleStale = `UPDATE turns SET outcome = 'merged', merged_into = i.message_id
FROM (SELECT coalesce($3::uuid, (SELECT q.message_id FROM queued_messages q
    WHERE q.conversation_id = $2 AND q.agent_id = $1 AND q.lease_until IS NULL ORDER BY q.seq LIMIT 1)) AS message_id) AS i
WHERE i.message_id IS NOT NULL AND turns.agent_id = $1 AND turns.message_id <> i.message_id
  AND turns.id = (SELECT t.id FROM turns t WHERE t.agent_id = $1 AND t.conversation_id = $2
    AND t.outcome = 'unanswered' AND t.ended_at > now() - interval '1 hour' ORDER BY t.ended_at DESC LIMIT 1)
RETURNING turns.message_id`
