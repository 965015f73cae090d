package executor

const columns = `id, agent_id, executor_key, display_name, capabilities, max_concurrent, instance_id, bridge_version,
  ours, device_name, backend_health, metrics, status, last_seen_at, registered_at`

const queryLockByKey = `SELECT ` + columns + ` FROM executors WHERE agent_id = $1 AND executor_key = $2 FOR UPDATE`

const queryRegister = `INSERT INTO executors (agent_id, executor_key, display_name, capabilities, connection_type, max_concurrent,
  instance_id, bridge_version, ours, device_name, metadata, backend_health)
VALUES ($1, $2, $3, $4::text[], $5, $6, $7, $8, $9, $10, $11::jsonb, $12::jsonb)
ON CONFLICT (agent_id, executor_key) DO UPDATE SET display_name = excluded.display_name, capabilities = excluded.capabilities,
  connection_type = excluded.connection_type, max_concurrent = excluded.max_concurrent, instance_id = excluded.instance_id,
  bridge_version = excluded.bridge_version, ours = excluded.ours, device_name = excluded.device_name,
  metadata = excluded.metadata, backend_health = excluded.backend_health, metrics = '{}', status = 'online',
  last_seen_at = now(), registered_at = now(), updated_at = now()
RETURNING ` + columns

const queryBeat = `UPDATE executors SET last_seen_at = now(), updated_at = now(), status = 'online',
  bridge_version = CASE WHEN $3::text = '' THEN bridge_version ELSE $3::text END,
  backend_health = coalesce($4::jsonb, backend_health), metrics = coalesce($5::jsonb, metrics)
WHERE id = $1 AND agent_id = $2 AND status <> 'disabled'
RETURNING ` + columns

const queryLock = `SELECT ` + columns + ` FROM executors WHERE id = $1 AND agent_id = $2 FOR UPDATE`

const queryGet = `SELECT ` + columns + ` FROM executors WHERE id = $1 AND agent_id = $2`

const queryByAgent = `SELECT ` + columns + ` FROM (SELECT * FROM executors WHERE agent_id = $1 ORDER BY last_seen_at DESC LIMIT 200) AS e ORDER BY inserted_at, id`

// queryOnline is read once, at start.
const queryOnline = `SELECT ` + columns + ` FROM executors WHERE status = 'online' ORDER BY last_seen_at LIMIT 100000`

const querySetStatus = `UPDATE executors SET status = $2, updated_at = now() WHERE id = $1`

const queryTouch = `UPDATE executors SET last_seen_at = now(), updated_at = now() WHERE id = ANY($1::uuid[])`

// querySilent leaves a row alone that is online and was heard of.
const querySilent = `UPDATE executors SET status = CASE WHEN status = 'online' THEN 'offline' ELSE status END, updated_at = now()
WHERE id = $1 AND (status <> 'online' OR last_seen_at < now() - make_interval(secs => $2))`
