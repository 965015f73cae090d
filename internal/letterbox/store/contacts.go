package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Contact is a saved peer. Both keys are there when it is verified, else none.
type Contact struct {
	Address  string
	Name     string // may be empty
	Identity string
	Signing  string
}

// Verified says whether the keys are pinned.
func (c Contact) Verified() bool { return c.Identity != "" && c.Signing != "" }

func scanContact(row func(...any) error) (c Contact, err error) {
	return c, row(&c.Address, &c.Name, &c.Identity, &c.Signing)
}

// Contacts are the identity's own contacts by name.
func (t *Tx) Contacts() ([]Contact, error) { return all(t, sqlPeers, nil, scanContact) }

// SaveContact adds or replaces the contact of an address.
func (t *Tx) SaveContact(c Contact) error {
	return t.exec(sqlSavePeer, c.Address, c.Name, c.Identity, c.Signing)
}

// RemoveContact says whether there was such a contact.
func (t *Tx) RemoveContact(address string) (bool, error) { return t.changed(sqlRemovePeer, address) }

// Blocked are the blocked addresses.
func (t *Tx) Blocked() ([]string, error) {
	return all(t, sqlBlocked, nil, func(row func(...any) error) (a string, err error) { return a, row(&a) })
}

// IsBlocked says whether letters of an address are refused.
func (t *Tx) IsBlocked(address string) (bool, error) {
	var n int
	return t.one(sqlIsBlocked, []any{address}, []any{&n})
}

// Block refuses letters of an address from now on.
func (t *Tx) Block(address string) error { return t.exec(sqlBlock, address) }

// Unblock ends that.
func (t *Tx) Unblock(address string) error { return t.exec(sqlUnblock, address) }

// Card is a contact that somebody shared and nobody imported yet.
type Card struct {
	Contact
	From     string
	FromName string
	ID       string // of the letter it came in
	At       float64
}

// Stage keeps a shared contact; the newest of an address wins.
func (t *Tx) Stage(c Card) error {
	return t.exec(sqlStage, c.Address, c.Name, c.Identity, c.Signing, c.From, c.FromName, c.ID, c.At)
}

// Staged are the shared contacts by name.
func (t *Tx) Staged() ([]Card, error) {
	return all(t, sqlStaged, nil, func(row func(...any) error) (c Card, err error) {
		return c, row(&c.Address, &c.Name, &c.Identity, &c.Signing, &c.From, &c.FromName, &c.ID, &c.At)
	})
}

// Unstage forgets a shared contact.
func (t *Tx) Unstage(address string) error { return t.exec(sqlUnstage, address) }

// BookName is the owner-wide address book's file, in the folder above the identities. retalk has the same one, with the same
// single table (contract letters 2.3): it is shared with it and keeps its settings.
const BookName = "contacts.db"

const (
	sqlBookSchema  = `CREATE TABLE IF NOT EXISTS peers(fingerprint TEXT PRIMARY KEY, name TEXT, identity_key TEXT, signing_key TEXT)`
	sqlBookColumns = `SELECT name FROM pragma_table_info('peers')`
	sqlBookPeers   = `SELECT fingerprint, COALESCE(name, ''), COALESCE(identity_key, ''), COALESCE(signing_key, '') FROM peers ORDER BY name, fingerprint`
	sqlBookSave    = `INSERT INTO peers(fingerprint, name, identity_key, signing_key) VALUES(?, ?, NULLIF(?, ''), NULLIF(?, '')) ON CONFLICT(fingerprint) DO UPDATE SET name = excluded.name, identity_key = excluded.identity_key, signing_key = excluded.signing_key`
	sqlBookRemove  = `DELETE FROM peers WHERE fingerprint = ?`
	sqlBookRename  = `ALTER TABLE peers RENAME TO peers_by_name`
	sqlBookDrop    = `DROP TABLE peers_by_name`
)

// Book is the owner-wide address book, which every identity of the owner sees.
type Book struct{ path string }

// OpenBook names the book of a home folder. Its file is made by the first contact that is saved.
func OpenBook(home string) Book { return Book{filepath.Join(home, BookName)} }

// Contacts are all, by name. A book that does not exist is empty.
func (b Book) Contacts(ctx context.Context) ([]Contact, error) {
	if _, err := os.Stat(b.path); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var list []Contact
	err := b.tx(ctx, func(t *Tx) (err error) {
		list, err = all(t, sqlBookPeers, nil, scanContact)
		return err
	})
	return list, err
}

// Save adds or replaces a contact.
func (b Book) Save(ctx context.Context, c Contact) error {
	return b.tx(ctx, func(t *Tx) error { return t.exec(sqlBookSave, c.Address, c.Name, c.Identity, c.Signing) })
}

// Remove says whether there was such a contact.
func (b Book) Remove(ctx context.Context, address string) (found bool, err error) {
	err = b.tx(ctx, func(t *Tx) (err error) {
		found, err = t.changed(sqlBookRemove, address)
		return err
	})
	return found, err
}

func (b Book) tx(ctx context.Context, fn func(*Tx) error) error {
	if err := os.MkdirAll(filepath.Dir(b.path), 0o700); err != nil {
		return fmt.Errorf("address book: %w", err)
	}
	f, err := os.OpenFile(b.path, os.O_CREATE|os.O_RDWR, 0o600) // with this mode, before SQLite makes it with another
	if err != nil {
		return fmt.Errorf("address book: %w", err)
	}
	_ = f.Close()
	db, err := sql.Open("sqlite", dsn(b.path, "busy_timeout(60000)", "synchronous(FULL)"))
	if err != nil {
		return fmt.Errorf("address book: %w", err)
	}
	defer func() { _ = db.Close() }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("address book: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	t := &Tx{ctx: ctx, tx: tx}
	if err := t.modernBook(); err != nil {
		return fmt.Errorf("address book: %w", err)
	}
	if err := fn(t); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("address book: %w", err)
	}
	return nil
}

// modernBook makes the table, or brings one that early versions of retalk keyed by name into today's form (contract 2.3).
func (t *Tx) modernBook() error {
	columns, err := t.bookColumns()
	if err != nil {
		return err
	}
	if !columns.old() {
		return t.exec(sqlBookSchema)
	}
	list, err := t.oldContacts(columns)
	if err != nil {
		return err
	}
	if err := errors.Join(t.exec(sqlBookRename), t.exec(sqlBookSchema)); err != nil {
		return err
	}
	for _, c := range list {
		if err := t.exec(sqlBookSave, c.Address, c.Name, c.Identity, c.Signing); err != nil {
			return err
		}
	}
	return t.exec(sqlBookDrop)
}

type columnSet map[string]bool

// old says whether the table is keyed by name: `id` was the fingerprint and `pin` the identity key.
func (c columnSet) old() bool { return c["id"] && !c["fingerprint"] || c["pin"] && !c["identity_key"] }

func (t *Tx) bookColumns() (columnSet, error) {
	names, err := all(t, sqlBookColumns, nil, func(row func(...any) error) (n string, err error) { return n, row(&n) })
	set := columnSet{}
	for _, n := range names {
		set[n] = true
	}
	return set, err
}

// contactQuery reads the table `peers` of retalk in whichever form it is.
func contactQuery(c columnSet) string {
	column := func(names ...string) string {
		for _, n := range names {
			if c[n] {
				return "COALESCE(" + n + ", '')"
			}
		}
		return "''"
	}
	return "SELECT " + column("fingerprint", "id") + ", " + column("name") + ", " + column("identity_key", "pin") + ", " + column("signing_key") + " FROM peers ORDER BY 2, 1"
}

func (t *Tx) oldContacts(c columnSet) ([]Contact, error) {
	list, err := all(t, contactQuery(c), nil, scanContact)
	for i := range list {
		if list[i].Identity == "" || list[i].Signing == "" {
			list[i].Identity, list[i].Signing = "", "" // one key pins nothing
		}
	}
	return list, err
}
