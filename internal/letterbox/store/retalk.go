package store

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// retalkFile is the store of a retalk identity.
const retalkFile = "store.db"

// The tables of retalk (contract letters 2.3). COALESCE and the columns that are there decide about older forms.
const (
	sqlOldTables   = `SELECT name FROM sqlite_schema WHERE type = 'table'`
	sqlOldColumns  = `SELECT name FROM pragma_table_info(?)`
	sqlOldMeta     = `SELECT k, COALESCE(v, '') FROM meta`
	sqlOldSessions = `SELECT peer, blob, COALESCE(used, 0) FROM sessions ORDER BY peer, used`
	sqlOldOutbox   = `SELECT id, peer, mtype, body, COALESCE(ts, 0), COALESCE(gid, '') FROM outbox ORDER BY ts, rowid`
	sqlOldDone     = `SELECT hash, COALESCE(msg_id, '') FROM processed`
	sqlOldGroups   = `SELECT gid, name, members FROM groups`
	sqlOldLeft     = `SELECT gid, COALESCE(name, '') FROM left_groups`
	sqlOldBlocked  = `SELECT fingerprint FROM blocked`
	sqlOldStaged   = `SELECT fingerprint, COALESCE(name, ''), COALESCE(identity_key, ''), COALESCE(signing_key, ''), COALESCE(from_fp, ''), COALESCE(from_name, ''), COALESCE(msg_id, ''), COALESCE(ts, 0) FROM received_contacts`
	sqlOldInvites  = `SELECT code, kind, COALESCE(peer, ''), created, COALESCE(expires, 0), uses, COALESCE(used_by, '[]'), COALESCE(revoked, 0) FROM invite_codes`
)

// Retalk is the store of a retalk identity, open for reading.
type Retalk struct {
	db      *sql.DB
	tx      *Tx
	meta    map[string]string
	columns map[string]columnSet // of the tables there are
}

// HasRetalk says whether dir holds an identity of retalk.
func HasRetalk(dir string) bool {
	st, err := os.Stat(filepath.Join(dir, retalkFile))
	return err == nil && st.Mode().IsRegular()
}

// OpenRetalk opens the store of a retalk identity. Nothing is written to it. Errors: [ErrNone], [ErrDamaged].
func OpenRetalk(ctx context.Context, dir string) (*Retalk, error) {
	if !HasRetalk(dir) {
		return nil, ErrNone
	}
	name := dsn(filepath.Join(dir, retalkFile), "busy_timeout(60000)", "query_only(ON)")
	name = strings.Replace(name, "_txlock=immediate", "_txlock=deferred", 1) + "&mode=ro"
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, fmt.Errorf("open retalk's store: %w", err)
	}
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open retalk's store: %w", err), db.Close())
	}
	r := &Retalk{db: db, tx: &Tx{ctx: ctx, tx: tx}, meta: map[string]string{}, columns: map[string]columnSet{}}
	if err := r.look(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Close gives the file back.
func (r *Retalk) Close() error { return errors.Join(r.tx.tx.Rollback(), r.db.Close()) }

func one[T any](row func(...any) error) (v T, err error) { return v, row(&v) }

func (r *Retalk) look() error {
	tables, err := all(r.tx, sqlOldTables, nil, one[string])
	if err != nil {
		return err
	}
	for _, table := range tables {
		names, err := all(r.tx, sqlOldColumns, []any{table}, one[string])
		if err != nil {
			return err
		}
		set := columnSet{}
		for _, n := range names {
			set[n] = true
		}
		r.columns[table] = set
	}
	if r.columns["meta"] == nil {
		return fmt.Errorf("%w: it is no store of retalk", ErrDamaged)
	}
	_, err = all(r.tx, sqlOldMeta, nil, func(row func(...any) error) (_ struct{}, err error) {
		var k, v string
		err = row(&k, &v)
		r.meta[k] = v
		return struct{}{}, err
	})
	if err == nil && r.meta["account"] == "" {
		err = fmt.Errorf("%w: retalk's store holds no account", ErrDamaged)
	}
	return err
}

// NoPassphrase says whether the identity was made without one.
func (r *Retalk) NoPassphrase() bool { return r.meta["no_passphrase"] == "1" }

// Meta is one of retalk's settings: name, server_url, api_key, account, group_cap; empty when it is not set.
func (r *Retalk) Meta(name string) string { return r.meta[name] }

// RetalkSecret is the key that retalk derives from a passphrase, for its pickles.
func RetalkSecret(pass Passphrase) []byte {
	sum := sha256.Sum256(pass.retalkSecret())
	return sum[:]
}

// rows reads a table that may be missing, or lack a column of today.
func rows[T any](r *Retalk, table, query string, scan func(func(...any) error) (T, error)) ([]T, error) {
	if r.columns[table] == nil {
		return nil, nil
	}
	return all(r.tx, query, nil, scan)
}

// RetalkSession is a stored session of retalk.
type RetalkSession struct {
	Peer, Pickle string
	Used         float64
}

// Sessions are those of all peers, the most recently used last.
func (r *Retalk) Sessions() ([]RetalkSession, error) {
	query := sqlOldSessions
	if !r.columns["sessions"]["used"] { // one session per peer
		query = strings.NewReplacer("COALESCE(used, 0)", "0", ", used", "").Replace(query)
	}
	return rows(r, "sessions", query, func(row func(...any) error) (s RetalkSession, err error) {
		return s, row(&s.Peer, &s.Pickle, &s.Used)
	})
}

// Outbox are the letters nobody acknowledged; their text is not known.
func (r *Retalk) Outbox() ([]Outgoing, error) {
	query := sqlOldOutbox
	if !r.columns["outbox"]["gid"] {
		query = strings.Replace(query, "COALESCE(gid, '')", "''", 1)
	}
	return rows(r, "outbox", query, func(row func(...any) error) (o Outgoing, err error) {
		return o, row(&o.ID, &o.Peer, &o.MType, &o.Body, &o.Created, &o.GroupID)
	})
}

// Processed are the hashes of accepted letters and their envelope ids.
func (r *Retalk) Processed() ([][2]string, error) {
	return rows(r, "processed", sqlOldDone, func(row func(...any) error) (p [2]string, err error) { return p, row(&p[0], &p[1]) })
}

// Contacts are the identity's own ones.
func (r *Retalk) Contacts() ([]Contact, error) {
	if r.columns["peers"] == nil {
		return nil, nil
	}
	return r.tx.oldContacts(r.columns["peers"])
}

// Groups are the rosters.
func (r *Retalk) Groups() ([]Group, error) {
	return rows(r, "groups", sqlOldGroups, func(row func(...any) error) (g Group, err error) {
		var members string
		if err := row(&g.ID, &g.Name, &members); err != nil {
			return g, err
		}
		if json.Unmarshal([]byte(members), &g.Members) != nil {
			g.Members = nil
		}
		return g, nil
	})
}

// Left are the groups that were left.
func (r *Retalk) Left() ([]Group, error) {
	return rows(r, "left_groups", sqlOldLeft, func(row func(...any) error) (g Group, err error) { return g, row(&g.ID, &g.Name) })
}

// Blocked are the blocked addresses.
func (r *Retalk) Blocked() ([]string, error) { return rows(r, "blocked", sqlOldBlocked, one[string]) }

// Staged are the shared contacts nobody imported.
func (r *Retalk) Staged() ([]Card, error) {
	return rows(r, "received_contacts", sqlOldStaged, func(row func(...any) error) (c Card, err error) {
		return c, row(&c.Address, &c.Name, &c.Identity, &c.Signing, &c.From, &c.FromName, &c.ID, &c.At)
	})
}

// Invites are the codes.
func (r *Retalk) Invites() ([]Invite, error) {
	return rows(r, "invite_codes", sqlOldInvites, func(row func(...any) error) (i Invite, err error) {
		var used string
		if err := row(&i.Code, &i.Kind, &i.Peer, &i.Created, &i.Expires, &i.Uses, &used, &i.Revoked); err != nil {
			return i, err
		}
		if json.Unmarshal([]byte(used), &i.UsedBy) != nil {
			i.UsedBy = nil
		}
		return i, nil
	})
}

// History are the kept letters, the oldest first, opened with retalk's secret; lost counts those that do not open.
func (r *Retalk) History(secret []byte) (list []Saved, lost int, err error) {
	c := r.columns["messages"]
	if c == nil {
		return nil, 0, nil
	}
	column := func(name string) string {
		if c[name] {
			return "COALESCE(" + name + ", '')"
		}
		return "''"
	}
	query := "SELECT msg_id, " + column("from_fp") + ", " + column("from_name") + ", " + column("peer_fp") + ", " + column("direction") + ", body, COALESCE(ts, 0), " +
		column("gid") + ", " + column("gname") + " FROM messages ORDER BY ts, rowid"
	sealed, err := all(r.tx, query, nil, func(row func(...any) error) (s Saved, err error) {
		var way string
		err = row(&s.ID, &s.From, &s.FromName, &s.Peer, &way, &s.Text, &s.At, &s.GroupID, &s.GroupName)
		s.Outgoing = way == direction(true)
		if s.Peer == "" { // of a time when only what came was kept
			s.Peer = s.From
		}
		return s, err
	})
	for _, s := range sealed {
		text, openErr := OpenRetalkBody(secret, s.Text)
		if openErr != nil {
			lost++
			continue
		}
		s.Text = text
		list = append(list, s)
	}
	return list, lost, err
}

// OpenRetalkBody opens a body of retalk's history (contract letters 2.3): a JSON array of ciphertext, MAC and ephemeral key. The
// MAC covers nothing, a known flaw of that format, and is therefore not looked at.
func OpenRetalkBody(secret []byte, body string) (string, error) {
	var parts []string
	if json.Unmarshal([]byte(body), &parts) != nil || len(parts) != 3 {
		return "", ErrDamaged
	}
	ciphertext, err1 := base64.StdEncoding.DecodeString(parts[0])
	ephemeral, err2 := base64.StdEncoding.DecodeString(parts[2])
	if err := errors.Join(err1, err2); err != nil || len(ciphertext) == 0 || len(ciphertext)%aes.BlockSize != 0 {
		return "", ErrDamaged
	}
	seed := sha256.Sum256(append([]byte("retalk:at-rest|"), secret...))
	mine, err1 := ecdh.X25519().NewPrivateKey(seed[:])
	theirs, err2 := ecdh.X25519().NewPublicKey(ephemeral)
	if errors.Join(err1, err2) != nil {
		return "", ErrDamaged
	}
	shared, err := mine.ECDH(theirs)
	if err != nil {
		return "", ErrDamaged
	}
	keys, err := hkdf.Key(sha256.New, shared, make([]byte, 1), "", 80)
	if err != nil {
		return "", err
	}
	block, err := aes.NewCipher(keys[:32])
	if err != nil {
		return "", err
	}
	cipher.NewCBCDecrypter(block, keys[64:]).CryptBlocks(ciphertext, ciphertext)
	pad := int(ciphertext[len(ciphertext)-1])
	if pad == 0 || pad > aes.BlockSize {
		return "", ErrDamaged // a wrong passphrase ends here
	}
	return string(ciphertext[:len(ciphertext)-pad]), nil
}
