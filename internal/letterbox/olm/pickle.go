package olm

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"io"
)

// The pickle's form: version, kind, salt, then AES-256-GCM over the fields, with version and kind as additional data. Key and
// nonce are derived from the pickle key and the salt, so that one pickle key serves any number of pickles.
const (
	pickleVersion = 1
	kindAccount   = 'A'
	kindSession   = 'S'
	saltBytes     = 32
	headBytes     = 2
)

// PickleKeySize is the length of a pickle key in bytes.
const PickleKeySize = 32

// Pickle is the account, encrypted and authenticated under pickleKey, for [UnpickleAccount].
func (a *Account) Pickle(rand io.Reader, pickleKey []byte) ([]byte, error) {
	return seal(rand, pickleKey, kindAccount, a)
}

// UnpickleAccount reads what [Account.Pickle] wrote. Errors: [ErrForged] for a wrong key or a changed pickle, [ErrMalformed].
func UnpickleAccount(pickle, pickleKey []byte) (*Account, error) {
	a := new(Account)
	if err := unseal(pickle, pickleKey, kindAccount, a); err != nil {
		return nil, err
	}
	return a, nil
}

// Pickle is the session, encrypted and authenticated under pickleKey, for [UnpickleSession].
func (s *Session) Pickle(rand io.Reader, pickleKey []byte) ([]byte, error) {
	return seal(rand, pickleKey, kindSession, s)
}

// UnpickleSession reads what [Session.Pickle] wrote. Errors as in [UnpickleAccount].
func UnpickleSession(pickle, pickleKey []byte) (*Session, error) {
	s := new(Session)
	if err := unseal(pickle, pickleKey, kindSession, s); err != nil {
		return nil, err
	}
	return s, nil
}

// pickled walks its fields in a fixed order, in both directions.
type pickled interface{ walk(c *coder) }

func seal(rand io.Reader, pickleKey []byte, kind byte, p pickled) ([]byte, error) {
	out := make([]byte, headBytes+saltBytes)
	out[0], out[1] = pickleVersion, kind
	if _, err := io.ReadFull(rand, out[headBytes:]); err != nil {
		return nil, fmt.Errorf("olm: random bytes: %w", err)
	}
	aead, nonce, err := pickleCipher(pickleKey, out[headBytes:])
	if err != nil {
		return nil, err
	}
	var c coder
	p.walk(&c)
	defer clear(c.b)
	return aead.Seal(out, nonce, c.b, out[:headBytes]), nil
}

func unseal(pickle, pickleKey []byte, kind byte, p pickled) error {
	if len(pickle) < headBytes+saltBytes || pickle[0] != pickleVersion || pickle[1] != kind {
		return fmt.Errorf("%w: pickle", ErrMalformed)
	}
	head, salt, sealed := pickle[:headBytes], pickle[headBytes:headBytes+saltBytes], pickle[headBytes+saltBytes:]
	aead, nonce, err := pickleCipher(pickleKey, salt)
	if err != nil {
		return err
	}
	plain, err := aead.Open(nil, nonce, sealed, head)
	if err != nil {
		return fmt.Errorf("%w: pickle", ErrForged)
	}
	defer clear(plain)
	c := coder{b: plain, reading: true}
	p.walk(&c)
	return c.end()
}

func pickleCipher(pickleKey, salt []byte) (cipher.AEAD, []byte, error) {
	if len(pickleKey) != PickleKeySize {
		return nil, nil, fmt.Errorf("%w: a pickle key has %d bytes", ErrMalformed, PickleKeySize)
	}
	b := derive(pickleKey, salt, "agntchat olm pickle", 44)
	block, err := aes.NewCipher(b[:32])
	if err != nil {
		return nil, nil, err
	}
	clear(b[:32])
	aead, err := cipher.NewGCM(block)
	return aead, b[32:], err
}

// coder appends fields to b or takes them from it. Numbers are big endian. After a failure it reads zeros.
type coder struct {
	b       []byte
	reading bool
	failed  bool
}

func (c *coder) end() error {
	if c.failed || len(c.b) > 0 {
		return fmt.Errorf("%w: pickle", ErrMalformed)
	}
	return nil
}

func (c *coder) bytes(v []byte) {
	switch {
	case !c.reading:
		c.b = append(c.b, v...)
	case len(c.b) < len(v):
		c.failed, c.b = true, nil
	default:
		copy(v, c.b)
		c.b = c.b[len(v):]
	}
}

func (c *coder) uint64(v *uint64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], *v)
	c.bytes(b[:])
	*v = binary.BigEndian.Uint64(b[:])
}

func (c *coder) uint32(v *uint32) {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], *v)
	c.bytes(b[:])
	*v = binary.BigEndian.Uint32(b[:])
}

func (c *coder) bool(v *bool) {
	b := []byte{0}
	if *v {
		b[0] = 1
	}
	c.bytes(b)
	if b[0] > 1 {
		c.failed = true
	}
	*v = b[0] == 1
}

// list walks the elements of v, at most limit.
func list[T any](c *coder, v *[]T, limit uint32, walk func(*T)) {
	n := uint32(len(*v))
	c.uint32(&n)
	if n > limit {
		c.failed, c.b = true, nil
		return
	}
	if c.reading {
		*v = make([]T, n)
	}
	for i := range *v {
		walk(&(*v)[i])
	}
}

// optional walks what v points at, if it does.
func optional[T any](c *coder, v **T, walk func(*T)) {
	there := *v != nil
	c.bool(&there)
	if c.reading && there {
		*v = new(T)
	}
	if there {
		walk(*v)
	}
}

func (a *Account) walk(c *coder) {
	c.bytes(a.signing.public[:])
	c.bytes(a.signing.seed[:])
	optional(c, &a.signing.expanded, func(b *[64]byte) { c.bytes(b[:]) })
	a.identity.walk(c)
	c.uint64(&a.nextID)
	oneTime := func(k *oneTimeKey) {
		c.uint64(&k.id)
		c.bool(&k.published)
		k.pair.walk(c)
	}
	list(c, &a.oneTime, MaxOneTimeKeys, oneTime)
	optional(c, &a.fallback, oneTime)
	optional(c, &a.previous, oneTime)
}

func (p *pair) walk(c *coder) {
	c.bytes(p.secret[:])
	c.bytes(p.public[:])
}

func (k *chainKey) walk(c *coder) {
	c.bytes(k.key[:])
	c.uint32(&k.index)
}

func (s *Session) walk(c *coder) {
	for _, k := range []*key{&s.keys.identity, &s.keys.base, &s.keys.oneTime, &s.root, &s.their} {
		c.bytes(k[:])
	}
	c.bool(&s.outbound)
	c.bool(&s.received)
	optional(c, &s.sending, func(k *sendChain) {
		k.ratchet.walk(c)
		k.chainKey.walk(c)
	})
	list(c, &s.receiving, MaxChains, func(k *receiveChain) {
		c.bytes(k.ratchet[:])
		k.chainKey.walk(c)
		list(c, &k.skipped, MaxSkipped, func(m *skippedKey) {
			c.uint32(&m.index)
			c.bytes(m.key[:])
		})
	})
}
