package olm

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// vodozemacAccount is vodozemac's account pickle, 0.9 to 0.11: keys are arrays of numbers, public halves are left out.
type vodozemacAccount struct {
	Signing struct {
		Normal   *numbers32 `json:"Normal"`
		Expanded *numbers64 `json:"Expanded"` // of an account that came from libolm
	} `json:"signing_key"`
	Identity *numbers32 `json:"diffie_hellman_key"`
	OneTime  struct {
		NextID      uint64                `json:"next_key_id"`
		Unpublished map[uint64]numbers32  `json:"public_keys"`
		Private     map[uint64]*numbers32 `json:"private_keys"`
	} `json:"one_time_keys"`
	Fallback struct {
		NextID   uint64             `json:"key_id"`
		Current  *vodozemacFallback `json:"fallback_key"`
		Previous *vodozemacFallback `json:"previous_fallback_key"`
	} `json:"fallback_keys"`
}

type vodozemacFallback struct {
	ID        uint64     `json:"key_id"`
	Key       *numbers32 `json:"key"`
	Published bool       `json:"published"`
}

// vodozemacSession is vodozemac's session pickle. A member that only serves its diagnostics is not read.
type vodozemacSession struct {
	Keys struct {
		Identity *numbers32 `json:"identity_key"`
		Base     *numbers32 `json:"base_key"`
		OneTime  *numbers32 `json:"one_time_key"`
	} `json:"session_keys"`
	Sending struct {
		Type    string          `json:"type"`     // active or inactive
		Root    *vodozemacRoot  `json:"root_key"` // inactive
		Ratchet *numbers32      `json:"ratchet_key"`
		Chain   *vodozemacChain `json:"symmetric_key_ratchet"` // active
		Active  *struct {
			Root    *vodozemacRoot `json:"root_key"`
			Ratchet *numbers32     `json:"ratchet_key"`
		} `json:"active_ratchet"`
	} `json:"sending_ratchet"`
	Receiving struct {
		Inner []struct {
			Ratchet *numbers32      `json:"ratchet_key"`
			Chain   *vodozemacChain `json:"hkdf_ratchet"`
			Skipped struct {
				Inner []vodozemacChain `json:"inner"`
			} `json:"skipped_message_keys"`
		} `json:"inner"`
	} `json:"receiving_chains"`
	Config struct {
		Version string `json:"version"` // absent in old pickles: V1
	} `json:"config"`
}

type vodozemacChain struct {
	Key   *numbers32 `json:"key"`
	Index uint64     `json:"index"`
}

// vodozemacRoot is {"key": […]} or the array alone: the two kinds of root key differ in that.
type vodozemacRoot struct{ key numbers32 }

func (r *vodozemacRoot) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		return json.Unmarshal(b, &r.key)
	}
	var object struct {
		Key *numbers32 `json:"key"`
	}
	if err := json.Unmarshal(b, &object); err != nil {
		return err
	}
	if object.Key == nil {
		return errMissing
	}
	r.key = *object.Key
	return nil
}

type (
	numbers32 [32]byte
	numbers64 [64]byte
)

func (n *numbers32) UnmarshalJSON(b []byte) error { return unmarshalNumbers(b, n[:]) }
func (n *numbers64) UnmarshalJSON(b []byte) error { return unmarshalNumbers(b, n[:]) }

// unmarshalNumbers wants exactly as many numbers as there is room for: encoding/json would fill up with zeros.
func unmarshalNumbers(b, into []byte) error {
	var numbers []uint16 // not bytes, which JSON has as base64
	if err := json.Unmarshal(b, &numbers); err != nil {
		return err
	}
	if len(numbers) != len(into) {
		return fmt.Errorf("%w: a key of %d numbers", ErrMalformed, len(numbers))
	}
	for i, n := range numbers {
		if n > math.MaxUint8 {
			return fmt.Errorf("%w: a key with the number %d", ErrMalformed, n)
		}
		into[i] = byte(n)
	}
	clear(numbers)
	return nil
}

var errMissing = fmt.Errorf("%w: pickle lacks a member", ErrMalformed)

func parseVodozemacAccount(plain []byte) (*Account, error) {
	var v vodozemacAccount
	if err := json.Unmarshal(plain, &v); err != nil {
		return nil, fmt.Errorf("%w: pickle", ErrMalformed) // the cause would quote secrets
	}
	a := &Account{nextID: max(v.OneTime.NextID, v.Fallback.NextID)}
	var err error
	switch {
	case v.Identity == nil:
		return nil, errMissing
	case v.Signing.Normal != nil:
		a.signing = newSigner(key(*v.Signing.Normal))
	case v.Signing.Expanded != nil:
		if a.signing, err = newExpandedSigner(*v.Signing.Expanded); err != nil {
			return nil, err
		}
	default:
		return nil, errMissing
	}
	if a.identity, err = pairOf(*v.Identity); err != nil {
		return nil, err
	}
	if len(v.OneTime.Private) > MaxOneTimeKeys {
		return nil, ErrFull
	}
	for id, secret := range v.OneTime.Private {
		if secret == nil {
			return nil, errMissing
		}
		p, err := pairOf(*secret)
		if err != nil {
			return nil, err
		}
		_, unpublished := v.OneTime.Unpublished[id]
		a.oneTime = append(a.oneTime, oneTimeKey{id: id, published: !unpublished, pair: p})
	}
	slices.SortFunc(a.oneTime, byID)
	if n := len(a.oneTime); n > 0 {
		a.nextID = max(a.nextID, a.oneTime[n-1].id+1)
	}
	if a.fallback, err = v.Fallback.Current.key(); err != nil {
		return nil, err
	}
	if a.previous, err = v.Fallback.Previous.key(); err != nil {
		return nil, err
	}
	return a, nil
}

func (f *vodozemacFallback) key() (*oneTimeKey, error) {
	if f == nil {
		return nil, nil
	}
	if f.Key == nil {
		return nil, errMissing
	}
	p, err := pairOf(*f.Key)
	if err != nil {
		return nil, err
	}
	return &oneTimeKey{id: f.ID, published: f.Published, pair: p}, nil
}

func pairOf(secret numbers32) (pair, error) {
	p := pair{secret: key(secret)}
	return p, p.publish()
}

func parseVodozemacSession(plain []byte) (*Session, error) {
	var v vodozemacSession
	if err := json.Unmarshal(plain, &v); err != nil {
		return nil, fmt.Errorf("%w: pickle", ErrMalformed) // the cause would quote secrets
	}
	if v.Config.Version != "" && v.Config.Version != "V1" {
		return nil, fmt.Errorf("%w: session of another version", ErrMalformed)
	}
	if v.Keys.Identity == nil || v.Keys.Base == nil || v.Keys.OneTime == nil {
		return nil, errMissing
	}
	s := &Session{keys: sessionKeys{identity: key(*v.Keys.Identity), base: key(*v.Keys.Base), oneTime: key(*v.Keys.OneTime)}}
	switch r := &v.Sending; {
	case r.Type == "inactive" && r.Root != nil && r.Ratchet != nil:
		s.root, s.their = key(r.Root.key), key(*r.Ratchet)
	case r.Type == "active" && r.Active != nil && r.Active.Root != nil && r.Active.Ratchet != nil && r.Chain != nil:
		ratchet, err := pairOf(*r.Active.Ratchet)
		if err != nil {
			return nil, err
		}
		chain, err := r.Chain.chain()
		if err != nil {
			return nil, err
		}
		s.root, s.sending = key(r.Active.Root.key), &sendChain{ratchet: ratchet, chainKey: chain}
	default:
		return nil, errMissing
	}
	for _, r := range v.Receiving.Inner {
		if r.Ratchet == nil {
			return nil, errMissing
		}
		chain, err := r.Chain.chain()
		if err != nil {
			return nil, err
		}
		c := receiveChain{ratchet: key(*r.Ratchet), chainKey: chain}
		for _, m := range r.Skipped.Inner {
			k, err := m.chain()
			if err != nil {
				return nil, err
			}
			c.skipped = append(c.skipped, skippedKey{index: k.index, key: messageKey(k.key)})
		}
		s.receiving = append(s.receiving, c)
	}
	// vodozemac has a receiving chain from the first message that opened on, and no session before.
	s.received = len(s.receiving) > 0
	if err := s.settle(); err != nil {
		return nil, err
	}
	return s, nil
}

func (c *vodozemacChain) chain() (chainKey, error) {
	if c == nil || c.Key == nil {
		return chainKey{}, errMissing
	}
	if c.Index >= math.MaxUint32 {
		return chainKey{}, fmt.Errorf("%w: index", ErrMalformed)
	}
	return chainKey{key: key(*c.Key), index: uint32(c.Index)}, nil
}
