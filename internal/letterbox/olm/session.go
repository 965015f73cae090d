package olm

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"math"
	"slices"
)

// Session is one side of a conversation: a double ratchet.
type Session struct {
	keys     sessionKeys
	outbound bool // begun by this side
	received bool // a message of the peer was opened

	root      key
	sending   *sendChain     // nil after the peer's turn: the next message begins a chain
	their     key            // the peer's newest ratchet key, which a new sending chain answers
	receiving []receiveChain // oldest first, at most MaxChains
}

// ID is the session's name on both sides: the SHA-256 of its three keys, base64 without padding.
func (s *Session) ID() string {
	h := sha256.New()
	h.Write(s.keys.identity[:])
	h.Write(s.keys.base[:])
	h.Write(s.keys.oneTime[:])
	return base64.RawStdEncoding.EncodeToString(h.Sum(nil))
}

// Received says whether a message of the peer was opened. Until then an outbound session sends pre-key messages.
func (s *Session) Received() bool { return s.received }

// Matches says whether a pre-key message belongs to this session, which the peer began. False for anything malformed.
func (s *Session) Matches(preKeyBody string) bool {
	m, err := decodePreKey(preKeyBody)
	return err == nil && !s.outbound && m.keys == s.keys
}

// Encrypt seals plain and gives type and body as they go on the wire. It advances the session: save it before the body leaves.
// Errors: [ErrUnproven], [ErrTooLong], [ErrWeakKey], a failing reader.
func (s *Session) Encrypt(rand io.Reader, plain []byte) (typ int, body string, err error) {
	if !s.outbound && !s.received {
		return 0, "", ErrUnproven
	}
	if len(plain) > MaxBody/4*3-overhead {
		return 0, "", ErrTooLong
	}
	if s.sending == nil {
		if err := s.begin(rand); err != nil {
			return 0, "", err
		}
	}
	if s.sending.index == math.MaxUint32 {
		return 0, "", fmt.Errorf("%w: sending chain at its end", ErrGap)
	}
	index := s.sending.index
	mk := s.sending.next()
	message := mk.seal(s.sending.ratchet.public, index, plain)
	clear(mk[:])
	if s.received {
		return TypeNormal, encodeBody(message), nil
	}
	return TypePreKey, encodeBody(encodePreKey(s.keys, message)), nil
}

// begin answers the peer's newest ratchet key with a sending chain of ours.
func (s *Session) begin(rand io.Reader) error {
	ratchet, err := newPair(rand)
	if err != nil {
		return err
	}
	root, chain, err := step(s.root, &ratchet, s.their)
	if err != nil {
		return err
	}
	s.root = root
	s.sending = &sendChain{ratchet: ratchet, chainKey: chainKey{key: chain}}
	return nil
}

// Decrypt opens a message. The session changes only when it opened. Errors: [ErrMalformed], [ErrTooLong], [ErrMismatch] for a
// pre-key message of another session, [ErrForged], [ErrUsed], [ErrGap], [ErrWeakKey].
func (s *Session) Decrypt(typ int, body string) ([]byte, error) {
	var m normal
	switch typ {
	case TypePreKey:
		p, err := decodePreKey(body)
		if err != nil {
			return nil, err
		}
		if s.outbound || p.keys != s.keys {
			return nil, ErrMismatch
		}
		m = p.message
	case TypeNormal:
		var err error
		if m, err = decodeNormal(body); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("%w: type %d", ErrMalformed, typ)
	}
	plain, err := s.open(&m)
	if err != nil {
		return nil, err
	}
	s.received = true
	return plain, nil
}

// open finds the chain of m, or turns the ratchet to a new one.
func (s *Session) open(m *normal) ([]byte, error) {
	for i := range s.receiving {
		if s.receiving[i].ratchet == m.ratchet {
			return s.receiving[i].open(m)
		}
	}
	if s.sending == nil {
		// The peer turns its ratchet only when it has seen ours, and we have shown it none yet: a forgery, or a chain given up.
		return nil, ErrForged
	}
	root, chain, err := step(s.root, &s.sending.ratchet, m.ratchet)
	if err != nil {
		return nil, err
	}
	c := receiveChain{ratchet: m.ratchet, chainKey: chainKey{key: chain}}
	plain, err := c.open(m)
	if err != nil {
		return nil, err
	}
	s.sending.wipe()
	s.root, s.their, s.sending = root, m.ratchet, nil
	if len(s.receiving) == MaxChains {
		s.receiving[0].wipe()
		s.receiving = slices.Delete(s.receiving, 0, 1)
	}
	s.receiving = append(s.receiving, c)
	return plain, nil
}
