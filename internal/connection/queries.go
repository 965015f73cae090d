package connection

const (
	columns = `c.id, c.owner_id, c.name, c.description, c.base_url, c.auth_kind, c.auth_name, c.fingerprint, c.shared, c.enabled, c.inserted_at, c.updated_at`

	countSQL = `SELECT count(*) FROM connections WHERE owner_id = $1`

	insertSQL = `INSERT INTO connections (id, owner_id, name, description, base_url, auth_kind, auth_name, sealed, fingerprint, shared, enabled)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`

	updateSQL = `UPDATE connections SET name = $3, description = $4, base_url = $5, auth_name = $6, shared = $7, enabled = $8, updated_at = now()
		WHERE id = $1 AND owner_id = $2`

	sealSQL = `UPDATE connections SET auth_kind = $3, sealed = $4, fingerprint = $5, updated_at = now() WHERE id = $1 AND owner_id = $2`

	deleteSQL = `DELETE FROM connections WHERE id = $1 AND owner_id = $2`

	clearOperationsSQL = `DELETE FROM connection_operations WHERE connection_id = $1`
	insertOperationSQL = `INSERT INTO connection_operations (connection_id, method, path, description, ask) VALUES ($1, $2, $3, $4, $5)`
	clearAgentsSQL     = `DELETE FROM connection_agents WHERE connection_id = $1`
	insertAgentsSQL    = `INSERT INTO connection_agents (connection_id, agent_id) SELECT $1, x FROM unnest($2::uuid[]) AS x ON CONFLICT DO NOTHING`

	ofOwnerSQL = `SELECT ` + columns + ` FROM connections c WHERE c.owner_id = $1 ORDER BY c.name`
	getSQL     = `SELECT ` + columns + ` FROM connections c WHERE c.owner_id = $1 AND c.id = $2`
	ofAgentSQL = `SELECT ` + columns + ` FROM connections c JOIN connection_agents g ON g.connection_id = c.id AND g.agent_id = $1
		JOIN agents a ON a.id = g.agent_id AND a.owner_id = c.owner_id WHERE c.enabled ORDER BY c.name`
	countForSQL = `SELECT count(*) FROM connections c JOIN connection_agents g ON g.connection_id = c.id AND g.agent_id = $1
		JOIN agents a ON a.id = g.agent_id AND a.owner_id = c.owner_id WHERE c.enabled`

	operationsSQL = `SELECT connection_id, method, path, description, ask FROM connection_operations WHERE connection_id = ANY($1::uuid[]) ORDER BY connection_id, path, method`
	agentsSQL     = `SELECT connection_id, agent_id FROM connection_agents WHERE connection_id = ANY($1::uuid[]) ORDER BY connection_id, agent_id`

	sealedSQL = `SELECT sealed FROM connections WHERE id = $1 AND base_url = $2 AND auth_kind = $3 AND auth_name = $4 AND enabled`
)
