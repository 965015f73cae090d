package store

import (
	"context"
	"errors"
	"strconv"
)

// Identity is what is known of a store's owner without its passphrase. Keys are unpadded base64.
type Identity struct {
	Address     string
	IdentityKey string
	SigningKey  string
	Name        string // self-chosen display name, may be empty
	Relay       string // saved address of the relay, may be empty
}

func (t *Tx) meta(k string) (string, error) {
	var v []byte
	_, err := t.one(sqlMeta, []any{k}, []any{&v})
	return string(v), err
}

func (t *Tx) setMeta(k, v string) error { return t.exec(sqlSetMeta, k, []byte(v)) }

// Unlock gives the passphrase. Errors: [ErrPassphrase].
func (s *Store) Unlock(ctx context.Context, pass Passphrase) error {
	if s.seal != nil {
		return nil
	}
	var d derivation
	var proof string
	err := s.Tx(ctx, func(tx *Tx) (err error) {
		if d, err = tx.derivation(); err != nil {
			return err
		}
		proof, err = tx.meta(metaProof)
		return err
	})
	if err != nil {
		return err
	}
	// Deriving takes long on purpose: outside the transaction.
	seal, err := d.sealer(pass)
	if err != nil {
		return err
	}
	if _, err := seal.open(metaProof, []byte(proof)); err != nil {
		return ErrPassphrase
	}
	seal.proof = proof
	s.seal = seal
	return nil
}

// stillKeyed refuses a transaction of a process that holds the key of a passphrase that another process has changed meanwhile:
// what it sealed would open for nobody.
func (t *Tx) stillKeyed() error {
	if t.seal == nil {
		return nil
	}
	proof, err := t.meta(metaProof)
	if err != nil {
		return err
	}
	if proof != t.seal.proof {
		return ErrRekeyed
	}
	return nil
}

// Identity reads the owner.
func (t *Tx) Identity() (i Identity, err error) {
	for k, into := range map[string]*string{metaAddress: &i.Address, metaIdentity: &i.IdentityKey, metaSigning: &i.SigningKey, metaName: &i.Name, metaRelay: &i.Relay} {
		var e error
		*into, e = t.meta(k)
		err = errors.Join(err, e)
	}
	return i, err
}

// SetIdentity writes the owner of a new store.
func (t *Tx) SetIdentity(i Identity) error {
	return errors.Join(t.setMeta(metaAddress, i.Address), t.setMeta(metaIdentity, i.IdentityKey), t.setMeta(metaSigning, i.SigningKey),
		t.setMeta(metaName, i.Name), t.setMeta(metaRelay, i.Relay))
}

// Account is the pickle of the account, nil when none was saved.
func (t *Tx) Account() ([]byte, error) {
	v, err := t.meta(metaAccount)
	return []byte(v), err
}

// SetAccount saves the pickle of the account.
func (t *Tx) SetAccount(pickle []byte) error { return t.setMeta(metaAccount, string(pickle)) }

// APIKey is the saved key of the relay, empty when there is none.
func (t *Tx) APIKey() (string, error) {
	v, err := t.meta(metaAPIKey)
	if err != nil || v == "" {
		return "", err
	}
	plain, err := t.open(metaAPIKey, "", []byte(v))
	return string(plain), err
}

// SetAPIKey saves the relay's key, sealed.
func (t *Tx) SetAPIKey(key string) error {
	sealed, err := t.close(metaAPIKey, "", []byte(key))
	if err != nil {
		return err
	}
	return t.setMeta(metaAPIKey, string(sealed))
}

// FallbackAt is when the fallback key was made, Unix seconds; 0 when never.
func (t *Tx) FallbackAt() (float64, error) { return t.seconds(metaFallback) }

func (t *Tx) seconds(k string) (float64, error) {
	v, err := t.meta(k)
	if err != nil || v == "" {
		return 0, err
	}
	at, err := strconv.ParseFloat(v, 64)
	if err != nil {
		return 0, nil //nolint:nilerr // an unreadable time is an old one: a new key is made
	}
	return at, nil
}

// SetFallbackAt notes that a fallback key was published now; the one before it is still held, older ones are not.
func (t *Tx) SetFallbackAt() error {
	before, err := t.meta(metaFallback)
	if err != nil {
		return err
	}
	if before != "" {
		if err := t.setMeta(metaBefore, before); err != nil {
			return err
		}
	}
	return t.setMeta(metaFallback, strconv.FormatFloat(t.now, 'f', -1, 64))
}

// GroupCap is the most members a group may have, as the relay last said; 100 until it did.
func (t *Tx) GroupCap() (int, error) {
	v, err := t.meta(metaGroupCap)
	if err != nil {
		return 0, err
	}
	if n, err := strconv.Atoi(v); err == nil && n > 0 {
		return n, nil
	}
	return 100, nil
}

// SetGroupCap keeps what the relay said.
func (t *Tx) SetGroupCap(n int) error { return t.setMeta(metaGroupCap, strconv.Itoa(n)) }

// Padding says whether letters to an address are filled up, so that their size says less.
func (t *Tx) Padding(address string) (bool, error) {
	v, err := t.meta(metaPadding)
	if err != nil || v == "off" {
		return false, err
	}
	var n int
	without, err := t.one(sqlIsUnpadded, []any{address}, []any{&n})
	return !without, err
}

// Unpadded are the addresses whose letters are not filled up, and whether none are.
func (t *Tx) Unpadded() (addresses []string, everybody bool, err error) {
	v, err := t.meta(metaPadding)
	if err != nil {
		return nil, false, err
	}
	addresses, err = all(t, sqlUnpadded, nil, one[string])
	return addresses, v == "off", err
}

// SetPadding turns it on or off for one address, or for all when address is empty.
func (t *Tx) SetPadding(address string, on bool) error {
	switch {
	case address == "" && on:
		return t.setMeta(metaPadding, "")
	case address == "":
		return t.setMeta(metaPadding, "off")
	case on:
		return t.exec(sqlPad, address)
	}
	return t.exec(sqlUnpad, address)
}

// Upload is how many unclaimed keys the relay had when an upload of keys began whose end is not known; ok is false when there
// is no such upload.
func (t *Tx) Upload() (unclaimed int, ok bool, err error) {
	v, err := t.meta(metaUpload)
	if err != nil || v == "" {
		return 0, false, err
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		return 0, false, ErrDamaged
	}
	return n, true, nil
}

// BeginUpload notes that an upload of keys begins.
func (t *Tx) BeginUpload(unclaimed int) error { return t.setMeta(metaUpload, strconv.Itoa(unclaimed)) }

// EndUpload notes that it went well.
func (t *Tx) EndUpload() error { return t.setMeta(metaUpload, "") }
