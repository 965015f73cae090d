package store

// Keys of the table meta.
const (
	metaLayout   = "layout"
	metaKey      = "key"      // how the key is derived
	metaProof    = "proof"    // sealed, tells a wrong passphrase
	metaAccount  = "account"  // pickle
	metaAddress  = "address"  // fingerprint
	metaIdentity = "identity" // public keys
	metaSigning  = "signing"
	metaName     = "name"
	metaRelay    = "relay"
	metaAPIKey   = "api_key" // sealed
	metaFallback = "fallback_at"
	metaBefore   = "fallback_before" // when the key before that one was published
	metaGroupCap = "group_cap"
	metaUpload   = "upload"  // unclaimed keys at the relay when an upload of keys began
	metaPadding  = "padding" // "off": letters show their size
)

// layouts are the steps from nothing to the layout of today. A store of an earlier layout takes those it lacks when it is opened.
var layouts = []string{layout1, layout2}

// layout2 keeps the ciphertext of owed acknowledgements, remembers refusals and what was read when, so that what is remembered of
// letters can be forgotten one day, and what was acknowledged.
const layout2 = `
ALTER TABLE answers ADD COLUMN mtype INTEGER NOT NULL DEFAULT 0;
ALTER TABLE answers ADD COLUMN body TEXT NOT NULL DEFAULT '';
ALTER TABLE answers ADD COLUMN sid TEXT NOT NULL DEFAULT '';
ALTER TABLE answers ADD COLUMN since REAL NOT NULL DEFAULT 0;
ALTER TABLE answers ADD COLUMN due REAL NOT NULL DEFAULT 0;
UPDATE answers SET since = unixepoch();
ALTER TABLE processed ADD COLUMN refused INTEGER NOT NULL DEFAULT 0;
CREATE INDEX processed_ages ON processed(peer, at);
CREATE TABLE reads(peer TEXT PRIMARY KEY, at REAL NOT NULL) STRICT;
CREATE TABLE delivered(
  n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, peer TEXT NOT NULL, kind TEXT NOT NULL, created REAL NOT NULL,
  at REAL NOT NULL) STRICT;
CREATE TABLE unpadded(address TEXT PRIMARY KEY) STRICT;`

const layout1 = `
CREATE TABLE meta(k TEXT PRIMARY KEY, v BLOB NOT NULL) STRICT;
CREATE TABLE sessions(
  peer TEXT NOT NULL, sid TEXT NOT NULL, pickle BLOB NOT NULL, made REAL NOT NULL, used REAL NOT NULL,
  retired INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(peer, sid)) STRICT;
CREATE TABLE keys(address TEXT PRIMARY KEY, identity TEXT NOT NULL, signing TEXT NOT NULL) STRICT;
CREATE TABLE peers(address TEXT PRIMARY KEY, name TEXT NOT NULL, identity TEXT NOT NULL, signing TEXT NOT NULL) STRICT;
CREATE TABLE blocked(address TEXT PRIMARY KEY) STRICT;
CREATE TABLE outbox(
  n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, peer TEXT NOT NULL, kind TEXT NOT NULL, gid TEXT NOT NULL,
  mtype INTEGER NOT NULL, body TEXT NOT NULL, sid TEXT NOT NULL, plain BLOB NOT NULL, created REAL NOT NULL, made REAL NOT NULL,
  tries INTEGER NOT NULL DEFAULT 0, due REAL NOT NULL, state TEXT NOT NULL, again INTEGER NOT NULL DEFAULT 0,
  problem TEXT NOT NULL DEFAULT '') STRICT;
CREATE TABLE waiting(
  n INTEGER PRIMARY KEY AUTOINCREMENT, hash TEXT NOT NULL, peer TEXT NOT NULL, mtype INTEGER NOT NULL, body TEXT NOT NULL,
  at REAL NOT NULL, UNIQUE(hash, peer)) STRICT;
CREATE TABLE processed(hash TEXT NOT NULL, peer TEXT NOT NULL, id TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY(hash, peer)) STRICT;
CREATE INDEX processed_ids ON processed(peer, id);
CREATE TABLE arrived(
  n INTEGER PRIMARY KEY AUTOINCREMENT, peer TEXT NOT NULL, id TEXT NOT NULL, letter BLOB NOT NULL, UNIQUE(peer, id)) STRICT;
CREATE TABLE answers(
  n INTEGER PRIMARY KEY AUTOINCREMENT, peer TEXT NOT NULL, kind TEXT NOT NULL, ref TEXT NOT NULL, tries INTEGER NOT NULL DEFAULT 0,
  UNIQUE(peer, kind, ref)) STRICT;
CREATE TABLE unreadable(
  n INTEGER PRIMARY KEY AUTOINCREMENT, hash TEXT NOT NULL UNIQUE, peer TEXT NOT NULL, at REAL NOT NULL, problem TEXT NOT NULL) STRICT;
CREATE TABLE groups(gid TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, members TEXT NOT NULL, at REAL NOT NULL) STRICT;
CREATE TABLE left_groups(gid TEXT PRIMARY KEY, name TEXT NOT NULL, at REAL NOT NULL) STRICT;
CREATE TABLE history(
  n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, from_address TEXT NOT NULL, from_name TEXT NOT NULL,
  peer TEXT NOT NULL, direction TEXT NOT NULL, body BLOB NOT NULL, at REAL NOT NULL, gid TEXT NOT NULL, group_name TEXT NOT NULL) STRICT;
CREATE INDEX history_peers ON history(peer, n);
CREATE TABLE staged(
  address TEXT PRIMARY KEY, name TEXT NOT NULL, identity TEXT NOT NULL, signing TEXT NOT NULL, from_address TEXT NOT NULL,
  from_name TEXT NOT NULL, id TEXT NOT NULL, at REAL NOT NULL) STRICT;
CREATE TABLE invites(
  code TEXT PRIMARY KEY, kind TEXT NOT NULL, peer TEXT NOT NULL, created REAL NOT NULL, expires REAL, uses INTEGER NOT NULL DEFAULT 0,
  used_by TEXT NOT NULL DEFAULT '[]', revoked INTEGER NOT NULL DEFAULT 0) STRICT;`

const (
	sqlMeta    = `SELECT v FROM meta WHERE k = ?`
	sqlSetMeta = `INSERT INTO meta(k, v) VALUES(?, ?) ON CONFLICT(k) DO UPDATE SET v = excluded.v`

	sqlSessions       = `SELECT sid, pickle, retired FROM sessions WHERE peer = ? ORDER BY used DESC, made DESC`
	sqlSaveSession    = `INSERT INTO sessions(peer, sid, pickle, made, used, retired) VALUES(?, ?, ?, ?, ?, 0) ON CONFLICT(peer, sid) DO UPDATE SET pickle = excluded.pickle, used = excluded.used, retired = sessions.retired * ?`
	sqlRestoreSession = `INSERT INTO sessions(peer, sid, pickle, made, used, retired) VALUES(?, ?, ?, ?, ?, 0) ON CONFLICT(peer, sid) DO UPDATE SET pickle = excluded.pickle, used = excluded.used`
	sqlTrimSessions   = `DELETE FROM sessions WHERE peer = ? AND sid NOT IN (SELECT sid FROM sessions WHERE peer = ? ORDER BY used DESC, made DESC LIMIT ?)`
	sqlRetire         = `UPDATE sessions SET retired = 1 WHERE peer = ? AND (made <= ? OR sid = ?)`
	sqlKeys           = `SELECT identity, signing FROM keys WHERE address = ?`
	sqlSaveKeys       = `INSERT INTO keys(address, identity, signing) VALUES(?, ?, ?) ON CONFLICT(address) DO UPDATE SET identity = excluded.identity, signing = excluded.signing`
	sqlPeers          = `SELECT address, name, identity, signing FROM peers ORDER BY name, address`
	sqlSavePeer       = `INSERT INTO peers(address, name, identity, signing) VALUES(?, ?, ?, ?) ON CONFLICT(address) DO UPDATE SET name = excluded.name, identity = excluded.identity, signing = excluded.signing`
	sqlRemovePeer     = `DELETE FROM peers WHERE address = ?`
	sqlBlocked        = `SELECT address FROM blocked ORDER BY address`
	sqlIsBlocked      = `SELECT 1 FROM blocked WHERE address = ?`
	sqlBlock          = `INSERT INTO blocked(address) VALUES(?) ON CONFLICT DO NOTHING`
	sqlUnblock        = `DELETE FROM blocked WHERE address = ?`
	sqlOutboxColumns  = `SELECT id, peer, kind, gid, mtype, body, sid, plain, created, made, tries, due, state, again, problem FROM outbox `
	sqlOutbox         = sqlOutboxColumns + `ORDER BY n`
	sqlOutboxDue      = sqlOutboxColumns + `WHERE state IN ('queued', 'at_relay') AND (due <= ? OR ?) ORDER BY n`
	sqlOutboxRow      = sqlOutboxColumns + `WHERE id = ?`
	sqlAddOutbox      = `INSERT INTO outbox(id, peer, kind, gid, mtype, body, sid, plain, created, made, due, state) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'queued')`
	sqlUpdateOutbox   = `UPDATE outbox SET mtype = ?, body = ?, sid = ?, made = ?, tries = 0, due = ?, state = ?, again = ?, problem = ? WHERE id = ?`
	sqlTouchOutbox    = `UPDATE outbox SET tries = ?, due = ?, state = ?, problem = ? WHERE id = ? AND body = ? AND state IN ('queued', 'at_relay')`
	sqlDropOutbox     = `DELETE FROM outbox WHERE id = ?`
	sqlAllDue         = `UPDATE outbox SET due = 0 WHERE state IN ('queued', 'at_relay')`
	sqlAddDelivered   = `INSERT INTO delivered(id, peer, kind, created, at) SELECT id, peer, kind, created, ? FROM outbox WHERE id = ? ON CONFLICT DO NOTHING`
	sqlTrimDelivered  = `DELETE FROM delivered WHERE n <= (SELECT MAX(n) FROM delivered) - ?`
	sqlDelivered      = `SELECT id, peer, kind, created, at FROM delivered WHERE ? = '' OR id = ? ORDER BY n`

	sqlIsUnpadded = `SELECT 1 FROM unpadded WHERE address = ?`
	sqlUnpadded   = `SELECT address FROM unpadded ORDER BY address`
	sqlUnpad      = `INSERT INTO unpadded(address) VALUES(?) ON CONFLICT DO NOTHING`
	sqlPad        = `DELETE FROM unpadded WHERE address = ?`

	sqlSealedHistory  = `SELECT n, id, body FROM history WHERE n > ? ORDER BY n LIMIT 200`
	sqlResealHistory  = `UPDATE history SET body = ? WHERE n = ?`
	sqlSealedArrived  = `SELECT n, peer || '/' || id, letter FROM arrived WHERE n > ? ORDER BY n LIMIT 200`
	sqlResealArrived  = `UPDATE arrived SET letter = ? WHERE n = ?`
	sqlSealedOutbox   = `SELECT n, id, plain FROM outbox WHERE n > ? ORDER BY n LIMIT 200`
	sqlResealOutbox   = `UPDATE outbox SET plain = ? WHERE n = ?`
	sqlSealedSessions = `SELECT rowid, sid, pickle FROM sessions WHERE rowid > ? ORDER BY rowid LIMIT 200`
	sqlResealSession  = `UPDATE sessions SET pickle = ? WHERE rowid = ?`
	sqlCheckpoint     = `PRAGMA wal_checkpoint(TRUNCATE)`

	sqlAddWaiting  = `INSERT INTO waiting(hash, peer, mtype, body, at) VALUES(?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
	sqlWaiting     = `SELECT n, hash, peer, mtype, body, at FROM waiting WHERE n > ? AND (? = '' OR peer = ?) ORDER BY n LIMIT 1`
	sqlWaitingFrom = `SELECT DISTINCT peer FROM waiting ORDER BY peer`
	sqlDropWaiting = `DELETE FROM waiting WHERE n = ?`

	sqlProcessed    = `SELECT id, refused FROM processed WHERE hash = ? AND peer IN (?, '') LIMIT 1`
	sqlProcessedID  = `SELECT 1 FROM processed WHERE peer IN (?, '') AND id = ? LIMIT 1`
	sqlAddProcessed = `INSERT INTO processed(hash, peer, id, at, refused) VALUES(?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
	sqlRead         = `SELECT at FROM reads WHERE peer = ?`
	sqlSetRead      = `INSERT INTO reads(peer, at) VALUES(?, ?) ON CONFLICT(peer) DO UPDATE SET at = excluded.at`
	sqlForgetPeer   = `DELETE FROM processed WHERE peer = ? AND at < ? AND NOT EXISTS (SELECT 1 FROM waiting w WHERE w.peer = processed.peer) AND NOT EXISTS (SELECT 1 FROM arrived a WHERE a.peer = processed.peer)`
	sqlForgetAll    = `DELETE FROM processed WHERE peer <> '' AND at < ? AND NOT EXISTS (SELECT 1 FROM waiting w WHERE w.peer = processed.peer) AND NOT EXISTS (SELECT 1 FROM arrived a WHERE a.peer = processed.peer)`

	sqlAddArrived  = `INSERT INTO arrived(peer, id, letter) VALUES(?, ?, ?) ON CONFLICT DO NOTHING`
	sqlArrived     = `SELECT n, peer, id, letter FROM arrived WHERE n > ? AND (? = '' OR peer = ?) ORDER BY n LIMIT 1`
	sqlIsArrived   = `SELECT 1 FROM arrived WHERE peer = ? AND id = ?`
	sqlDropArrived = `DELETE FROM arrived WHERE n = ?`

	sqlAddAnswer     = `INSERT INTO answers(peer, kind, ref, since) VALUES(?, ?, ?, ?) ON CONFLICT DO NOTHING`
	sqlAnswerColumns = `SELECT n, peer, kind, ref, tries, mtype, body, sid, since, due FROM answers `
	sqlAnswers       = sqlAnswerColumns + `ORDER BY n`
	sqlAnswerRow     = sqlAnswerColumns + `WHERE n = ?`
	sqlSealAnswer    = `UPDATE answers SET mtype = ?, body = ?, sid = ? WHERE n = ?`
	sqlTryAnswer     = `UPDATE answers SET tries = tries + 1, due = ? WHERE n = ?`
	sqlAnswersDue    = `UPDATE answers SET due = 0`
	sqlDropAnswer    = `DELETE FROM answers WHERE n = ?`

	sqlAddUnreadable  = `INSERT INTO unreadable(hash, peer, at, problem) VALUES(?, ?, ?, ?) ON CONFLICT DO NOTHING`
	sqlUnreadable     = `SELECT hash, peer, at, problem FROM unreadable ORDER BY n`
	sqlDropUnreadable = `DELETE FROM unreadable WHERE hash = ? OR substr(hash, 1, 32) = ?`
	sqlTrimUnreadable = `DELETE FROM unreadable WHERE n NOT IN (SELECT n FROM unreadable ORDER BY n DESC LIMIT ?)`

	sqlGroups      = `SELECT gid, name, members FROM groups ORDER BY name`
	sqlSaveGroup   = `INSERT INTO groups(gid, name, members, at) VALUES(?, ?, ?, ?) ON CONFLICT(gid) DO UPDATE SET name = excluded.name, members = excluded.members, at = excluded.at`
	sqlRemoveGroup = `DELETE FROM groups WHERE gid = ?`
	sqlLeftGroups  = `SELECT gid, name FROM left_groups ORDER BY at DESC`
	sqlLeave       = `INSERT INTO left_groups(gid, name, at) VALUES(?, ?, ?) ON CONFLICT(gid) DO UPDATE SET name = excluded.name, at = excluded.at`
	sqlRejoin      = `DELETE FROM left_groups WHERE gid = ?`
	sqlHasLeft     = `SELECT 1 FROM left_groups WHERE gid = ?`

	sqlAddHistory    = `INSERT INTO history(id, from_address, from_name, peer, direction, body, at, gid, group_name) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
	sqlHistory       = `SELECT n, id, from_address, from_name, peer, direction, body, at, gid, group_name FROM history WHERE n > ? AND (? = '' OR gid = ? OR gid = '' AND peer = ?) ORDER BY n LIMIT ?`
	sqlConversations = `SELECT CASE WHEN gid = '' THEN peer ELSE gid END, MAX(gid), MAX(group_name), COUNT(*), MAX(at) FROM history GROUP BY 1 ORDER BY 5 DESC`

	sqlStage   = `INSERT INTO staged(address, name, identity, signing, from_address, from_name, id, at) VALUES(?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(address) DO UPDATE SET name = excluded.name, identity = excluded.identity, signing = excluded.signing, from_address = excluded.from_address, from_name = excluded.from_name, id = excluded.id, at = excluded.at`
	sqlStaged  = `SELECT address, name, identity, signing, from_address, from_name, id, at FROM staged ORDER BY name, address`
	sqlUnstage = `DELETE FROM staged WHERE address = ?`

	sqlInvites      = `SELECT code, kind, peer, created, expires, uses, used_by, revoked FROM invites ORDER BY created, code`
	sqlAddInvite    = `INSERT INTO invites(code, kind, peer, created, expires) VALUES(?, ?, ?, ?, ?)`
	sqlRestoreUse   = `UPDATE invites SET uses = ?, used_by = ?, revoked = ? WHERE code = ?`
	sqlUseInvite    = `UPDATE invites SET uses = uses + 1, used_by = ? WHERE code = ?`
	sqlRevokeInvite = `UPDATE invites SET revoked = 1 WHERE code = ?`
)
