package tool

const (
	insertCallSQL = `INSERT INTO tool_calls (agent_id, person_id, conversation_id, task_id, message_id, tool, outcome, code, args_hash, args_bytes, result_bytes,
			untrusted, approval_id, duration_ms)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`

	markedSQL = `SELECT EXISTS (SELECT 1 FROM tool_calls WHERE untrusted AND agent_id = $1 AND message_id = ANY($2::uuid[]))`

	markedLatelySQL = `SELECT EXISTS (SELECT 1 FROM tool_calls WHERE untrusted AND agent_id = $1 AND conversation_id = $2 AND inserted_at > now() - interval '1 hour')`

	choicesSQL = `SELECT tool, enabled, chosen_by, updated_at AS at FROM agent_tools WHERE agent_id = $1`

	chooseSQL = `INSERT INTO agent_tools (agent_id, tool, enabled, chosen_by) VALUES ($1, $2, $3, $4)
		ON CONFLICT (agent_id, tool) DO UPDATE SET enabled = EXCLUDED.enabled, chosen_by = EXCLUDED.chosen_by, updated_at = now()`

	pruneCallsSQL = `DELETE FROM tool_calls WHERE id = ANY(ARRAY(SELECT c.id FROM tool_calls c WHERE c.inserted_at < now() - make_interval(days => $1)
		ORDER BY c.inserted_at LIMIT $2))`
)
