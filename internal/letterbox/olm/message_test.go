package olm

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
)

func TestL2_FieldsOfAMessage(t *testing.T) {
	t.Parallel()
	ratchet := append([]byte{tagRatchet, 32}, bytes.Repeat([]byte{7}, 32)...)
	index, sealed, mac := []byte{tagIndex, 5}, []byte{tagCiphertext, 2, 8, 9}, make([]byte, macBytes)
	join := func(parts ...[]byte) []byte {
		return bytes.Join(append([][]byte{{version}}, append(parts, mac)...), nil)
	}
	for name, c := range map[string]struct {
		message []byte
		good    bool
	}{
		"as it is written":       {join(ratchet, index, sealed), true},
		"another order":          {join(sealed, ratchet, index), true},
		"an unknown number":      {join(ratchet, []byte{0x28, 1}, index, sealed), true},
		"unknown bytes":          {join(ratchet, index, []byte{0x32, 1, 1}, sealed), true},
		"a field twice":          {join(ratchet, index, index, sealed), false},
		"no index":               {join(ratchet, sealed), false},
		"no ratchet key":         {join(index, sealed), false},
		"no ciphertext":          {join(ratchet, index), false},
		"a short ratchet key":    {join([]byte{tagRatchet, 1, 1}, index, sealed), false},
		"fixed width":            {join(ratchet, index, sealed, []byte{0x2d, 1, 2, 3, 4}), false},
		"longer than it is":      {join(ratchet, index, []byte{tagCiphertext, 100, 1}), false},
		"a length without end":   {join(ratchet, index, []byte{tagCiphertext, 0xff}), false},
		"the last index":         {join(ratchet, []byte{tagIndex, 0xff, 0xff, 0xff, 0xff, 0x0f}, sealed), false},
		"the last but one index": {join(ratchet, []byte{tagIndex, 0xfe, 0xff, 0xff, 0xff, 0x0f}, sealed), true},
		"another version":        {append([]byte{4}, join(ratchet, index, sealed)[1:]...), false},
		"only a MAC":             {mac, false},
	} {
		if _, err := parseNormal(c.message); (err == nil) != c.good || err != nil && !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestL2_PaddingIsChecked(t *testing.T) {
	t.Parallel()
	block, err := aes.NewCipher(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	iv := make([]byte, aes.BlockSize)
	for name, last := range map[string][]byte{
		"zero": bytes.Repeat([]byte{0}, 16), "more than a block": bytes.Repeat([]byte{17}, 16), "not all alike": append(bytes.Repeat([]byte{1}, 14), 3, 3),
	} {
		cipher.NewCBCEncrypter(block, iv).CryptBlocks(last, last)
		if _, err := decryptCBC(block, iv, last); !errors.Is(err, ErrForged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, sealed := range [][]byte{nil, make([]byte, 15)} {
		if _, err := decryptCBC(block, iv, sealed); !errors.Is(err, ErrForged) {
			t.Errorf("%d bytes: %v", len(sealed), err)
		}
	}
	for n := range 40 {
		text := strings.Repeat("x", n)
		if plain, err := decryptCBC(block, iv, encryptCBC(block, iv, []byte(text))); err != nil || string(plain) != text {
			t.Errorf("%d characters: %q, %v", n, plain, err)
		}
	}
}

// TestL2_OneTextForOneMessage: refusals name a body by the hash of its text, so no loose spelling may stand for the same message
// (padding alone is free).
func TestL2_OneTextForOneMessage(t *testing.T) {
	t.Parallel()
	_, _, a, b, _ := couple(t, chance(9))
	var body string
	for n := 0; !strings.HasSuffix(body, "="); n++ {
		var err error
		if _, body, err = b.Encrypt(chance(byte(n)), make([]byte, 16*n)); err != nil {
			t.Fatal(err)
		}
	}
	digits := strings.TrimRight(body, "=")
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	last := strings.IndexByte(alphabet, digits[len(digits)-1])
	loose := digits[:len(digits)-1] + alphabet[last+1:last+2] + body[len(digits):] // one of the bits that stand for nothing
	lax, err := base64.StdEncoding.DecodeString(loose)
	if err != nil || !bytes.Equal(lax, raw(t, body)) {
		t.Fatalf("not another text of the same bytes: %v", err)
	}
	if _, err := a.Decrypt(TypeNormal, loose); !errors.Is(err, ErrMalformed) {
		t.Fatalf("another text: %v", err)
	}
	if _, err := a.Decrypt(TypeNormal, body); err != nil {
		t.Fatal(err)
	}
}

// TestL2_UnknownChain: a peer cannot turn the ratchet before it has seen our turn.
func TestL2_UnknownChain(t *testing.T) {
	t.Parallel()
	_, _, a, b, _ := couple(t, chance(10))
	_, body, err := a.Encrypt(chance(11), []byte("second"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := decodePreKey(body)
	if err != nil {
		t.Fatal(err)
	}
	p.message.ratchet[5] ^= 1
	forged := append(encodeNormal(p.message.ratchet, p.message.index, p.message.ciphertext), p.message.mac...)
	before := walked(b)
	if _, err := b.Decrypt(TypePreKey, encodeBody(encodePreKey(p.keys, forged))); !errors.Is(err, ErrForged) || !bytes.Equal(walked(b), before) {
		t.Fatal(err)
	}
	if _, err := b.Decrypt(TypePreKey, body); err != nil {
		t.Fatal(err)
	}
}
