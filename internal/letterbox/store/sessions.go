package store

// maxSessions is how many sessions with one peer are kept: crossed and healed ones leave a few, and a peer that makes one per
// letter must not fill the disk.
const maxSessions = 32

// Session is a stored Olm session.
type Session struct {
	ID      string
	Pickle  []byte
	Retired bool // the peer refused a letter: still opens letters, sends none
}

// Sessions are those with a peer, the most recently used first.
func (t *Tx) Sessions(peer string) ([]Session, error) {
	return all(t, sqlSessions, []any{peer}, func(row func(...any) error) (s Session, err error) {
		return s, row(&s.ID, &s.Pickle, &s.Retired)
	})
}

// SaveSession keeps a session as the most recently used one. opened says that a letter of the peer was opened with it, which
// proves that the peer still has it: a retired session sends again.
func (t *Tx) SaveSession(peer, id string, pickle []byte, opened bool) error {
	keep := 1
	if opened {
		keep = 0
	}
	if err := t.exec(sqlSaveSession, peer, id, pickle, t.now, t.now, keep); err != nil {
		return err
	}
	return t.exec(sqlTrimSessions, peer, peer, maxSessions)
}

// RestoreSession keeps a session of another store, with the time of its last use there (Unix seconds): which of several sessions
// with a peer sends is decided by that.
func (t *Tx) RestoreSession(peer, id string, pickle []byte, used float64) error {
	if err := t.exec(sqlRestoreSession, peer, id, pickle, t.now, used); err != nil {
		return err
	}
	return t.exec(sqlTrimSessions, peer, peer, maxSessions)
}

// RetireSessions keeps the sessions that were there at a time (Unix seconds) from sending, and the one named.
func (t *Tx) RetireSessions(peer string, at float64, id string) error {
	return t.exec(sqlRetire, peer, at, id)
}

// Keys are a peer's public keys. An address is the hash of both, so they never change.
type Keys struct{ Identity, Signing string }

// PeerKeys are the keys kept for an address; ok is false when there are none.
func (t *Tx) PeerKeys(address string) (k Keys, ok bool, err error) {
	ok, err = t.one(sqlKeys, []any{address}, []any{&k.Identity, &k.Signing})
	return k, ok, err
}

// SavePeerKeys keeps keys that hash to the address.
func (t *Tx) SavePeerKeys(address string, k Keys) error {
	return t.exec(sqlSaveKeys, address, k.Identity, k.Signing)
}
