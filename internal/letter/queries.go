package letter

// Times come from the caller (relay: an injectable clock); nothing here asks the
// database for the time.
//
// Where the letters of one recipient are looked for, the age is compared as
// sent_at + 0, so that the index on sent_at cannot serve: most letters are young
// enough, and a planner without fresh statistics would read that whole index.

// sqlNonce gives a row when the nonce is new or old enough to be forgotten.
const sqlNonce = `INSERT INTO letter_nonces (nonce, seen_at) VALUES ($1::bytea, $2::timestamptz)
ON CONFLICT (nonce) DO UPDATE SET seen_at = EXCLUDED.seen_at WHERE letter_nonces.seen_at < $3::timestamptz
RETURNING 1`

const (
	sqlMailboxExists = `SELECT EXISTS (SELECT FROM letter_mailboxes WHERE address = $1)`

	// The address is a hash of both keys: they never change.
	sqlPublish = `INSERT INTO letter_mailboxes (address, identity_key, signing_key, fallback_key_id, fallback_key, seen_on)
VALUES ($1, $2, $3, $4::text, $5::text, $6::date)
ON CONFLICT (address) DO UPDATE SET fallback_key_id = COALESCE(EXCLUDED.fallback_key_id, letter_mailboxes.fallback_key_id),
    fallback_key = COALESCE(EXCLUDED.fallback_key, letter_mailboxes.fallback_key), seen_on = EXCLUDED.seen_on`

	// The order of the object on the wire is the order in which keys are given out.
	sqlAddKeys = `INSERT INTO letter_one_time_keys (owner, key_id, key)
SELECT $1, k.key_id, k.key FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS k (key_id, key, n) ORDER BY k.n
ON CONFLICT (owner, key) DO NOTHING`

	sqlUnclaimed = `SELECT count(*) FROM letter_one_time_keys WHERE owner = $1 AND claimed_at IS NULL`

	sqlCountKeys = `SELECT (` + sqlUnclaimed + `), fallback_key IS NOT NULL, seen_on < $2::date FROM letter_mailboxes WHERE address = $1`

	sqlSeen = `UPDATE letter_mailboxes SET seen_on = $2::date WHERE address = $1 AND seen_on < $2::date`

	sqlKeys = `SELECT identity_key, signing_key, fallback_key_id, fallback_key FROM letter_mailboxes WHERE address = $1`

	// Two callers that meet at one key: the second waits for the first, sees the key
	// taken and goes on to the next.
	sqlClaimKey = `UPDATE letter_one_time_keys SET claimed_at = $2::timestamptz
WHERE id = ANY(ARRAY(SELECT k.id FROM letter_one_time_keys AS k WHERE k.owner = $1 AND k.claimed_at IS NULL ORDER BY k.id LIMIT 1 FOR UPDATE))
RETURNING key_id, key`
)

const (
	// sqlSend finds everything a send must know: whether the recipient is known,
	// whether this ciphertext was refused or is here already, and what waits. Letters
	// that are being handed out do not count, so that a drained mailbox takes letters
	// at once; they count in total, which may be twice the limit. It stores the letter
	// when less than $10 letters, $11 of this sender and $12 bytes wait (-1: no limit).
	sqlSend = `WITH a AS (
  SELECT (` + sqlMailboxExists + `) AS known,
    (SELECT sig FROM letter_refusals WHERE recipient = $1 AND hash = $3::bytea AND refused_at > $6::timestamptz) AS refusal,
    (SELECT id FROM letters WHERE recipient = $1 AND sender = $2 AND hash = $3::bytea) AS id,
    COALESCE((SELECT sent_at FROM letters WHERE recipient = $1 AND sender = $2 AND hash = $3::bytea), 0) AS sent_at,
    count(*) FILTER (WHERE NOT leased) AS waiting, count(*) FILTER (WHERE NOT leased AND sender = $2) AS of_sender,
    COALESCE(sum(size) FILTER (WHERE NOT leased), 0)::bigint AS bytes, count(*) AS total, COALESCE(sum(size), 0)::bigint AS total_bytes
  FROM (SELECT sender, octet_length(body) AS size, lease_until IS NOT NULL AND lease_until > $5::timestamptz AS leased
    FROM letters WHERE recipient = $1 AND sent_at + 0 > $4::double precision) AS l
), kept AS (
  INSERT INTO letters (sent_at, sender, recipient, mtype, hash, body)
  SELECT $7::double precision, $2, $1, $8::bigint, $3::bytea, $9::bytea FROM a
  WHERE a.known AND a.refusal IS NULL AND a.id IS NULL AND ($11::bigint < 0 OR a.of_sender < $11::bigint)
    AND ($10::bigint < 0 OR (a.waiting < $10::bigint AND a.total < 2 * $10::bigint))
    AND ($12::bigint < 0 OR (a.bytes + octet_length($9::bytea) <= $12::bigint AND a.total_bytes + octet_length($9::bytea) <= 2 * $12::bigint))
  ON CONFLICT (recipient, sender, hash) DO NOTHING RETURNING id
)
SELECT known, refusal, id, sent_at, waiting, of_sender, bytes, total, total_bytes, (SELECT id FROM kept) FROM a`

	sqlLockMailbox = `SELECT address FROM letter_mailboxes WHERE address = $1 FOR UPDATE`

	sqlDeleteLetter = `DELETE FROM letters WHERE id = $1::bigint AND sent_at <= $2::double precision`

	// sqlWaiting are the letters that could be handed out, the oldest first, with their
	// sizes: how many fit one answer is counted outside.
	sqlWaiting = `SELECT id, octet_length(body) FROM letters
WHERE recipient = $1 AND ($2 = '' OR sender = $2) AND sent_at + 0 > $3::double precision AND (lease_until IS NULL OR lease_until <= $4::timestamptz)
ORDER BY id LIMIT $5::bigint`

	// sqlPeekable are the same for a look that leaves them there, the smallest first: what does not fit one answer never comes with a
	// later one, so large letters, of which one stranger may send many, must not keep a contact request out of sight.
	sqlPeekable = `SELECT id, octet_length(body) FROM letters
WHERE recipient = $1 AND ($2 = '' OR sender = $2) AND sent_at + 0 > $3::double precision AND (lease_until IS NULL OR lease_until <= $4::timestamptz)
ORDER BY octet_length(body), id LIMIT $5::bigint`

	// sqlSenders are the senders of what could be handed out.
	sqlSenders = `SELECT DISTINCT sender FROM letters
WHERE recipient = $1 AND sent_at + 0 > $2::double precision AND (lease_until IS NULL OR lease_until <= $3::timestamptz) LIMIT $4::bigint`

	sqlShow = `SELECT id, sent_at, sender, mtype, body FROM letters
WHERE id = ANY($1::bigint[]) AND (lease_until IS NULL OR lease_until <= $2::timestamptz)`

	// The rows are locked in the order of id and looked at again: what another reader
	// took in between is left out.
	sqlLease = `UPDATE letters SET lease = $3::uuid, lease_until = $4::timestamptz
WHERE id = ANY(ARRAY(SELECT c.id FROM letters AS c WHERE c.id = ANY($1::bigint[])
  AND (c.lease_until IS NULL OR c.lease_until <= $2::timestamptz) ORDER BY c.id FOR UPDATE))
RETURNING id, sent_at, sender, mtype, body`

	sqlHeld = `WHERE id = ANY(ARRAY(SELECT c.id FROM letters AS c WHERE c.recipient = $1 AND c.lease = $2::uuid ORDER BY c.id FOR UPDATE))`

	sqlCollected = `DELETE FROM letters ` + sqlHeld

	sqlGiveBack = `UPDATE letters SET lease = NULL, lease_until = NULL ` + sqlHeld
)

const (
	sqlRefuse = `INSERT INTO letter_refusals (recipient, hash, sig, refused_at) VALUES ($1, $2::bytea, $3, $4::timestamptz)
ON CONFLICT (recipient, hash) DO UPDATE SET sig = EXCLUDED.sig, refused_at = EXCLUDED.refused_at`

	sqlEvictRefusals = `DELETE FROM letter_refusals WHERE id = ANY(ARRAY(
  SELECT r.id FROM letter_refusals AS r WHERE r.recipient = $1 ORDER BY r.id DESC OFFSET $2::bigint FOR UPDATE))`
)

const (
	sqlKeyAllowed  = `SELECT EXISTS (SELECT FROM letter_api_keys WHERE key_hash = $1 AND NOT disabled)`
	sqlAddAPIKey   = `INSERT INTO letter_api_keys (key_hash, label, created) VALUES ($1, $2, $3::double precision)`
	sqlAPIKeys     = `SELECT key_hash, label, created, disabled FROM letter_api_keys ORDER BY created, key_hash LIMIT 10000`
	sqlSetDisabled = `UPDATE letter_api_keys SET disabled = $2::boolean WHERE key_hash = $1`
	sqlDropAPIKey  = `DELETE FROM letter_api_keys WHERE key_hash = $1`
)

// The sweeps: each takes the oldest rows and is done when it finds fewer than a batch.
const (
	sqlSweepNonces = `DELETE FROM letter_nonces WHERE nonce = ANY(ARRAY(
  SELECT n.nonce FROM letter_nonces AS n WHERE n.seen_at < $1::timestamptz ORDER BY n.seen_at LIMIT $2::bigint FOR UPDATE))`

	sqlSweepLetters = `DELETE FROM letters WHERE id = ANY(ARRAY(
  SELECT l.id FROM letters AS l WHERE l.sent_at <= $1::double precision ORDER BY l.sent_at LIMIT $2::bigint FOR UPDATE))`

	sqlSweepRefusals = `DELETE FROM letter_refusals WHERE id = ANY(ARRAY(
  SELECT r.id FROM letter_refusals AS r WHERE r.refused_at <= $1::timestamptz ORDER BY r.refused_at LIMIT $2::bigint FOR UPDATE))`

	sqlSweepKeys = `DELETE FROM letter_one_time_keys WHERE id = ANY(ARRAY(
  SELECT k.id FROM letter_one_time_keys AS k WHERE k.claimed_at <= $1::timestamptz ORDER BY k.claimed_at LIMIT $2::bigint FOR UPDATE))`

	sqlSweepMailboxes = `DELETE FROM letter_mailboxes WHERE address = ANY(ARRAY(
  SELECT m.address FROM letter_mailboxes AS m WHERE m.seen_on < $1::date ORDER BY m.seen_on LIMIT $2::bigint FOR UPDATE))`
)

// statements lists all, for the test that plans them.
var statements = []string{
	sqlNonce, sqlMailboxExists, sqlPublish, sqlAddKeys, sqlUnclaimed, sqlCountKeys, sqlSeen, sqlKeys, sqlClaimKey, sqlSend, sqlLockMailbox, sqlWaiting, sqlPeekable, sqlSenders,
	sqlDeleteLetter, sqlShow, sqlLease, sqlCollected, sqlGiveBack, sqlRefuse, sqlEvictRefusals, sqlKeyAllowed, sqlAddAPIKey, sqlAPIKeys, sqlSetDisabled,
	sqlDropAPIKey, sqlSweepNonces, sqlSweepLetters, sqlSweepRefusals, sqlSweepKeys, sqlSweepMailboxes,
}
