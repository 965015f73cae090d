package store_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/store"
)

var cheap = store.Cost{Time: 1, Memory: 64, Threads: 1}

func create(t *testing.T, pass store.Passphrase) *store.Store {
	t.Helper()
	s, err := store.Create(t.Context(), t.TempDir(), pass, cheap, func(tx *store.Tx) error {
		return tx.SetIdentity(store.Identity{Address: "a", Name: "alice"})
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func do(t *testing.T, s *store.Store, fn func(*store.Tx) error) {
	t.Helper()
	if err := s.Tx(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// 8.1 bug 7: what is sealed opens with the right passphrase only, whose cost is the store's own; nothing of it stands in the file.
func TestL2_Sealed(t *testing.T) {
	t.Parallel()
	s := create(t, store.NewPassphrase("open sesame"))
	do(t, s, func(tx *store.Tx) error {
		return errors.Join(
			tx.SetAPIKey("very secret key"),
			tx.SaveHistory(store.Saved{ID: "1", Peer: "p", Text: "a secret letter"}),
			tx.AddArrived("p", "2", []byte("a secret arrival")),
			tx.AddOutgoing(store.Outgoing{ID: "3", Peer: "p", Plain: []byte("a secret draft")}),
		)
	})
	dir := s.Dir()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, store.FileName))
	if err != nil || strings.Contains(string(b), "secret") {
		t.Fatalf("a secret stands in the file (%v)", err)
	}
	s, err = store.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	read := func(tx *store.Tx) error {
		_, err := tx.History(0, "", 10)
		return err
	}
	if err := s.Tx(t.Context(), read); !errors.Is(err, store.ErrLocked) {
		t.Fatalf("locked: %v", err)
	}
	for _, wrong := range []store.Passphrase{store.NewPassphrase("open sesame "), {}} {
		if err := s.Unlock(t.Context(), wrong); !errors.Is(err, store.ErrPassphrase) {
			t.Fatalf("wrong passphrase: %v", err)
		}
	}
	if err := s.Unlock(t.Context(), store.NewPassphrase("open sesame")); err != nil {
		t.Fatal(err)
	}
	do(t, s, func(tx *store.Tx) error {
		list, err := tx.History(0, "", 10)
		if err != nil || len(list) != 1 || list[0].Text != "a secret letter" {
			t.Errorf("%+v", list)
		}
		a, ok, err2 := tx.NextArrived(0, "")
		if !ok || string(a.Letter) != "a secret arrival" {
			t.Errorf("%+v", a)
		}
		key, err3 := tx.APIKey()
		if key != "very secret key" {
			t.Error(key)
		}
		return errors.Join(err, err2, err3)
	})
}

// A sealed text that was moved to another row does not open there.
func TestL2_SealedTextsStayInTheirPlace(t *testing.T) {
	t.Parallel()
	s := create(t, store.Passphrase{})
	do(t, s, func(tx *store.Tx) error {
		return errors.Join(tx.SaveHistory(store.Saved{ID: "1", Text: "to be kept"}), tx.SaveHistory(store.Saved{ID: "2", Text: "to be moved"}))
	})
	raw(t, s.Dir(), `UPDATE history SET body = (SELECT body FROM history WHERE id = '2') WHERE id = '1'`)
	err := s.Tx(t.Context(), func(tx *store.Tx) error {
		_, err := tx.History(0, "", 10)
		return err
	})
	if !errors.Is(err, store.ErrDamaged) {
		t.Fatal(err)
	}
}

func raw(t *testing.T, dir string, query string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, store.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

// Two that make an identity in one folder: one of them is told that it exists. A failure leaves nothing.
func TestL2_CreateOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	broken := errors.New("no")
	if _, err := store.Create(t.Context(), dir, store.Passphrase{}, cheap, func(*store.Tx) error { return broken }); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Fatalf("left behind: %v %v", entries, err)
	}
	// What a killed process left long ago goes with the next one.
	old := filepath.Join(dir, ".new-1.db")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(old, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	results := make(chan error, 6)
	for range cap(results) {
		wg.Go(func() {
			s, err := store.Create(t.Context(), dir, store.Passphrase{}, cheap, func(*store.Tx) error { return nil })
			if err == nil {
				err = s.Close()
			}
			results <- err
		})
	}
	wg.Wait()
	close(results)
	made := 0
	for err := range results {
		if err == nil {
			made++
		} else if !errors.Is(err, store.ErrExists) {
			t.Error(err)
		}
	}
	if _, err := os.Stat(old); err == nil {
		t.Fatal("an old unfinished store is still there")
	}
	if made != 1 {
		t.Fatalf("%d identities were made", made)
	}
	if _, err := store.Open(t.Context(), t.TempDir()); !errors.Is(err, store.ErrNone) {
		t.Fatal(err)
	}
}

// A store of a later version is left alone, and so is one whose derivation would eat the machine.
func TestL2_ForeignStores(t *testing.T) {
	t.Parallel()
	s := create(t, store.NewPassphrase("x"))
	raw(t, s.Dir(), `UPDATE meta SET v = ? WHERE k = 'key'`, []byte(`{"time":1,"memory":4294967295,"threads":1,"kind":"argon2id","salt":"AAAA"}`))
	other, err := store.Open(t.Context(), s.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	if err := other.Unlock(t.Context(), store.NewPassphrase("x")); !errors.Is(err, store.ErrDamaged) {
		t.Fatal(err)
	}
	raw(t, s.Dir(), `UPDATE meta SET v = ? WHERE k = 'layout'`, []byte("99"))
	if _, err := store.Open(t.Context(), s.Dir()); !errors.Is(err, store.ErrNewer) {
		t.Fatal(err)
	}
}

// A lock is one holder's; waiting for it ends with the context.
func TestL2_Locks(t *testing.T) {
	t.Parallel()
	s := create(t, store.Passphrase{})
	release, err := s.Lock(t.Context(), store.Delivery)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.TryLock(store.Delivery); !errors.Is(err, store.ErrBusy) {
		t.Fatal(err)
	}
	other, err := s.TryLock(store.Upkeep)
	if err != nil {
		t.Fatal(err)
	}
	other()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := s.Lock(ctx, store.Delivery); !errors.Is(err, why) {
		t.Fatal(err)
	}
	release()
	if release, err = s.Lock(t.Context(), store.Delivery); err != nil {
		t.Fatal(err)
	}
	release()
}

// 6.1 contacts: an address book that early versions keyed by name is brought into today's form, once.
func TestL2_OldAddressBook(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	db, err := sql.Open("sqlite", filepath.Join(home, store.BookName))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE peers(name TEXT PRIMARY KEY, id TEXT, pin TEXT); INSERT INTO peers VALUES('bob', 'f1', 'key')`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	book := store.OpenBook(home)
	for range 2 {
		list, err := book.Contacts(t.Context())
		if err != nil || len(list) != 1 || list[0] != (store.Contact{Address: "f1", Name: "bob"}) {
			t.Fatalf("%+v %v", list, err)
		}
	}
	if err := book.Save(t.Context(), store.Contact{Address: "f2", Name: "carol", Identity: "i", Signing: "s"}); err != nil {
		t.Fatal(err)
	}
	if found, err := book.Remove(t.Context(), "f1"); err != nil || !found {
		t.Fatal(found, err)
	}
	list, err := book.Contacts(t.Context())
	if err != nil || len(list) != 1 || !list[0].Verified() {
		t.Fatalf("%+v %v", list, err)
	}
}

// The history body of a real retalk identity (contract letters 2.3).
func TestL2_RetalkHistoryBody(t *testing.T) {
	t.Parallel()
	secret := store.RetalkSecret(store.Passphrase{})
	const body = `["AmxlI3H9YOAgpAGEo/CZEA==","hsJgawIo21I=","oJzyKjJgxYmsmBqu47KG7rjkrf11NDcsKtWMfBiEWUI="]`
	if text, err := store.OpenRetalkBody(secret, body); err != nil || text != "hello bob" {
		t.Fatalf("%q %v", text, err)
	}
	for _, bad := range []string{"", "[]", `["","",""]`, `["AA==","",""]`, strings.Replace(body, "oJzy", "AAAA", 1), `["AmxlI3H9YOAgpAGEo/CZEA==","","AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]`} {
		if text, err := store.OpenRetalkBody(secret, bad); err == nil && text == "hello bob" {
			t.Fatalf("%q opens", bad)
		}
	}
}
