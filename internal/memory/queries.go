package memory

const source = `source_conversation_id, source_message_id, source_task_id`

// The columns of both kinds, each in the other's places.
const (
	agentColumns = `m.id, m.agent_id, NULL::uuid AS owner_id, NULL::uuid AS organization_id, m.category, m.key, m.content, m.confidence::float8 AS confidence, m.description,
		m.tags, m.metadata, m.source_conversation_id, m.source_message_id, m.source_task_id, m.caller_id, NULL::uuid AS last_written_by, m.untrusted,
		m.inserted_at, m.updated_at`

	familyColumns = `m.id, NULL::uuid AS agent_id, m.owner_id, m.organization_id, m.category, m.key, m.content, m.confidence::float8 AS confidence, m.description,
		m.tags, m.metadata, m.source_conversation_id, m.source_message_id, m.source_task_id, NULL::uuid AS caller_id, m.last_written_by, m.untrusted,
		m.inserted_at, m.updated_at`
)

// A row that is there already is replaced also when there is no room for another one.
const (
	saveSQL = `INSERT INTO agent_memories AS m (id, agent_id, category, key, content, confidence, description, tags, metadata, ` + source + `, caller_id, untrusted, updated_at)
		SELECT $1::uuid, $2::uuid, $3::text, $4::text, $5::text, coalesce($6::real, 1), nullif($7::text, ''), coalesce($8::text[], '{}'), coalesce($9::jsonb, '{}'),
			$10::uuid, $11::uuid, $12::uuid, $13::uuid, $14::boolean, clock_timestamp()
		WHERE EXISTS (SELECT 1 FROM agent_memories x WHERE x.agent_id = $2::uuid AND x.category = $3::text AND x.key = $4::text)
			OR (SELECT count(*) FROM agent_memories x WHERE x.agent_id = $2::uuid) < $15::integer
		ON CONFLICT (agent_id, category, key) DO UPDATE SET content = EXCLUDED.content, confidence = coalesce($6::real, m.confidence),
			description = CASE WHEN $7::text IS NULL THEN m.description ELSE nullif($7::text, '') END, tags = coalesce($8::text[], m.tags),
			metadata = coalesce($9::jsonb, m.metadata), source_conversation_id = EXCLUDED.source_conversation_id, source_message_id = EXCLUDED.source_message_id,
			source_task_id = EXCLUDED.source_task_id, caller_id = EXCLUDED.caller_id, untrusted = EXCLUDED.untrusted, updated_at = EXCLUDED.updated_at
			WHERE (m.untrusted OR NOT EXCLUDED.untrusted) AND ($16::text = 'replace' OR ($16::text = 'replace_own' AND m.caller_id = EXCLUDED.caller_id))
		RETURNING ` + agentColumns

	saveFamilySQL = `INSERT INTO family_memories AS m (id, owner_id, organization_id, category, key, content, confidence, description, tags, metadata, ` + source + `,
			last_written_by, untrusted, updated_at)
		SELECT $1::uuid, $2::uuid, $3::uuid, $4::text, $5::text, $6::text, coalesce($7::real, 1), nullif($8::text, ''), coalesce($9::text[], '{}'),
			coalesce($10::jsonb, '{}'), $11::uuid, $12::uuid, $13::uuid, $14::uuid, $15::boolean, clock_timestamp()
		WHERE EXISTS (SELECT 1 FROM family_memories x WHERE x.owner_id = $2::uuid AND x.organization_id IS NOT DISTINCT FROM $3::uuid AND x.category = $4::text AND x.key = $5::text)
			OR (SELECT count(*) FROM family_memories x WHERE x.owner_id = $2::uuid) < $16::integer
		ON CONFLICT (owner_id, organization_id, category, key) DO UPDATE SET content = EXCLUDED.content, confidence = coalesce($7::real, m.confidence),
			description = CASE WHEN $8::text IS NULL THEN m.description ELSE nullif($8::text, '') END, tags = coalesce($9::text[], m.tags),
			metadata = coalesce($10::jsonb, m.metadata), source_conversation_id = EXCLUDED.source_conversation_id, source_message_id = EXCLUDED.source_message_id,
			source_task_id = EXCLUDED.source_task_id, last_written_by = EXCLUDED.last_written_by, untrusted = EXCLUDED.untrusted, updated_at = EXCLUDED.updated_at
			WHERE $17::boolean AND (m.untrusted OR NOT EXCLUDED.untrusted)
		RETURNING ` + familyColumns

	existsSQL = `SELECT EXISTS (SELECT 1 FROM agent_memories WHERE agent_id = $1::uuid AND category = $2::text AND key = $3::text)`

	existsFamilySQL = `SELECT EXISTS (SELECT 1 FROM family_memories WHERE owner_id = $1::uuid AND category = $2::text AND key = $3::text
		AND organization_id IS NOT DISTINCT FROM $4::uuid)`

	editSQL = `UPDATE agent_memories m SET content = coalesce($3::text, content), confidence = coalesce($4::real, confidence),
		description = CASE WHEN $5::text IS NULL THEN description ELSE nullif($5::text, '') END, tags = coalesce($6::text[], tags),
		untrusted = untrusted AND $3::text IS NULL, updated_at = now() WHERE m.agent_id = $1::uuid AND m.id = $2::uuid RETURNING ` + agentColumns

	findSQL = `SELECT id FROM agent_memories WHERE agent_id = $1::uuid AND category = $2::text AND key = $3::text`

	deleteSQL        = `DELETE FROM agent_memories WHERE agent_id = $1::uuid AND id = ANY($2::uuid[])`
	deleteFamilySQL  = `DELETE FROM family_memories WHERE owner_id = $1::uuid AND id = ANY($2::uuid[])`
	deleteOfOwnerSQL = `DELETE FROM agent_memories WHERE agent_id IN (SELECT a.id FROM agents a WHERE a.owner_id = $1::uuid) AND id = ANY($2::uuid[])`
	forgetAgentSQL   = `DELETE FROM agent_memories WHERE agent_id = $1::uuid`
	forgetOwnerSQL   = `DELETE FROM family_memories WHERE owner_id = $1::uuid`
	forgetRoomSQL    = `DELETE FROM conversation_memories WHERE conversation_id = $1::uuid`
	orphanSQL        = `UPDATE agent_memories SET source_conversation_id = NULL, source_message_id = NULL WHERE source_conversation_id = $1::uuid`
	orphanFamilySQL  = `UPDATE family_memories SET source_conversation_id = NULL, source_message_id = NULL WHERE source_conversation_id = $1::uuid`
)

// words is what a search compares: with the stemmed words, and with the text as it
// stands, which also finds parts of words and writing without spaces.
const words = `(m.key || ' ' || coalesce(m.description, '') || ' ' || array_to_string(m.tags, ' ') || ' ' || m.content)`

const hits = `(SELECT count(*) FROM unnest($5::text[]) AS t (p) WHERE ` + words + ` ILIKE t.p)`

const anyWord = `replace(plainto_tsquery('english', $4::text)::text, '&', '|')::tsquery`

const filter = ` AND ($2::text = '' OR m.category = $2::text) AND ($3::text = '' OR $3::text = ANY(m.tags))
	AND ($4::text = '' OR CASE WHEN $6::boolean THEN m.search @@ ` + anyWord + ` OR ` + hits + ` > 0
		ELSE m.search @@ plainto_tsquery('english', $4::text) OR (cardinality($5::text[]) > 0 AND ` + hits + ` = cardinality($5::text[])) END)
	AND ($7::uuid IS NULL OR m.source_conversation_id = $8::uuid OR EXISTS (SELECT 1 FROM conversation_members s JOIN conversations c ON c.id = s.conversation_id
		WHERE s.conversation_id = m.source_conversation_id AND s.participant_id = $7::uuid AND c.deleted_at IS NULL))`

// The best match first when it is a question, else the newest.
const order = ` ORDER BY CASE WHEN $6::boolean AND $4::text <> '' THEN ts_rank(m.search, ` + anyWord + `) + ` + hits + ` ELSE 0 END DESC, m.updated_at DESC, m.id`

const (
	ofAgent  = ` FROM agent_memories m WHERE m.agent_id = $1::uuid` + filter
	ofFamily = ` FROM family_memories m WHERE m.owner_id = $1::uuid` + filter +
		` AND ($10::boolean OR m.organization_id IS NULL OR m.organization_id = $9::uuid)`
	ofOwner = ` FROM agent_memories m WHERE m.agent_id IN (SELECT a.id FROM agents a JOIN participants p ON p.id = a.id AND p.status <> 'deleted' WHERE a.owner_id = $1::uuid)` + filter

	listSQL        = `SELECT ` + agentColumns + ofAgent + order + ` LIMIT $9::integer OFFSET $10::integer`
	countSQL       = `SELECT count(*)` + ofAgent
	listOfOwnerSQL = `SELECT ` + agentColumns + ofOwner + order + ` LIMIT $9::integer OFFSET $10::integer`
	listFamilySQL  = `SELECT ` + familyColumns + ofFamily + order + ` LIMIT $11::integer OFFSET $12::integer`
	countFamilySQL = `SELECT count(*)` + ofFamily
)

const (
	roomSQL = `SELECT memory, version, updated_by, updated_at FROM conversation_memories WHERE conversation_id = $1::uuid`

	// The row is locked from here on, whoever made it.
	touchRoomSQL = `INSERT INTO conversation_memories (conversation_id, memory, version) VALUES ($1::uuid, '{}', 0) ON CONFLICT (conversation_id) DO NOTHING`
	lockRoomSQL  = roomSQL + ` FOR UPDATE`

	setRoomSQL = `UPDATE conversation_memories SET memory = $2::jsonb, version = $3::integer, updated_by = $4::uuid, updated_at = now()
		WHERE conversation_id = $1::uuid RETURNING updated_at`
	addChangeSQL = `INSERT INTO conversation_memory_changes (conversation_id, version, kind, diff, reason, changed_by)
		VALUES ($1::uuid, $2::integer, $3::text, $4::jsonb, $5::text, $6::uuid)`
	pruneChangesSQL = `DELETE FROM conversation_memory_changes WHERE conversation_id = $1::uuid AND version <= $2::integer`
	changesSQL      = `SELECT h.version, h.kind, h.diff, h.reason, h.changed_by, coalesce(p.display_name, '') AS changed_by_name, h.inserted_at
		FROM conversation_memory_changes h LEFT JOIN participants p ON p.id = h.changed_by
		WHERE h.conversation_id = $1::uuid AND ($2::integer = 0 OR h.version < $2::integer) ORDER BY h.version DESC LIMIT $3::integer`
)
