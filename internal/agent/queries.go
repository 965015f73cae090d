package agent

const (
	insertSQL = `INSERT INTO agents (id, owner_id, description, agent_type, capabilities, metadata, model_config, soul_md, runtime, organization_id,
		organization_ids, key_prefix, key_hash, external_tool) VALUES ($1, $2, $3, $4, $5::text[], $6::jsonb, $7::jsonb, $8, $9, $10, $11::uuid[], $12, $13, $14)`
	// A merge where null removes: jsonb_strip_nulls would also reach into nested values, so only the keys of the patch are removed.
	patchSQL = `UPDATE agents SET description = COALESCE($2, description), agent_type = COALESCE($3, agent_type),
		capabilities = CASE WHEN $4::boolean THEN $5::text[] ELSE capabilities END,
		metadata = (metadata || $6::jsonb) - ARRAY(SELECT e.key FROM jsonb_each($6::jsonb) e WHERE e.value = 'null'::jsonb),
		settings = (settings || $7::jsonb) - ARRAY(SELECT e.key FROM jsonb_each($7::jsonb) e WHERE e.value = 'null'::jsonb),
		model_config = (model_config || $8::jsonb) - ARRAY(SELECT e.key FROM jsonb_each($8::jsonb) e WHERE e.value = 'null'::jsonb),
		structured_capabilities = (structured_capabilities || $9::jsonb) - ARRAY(SELECT e.key FROM jsonb_each($9::jsonb) e WHERE e.value = 'null'::jsonb),
		soul_md = COALESCE($10, soul_md), runtime = COALESCE($11, runtime), presence_mode = COALESCE($12, presence_mode),
		organization_ids = CASE WHEN $13::boolean THEN $14::uuid[] ELSE organization_ids END, updated_at = now() WHERE id = $1`
	setKeySQL     = `UPDATE agents SET key_prefix = $2, key_hash = $3, key_version = key_version + 1, updated_at = now() WHERE id = $1 RETURNING key_version`
	bumpKeySQL    = `UPDATE agents SET key_version = key_version + 1, updated_at = now() WHERE id = $1`
	setRuntimeSQL = `UPDATE agents SET runtime = $2, external_tool = $3, updated_at = now() WHERE id = $1`
	touchSQL      = `UPDATE agents SET last_active_at = now() WHERE id = $1`

	lockSoulSQL        = `SELECT soul_md FROM agents WHERE id = $1 FOR UPDATE`
	longestSoulSQL     = `SELECT coalesce(max(char_length(soul_md)), 0) FROM agent_souls WHERE agent_id = $1 AND inserted_at > now() - interval '1 day'`
	keepSoulSQL        = `INSERT INTO agent_souls (agent_id, soul_md, replaced_by) VALUES ($1, $2, $3)`
	pruneSoulsSQL      = `DELETE FROM agent_souls WHERE agent_id = $1 AND id NOT IN (SELECT s.id FROM agent_souls s WHERE s.agent_id = $1 ORDER BY s.id DESC LIMIT $2::integer)`
	soulSQL            = `SELECT soul_md FROM agent_souls WHERE agent_id = $1 AND ($2::bigint = 0 OR id = $2::bigint) ORDER BY id DESC LIMIT 1`
	lockAgentSQL       = `SELECT 1 FROM agents WHERE id = $1 FOR NO KEY UPDATE`
	letterAddressesSQL = `SELECT fingerprint, identity_key, signing_key, relay_url, since, until FROM agent_letter_addresses WHERE agent_id = $1
		ORDER BY until DESC NULLS FIRST, id DESC LIMIT $2`
	endAddressSQL      = `UPDATE agent_letter_addresses SET until = greatest(since, clock_timestamp()) WHERE agent_id = $1 AND until IS NULL`
	endOtherAddressSQL = `UPDATE agent_letter_addresses SET until = greatest(since, clock_timestamp()) WHERE agent_id = $1 AND until IS NULL AND fingerprint <> $2`
	putAddressSQL      = `INSERT INTO agent_letter_addresses (agent_id, fingerprint, identity_key, signing_key, relay_url, since)
		VALUES ($1, $2, $3, $4, $5, clock_timestamp()) ON CONFLICT (agent_id) WHERE until IS NULL DO UPDATE SET relay_url = excluded.relay_url
		WHERE agent_letter_addresses.relay_url <> excluded.relay_url`
	trimAddressesSQL = `DELETE FROM agent_letter_addresses WHERE agent_id = $1 AND id NOT IN (SELECT id FROM agent_letter_addresses WHERE agent_id = $1
		ORDER BY until DESC NULLS FIRST, id DESC LIMIT $2)`
)
