package olm

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"slices"
)

// agree is the triple Diffie-Hellman that a session begins with: its root key and the chain key of the side that began it.
func agree(mine [3]*pair, theirs [3]key) (root, chain key, err error) {
	var secret []byte
	defer func() { clear(secret) }()
	for i := range mine {
		part, err := mine[i].shared(theirs[i])
		if err != nil {
			return root, chain, err
		}
		secret = append(secret, part...)
		clear(part)
	}
	root, chain = split(derive(secret, nil, "OLM_ROOT", 64))
	return root, chain, nil
}

// step turns the root key with a pair of ratchet keys: the next root key and the chain key of the new chain.
func step(root key, mine *pair, theirs key) (next, chain key, err error) {
	secret, err := mine.shared(theirs)
	if err != nil {
		return next, chain, err
	}
	next, chain = split(derive(secret, root[:], "OLM_RATCHET", 64))
	clear(secret)
	return next, chain, nil
}

func split(b []byte) (first, second key) {
	first, second = key(b[:32]), key(b[32:64])
	clear(b)
	return first, second
}

// chainKey is a place in a chain of message keys: the key that the message of this index and everything later is derived from.
type chainKey struct {
	key   key
	index uint32
}

// messageKey seals exactly one message.
type messageKey key

// next is the key of the message at c.index; c moves on.
func (c *chainKey) next() messageKey {
	mk := messageKey(c.mac(1))
	c.skip()
	return mk
}

func (c *chainKey) skip() {
	c.key = c.mac(2)
	c.index++
}

func (c *chainKey) mac(b byte) key {
	h := hmac.New(sha256.New, c.key[:])
	h.Write([]byte{b})
	return key(h.Sum(nil))
}

type sendChain struct {
	ratchet pair
	chainKey
}

func (c *sendChain) wipe() {
	clear(c.ratchet.secret[:])
	clear(c.key[:])
}

// receiveChain opens the messages of one of the peer's ratchet keys.
type receiveChain struct {
	ratchet key
	chainKey
	skipped []skippedKey // of messages that have not come yet, oldest first, at most MaxSkipped
}

type skippedKey struct {
	index uint32
	key   messageKey
}

func (c *receiveChain) wipe() {
	clear(c.key[:])
	clear(c.skipped)
}

// open opens m, whose ratchet key is c's. Nothing changes on an error.
func (c *receiveChain) open(m *normal) ([]byte, error) {
	if m.index < c.index {
		i := slices.IndexFunc(c.skipped, func(k skippedKey) bool { return k.index == m.index })
		if i < 0 {
			return nil, ErrUsed
		}
		plain, err := c.skipped[i].key.open(m)
		if err == nil {
			c.skipped = slices.Delete(c.skipped, i, i+1) // zeroes what it frees
		}
		return plain, err
	}
	if m.index-c.index > MaxGap {
		return nil, ErrGap
	}
	ahead := c.chainKey
	var passed []skippedKey
	for ahead.index < m.index {
		if m.index-ahead.index > MaxSkipped {
			ahead.skip()
			continue
		}
		index := ahead.index
		passed = append(passed, skippedKey{index: index, key: ahead.next()})
	}
	mk := ahead.next()
	defer clear(mk[:])
	plain, err := mk.open(m)
	if err != nil {
		clear(passed)
		return nil, err
	}
	c.chainKey = ahead
	all := append(c.skipped, passed...)
	if extra := len(all) - MaxSkipped; extra > 0 {
		all = slices.Delete(all, 0, extra)
	}
	c.skipped = all
	return plain, nil
}

// cipherKeys are what a secret expands to for one text: AES key, MAC key, IV.
func cipherKeys(secret, salt []byte, info string) (block cipher.Block, macKey, iv []byte) {
	b := derive(secret, salt, info, 80)
	block, err := aes.NewCipher(b[:32])
	if err != nil {
		panic("olm: " + err.Error()) // only for a key that is not 32 bytes
	}
	clear(b[:32])
	return block, b[32:64], b[64:]
}

// seal encrypts plain into a whole message, MAC included.
func (k *messageKey) seal(ratchet key, index uint32, plain []byte) []byte {
	block, macKey, iv := cipherKeys(k[:], nil, "OLM_KEYS")
	defer clear(macKey)
	message := encodeNormal(ratchet, index, encryptCBC(block, iv, plain))
	return append(message, shortMAC(macKey, message)...)
}

// open checks the MAC, then decrypts.
func (k *messageKey) open(m *normal) ([]byte, error) {
	block, macKey, iv := cipherKeys(k[:], nil, "OLM_KEYS")
	defer clear(macKey)
	if !hmac.Equal(shortMAC(macKey, m.signed), m.mac) {
		return nil, ErrForged
	}
	return decryptCBC(block, iv, m.ciphertext)
}

func shortMAC(macKey, b []byte) []byte {
	h := hmac.New(sha256.New, macKey)
	h.Write(b)
	return h.Sum(nil)[:macBytes]
}

// encryptCBC pads as PKCS#7.
func encryptCBC(block cipher.Block, iv, plain []byte) []byte {
	pad := aes.BlockSize - len(plain)%aes.BlockSize
	out := append(make([]byte, 0, len(plain)+pad), plain...)
	out = append(out, bytes.Repeat([]byte{byte(pad)}, pad)...)
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(out, out)
	return out
}

// decryptCBC opens what a MAC has vouched for, so that its complaint about the padding tells a forger nothing.
func decryptCBC(block cipher.Block, iv, sealed []byte) ([]byte, error) {
	if len(sealed) == 0 || len(sealed)%aes.BlockSize != 0 {
		return nil, ErrForged
	}
	out := make([]byte, len(sealed))
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(out, sealed)
	pad := int(out[len(out)-1])
	if pad == 0 || pad > aes.BlockSize || !bytes.Equal(out[len(out)-pad:], bytes.Repeat([]byte{byte(pad)}, pad)) {
		return nil, ErrForged
	}
	return out[:len(out)-pad], nil
}
