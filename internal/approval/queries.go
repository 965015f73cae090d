package approval

const columns = `id, organization_id, agent_id, conversation_id, task_id, source, tool_name, action, action_hash, edited_action, edited_hash,
  description, reason, risk, scope_kind, scope_facet, approvers, status, decided_by, decided_at, decision_scope, decision_text, grant_id,
  durable, executor_id, run_id, tool_use_id, resume, used_at, use_key, told_at, told_executor_id, told_queue_id, told_generation, told_outcome,
  expires_at, inserted_at, deciders_needed, proposed_action, proposed_hash, turn_queue_id, turn_generation, (status = 'pending' AND expires_at <= clock_timestamp()) AS overdue`

const (
	queryInsert = `INSERT INTO approvals (id, organization_id, agent_id, conversation_id, task_id, source, tool_name, action, action_hash, description, reason, risk,
  scope_kind, scope_facet, approvers, status, grant_id, decided_at, used_at, durable, executor_id, run_id, tool_use_id, resume, expires_at, deciders_needed, turn_queue_id, turn_generation)
VALUES ($1::uuid, $2::uuid, $3::uuid, $4::uuid, $5::uuid, $6::text, $7::text, $8::text, $9::text, $10::text, $11::text, $12::text, $13::text, $14::text, $15::uuid[],
  CASE WHEN $16::uuid IS NULL THEN 'pending' ELSE 'approved' END, $16::uuid, CASE WHEN $16::uuid IS NOT NULL THEN now() END, NULL,
  $17::bool, $18::uuid, $19::text, $20::text, $21::text, now() + make_interval(secs => $22::float8), $23::integer, $24::uuid, $25::bigint)
RETURNING ` + columns

	queryOne  = `SELECT ` + columns + ` FROM approvals WHERE id = $1::uuid`
	queryLock = queryOne + ` FOR UPDATE`

	queryOpenOfRun = `SELECT ` + columns + ` FROM approvals WHERE agent_id = $1::uuid AND run_id = $2::text AND status = 'pending' FOR UPDATE`

	// The newest request for the same call of the same run.
	queryOfCall = `SELECT ` + columns + ` FROM approvals
WHERE agent_id = $1::uuid AND run_id = $2::text AND tool_use_id IS NOT DISTINCT FROM $3::text AND action_hash = $4::text
ORDER BY inserted_at DESC LIMIT 1 FOR UPDATE`

	// Of earlier claims of the same delivery: what is open, and what was decided and has reached nobody.
	queryOrphans = `SELECT ` + columns + ` FROM approvals
WHERE turn_queue_id = $1::uuid AND turn_generation < $2::bigint AND agent_id = $3::uuid AND durable
  AND (status = 'pending' OR (told_at IS NULL AND status IN ('approved', 'edited', 'denied', 'expired') AND grant_id IS NULL))
ORDER BY inserted_at DESC, id LIMIT 100 FOR UPDATE`

	// What a polling bridge, or a tool of the server, asked before for the same action at the same place.
	querySame = `SELECT ` + columns + ` FROM approvals
WHERE agent_id = $1::uuid AND action_hash = $2::text AND source = $3::text AND NOT durable
  AND conversation_id IS NOT DISTINCT FROM $4::uuid AND task_id IS NOT DISTINCT FROM $5::uuid
  AND (status = 'pending' OR (status = 'approved' AND used_at IS NULL AND decided_at > now() - make_interval(secs => $6::float8)))
ORDER BY inserted_at DESC LIMIT 20 FOR UPDATE`

	queryCountOpen = `SELECT count(*) FROM approvals WHERE agent_id = $1::uuid AND status = 'pending' AND expires_at > now()`

	queryAct = `UPDATE approvals SET status = $2::text, decided_by = $3::uuid, decided_at = now(), decision_scope = $4::text, decision_text = $5::text,
  grant_id = $6::uuid, edited_action = $7::text, edited_hash = $8::text
WHERE id = $1::uuid AND status = $9::text AND ($2::text NOT IN ('approved', 'edited', 'denied') OR expires_at > clock_timestamp()) RETURNING ` + columns

	queryUse = `UPDATE approvals SET used_at = now(), use_key = $2::text WHERE id = $1::uuid AND used_at IS NULL RETURNING ` + columns

	queryDue = `SELECT ` + columns + ` FROM approvals WHERE status = 'pending' AND expires_at <= clock_timestamp() ORDER BY expires_at LIMIT $1::int`

	queryOpenOfRoom = `SELECT ` + columns + ` FROM approvals
WHERE conversation_id = $1::uuid AND ($2::uuid IS NULL OR agent_id = $2::uuid) AND status = 'pending' ORDER BY id LIMIT 500 FOR UPDATE`

	queryOpenOfTask = `SELECT ` + columns + ` FROM approvals WHERE task_id = $1::uuid AND durable AND status = 'pending' ORDER BY inserted_at DESC, id LIMIT 500 FOR UPDATE`

	queryOpenOfAgent = `SELECT ` + columns + ` FROM approvals WHERE agent_id = $1::uuid AND status = 'pending' ORDER BY id LIMIT 500 FOR UPDATE`
)

const (
	queryTold = `UPDATE approvals SET told_at = now(), told_executor_id = $2::uuid, told_queue_id = $3::uuid, told_generation = $4::bigint, told_outcome = $5::text
WHERE id = $1::uuid AND told_at IS NULL`

	queryByQueue = `SELECT ` + columns + ` FROM approvals WHERE told_queue_id = $1::uuid AND agent_id = $2::uuid`

	queryEnqueue = `INSERT INTO queued_approvals (agent_id, approval_id, bound_executor_id) VALUES ($1::uuid, $2::uuid, $3::uuid) ON CONFLICT (approval_id) DO NOTHING`

	queryInFlight = `SELECT count(*) FROM queued_approvals WHERE agent_id = $1::uuid AND executor_id = $2::uuid AND lease_until IS NOT NULL`

	queryWaiting = `SELECT DISTINCT agent_id FROM queued_approvals WHERE agent_id = ANY($1::uuid[]) AND lease_until IS NULL`

	queryRowAgent = `SELECT agent_id FROM queued_approvals WHERE id = $1::uuid`

	queryRoomsInWork = `SELECT DISTINCT a.conversation_id FROM queued_approvals q JOIN approvals a ON a.id = q.approval_id
WHERE q.agent_id = $1::uuid AND q.lease_until IS NOT NULL AND q.seen_at IS NOT NULL AND a.conversation_id IS NOT NULL LIMIT 200`

	queryRowsOfRoom = `SELECT q.id FROM queued_approvals q WHERE q.approval_id IN (
    SELECT a.id FROM approvals a WHERE a.conversation_id = $1::uuid AND a.durable AND a.told_at IS NULL AND ($2::uuid IS NULL OR a.agent_id = $2::uuid))`

	// Whether a decision of the task's run waits for its bridge, or has reached it.
	queryRunOfTask = `SELECT count(*) > 0 AS queued, coalesce(bool_or(q.lease_until IS NOT NULL), false) AS held
FROM queued_approvals q WHERE q.approval_id IN (SELECT a.id FROM approvals a WHERE a.task_id = $1::uuid AND a.durable)`

	queryRowsOfTask = `SELECT q.id FROM queued_approvals q WHERE q.approval_id IN (SELECT a.id FROM approvals a WHERE a.task_id = $1::uuid AND a.durable)`

	queryRowOfApproval = `SELECT q.id FROM queued_approvals q WHERE q.approval_id = $1::uuid AND q.lease_until IS NULL`

	queryUnblame = `UPDATE queued_approvals SET attempt = greatest(attempt - 1, 0) WHERE id = ANY($1::uuid[])`

	queryRemoveOf = `DELETE FROM queued_approvals WHERE agent_id = $1::uuid`
)

const grantColumns = `id, agent_id, granted_by, tool_name, kind, facet, action_hash, conversation_id, uses, last_used_at, expires_at, revoked_at, inserted_at`

const (
	queryGrant = `INSERT INTO approval_grants (id, agent_id, granted_by, tool_name, kind, facet, action_hash, conversation_id, expires_at)
VALUES ($1::uuid, $2::uuid, $3::uuid, $4::text, $5::text, $6::text, $7::text, $8::uuid, now() + make_interval(secs => $9::float8)) RETURNING ` + grantColumns

	queryGrantsFor = `SELECT ` + grantColumns + ` FROM approval_grants
WHERE agent_id = $1::uuid AND tool_name = $2::text AND granted_by = ANY($3::uuid[]) AND revoked_at IS NULL AND expires_at > clock_timestamp()
  AND (conversation_id IS NULL OR conversation_id = $4::uuid) ORDER BY inserted_at, id LIMIT 500`

	queryCountGrants = `SELECT count(*) FROM approval_grants WHERE agent_id = $1::uuid AND revoked_at IS NULL AND expires_at > now()`

	queryUseGrant = `UPDATE approval_grants SET uses = uses + 1, last_used_at = now() WHERE id = $1::uuid AND revoked_at IS NULL AND expires_at > clock_timestamp()`

	queryRevoke = `UPDATE approval_grants SET revoked_at = now() WHERE id = $1::uuid AND granted_by = $2::uuid AND revoked_at IS NULL`

	queryRevokeAll = `UPDATE approval_grants SET revoked_at = now() WHERE agent_id = $1::uuid AND revoked_at IS NULL`
)

const requestColumns = `id, organization_id, agent_id, owner_id, conversation_id, task_id, label, reason, endpoint, auth_mode, auth_header, status, credential_id,
  fingerprint, resolved_at, last_used_at, uses, expires_at, inserted_at, (status = 'pending' AND expires_at <= clock_timestamp()) AS overdue`

const (
	queryAskCredential = `INSERT INTO credential_requests (id, organization_id, agent_id, owner_id, conversation_id, task_id, label, reason, endpoint, auth_mode, auth_header, expires_at)
VALUES ($1::uuid, $2::uuid, $3::uuid, $4::uuid, $5::uuid, $6::uuid, $7::text, $8::text, $9::text, $10::text, $11::text, now() + make_interval(secs => $12::float8))
RETURNING ` + requestColumns

	queryLockCredential = `SELECT ` + requestColumns + ` FROM credential_requests WHERE id = $1::uuid FOR UPDATE`

	queryCountCredentials = `SELECT count(*) FROM credential_requests WHERE agent_id = $1::uuid AND status = 'pending' AND expires_at > now()`

	queryResolveCredential = `UPDATE credential_requests SET status = $2::text, credential_id = $3::uuid, sealed = $4::bytea, fingerprint = $5::text, resolved_at = now()
WHERE id = $1::uuid AND status = 'pending' AND ($2::text = 'expired' OR expires_at > clock_timestamp()) RETURNING ` + requestColumns

	queryDueCredentials = `SELECT ` + requestColumns + ` FROM credential_requests WHERE status = 'pending' AND expires_at <= clock_timestamp() ORDER BY expires_at LIMIT $1::int FOR UPDATE`

	querySealedCredential = `UPDATE credential_requests SET uses = uses + 1, last_used_at = now()
WHERE credential_id = $1::uuid AND agent_id = $2::uuid AND status = 'fulfilled' AND sealed IS NOT NULL RETURNING id, sealed, endpoint, auth_mode, auth_header`

	queryForgetCredential = `UPDATE credential_requests SET sealed = NULL WHERE id = $1::uuid AND owner_id = $2::uuid AND status = 'fulfilled' AND sealed IS NOT NULL`

	queryForgetCredentials = `UPDATE credential_requests SET sealed = NULL WHERE agent_id = $1::uuid AND sealed IS NOT NULL`
)

const (
	querySetRule = `INSERT INTO approval_rules (organization_id, agent_id, least_risk, deciders, set_by) VALUES ($1::uuid, $2::uuid, $3::text, $4::uuid[], $5::uuid)`

	queryDropRule = `DELETE FROM approval_rules WHERE agent_id = $1::uuid OR organization_id = $2::uuid`

	queryRules = `SELECT least_risk, deciders, set_by, updated_at FROM approval_rules WHERE agent_id = $1::uuid OR organization_id = $2::uuid ORDER BY id`

	queryVote = `INSERT INTO approval_votes (approval_id, person_id, action_hash) VALUES ($1::uuid, $2::uuid, $3::text)
ON CONFLICT (approval_id, person_id) DO UPDATE SET action_hash = excluded.action_hash, inserted_at = now()`

	queryVotes = `SELECT count(*) FROM approval_votes WHERE approval_id = $1::uuid AND action_hash = $2::text`

	queryForgetVotes = `DELETE FROM approval_votes WHERE approval_id = $1::uuid`

	queryPropose = `UPDATE approvals SET proposed_action = $2::text, proposed_hash = $3::text WHERE id = $1::uuid AND status = 'pending' RETURNING ` + columns
)

const memberColumns = `id, organization_id, conversation_id, agent_id, participant_id, task_id, reason, approvers, status, decided_by, decided_at, expires_at, inserted_at,
  (status = 'pending' AND expires_at <= clock_timestamp()) AS overdue`

const (
	queryAskMember = `INSERT INTO member_requests (id, organization_id, conversation_id, agent_id, participant_id, task_id, reason, approvers, expires_at)
VALUES ($1::uuid, $2::uuid, $3::uuid, $4::uuid, $5::uuid, $6::uuid, $7::text, $8::uuid[], now() + make_interval(secs => $9::float8))
ON CONFLICT (conversation_id, participant_id) WHERE status = 'pending' DO NOTHING RETURNING ` + memberColumns

	queryMember = `SELECT ` + memberColumns + ` FROM member_requests WHERE id = $1::uuid`

	queryCountMembers = `SELECT count(*) FROM member_requests WHERE agent_id = $1::uuid AND status = 'pending'`

	queryDecideMember = `UPDATE member_requests SET status = $2::text, decided_by = $3::uuid, decided_at = now()
WHERE id = $1::uuid AND status = 'pending' AND expires_at > clock_timestamp() RETURNING ` + memberColumns

	queryExpireMembers = `UPDATE member_requests SET status = 'expired', decided_at = now()
WHERE id IN (SELECT m.id FROM member_requests m WHERE m.status = 'pending' AND m.expires_at <= clock_timestamp() ORDER BY m.expires_at LIMIT $1::int) AND status = 'pending'
RETURNING ` + memberColumns
)
