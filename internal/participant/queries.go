package participant

const (
	insertSQL = `INSERT INTO participants (id, kind, display_name, avatar_url) VALUES ($1, $2, $3, $4)`
	renameSQL = `UPDATE participants SET display_name = $2, updated_at = now() WHERE id = $1`
	avatarSQL = `UPDATE participants SET avatar_url = $2, updated_at = now() WHERE id = $1`
	statusSQL = `UPDATE participants SET status = $2, updated_at = now() WHERE id = $1 AND status <> 'deleted'`
	listSQL   = `SELECT id, kind, display_name, avatar_url, status, inserted_at, updated_at FROM participants WHERE id = ANY($1::uuid[])`
)
