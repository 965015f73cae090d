package task

const taskColumns = `t.id, t.organization_id, t.conversation_id, t.work_conversation_id, t.source_message_id, t.card_message_id, t.created_by, t.requester_id,
	t.parent_task_id, t.root_task_id, t.depth, t.title, t.description, t.source, t.fan_out, t.status, t.priority, t.version, t.metadata,
	t.depends_on, t.deadline, t.join_mode, t.join_count, t.join_until, t.join_fired_at, t.response, t.summary, t.result_data,
	t.completion_details, t.end_kind, t.failure_code, t.failure_origin, t.failure_message, t.attempt, t.retry_at, t.retry_of, t.wake_note,
	t.executor_id, t.started_at, t.ended_at, t.inserted_at, t.updated_at,
	ARRAY(SELECT a.participant_id FROM task_assignees a WHERE a.task_id = t.id ORDER BY a.position) AS assigned_to`

const (
	sqlInsert = `INSERT INTO tasks (id, organization_id, conversation_id, work_conversation_id, source_message_id, created_by, requester_id,
			parent_task_id, root_task_id, depth, title, description, source, fan_out, status, priority, metadata, depends_on, deadline,
			join_mode, retry_of, wake_note)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::integer, $11, $12, $13, $14::boolean, $15, $16::integer, $17::jsonb, $18::uuid[],
			$19::timestamptz, $20::text, $21, $22::text)`

	sqlAssign = `INSERT INTO task_assignees (task_id, participant_id, position)
		SELECT $1, a.id, a.n FROM unnest($2::uuid[]) WITH ORDINALITY AS a (id, n) ON CONFLICT DO NOTHING`

	sqlUnassign = `DELETE FROM task_assignees WHERE task_id = $1`

	sqlGet = `SELECT ` + taskColumns + ` FROM tasks t WHERE t.id = $1`

	sqlLock = sqlGet + ` FOR UPDATE OF t`

	sqlMove = `UPDATE tasks SET status = $2, version = version + 1, updated_at = now(),
			started_at = CASE WHEN $2 IN ('accepted', 'in_progress') THEN coalesce(started_at, now()) ELSE started_at END,
			ended_at = CASE WHEN $3::text IS NULL THEN NULL ELSE now() END, end_kind = $3::text,
			failure_code = $4::text, failure_origin = $5::text, failure_message = $6::text,
			response = coalesce($7::text, response), summary = coalesce($8::text, summary), result_data = coalesce($9::jsonb, result_data),
			completion_details = coalesce($10::jsonb, completion_details), attempt = $11::integer, retry_at = $12::timestamptz,
			wake_note = $13::text, executor_id = $14
		WHERE id = $1 RETURNING version, updated_at, started_at, ended_at`

	sqlEvent = `INSERT INTO task_events (task_id, version, kind, from_status, to_status, actor_id, note)
		VALUES ($1, $2::bigint, $3, $4::text, $5::text, $6, $7::text)`

	sqlEvents = `SELECT id, task_id, version, kind, from_status, to_status, actor_id, note, inserted_at FROM task_events
		WHERE task_id = $1 AND ($2::bigint = 0 OR id < $2::bigint) ORDER BY id DESC LIMIT $3::integer`

	sqlEdit = `UPDATE tasks SET title = $2, description = $3, priority = $4::integer, deadline = $5::timestamptz, version = version + 1, updated_at = now()
		WHERE id = $1 RETURNING version, updated_at`

	sqlJoin = `UPDATE tasks SET join_mode = $2::text, join_count = $3::integer, join_until = $4::timestamptz, join_fired_at = NULL WHERE id = $1`

	sqlCard = `UPDATE tasks SET card_message_id = $2 WHERE id = $1`

	sqlFired = `UPDATE tasks SET join_fired_at = clock_timestamp() WHERE id = $1 RETURNING join_fired_at`

	sqlChildren = `SELECT ` + taskColumns + ` FROM tasks t WHERE t.parent_task_id = $1 ORDER BY t.inserted_at, t.id LIMIT 200`

	sqlDependencies = `SELECT ` + taskColumns + ` FROM tasks t WHERE t.id = ANY($1::uuid[])`

	// sqlDuplicate finds an open task with the same words that the same one asked for in the same room.
	sqlDuplicate = `SELECT ` + taskColumns + ` FROM tasks t WHERE t.conversation_id = $1 AND t.created_by = $2 AND t.end_kind IS NULL
			AND lower(btrim(t.title)) = lower(btrim($3::text)) AND t.description = $4::text AND t.parent_task_id IS NOT DISTINCT FROM $5
			AND t.inserted_at > now() - interval '1 hour'
			AND ARRAY(SELECT a.participant_id FROM task_assignees a WHERE a.task_id = t.id ORDER BY a.position) = $6::uuid[]
		ORDER BY t.inserted_at LIMIT 1`

	// sqlDue is what has to be looked at without anybody calling: each branch reads a small partial index.
	sqlDue = `SELECT 'join' AS why, t.id FROM tasks t WHERE t.join_mode IS NOT NULL AND t.join_fired_at IS NULL AND t.end_kind IS NULL
			AND (t.fan_out OR t.status = 'waiting')
			AND ((t.join_until <= now() AND t.join_until IS NOT NULL)
				OR (SELECT count(*) FILTER (WHERE c.end_kind IS NOT NULL) >= CASE t.join_mode WHEN 'all' THEN count(*) WHEN 'any' THEN least(count(*), 1)
					ELSE least(count(*), coalesce(t.join_count, 1)) END FROM tasks c WHERE c.parent_task_id = t.id))
		UNION ALL
		SELECT 'retry', t.id FROM tasks t WHERE t.retry_at <= now() AND t.end_kind IS NULL
		UNION ALL
		SELECT 'ready', t.id FROM tasks t WHERE t.status = 'pending' AND t.depends_on <> '{}'
			AND NOT EXISTS (SELECT 1 FROM queued_tasks q WHERE q.task_id = t.id)
			AND NOT EXISTS (SELECT 1 FROM tasks d WHERE d.id = ANY(t.depends_on) AND d.end_kind IS NULL)
		UNION ALL
		SELECT 'orphan', p.id FROM tasks p WHERE p.end_kind IS NOT NULL
			AND p.id IN (SELECT c.parent_task_id FROM tasks c WHERE c.parent_task_id IS NOT NULL AND c.end_kind IS NULL)
		LIMIT 500`

	// sqlOrphans are open sub-tasks whose parent has ended: nobody waits for them.
	sqlOrphans = `SELECT c.id FROM tasks c JOIN tasks p ON p.id = c.parent_task_id
		WHERE c.parent_task_id = $1 AND c.end_kind IS NULL AND p.end_kind IS NOT NULL`

	sqlDependents = `SELECT t.id FROM tasks t WHERE t.status = 'pending' AND t.depends_on @> ARRAY[$1::uuid] LIMIT 500`

	sqlOpenOf = `SELECT t.id FROM task_assignees a JOIN tasks t ON t.id = a.task_id
		WHERE a.participant_id = $1 AND t.end_kind IS NULL ORDER BY t.inserted_at LIMIT $2::integer`

	sqlInWorkRoom = `SELECT ` + taskColumns + ` FROM tasks t WHERE t.work_conversation_id = $1 AND t.end_kind IS NULL
		AND EXISTS (SELECT 1 FROM task_assignees a WHERE a.task_id = t.id AND a.participant_id = $2)
		ORDER BY (t.status IN ('accepted', 'in_progress')) DESC, t.updated_at DESC LIMIT 1`
)

const (
	sqlSteps = `SELECT task_id, key, position, title, prompt, depends_on, status, result, started_at, ended_at FROM task_steps
		WHERE task_id = $1 ORDER BY position, key`

	sqlAddStep = `INSERT INTO task_steps (task_id, key, position, title, prompt, depends_on)
		SELECT $1, $2, coalesce((SELECT max(s.position) FROM task_steps s WHERE s.task_id = $1), 0) + 1, $3, $4, $5::text[]
		ON CONFLICT (task_id, key) DO NOTHING`

	sqlReopenSteps = `UPDATE task_steps SET status = 'pending', started_at = NULL WHERE task_id = $1 AND status = 'in_progress'`

	sqlSetStep = `UPDATE task_steps SET status = $3, result = coalesce($4::jsonb, result),
			started_at = CASE WHEN $3 = 'in_progress' THEN now() ELSE started_at END,
			ended_at = CASE WHEN $3 IN ('completed', 'failed', 'skipped') THEN now() ELSE NULL END
		WHERE task_id = $1 AND key = $2`
)

const queueColumns = `id, seq, agent_id, task_id, reason, bound_executor_id, inserted_at, lease_until, generation, executor_id, claimed_at, seen_at,
	answered_at, accepted_at, attempt`

const (
	sqlEnqueue = `INSERT INTO queued_tasks (agent_id, task_id, reason, bound_executor_id, attempt)
		SELECT $1, t.id, $3, $4, t.attempt FROM tasks t WHERE t.id = $2
		ON CONFLICT (task_id) DO NOTHING`

	sqlDequeue = `DELETE FROM queued_tasks WHERE task_id = $1 RETURNING ` + queueColumns

	sqlRow = `SELECT ` + queueColumns + ` FROM queued_tasks WHERE id = $1`

	sqlRowOfTask = `SELECT ` + queueColumns + ` FROM queued_tasks WHERE task_id = $1`

	sqlLockRowOfTask = sqlRowOfTask + ` FOR UPDATE`

	sqlAccepted = `UPDATE queued_tasks SET accepted_at = now(), seen_at = coalesce(seen_at, now()) WHERE id = $1`

	sqlReopen = `UPDATE queued_tasks SET lease_until = NULL, executor_id = NULL, claimed_at = NULL, seen_at = NULL, accepted_at = NULL,
			bound_executor_id = $3, reason = $4, attempt = greatest(attempt - $2::integer, 0)
		WHERE id = $1`

	sqlHeld = `SELECT ` + queueColumns + ` FROM queued_tasks
		WHERE agent_id = $1 AND executor_id = $2 AND lease_until IS NOT NULL ORDER BY seq LIMIT 1000`

	sqlRunning = `SELECT ` + queueColumns + ` FROM queued_tasks
		WHERE agent_id = $1 AND lease_until IS NOT NULL AND accepted_at IS NOT NULL ORDER BY seq LIMIT 1000`

	sqlInFlight = `SELECT count(*) FROM queued_tasks WHERE agent_id = $1 AND executor_id = $2 AND lease_until IS NOT NULL`

	sqlWaiting = `SELECT DISTINCT agent_id FROM queued_tasks WHERE agent_id = ANY($1::uuid[]) AND lease_until IS NULL`

	sqlCountWaiting = `SELECT count(*) FROM queued_tasks WHERE agent_id = $1 AND lease_until IS NULL`

	// sqlUnseen and sqlHolders are read once, at start.
	sqlUnseen  = `SELECT ` + queueColumns + ` FROM queued_tasks WHERE lease_until IS NOT NULL AND accepted_at IS NULL ORDER BY seq LIMIT $1::integer`
	sqlHolders = `SELECT DISTINCT agent_id FROM queued_tasks WHERE lease_until IS NOT NULL`

	// sqlLapsed are claims whose lease or whole time is over, and those that were not accepted in time.
	sqlLapsed = `SELECT ` + queueColumns + ` FROM queued_tasks WHERE agent_id = ANY($1::uuid[]) AND lease_until IS NOT NULL
			AND (lease_until <= now() OR claimed_at + make_interval(secs => $2::float8) <= now()
				OR (accepted_at IS NULL AND claimed_at + make_interval(secs => $3::float8) <= now()))
		ORDER BY seq LIMIT 500`

	sqlStillLapsed = `SELECT lease_until <= now() OR claimed_at + make_interval(secs => $2::float8) <= now()
			OR (accepted_at IS NULL AND claimed_at + make_interval(secs => $3::float8) <= now())
		FROM queued_tasks WHERE id = $1 AND lease_until IS NOT NULL`

	sqlRoomsInWork = `SELECT DISTINCT t.work_conversation_id FROM queued_tasks q JOIN tasks t ON t.id = q.task_id
		WHERE q.agent_id = $1 AND q.lease_until IS NOT NULL AND q.accepted_at IS NOT NULL LIMIT 200`

	// sqlUnbind lets any executor run what was kept for one that is gone.
	sqlUnbind = `UPDATE queued_tasks SET bound_executor_id = NULL, reason = 'retry' WHERE agent_id = $1 AND bound_executor_id = $2 AND lease_until IS NULL`
)
