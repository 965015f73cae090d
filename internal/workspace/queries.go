package workspace

const (
	insertPersonalSQL   = `INSERT INTO organizations (id, name, is_personal, owner_id) VALUES ($1, $2, true, $3)`
	renamePersonalSQL   = `UPDATE organizations SET name = $2, updated_at = now() WHERE owner_id = $1 AND is_personal`
	insertMembershipSQL = `INSERT INTO memberships (organization_id, account_id, role) VALUES ($1, $2, $3)`
	listOfSQL           = `SELECT o.id AS organization_id, o.name, o.avatar_url, o.is_personal, o.owner_id, m.role, o.inserted_at, o.updated_at
		FROM memberships m JOIN organizations o ON o.id = m.organization_id WHERE m.account_id = $1 ORDER BY o.is_personal DESC, o.inserted_at LIMIT 200`
	roleSQL = `SELECT role FROM memberships WHERE organization_id = $1 AND account_id = $2`
)
