// Package store keeps one letter identity on this machine: its keys and sessions, contacts, groups, invites, the letters on
// their way in and out, and the history (contract letters 2.3). It is one SQLite file, letters.db, in a folder of its own.
//
// Every read and write is a transaction that takes the file's write lock first and is on disk when it returned, so that two
// processes may share a store and a killed one leaves whole steps behind. Whoever hands letters to somebody else also holds
// the lock [Delivery], because that step leaves the file.
//
// What a reader of the file must not learn is sealed with XChaCha20-Poly1305 under a key that Argon2id makes from the
// passphrase: account, sessions, letters, history and API key. Contacts, groups and times are not. The package knows no
// relay and no protocol; it reads the files of retalk only through [OpenRetalk].
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	_ "modernc.org/sqlite" // the driver
)

// FileName is the store's file in an identity's folder.
const FileName = "letters.db"

// Lock names a lock that processes take on a store.
type Lock string

// The locks.
const (
	Delivery Lock = ".lock"      // opening letters and handing them on
	Upkeep   Lock = ".keys.lock" // making keys and publishing them
)

// lockPause is how often a process asks for a lock that another one holds.
const lockPause = 5 * time.Millisecond

// ErrBusy is a lock that another process holds.
var ErrBusy = errors.New("another process is at it")

// What can be wrong with a store.
var (
	ErrNone       = errors.New("no identity here")
	ErrExists     = errors.New("an identity already exists here")
	ErrPassphrase = errors.New("wrong passphrase")
	ErrLocked     = errors.New("the store is locked: its passphrase was not given")
	ErrNewer      = errors.New("the store was written by a later version")
	ErrDamaged    = errors.New("the store is damaged")
	ErrRekeyed    = errors.New("the passphrase was changed while this program ran: start it again")
)

// Store is an open store. It may be used from several goroutines and processes.
type Store struct {
	dir  string
	db   *sql.DB
	seal *sealer // nil until Unlock
	Now  func() time.Time
}

// Exists says whether dir holds a store.
func Exists(dir string) bool {
	st, err := os.Stat(filepath.Join(dir, FileName))
	return err == nil && st.Mode().IsRegular()
}

// Create makes a store in dir, which is made too, and opens it unlocked. fill writes what the identity begins with; when it
// fails nothing is left. Errors: [ErrExists].
func Create(ctx context.Context, dir string, pass Passphrase, cost Cost, fill func(*Tx) error) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, fmt.Errorf("protect folder: %w", err)
	}
	// Built beside and renamed when whole: a crash leaves no half identity under the real name.
	final := filepath.Join(dir, FileName)
	if Exists(dir) {
		return nil, ErrExists
	}
	sweep(dir)
	tmp, err := os.CreateTemp(dir, unfinished)
	if err != nil {
		return nil, fmt.Errorf("make store: %w", err)
	}
	name := tmp.Name()
	_ = tmp.Close()
	defer removeAll(name)
	if err := build(ctx, dir, name, pass, cost, fill); err != nil {
		return nil, err
	}
	// A link, unlike a rename, refuses to replace what another process made meanwhile.
	if err := os.Link(name, final); err != nil {
		if Exists(dir) {
			return nil, ErrExists
		}
		if err := os.Rename(name, final); err != nil { // a file system without links
			return nil, fmt.Errorf("make store: %w", err)
		}
	}
	if err := syncDir(dir); err != nil {
		return nil, err
	}
	s, err := Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	if err := s.Unlock(ctx, pass); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func build(ctx context.Context, dir, name string, pass Passphrase, cost Cost, fill func(*Tx) error) error {
	s, err := open(ctx, dir, name, "DELETE")
	if err != nil {
		return err
	}
	err = s.Tx(ctx, func(tx *Tx) error {
		if err := tx.upgrade(0); err != nil {
			return err
		}
		if err := tx.protect(pass, cost); err != nil {
			return err
		}
		return fill(tx)
	})
	return errors.Join(err, s.Close())
}

// unfinished are stores that are being made.
const unfinished = ".new-*.db"

// sweep removes what a process left that was killed while it made a store.
func sweep(dir string) {
	names, err := filepath.Glob(filepath.Join(dir, unfinished))
	if err != nil {
		return // only for a bad pattern
	}
	for _, name := range names {
		if st, err := os.Stat(name); err == nil && time.Since(st.ModTime()) > time.Hour {
			removeAll(name)
		}
	}
}

func removeAll(name string) {
	for _, end := range []string{"", "-journal", "-wal", "-shm"} {
		_ = os.Remove(name + end)
	}
}

// Open opens the store of dir, locked: contacts, groups and blocks can be read and changed, what is sealed cannot.
// Errors: [ErrNone], [ErrNewer].
func Open(ctx context.Context, dir string) (*Store, error) {
	if !Exists(dir) {
		return nil, ErrNone
	}
	s, err := open(ctx, dir, filepath.Join(dir, FileName), "WAL")
	if err != nil {
		return nil, err
	}
	err = s.Tx(ctx, func(tx *Tx) error {
		v, err := tx.meta(metaLayout)
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(v)
		switch {
		case err != nil:
			return ErrDamaged
		case n > len(layouts):
			return ErrNewer
		}
		return tx.upgrade(n)
	})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// upgrade brings the tables from one layout to that of today.
func (t *Tx) upgrade(from int) error {
	if from == len(layouts) {
		return nil
	}
	for _, step := range layouts[max(from, 0):] {
		if err := t.exec(step); err != nil {
			return err
		}
	}
	return t.setMeta(metaLayout, strconv.Itoa(len(layouts)))
}

func open(ctx context.Context, dir, file, journal string) (*Store, error) {
	db, err := sql.Open("sqlite", dsn(file, "busy_timeout(60000)", "journal_mode("+journal+")", "synchronous(FULL)", "secure_delete(ON)"))
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	db.SetMaxOpenConns(1)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open store: %w", err), db.Close())
	}
	return &Store{dir: dir, db: db, Now: time.Now}, nil
}

// dsn names a file with the settings of each connection. Transactions take the write lock at once, so that one never fails
// half way because another process wrote.
func dsn(file string, pragmas ...string) string {
	q := url.Values{"_txlock": {"immediate"}, "_pragma": pragmas}
	p := filepath.ToSlash(file)
	if p != "" && p[0] != '/' {
		if abs, err := filepath.Abs(file); err == nil {
			p = filepath.ToSlash(abs)
		}
		if p[0] != '/' { // a drive letter
			p = "/" + p
		}
	}
	return (&url.URL{Scheme: "file", Path: p, RawQuery: q.Encode()}).String()
}

// Dir is the identity's folder.
func (s *Store) Dir() string { return s.dir }

// Close gives the file back.
func (s *Store) Close() error {
	if s.seal != nil {
		s.seal.wipe()
	}
	return s.db.Close()
}

// Tx runs fn in one transaction: all of it is on disk when Tx returned nil, none of it otherwise. fn must not use s itself,
// and must not wait for a network.
func (s *Store) Tx(ctx context.Context, fn func(*Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	t := &Tx{ctx: ctx, tx: tx, seal: s.seal, now: seconds(s.Now())}
	if err := t.stillKeyed(); err != nil {
		return err
	}
	if err := fn(t); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if t.seal != nil && s.seal == nil {
		s.seal = t.seal
	}
	return nil
}

// Lock waits until no other process holds the lock. The system gives it back when a process ends, however it ends. It asks
// again and again instead of waiting in the kernel, because that wait could not be cancelled.
func (s *Store) Lock(ctx context.Context, which Lock) (release func(), err error) {
	pause := time.NewTicker(lockPause)
	defer pause.Stop()
	for {
		release, err := s.TryLock(which)
		if !errors.Is(err, ErrBusy) {
			return release, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("lock store: %w", context.Cause(ctx))
		case <-pause.C:
		}
	}
}

// TryLock takes the lock when nobody holds it. Errors: [ErrBusy].
func (s *Store) TryLock(which Lock) (release func(), err error) {
	f, err := os.OpenFile(filepath.Join(s.dir, FileName+string(which)), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock store: %w", err)
	}
	if err := lockFile(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock store: %w", err)
	}
	return func() { _ = f.Close() }, nil
}

// Tx is a transaction on the store. Its methods are the only way to the tables.
type Tx struct {
	ctx  context.Context // a Tx lives inside one call
	tx   *sql.Tx
	seal *sealer
	now  float64
}

func (t *Tx) exec(query string, args ...any) error {
	_, err := t.tx.ExecContext(t.ctx, query, args...)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// changed runs a statement and says whether it met a row.
func (t *Tx) changed(query string, args ...any) (bool, error) {
	res, err := t.tx.ExecContext(t.ctx, query, args...)
	if err != nil {
		return false, fmt.Errorf("store: %w", err)
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

// one scans the only row of a query; found is false when there is none.
func (t *Tx) one(query string, args, into []any) (found bool, err error) {
	err = t.tx.QueryRowContext(t.ctx, query, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("store: %w", err)
	}
	return true, nil
}

// all scans every row of a query with scan.
func all[T any](t *Tx, query string, args []any, scan func(row func(...any) error) (T, error)) ([]T, error) {
	rows, err := t.tx.QueryContext(t.ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var list []T
	for rows.Next() {
		v, err := scan(rows.Scan)
		if err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
		list = append(list, v)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	return list, nil
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
