package ask

const askColumns = `id, task_id, agent_id, conversation_id, message_id, asked, question, options, field, default_value, status, answer, answered_by,
	expires_at, ended_at, inserted_at, approval_id`

const (
	sqlInsert = `INSERT INTO asks (id, task_id, agent_id, conversation_id, message_id, asked, question, options, field, default_value, expires_at, approval_id)
		VALUES ($1, $2, $3, $4, $5, $6::uuid[], $7, $8::jsonb, $9::text, $10::text, $11::timestamptz, $12)`

	sqlGet = `SELECT ` + askColumns + ` FROM asks WHERE id = $1`

	sqlOpenOf = `SELECT ` + askColumns + ` FROM asks WHERE task_id = $1 AND status = 'open'`

	sqlOfTask = `SELECT ` + askColumns + ` FROM asks WHERE task_id = $1 ORDER BY inserted_at LIMIT 200`

	sqlOpenIn = `SELECT ` + askColumns + ` FROM asks WHERE conversation_id = $1 AND status = 'open' AND approval_id IS NULL AND asked @> ARRAY[$2::uuid] ORDER BY inserted_at LIMIT 50`

	sqlDue = `SELECT ` + askColumns + ` FROM asks WHERE status = 'open' AND approval_id IS NULL AND expires_at <= now() ORDER BY expires_at LIMIT 200`

	sqlClose = `UPDATE asks SET status = $2, answer = $3::text, answered_by = $4, ended_at = now() WHERE id = $1 AND status = 'open' AND approval_id IS NULL`
)

const queryColumns = `id, agent_id, task_id, label, system_prompt, user_content, max_tokens, tier, status, executor_id, answer, error, model, expires_at`

const (
	sqlInsertQuery = `INSERT INTO agent_queries (id, agent_id, task_id, label, system_prompt, user_content, max_tokens, tier, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7::integer, $8::text, $9::timestamptz)`

	sqlClaimQueries = `UPDATE agent_queries SET status = 'claimed', executor_id = $2, claimed_at = now()
		WHERE agent_id = $1 AND status = 'pending' AND expires_at > now() RETURNING ` + queryColumns

	sqlCountQueries = `SELECT count(*) FROM agent_queries WHERE agent_id = $1 AND status = 'pending'`

	sqlLockQuery = `SELECT ` + queryColumns + ` FROM agent_queries WHERE id = $1 FOR UPDATE`

	sqlAnswerQuery = `UPDATE agent_queries SET status = 'answered', answer = $2, model = $3::text, usage = $4::jsonb, ended_at = now()
		WHERE id = $1 AND status = 'claimed'`

	sqlFailQuery = `UPDATE agent_queries SET status = 'failed', error = $2, model = $3::text, ended_at = now() WHERE id = $1 AND status = 'claimed'`

	sqlExpireQueries = `UPDATE agent_queries SET status = 'expired', ended_at = now() WHERE status IN ('pending', 'claimed') AND expires_at <= now()`

	// A socket that took it and ended gives it back once: nobody else will answer.
	sqlReturnQueries = `UPDATE agent_queries SET status = 'pending', executor_id = NULL, claimed_at = NULL
		WHERE agent_id = $1 AND executor_id = $2 AND status = 'claimed' AND expires_at > now()`
)

const scopeColumns = `id, requester_id, agent_id, conversation_id, content, request_context, status, executor_id, title, description, scope_message, expires_at`

const (
	sqlInsertScope = `INSERT INTO scope_requests (id, requester_id, agent_id, conversation_id, content, request_context, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6::jsonb, $7::timestamptz)`

	sqlClaimScopes = `UPDATE scope_requests SET status = 'claimed', executor_id = $2, claimed_at = now()
		WHERE agent_id = $1 AND status = 'pending' AND expires_at > now() RETURNING ` + scopeColumns

	sqlCountScopes = `SELECT count(*) FROM scope_requests WHERE agent_id = $1 AND status = 'pending'`

	sqlGetScopes = `SELECT ` + scopeColumns + ` FROM scope_requests WHERE id = ANY($1::uuid[])`

	sqlRespondScope = `UPDATE scope_requests SET status = 'responded', title = $3, description = $4, scope_message = $5::text, ended_at = now()
		WHERE id = $1 AND agent_id = $2 AND status IN ('pending', 'claimed') AND expires_at > now()`

	sqlExpireScopes = `UPDATE scope_requests SET status = 'expired', ended_at = now() WHERE status IN ('pending', 'claimed') AND expires_at <= now()`

	sqlReturnScopes = `UPDATE scope_requests SET status = 'pending', executor_id = NULL, claimed_at = NULL
		WHERE agent_id = $1 AND executor_id = $2 AND status = 'claimed' AND expires_at > now()`
)
