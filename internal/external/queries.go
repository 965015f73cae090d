package external

const sessionColumns = `id, agent_id, session_key, tool, state, end_reason, hostname, cwd, branch, repo, model, effort, blocked_on, live, prompts, tool_calls,
  tools, announced, conversation_id, started_at, last_event_at, ended_at`

const (
	sqlMake = `INSERT INTO external_sessions (agent_id, session_key, tool, state) VALUES ($1::uuid, $2::text, $3::text, 'waiting')
ON CONFLICT (agent_id, session_key) DO NOTHING`

	sqlByKey      = `SELECT ` + sessionColumns + ` FROM external_sessions WHERE agent_id = $1::uuid AND session_key = $2::text`
	sqlLockByKey  = sqlByKey + ` FOR UPDATE`
	sqlLock       = `SELECT ` + sessionColumns + ` FROM external_sessions WHERE id = $1::uuid FOR UPDATE`
	sqlLockOfRoom = `SELECT ` + sessionColumns + ` FROM external_sessions WHERE conversation_id = $1::uuid FOR UPDATE`

	sqlSave = `UPDATE external_sessions SET tool = $2::text, state = $3::text, end_reason = $4::text, hostname = $5::text, cwd = $6::text, branch = $7::text,
  repo = $8::text, model = $9::text, effort = $10::text, blocked_on = $11::text, live = $12::bool, prompts = $13::int, tool_calls = $14::int,
  tools = $15::jsonb, announced = $16::bool, conversation_id = $17::uuid, started_at = $18::timestamptz, last_event_at = $19::timestamptz,
  ended_at = $20::timestamptz WHERE id = $1::uuid`

	sqlSilent = `SELECT id FROM external_sessions WHERE state <> 'ended' AND last_event_at < now() - make_interval(secs => $1::float8)
ORDER BY last_event_at LIMIT $2::int`

	sqlLive = `SELECT DISTINCT ON (agent_id) agent_id, hostname FROM external_sessions
WHERE state <> 'ended' AND announced AND ($1::uuid IS NULL OR agent_id = $1::uuid) ORDER BY agent_id, last_event_at DESC`

	sqlAnyLive = `SELECT EXISTS (SELECT 1 FROM external_sessions WHERE agent_id = $1::uuid AND state <> 'ended' AND live)`

	sqlPruneSessions = `DELETE FROM external_sessions WHERE id IN (SELECT id FROM external_sessions
  WHERE state = 'ended' AND ended_at < now() - make_interval(secs => $1::float8) LIMIT 1000)`
	sqlPruneItems = `DELETE FROM inbox_items WHERE (agent_id, message_id) IN (SELECT agent_id, message_id FROM inbox_items
  WHERE read_at < now() - make_interval(secs => $1::float8) LIMIT 1000)`

	sqlDeposit = `INSERT INTO inbox_items (agent_id, message_id, conversation_id) SELECT a, $2::uuid, $3::uuid FROM unnest($1::uuid[]) AS a
ON CONFLICT (agent_id, message_id) DO NOTHING`

	// Whoever waited for the lock sees in the outer condition that the row was read.
	sqlTake = `UPDATE inbox_items i SET read_at = now(), session_id = $3::uuid FROM (
    SELECT l.message_id FROM inbox_items l WHERE l.agent_id = $1::uuid AND l.message_id = ANY($2::uuid[]) AND l.read_at IS NULL
    ORDER BY l.message_id FOR UPDATE) f
WHERE i.agent_id = $1::uuid AND i.message_id = f.message_id AND i.read_at IS NULL RETURNING i.message_id, i.conversation_id`

	// Locked in the order of sqlTake.
	sqlClose = `UPDATE inbox_items i SET read_at = now(), close_reason = $3::text FROM (
    SELECT l.agent_id, l.message_id FROM inbox_items l WHERE l.conversation_id = $1::uuid AND ($2::uuid IS NULL OR l.agent_id = $2::uuid) AND l.read_at IS NULL
    ORDER BY l.agent_id, l.message_id FOR UPDATE) f
WHERE i.agent_id = f.agent_id AND i.message_id = f.message_id AND i.read_at IS NULL RETURNING i.message_id`
)

const inviteColumns = `id, created_by, agent_id, display_name, description, capabilities, code_hash, max_uses, uses, expires_at, revoked_at, last_used_at,
  inserted_at, clock_timestamp() AS now`

const (
	sqlInsertInvite = `INSERT INTO agent_invites (created_by, agent_id, display_name, description, capabilities, code_prefix, code_hash, max_uses, expires_at)
VALUES ($1::uuid, $2::uuid, $3::text, $4::text, $5::text[], $6::text, $7::bytea, $8::int, now() + make_interval(hours => $9::int)) RETURNING ` + inviteColumns

	sqlInviteByPrefix = `SELECT ` + inviteColumns + ` FROM agent_invites WHERE code_prefix = $1::text`
	sqlLockInvite     = sqlInviteByPrefix + ` FOR UPDATE`

	sqlUseInvite    = `UPDATE agent_invites SET uses = uses + 1, last_used_at = now() WHERE id = $1::uuid`
	sqlRevokeInvite = `UPDATE agent_invites SET revoked_at = coalesce(revoked_at, now()) WHERE id = $1::uuid AND created_by = $2::uuid`
	sqlInvites      = `SELECT ` + inviteColumns + ` FROM agent_invites WHERE created_by = $1::uuid ORDER BY inserted_at DESC, id LIMIT $2::int`
	sqlCountInvites = `SELECT count(*) FROM agent_invites WHERE created_by = $1::uuid AND revoked_at IS NULL AND uses < max_uses AND expires_at > now()`
)
