package account

const accountColumns = `id, email, first_name, last_name, description, metadata, timezone, locale, location, marketing_opt_in, analytics_opt_in,
	accepted_policy_version, active_organization_id, notification_preferences, settings, platform_admin, inserted_at, updated_at`

const (
	insertSQL = `INSERT INTO accounts (id, email, first_name, last_name, timezone, locale, birth_date, marketing_opt_in, analytics_opt_in,
		accepted_policy_version, accepted_policy_at, active_organization_id, platform_admin)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, now(), $11, NOT EXISTS (SELECT 1 FROM accounts))`
	insertIdentitySQL = `INSERT INTO identities (provider, subject, account_id, password_hash) VALUES ($1, $2, $3, $4)`
	getSQL            = `SELECT ` + accountColumns + ` FROM accounts WHERE id = $1 AND deleted_at IS NULL`
	countSQL          = `SELECT count(*) FROM (SELECT 1 FROM accounts LIMIT 2) AS few`
	holdSQL           = `SELECT true FROM accounts WHERE id = $1 AND deleted_at IS NULL FOR SHARE`
	oneAtATimeSQL     = `SELECT pg_advisory_xact_lock(hashtextextended('accounts are made', 0))`
	oldestAdminSQL    = `SELECT id FROM accounts WHERE platform_admin AND deleted_at IS NULL ORDER BY inserted_at LIMIT 1`
	findPasswordSQL   = `SELECT a.id, i.password_hash FROM accounts a JOIN identities i ON i.account_id = a.id AND i.provider = $2
		WHERE lower(a.email) = lower($1) AND a.deleted_at IS NULL AND i.password_hash IS NOT NULL`
	passwordHashSQL = `SELECT password_hash FROM identities WHERE account_id = $1 AND provider = $2 AND password_hash IS NOT NULL`
	holdPasswordSQL = `SELECT true FROM identities WHERE account_id = $1 AND provider = $2 AND coalesce(password_hash, '') = $3 FOR SHARE`
	setPasswordSQL  = `UPDATE identities SET password_hash = $4, updated_at = now() WHERE account_id = $1 AND provider = $2 AND coalesce(password_hash, '') = $3`
	patchSQL        = `UPDATE accounts SET first_name = COALESCE($2, first_name), last_name = CASE WHEN $3::text IS NULL THEN last_name ELSE NULLIF($3, '') END,
		description = COALESCE($4, description),
		metadata = jsonb_set(metadata || $5::jsonb, '{tours_seen}', COALESCE(metadata -> 'tours_seen', '{}'::jsonb) ||
			CASE WHEN $15::text IS NULL THEN '{}'::jsonb ELSE jsonb_build_object($15::text, true) END),
		timezone = COALESCE($6, timezone), locale = CASE WHEN $7::boolean THEN $8 ELSE locale END,
		marketing_opt_in = COALESCE($9, marketing_opt_in), analytics_opt_in = COALESCE($10, analytics_opt_in),
		accepted_policy_version = COALESCE($11, accepted_policy_version),
		accepted_policy_at = CASE WHEN $11::text IS NULL THEN accepted_policy_at ELSE now() END,
		active_organization_id = COALESCE($12::uuid, active_organization_id),
		notification_preferences = notification_preferences || $13::jsonb, settings = settings || $14::jsonb, updated_at = now()
		WHERE id = $1`
	forgetSQL = `UPDATE accounts SET email = 'deleted-' || id, first_name = '', last_name = NULL, description = '', metadata = '{}', timezone = NULL,
		locale = NULL, location = NULL, birth_date = NULL, settings = '{}', notification_preferences = '{}', deleted_at = now(), updated_at = now() WHERE id = $1`
	setLocationSQL      = `UPDATE accounts SET location = $2::jsonb, updated_at = now() WHERE id = $1`
	deleteIdentitiesSQL = `DELETE FROM identities WHERE account_id = $1`
	deleteSessionsSQL   = `DELETE FROM sessions WHERE account_id = $1`
	deleteCodesSQL      = `DELETE FROM one_time_codes WHERE account_id = $1`
	deleteKeysSQL       = `DELETE FROM llm_keys WHERE account_id = $1`
)

const sessionColumns = `id, account_id, user_agent, address, inserted_at, last_seen_at, expires_at`

const (
	insertSessionSQL = `INSERT INTO sessions (account_id, token_hash, user_agent, address, expires_at)
		VALUES ($1, $2, $3, $4, now() + make_interval(secs => $5)) RETURNING ` + sessionColumns
	findSessionSQL         = `SELECT ` + sessionColumns + ` FROM sessions WHERE token_hash = $1 AND expires_at > now()`
	touchSessionSQL        = `UPDATE sessions SET last_seen_at = now(), expires_at = now() + make_interval(secs => $2) WHERE id = $1`
	listSessionsSQL        = `SELECT ` + sessionColumns + ` FROM sessions WHERE account_id = $1 AND expires_at > now() ORDER BY last_seen_at DESC LIMIT 100`
	deleteSessionSQL       = `DELETE FROM sessions WHERE account_id = $1 AND id = $2`
	deleteOtherSessionsSQL = `DELETE FROM sessions WHERE account_id = $1 AND id <> $2 RETURNING id`
	insertCodeSQL          = `INSERT INTO one_time_codes (code_hash, account_id, expires_at) VALUES ($1, $2, now() + make_interval(secs => $3))`
	spendCodeSQL           = `DELETE FROM one_time_codes WHERE code_hash = $1 AND expires_at > now() RETURNING account_id`
)

const keyColumns = `id, account_id, provider, label, fingerprint, is_default, status, last_validated_at, inserted_at, updated_at`

const (
	countKeysSQL          = `SELECT count(*), count(*) FILTER (WHERE provider = $2) FROM llm_keys WHERE account_id = $1`
	clearDefaultKeySQL    = `UPDATE llm_keys SET is_default = false WHERE account_id = $1 AND provider = $2 AND is_default`
	clearDefaultOfSameSQL = `UPDATE llm_keys SET is_default = false WHERE account_id = $1 AND is_default
		AND provider = (SELECT k.provider FROM llm_keys k WHERE k.account_id = $1 AND k.id = $2)`
	insertKeySQL = `INSERT INTO llm_keys (id, account_id, provider, label, sealed, fingerprint, is_default) VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING ` + keyColumns
	listKeysSQL  = `SELECT ` + keyColumns + ` FROM llm_keys WHERE account_id = $1 ORDER BY inserted_at, id LIMIT 100`
	patchKeySQL  = `UPDATE llm_keys SET label = COALESCE($3, label), sealed = COALESCE($4, sealed), fingerprint = COALESCE($5, fingerprint),
		status = CASE WHEN $4::bytea IS NULL THEN status ELSE 'active' END, updated_at = now() WHERE account_id = $1 AND id = $2 RETURNING ` + keyColumns
	setDefaultKeySQL = `UPDATE llm_keys SET is_default = true, updated_at = now() WHERE account_id = $1 AND id = $2 RETURNING ` + keyColumns
	deleteKeySQL     = `DELETE FROM llm_keys WHERE account_id = $1 AND id = $2 RETURNING provider, is_default`
	promoteKeySQL    = `UPDATE llm_keys SET is_default = true WHERE id = (SELECT k.id FROM llm_keys k WHERE k.account_id = $1 AND k.provider = $2 ORDER BY k.inserted_at LIMIT 1)`
	sealedKeySQL     = `SELECT id, sealed FROM llm_keys WHERE account_id = $1 AND provider = $2 AND (($3::uuid IS NULL AND is_default) OR id = $3)`
)
