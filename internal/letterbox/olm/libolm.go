package olm

import (
	"cmp"
	"crypto/aes"
	"crypto/hmac"
	"fmt"
	"slices"
)

// The pickles of others (contract letters 2.3). One envelope, AES-256-CBC and eight bytes of HMAC under keys from HKDF, holds
// vodozemac's JSON, which is what retalk stores, or libolm's binary form.
const (
	libolmAccountVersion = 4 // of libolm 3.2
	libolmSessionVersion = 1
	libolmMaxKeys        = 100 // one-time keys in a libolm account
	libolmMaxChains      = 5
	libolmMaxSkipped     = 40
)

// UnpickleLibolm reads an account pickled by vodozemac (retalk's meta row `account`) or by libolm 3.2, under the key it was
// pickled with: for retalk SHA-256 of the passphrase. Errors: [ErrForged] for a wrong key or a changed pickle, [ErrMalformed],
// [ErrFull].
func UnpickleLibolm(pickle string, pickleKey []byte) (*Account, error) {
	plain, err := openLibolm(pickle, pickleKey)
	if err != nil {
		return nil, err
	}
	defer clear(plain)
	if plain[0] == '{' {
		return parseVodozemacAccount(plain)
	}
	a := new(Account)
	if err := a.readLibolm(plain); err != nil {
		return nil, err
	}
	return a, nil
}

// UnpickleLibolmSession reads a session of a, pickled by vodozemac (retalk's sessions.blob) or by libolm 3.2. Errors as in
// [UnpickleLibolm].
func (a *Account) UnpickleLibolmSession(pickle string, pickleKey []byte) (*Session, error) {
	plain, err := openLibolm(pickle, pickleKey)
	if err != nil {
		return nil, err
	}
	defer clear(plain)
	s := new(Session)
	if plain[0] == '{' {
		s, err = parseVodozemacSession(plain)
	} else {
		err = s.readLibolm(plain)
	}
	if err != nil {
		return nil, err
	}
	s.outbound = s.keys.identity == a.identity.public // neither form says who began the session
	return s, nil
}

// openLibolm opens the envelope. The text is never empty on success.
func openLibolm(pickle string, pickleKey []byte) ([]byte, error) {
	b, err := decodeBody(pickle)
	if err != nil {
		return nil, err
	}
	if len(b) < aes.BlockSize+macBytes {
		return nil, fmt.Errorf("%w: pickle", ErrMalformed)
	}
	// HKDF takes no salt for one of zeros, whatever their number.
	block, macKey, iv := cipherKeys(pickleKey, nil, "Pickle")
	sealed, mac := b[:len(b)-macBytes], b[len(b)-macBytes:]
	if !hmac.Equal(shortMAC(macKey, sealed), mac) {
		return nil, fmt.Errorf("%w: pickle", ErrForged)
	}
	plain, err := decryptCBC(block, iv, sealed)
	if err == nil && len(plain) == 0 {
		err = fmt.Errorf("%w: empty pickle", ErrMalformed)
	}
	return plain, err
}

// readLibolm reads a libolm account: big-endian numbers, keys as public then private.
func (a *Account) readLibolm(plain []byte) error {
	c := &coder{b: plain, reading: true}
	if err := libolmVersion(c, libolmAccountVersion); err != nil {
		return err
	}
	var public key
	var expanded [64]byte
	c.bytes(public[:])
	c.bytes(expanded[:])
	signing, err := newExpandedSigner(expanded)
	if err != nil {
		return err
	}
	if signing.public != public {
		return fmt.Errorf("%w: signing keys do not belong together", ErrMalformed)
	}
	a.signing = signing
	a.identity.walkLibolm(c)
	oneTime := func(k *oneTimeKey) {
		var id uint32
		c.uint32(&id)
		k.id = uint64(id)
		c.bool(&k.published)
		k.pair.walkLibolm(c)
	}
	list(c, &a.oneTime, libolmMaxKeys, oneTime)
	slices.SortFunc(a.oneTime, byID) // libolm writes the newest first
	count := []byte{0}
	c.bytes(count)
	for _, k := range []**oneTimeKey{&a.fallback, &a.previous}[:min(count[0], 2)] {
		*k = new(oneTimeKey)
		oneTime(*k)
	}
	var next uint32
	c.uint32(&next)
	a.nextID = uint64(next)
	return c.end()
}

func byID(a, b oneTimeKey) int { return cmp.Compare(a.id, b.id) }

func libolmVersion(c *coder, want uint32) error {
	var v uint32
	c.uint32(&v)
	if v != want {
		return fmt.Errorf("%w: pickle of version %d, not %d", ErrMalformed, v, want)
	}
	return nil
}

func (p *pair) walkLibolm(c *coder) {
	c.bytes(p.public[:])
	c.bytes(p.secret[:])
}

// readLibolm reads a libolm session.
func (s *Session) readLibolm(plain []byte) error {
	c := &coder{b: plain, reading: true}
	if err := libolmVersion(c, libolmSessionVersion); err != nil {
		return err
	}
	c.bool(&s.received)
	for _, k := range []*key{&s.keys.identity, &s.keys.base, &s.keys.oneTime, &s.root} {
		c.bytes(k[:])
	}
	var sending []sendChain
	list(c, &sending, 1, func(k *sendChain) {
		k.ratchet.walkLibolm(c)
		k.chainKey.walk(c)
	})
	list(c, &s.receiving, libolmMaxChains, func(k *receiveChain) {
		c.bytes(k.ratchet[:])
		k.chainKey.walk(c)
	})
	slices.Reverse(s.receiving) // libolm writes the newest first
	var skipped []struct {
		ratchet key
		skippedKey
	}
	list(c, &skipped, libolmMaxSkipped, func(m *struct {
		ratchet key
		skippedKey
	}) {
		c.bytes(m.ratchet[:])
		c.bytes(m.key[:])
		c.uint32(&m.index)
	})
	for _, m := range slices.Backward(skipped) {
		for i := range s.receiving {
			if s.receiving[i].ratchet == m.ratchet {
				s.receiving[i].skipped = append(s.receiving[i].skipped, m.skippedKey)
			}
		}
	}
	if len(sending) > 0 {
		s.sending = &sending[0]
	}
	if err := c.end(); err != nil {
		return err
	}
	return s.settle()
}

// settle fills in what the forms of others imply, and refuses what cannot be.
func (s *Session) settle() error {
	if n := len(s.receiving); n > 0 {
		s.their = s.receiving[n-1].ratchet
	} else if s.sending == nil || s.received {
		return fmt.Errorf("%w: session without chains", ErrMalformed)
	}
	for i := range s.receiving {
		slices.SortFunc(s.receiving[i].skipped, func(a, b skippedKey) int { return cmp.Compare(a.index, b.index) })
	}
	if len(s.receiving) > MaxChains || slices.ContainsFunc(s.receiving, func(c receiveChain) bool { return len(c.skipped) > MaxSkipped }) {
		return fmt.Errorf("%w: session beyond its limits", ErrMalformed)
	}
	return nil
}
