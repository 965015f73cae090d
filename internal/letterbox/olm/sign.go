package olm

import (
	"crypto/ed25519"
	"crypto/sha512"
	"fmt"

	"filippo.io/edwards25519"
)

// signer is an ed25519 key. vodozemac makes and stores seeds; an account that came from libolm has only what the seed expands
// to, which the standard library cannot sign with.
type signer struct {
	public   key
	seed     key       // all zero when expanded is set
	expanded *[64]byte // scalar and prefix (RFC 8032 5.1.5)
}

func newSigner(seed key) signer {
	s := signer{seed: seed}
	copy(s.public[:], ed25519.NewKeyFromSeed(seed[:]).Public().(ed25519.PublicKey))
	return s
}

// newExpandedSigner reads a key in libolm's form: a clamped scalar and the prefix.
func newExpandedSigner(expanded [64]byte) (signer, error) {
	scalar, err := new(edwards25519.Scalar).SetBytesWithClamping(expanded[:32])
	if err != nil {
		return signer{}, fmt.Errorf("%w: signing key", ErrMalformed)
	}
	s := signer{expanded: &expanded}
	copy(s.public[:], new(edwards25519.Point).ScalarBaseMult(scalar).Bytes())
	return s, nil
}

func (s *signer) sign(message []byte) []byte {
	if s.expanded == nil {
		return ed25519.Sign(ed25519.NewKeyFromSeed(s.seed[:]), message)
	}
	// RFC 8032 5.1.6. The lengths are right by construction, so no error can come back.
	scalar, _ := new(edwards25519.Scalar).SetBytesWithClamping(s.expanded[:32])
	nonce := hashToScalar(s.expanded[32:], message)
	r := new(edwards25519.Point).ScalarBaseMult(nonce).Bytes()
	challenge := hashToScalar(r, s.public[:], message)
	return append(r, new(edwards25519.Scalar).MultiplyAdd(challenge, scalar, nonce).Bytes()...)
}

func hashToScalar(parts ...[]byte) *edwards25519.Scalar {
	h := sha512.New()
	for _, p := range parts {
		h.Write(p)
	}
	s, _ := new(edwards25519.Scalar).SetUniformBytes(h.Sum(nil))
	return s
}
