package turn

const queryClaimColumns = `id, agent_id, conversation_id, message_id, inserted_at, executor_id, generation, attempt,
  lease_until, claimed_at, seen_at, answered_at, answer_id, stale_refused, passed_reason`

// queryEnqueue ignores pairs that wait already and pairs whose turn is over.
const queryEnqueue = `INSERT INTO queued_messages (agent_id, conversation_id, message_id)
SELECT i.agent_id, i.conversation_id, i.message_id
FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS i (agent_id, conversation_id, message_id)
WHERE NOT EXISTS (SELECT 1 FROM turns t WHERE t.agent_id = i.agent_id AND t.message_id = i.message_id)
ON CONFLICT (agent_id, message_id) DO NOTHING`

const queryOpenClaim = `SELECT ` + queryClaimColumns + ` FROM queued_messages
WHERE conversation_id = $2 AND agent_id = $1 AND lease_until IS NOT NULL
ORDER BY seq DESC LIMIT 1 FOR UPDATE`

const queryRow = `SELECT ` + queryClaimColumns + ` FROM queued_messages WHERE id = $1`

const queryLockRow = queryRow + ` FOR UPDATE`

// queryLockGroup locks every row of the turn that $1 belongs to, the head last.
const queryLockGroup = `SELECT ` + queryClaimColumns + ` FROM queued_messages
WHERE id IN (SELECT g.id FROM queued_messages g JOIN queued_messages h
    ON g.agent_id = h.agent_id AND g.conversation_id = h.conversation_id
   AND g.executor_id = h.executor_id AND g.claimed_at = h.claimed_at AND g.lease_until IS NOT NULL
  WHERE h.id = $1)
ORDER BY seq FOR UPDATE`

const queryMarkAnswered = `UPDATE queued_messages SET answered_at = now(), answer_id = $2, seen_at = coalesce(seen_at, now())
WHERE id = ANY($1::uuid[]) AND lease_until IS NOT NULL`

const queryMarkPassed = `UPDATE queued_messages SET answered_at = coalesce(answered_at, now()), passed_reason = $2, seen_at = coalesce(seen_at, now())
WHERE id = ANY($1::uuid[]) AND lease_until IS NOT NULL`

const queryMarkStale = `UPDATE queued_messages SET stale_refused = true WHERE id = $1`
