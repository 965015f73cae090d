package chat

const roomColumns = `id, type, title, avatar_url, created_by, organization_id, parent_conversation_id, metadata, agents_add_without_asking,
	version, message_seq, last_message_at, agent_streak, streak_notice, inserted_at, updated_at, deleted_at`

const (
	sqlCreateRoom = `INSERT INTO conversations (id, type, title, created_by, organization_id, metadata, direct_key, parent_conversation_id, huddle_key)
		VALUES ($1::uuid, $2, $3::text, $4::uuid, $5::uuid, $6::jsonb, $7::text, $8::uuid, $9::text)
		ON CONFLICT (organization_id, direct_key) WHERE direct_key IS NOT NULL AND parent_conversation_id IS NULL AND deleted_at IS NULL DO NOTHING`

	sqlFindDirect = `SELECT id FROM conversations
		WHERE organization_id = $1::uuid AND direct_key = $2::text AND parent_conversation_id IS NULL AND deleted_at IS NULL`

	sqlFindHuddle = `SELECT id FROM conversations WHERE parent_conversation_id = $1::uuid AND huddle_key = $2::text AND deleted_at IS NULL`

	sqlOpenHuddles = `SELECT count(*) FROM conversations WHERE parent_conversation_id = $1::uuid AND huddle_key IS NOT NULL AND deleted_at IS NULL`

	sqlGroupsOf = `SELECT m.conversation_id FROM conversation_members m CROSS JOIN LATERAL (SELECT x.type FROM conversations x
			WHERE x.id = m.conversation_id AND x.deleted_at IS NULL OFFSET 0) c
		WHERE m.participant_id = $1::uuid AND c.type IN ('group', 'channel') ORDER BY m.conversation_id`

	sqlFreeHuddleKey = `UPDATE conversations SET huddle_key = NULL WHERE id = $1::uuid`

	sqlHuddlesOf = `SELECT id FROM conversations WHERE parent_conversation_id = $1::uuid AND type <> 'task' AND deleted_at IS NULL ORDER BY id`

	// The rooms above a huddle, nearest first. A work room may stand between. OFFSET 0 keeps the planner, which knows nothing of a recursion's
	// size, from reading all rooms.
	sqlRoomsAbove = `WITH RECURSIVE above (id, parent, depth) AS (
			SELECT c.id, c.parent_conversation_id, 0 FROM conversations c
			WHERE c.id = $1::uuid AND c.deleted_at IS NULL AND c.type <> 'task' AND c.parent_conversation_id IS NOT NULL
			UNION ALL SELECT c.id, c.parent_conversation_id, above.depth + 1 FROM above CROSS JOIN LATERAL (SELECT x.id, x.parent_conversation_id
				FROM conversations x WHERE x.id = above.parent AND x.deleted_at IS NULL OFFSET 0) c WHERE above.depth < 16)`

	sqlReaderRole = sqlRoomsAbove + ` SELECT coalesce(
			(SELECT m.role FROM conversation_members m JOIN conversations c ON c.id = m.conversation_id
				WHERE m.conversation_id = $1::uuid AND m.participant_id = $2::uuid AND c.deleted_at IS NULL),
			(SELECT 'observer' FROM above WHERE EXISTS (SELECT 1 FROM conversation_members m WHERE m.conversation_id = above.id AND m.participant_id = $2::uuid) LIMIT 1), '')`

	sqlHuddlesBelow = `WITH RECURSIVE below (id, depth) AS (
			SELECT c.id, 1 FROM conversations c WHERE c.parent_conversation_id = $1::uuid AND c.deleted_at IS NULL
			UNION ALL SELECT c.id, below.depth + 1 FROM below CROSS JOIN LATERAL (SELECT x.id FROM conversations x
				WHERE x.parent_conversation_id = below.id AND x.deleted_at IS NULL OFFSET 0) c WHERE below.depth < 16)
		SELECT below.id FROM below CROSS JOIN LATERAL (SELECT x.type FROM conversations x WHERE x.id = below.id OFFSET 0) c
		WHERE c.type <> 'task' AND NOT EXISTS (SELECT 1 FROM conversation_members m WHERE m.conversation_id = below.id AND m.participant_id = $2::uuid)`

	sqlDepth = sqlRoomsAbove + ` SELECT count(*) FROM above CROSS JOIN LATERAL (SELECT x.type FROM conversations x WHERE x.id = above.id OFFSET 0) c
		WHERE above.parent IS NOT NULL AND c.type <> 'task'`

	sqlGetRoom = `SELECT ` + roomColumns + ` FROM conversations WHERE id = $1::uuid AND deleted_at IS NULL`

	sqlLockRoom = `SELECT ` + roomColumns + ` FROM conversations WHERE id = $1::uuid AND deleted_at IS NULL FOR NO KEY UPDATE`

	sqlSetTitle = `UPDATE conversations SET title = $2::text WHERE id = $1::uuid`

	sqlSetAvatar = `UPDATE conversations SET avatar_url = $2::text WHERE id = $1::uuid`

	sqlSetAgentsAdd = `UPDATE conversations SET agents_add_without_asking = $2::boolean WHERE id = $1::uuid`

	sqlDeleteRoom = `UPDATE conversations SET deleted_at = now() WHERE id = $1::uuid AND deleted_at IS NULL`

	// Members of one transaction come in the order given: the first agent answers (decision 9).
	sqlAddMember = `INSERT INTO conversation_members (conversation_id, participant_id, role, last_read_seq, joined_at)
		SELECT c.id, $2::uuid, $3::text, c.message_seq, greatest(now(), (SELECT max(o.joined_at) + interval '1 microsecond'
			FROM conversation_members o WHERE o.conversation_id = c.id))
		FROM conversations c WHERE c.id = $1::uuid
		ON CONFLICT (conversation_id, participant_id) DO NOTHING`

	sqlRemoveMember = `DELETE FROM conversation_members WHERE conversation_id = $1::uuid AND participant_id = $2::uuid`

	sqlSetRole = `UPDATE conversation_members SET role = $3::text WHERE conversation_id = $1::uuid AND participant_id = $2::uuid`

	sqlRole = `SELECT m.role FROM conversation_members m JOIN conversations c ON c.id = m.conversation_id
		WHERE m.conversation_id = $1::uuid AND m.participant_id = $2::uuid AND c.deleted_at IS NULL`

	sqlMarkRead = `WITH target AS (SELECT c.id, c.message_seq AS newest, COALESCE((SELECT s.seq FROM messages s
			WHERE s.id = $3::uuid AND s.conversation_id = c.id), c.message_seq) AS seq FROM conversations c WHERE c.id = $1::uuid),
		moved AS (UPDATE conversation_members m SET last_read_seq = t.seq, last_read_at = now() FROM target t
			WHERE m.conversation_id = t.id AND m.participant_id = $2::uuid AND m.last_read_seq < t.seq)
		SELECT t.seq >= t.newest FROM target t`

	sqlReadNext = `UPDATE conversation_members SET last_read_seq = $3::bigint, last_read_at = now()
		WHERE conversation_id = $1::uuid AND participant_id = $2::uuid AND last_read_seq = $3::bigint - 1`

	// The caller holds the row lock, so the numbers are dense and the time only grows.
	sqlInsertMessage = `WITH room AS (
			UPDATE conversations SET version = version + 1, message_seq = message_seq + 1,
				last_message_at = greatest(now(), last_message_at + interval '1 microsecond'),
				updated_at = greatest(now(), last_message_at + interval '1 microsecond'),
				agent_streak = COALESCE($15::integer, agent_streak), streak_notice = COALESCE($16::boolean, streak_notice)
			WHERE id = $2::uuid RETURNING id, version, message_seq, last_message_at
		), msg AS (
			INSERT INTO messages (id, conversation_id, seq, sender_id, sender_kind, content, content_type, message_type, content_structured,
				metadata, parent_message_id, correlation_id, turn_group_id, mentions, client_key, attachments, inserted_at, updated_at)
			SELECT $1::uuid, room.id, room.message_seq, $3::uuid, $4::text, $5::text, $6::text, $7::text, $8::jsonb, $9::jsonb,
				$10::uuid, $11::text, $12::text, $13::uuid[], $14::text, $17::jsonb, room.last_message_at, room.last_message_at FROM room
		), change AS (
			INSERT INTO conversation_changes (conversation_id, seq, event, subject_id)
			SELECT room.id, room.version, 'new_message', $1::uuid FROM room
		), mark AS (
			UPDATE conversation_members m SET last_read_seq = room.message_seq, last_read_at = now()
			FROM room WHERE m.conversation_id = room.id AND m.participant_id = $3::uuid
		)
		SELECT version, message_seq, last_message_at FROM room`

	sqlFindByKey = `SELECT id, conversation_id FROM messages WHERE sender_id = $1::uuid AND client_key = $2::text`

	sqlBrief = `SELECT id, conversation_id, sender_id, sender_kind, seq, inserted_at FROM messages WHERE id = $1::uuid AND deleted_at IS NULL`

	sqlSeqOf = `SELECT seq FROM messages WHERE conversation_id = $1::uuid AND id = $2::uuid`

	sqlDeleteMessage = `UPDATE messages SET deleted_at = now(), updated_at = now(), content = '', content_structured = NULL, metadata = '{}', attachments = NULL
		WHERE conversation_id = $1::uuid AND id = $2::uuid AND deleted_at IS NULL`

	sqlSetAttachments = `WITH changed AS (
			UPDATE messages SET attachments = $3::jsonb, content = $4::text, updated_at = now()
			WHERE conversation_id = $1::uuid AND id = $2::uuid AND deleted_at IS NULL RETURNING id
		), room AS (
			UPDATE conversations SET version = version + 1 WHERE id = $1::uuid AND EXISTS (SELECT 1 FROM changed) RETURNING id, version
		), change AS (
			INSERT INTO conversation_changes (conversation_id, seq, event, subject_id)
			SELECT room.id, room.version, 'message_updated', $2::uuid FROM room
		)
		SELECT version FROM room`

	// The caller holds the row lock of the room, so nobody else changes the message.
	sqlPatchMessage = `WITH old AS (
			SELECT id, metadata AS before, (metadata || $3::jsonb) - ARRAY(SELECT key FROM jsonb_each($3::jsonb) WHERE value = 'null'::jsonb) AS after
			FROM messages WHERE conversation_id = $1::uuid AND id = $2::uuid AND deleted_at IS NULL
		), patched AS (
			UPDATE messages m SET metadata = old.after, updated_at = now() FROM old
			WHERE m.id = old.id AND old.before IS DISTINCT FROM old.after RETURNING m.metadata
		), room AS (
			UPDATE conversations SET version = version + 1 WHERE id = $1::uuid AND EXISTS (SELECT 1 FROM patched) RETURNING id, version
		), change AS (
			INSERT INTO conversation_changes (conversation_id, seq, event, subject_id)
			SELECT room.id, room.version, 'message_metadata_changed', $2::uuid FROM room
		)
		SELECT patched.metadata, room.version FROM patched, room`

	sqlPatchRoom = `WITH room AS (
			UPDATE conversations SET metadata = metadata || $2::jsonb, version = version + 1
			WHERE id = $1::uuid AND metadata IS DISTINCT FROM metadata || $2::jsonb RETURNING id, version, metadata
		), change AS (
			INSERT INTO conversation_changes (conversation_id, seq, event, subject_id, payload)
			SELECT room.id, room.version, 'conversation_metadata_changed', $1::uuid,
				jsonb_build_object('conversationId', room.id, 'metadata', room.metadata) FROM room
		)
		SELECT metadata, version FROM room`

	sqlRecordChange = `WITH room AS (
			UPDATE conversations SET version = version + 1 WHERE id = $1::uuid RETURNING id, version
		)
		INSERT INTO conversation_changes (conversation_id, seq, event, subject_id, payload)
		SELECT room.id, room.version, $2::text, $3::uuid, $4::jsonb FROM room RETURNING seq`

	sqlChanges = `SELECT seq, event, subject_id::text, payload FROM conversation_changes
		WHERE conversation_id = $1::uuid AND seq > $2::bigint ORDER BY seq LIMIT $3::integer`

	sqlPruneChanges = `DELETE FROM conversation_changes WHERE (conversation_id, seq) IN (
			SELECT conversation_id, seq FROM conversation_changes
			WHERE inserted_at < now() - make_interval(days => $1::integer) LIMIT $2::integer)`
)
