package file

const (
	fileColumns = `f.id, f.organization_id, f.conversation_id, f.message_id, f.uploaded_by, f.filename, f.content_type, f.size_bytes, f.state, f.inserted_at`

	lockCountSQL = `SELECT pg_advisory_xact_lock(hashtextextended('files of ' || $1::text, 0))`

	countUnkeptSQL = `SELECT count(*) FROM files WHERE uploaded_by = $1 AND state <> 'kept' AND inserted_at > now() - interval '1 day'`

	insertSQL = `INSERT INTO files (id, organization_id, conversation_id, uploaded_by, filename, content_type, size_bytes) VALUES ($1, $2, $3, $4, $5, $6, $7)`

	getSQL = `SELECT ` + fileColumns + ` FROM files f JOIN conversations c ON c.id = f.conversation_id AND c.deleted_at IS NULL
		LEFT JOIN messages m ON m.id = f.message_id
		WHERE f.id = $1 AND (f.message_id IS NULL OR (m.id IS NOT NULL AND m.deleted_at IS NULL))`

	storedSQL = `UPDATE files SET state = 'stored', sha256 = $2 WHERE id = $1 AND state <> 'kept'`

	// In one order, so that two messages with the same files do not wait for each other.
	lockSQL = `SELECT ` + fileColumns + ` FROM files f WHERE f.uploaded_by = $1::uuid AND f.conversation_id = $2::uuid AND f.id = ANY($3::uuid[]) ORDER BY f.id FOR UPDATE`

	keepSQL = `UPDATE files SET state = 'kept', message_id = $2::uuid WHERE id = ANY($1::uuid[]) AND state = 'stored'`

	deleteSQL = `DELETE FROM files WHERE id = $1::uuid`

	forgetUnkeptSQL = `DELETE FROM files WHERE id = $1::uuid AND state <> 'kept'`

	storedBytesSQL = `SELECT coalesce(sum(size_bytes), 0)::bigint FROM files WHERE organization_id = $1::uuid`

	forgetSQL = `DELETE FROM files WHERE id IN (
		(SELECT f.id FROM files f WHERE f.state <> 'kept' AND f.inserted_at < now() - interval '1 day' LIMIT $1)
		UNION (SELECT f.id FROM files f LEFT JOIN messages m ON m.id = f.message_id WHERE f.state = 'kept' AND (m.id IS NULL OR m.deleted_at IS NOT NULL) LIMIT $1)
		UNION (SELECT f.id FROM files f JOIN conversations c ON c.id = f.conversation_id WHERE c.deleted_at IS NOT NULL LIMIT $1))`

	leftoversSQL = `SELECT id FROM file_leftovers ORDER BY inserted_at LIMIT $1`

	goneSQL = `DELETE FROM file_leftovers WHERE id = ANY($1::uuid[])`
)
