package olm

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
)

// The wire form of contract letters 2.1: a version byte, then tagged fields as in protobuf.
const (
	version  = 3
	macBytes = 8
	overhead = 256 // a message is no more than this longer than its text

	tagOneTime  = 0x0a // pre-key message
	tagBase     = 0x12
	tagIdentity = 0x1a
	tagMessage  = 0x22

	tagRatchet    = 0x0a // normal message
	tagIndex      = 0x10
	tagCiphertext = 0x22
)

// sessionKeys are the three keys that a session is known by on both sides.
type sessionKeys struct{ identity, base, oneTime key }

// normal is a decoded normal message.
type normal struct {
	ratchet    key
	index      uint32
	ciphertext []byte
	signed     []byte // what the MAC covers: everything before it
	mac        []byte
}

// preKey is a decoded pre-key message.
type preKey struct {
	keys    sessionKeys
	message normal
}

// encodeNormal is the message without its MAC.
func encodeNormal(ratchet key, index uint32, ciphertext []byte) []byte {
	b := make([]byte, 0, len(ciphertext)+64)
	b = append(b, version, tagRatchet, byte(len(ratchet)))
	b = append(b, ratchet[:]...)
	b = binary.AppendUvarint(append(b, tagIndex), uint64(index))
	b = binary.AppendUvarint(append(b, tagCiphertext), uint64(len(ciphertext)))
	return append(b, ciphertext...)
}

func encodePreKey(keys sessionKeys, message []byte) []byte {
	b := make([]byte, 0, len(message)+128)
	b = append(b, version)
	for _, f := range []struct {
		tag byte
		key key
	}{{tagOneTime, keys.oneTime}, {tagBase, keys.base}, {tagIdentity, keys.identity}} {
		b = append(append(b, f.tag, byte(len(f.key))), f.key[:]...)
	}
	b = binary.AppendUvarint(append(b, tagMessage), uint64(len(message)))
	return append(b, message...)
}

func encodeBody(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

func decodeBody(body string) ([]byte, error) {
	if len(body) > MaxBody {
		return nil, ErrTooLong
	}
	return decode64(body)
}

func decodeNormal(body string) (normal, error) {
	b, err := decodeBody(body)
	if err != nil {
		return normal{}, err
	}
	return parseNormal(b)
}

func parseNormal(b []byte) (normal, error) {
	if len(b) <= macBytes {
		return normal{}, fmt.Errorf("%w: message too short", ErrMalformed)
	}
	signed, mac := b[:len(b)-macBytes], b[len(b)-macBytes:]
	m := normal{signed: signed, mac: mac}
	err := fields(signed, []byte{tagRatchet, tagIndex, tagCiphertext}, func(tag byte, number uint64, data []byte) error {
		switch tag {
		case tagRatchet:
			return setKey(&m.ratchet, data)
		case tagIndex:
			if number >= math.MaxUint32 { // a chain ends before, so that its index never wraps
				return fmt.Errorf("%w: index", ErrMalformed)
			}
			m.index = uint32(number)
		case tagCiphertext:
			m.ciphertext = data
		}
		return nil
	})
	return m, err
}

func decodePreKey(body string) (preKey, error) {
	b, err := decodeBody(body)
	if err != nil {
		return preKey{}, err
	}
	var m preKey
	err = fields(b, []byte{tagOneTime, tagBase, tagIdentity, tagMessage}, func(tag byte, _ uint64, data []byte) (err error) {
		switch tag {
		case tagOneTime:
			return setKey(&m.keys.oneTime, data)
		case tagBase:
			return setKey(&m.keys.base, data)
		case tagIdentity:
			return setKey(&m.keys.identity, data)
		}
		m.message, err = parseNormal(data)
		return err
	})
	return m, err
}

func setKey(k *key, data []byte) error {
	if len(data) != len(k) {
		return fmt.Errorf("%w: a key of %d bytes", ErrMalformed, len(data))
	}
	copy(k[:], data)
	return nil
}

// fields visits the wanted fields of a message, each of which has to be there exactly once, in any order. Fields of other tags
// are passed over, as libolm and vodozemac do: that is the protocol's room to grow.
func fields(b, wanted []byte, visit func(tag byte, number uint64, data []byte) error) error {
	if len(b) == 0 || b[0] != version {
		return fmt.Errorf("%w: not version %d", ErrMalformed, version)
	}
	seen := 0
	for b = b[1:]; len(b) > 0; {
		tag, n := binary.Uvarint(b)
		if n <= 0 {
			return fmt.Errorf("%w: tag", ErrMalformed)
		}
		number, m := binary.Uvarint(b[n:])
		if m <= 0 {
			return fmt.Errorf("%w: number", ErrMalformed)
		}
		b = b[n+m:]
		var data []byte
		switch tag & 7 {
		case 0:
		case 2:
			if number > uint64(len(b)) {
				return fmt.Errorf("%w: field longer than the message", ErrMalformed)
			}
			data, b = b[:number], b[number:]
		default:
			return fmt.Errorf("%w: field type", ErrMalformed)
		}
		for i, w := range wanted {
			if uint64(w) != tag {
				continue
			}
			if seen&(1<<i) != 0 {
				return fmt.Errorf("%w: field twice", ErrMalformed)
			}
			seen |= 1 << i
			if err := visit(w, number, data); err != nil {
				return err
			}
		}
	}
	if seen != 1<<len(wanted)-1 {
		return fmt.Errorf("%w: field missing", ErrMalformed)
	}
	return nil
}
