package post

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/olm"
	"github.com/agntchat/agntchat/internal/letterbox/store"
	"github.com/agntchat/agntchat/internal/wire/letter"
)

// ErrTooLong is a letter that no relay takes.
var ErrTooLong = errors.New("the letter is too long")

// ErrKept is a letter that is in the outbox and did not reach the relay yet: the next send or sync tries again.
var ErrKept = errors.New("kept in the outbox; the next send or sync tries again")

// Receipt names a letter that was sent. Its recipient sees the same id.
type Receipt struct{ ID, To string }

// NewID is a fresh id of an envelope or a group: 32 hexadecimal characters.
func NewID() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// NewCode is a fresh invite code: 22 characters that no command line takes for a flag.
func NewCode() string {
	for {
		b := make([]byte, 16)
		_, _ = rand.Read(b) // never fails
		if code := base64.RawURLEncoding.EncodeToString(b); code[0] != '-' {
			return code
		}
	}
}

// Send sends text to an address. save keeps it in the history. Errors: [ErrTooLong], [ErrPinMismatch], those of a call; with
// [ErrKept] when the letter will go out later.
func (b *Box) Send(ctx context.Context, to, text string, save bool) (Receipt, error) {
	return b.sendText(ctx, NewID(), to, text, save)
}

// SendOnce is [Box.Send] of a letter whose id the caller chooses, in the form of [NewID]: one that is in the outbox under that id, or
// was acknowledged, is not sent again.
func (b *Box) SendOnce(ctx context.Context, id, to, text string, save bool) (Receipt, error) {
	known := false
	err := b.store.Tx(ctx, func(tx *store.Tx) error {
		_, there, err := tx.OutboxRow(id)
		if err != nil || there {
			known = there
			return err
		}
		list, err := tx.Delivered(id)
		known = len(list) > 0
		return err
	})
	if err != nil || known {
		return Receipt{id, to}, err
	}
	return b.sendText(ctx, id, to, text, save)
}

func (b *Box) sendText(ctx context.Context, id, to, text string, save bool) (Receipt, error) {
	e := envelope{ID: id, Kind: kindMessage, Text: &text, Name: &b.me.Name}
	return Receipt{e.ID, to}, b.post(ctx, to, "", e, func(tx *store.Tx) error {
		if !save {
			return nil
		}
		return tx.SaveHistory(store.Saved{ID: e.ID, From: b.me.Address, FromName: b.me.Name, Peer: to, Outgoing: true, Text: text})
	})
}

// Share introduces a contact to an address. Errors as for [Box.Send].
func (b *Box) Share(ctx context.Context, to string, card store.Contact) (Receipt, error) {
	w := cardOf(card)
	e := envelope{ID: NewID(), Kind: kindContact, Name: &b.me.Name, Card: &w}
	return Receipt{e.ID, to}, b.post(ctx, to, "", e, nothing)
}

// Request uses an invite code of an address: it asks to become its contact. Errors as for [Box.Send].
func (b *Box) Request(ctx context.Context, to, code string) (Receipt, error) {
	w := cardOf(store.Contact{Address: b.me.Address, Name: b.me.Name, Identity: b.me.IdentityKey, Signing: b.me.SigningKey})
	e := envelope{ID: NewID(), Kind: kindRequest, Code: code, Card: &w}
	return Receipt{e.ID, to}, b.post(ctx, to, "", e, nothing)
}

func nothing(*store.Tx) error { return nil }

// post encrypts an envelope, puts it into the outbox together with what also writes, and uploads it.
func (b *Box) post(ctx context.Context, to, gid string, e envelope, also func(*store.Tx) error) error {
	if to == b.me.Address {
		return errors.New("that is yourself")
	}
	if e.Kind == kindMessage {
		e.Auto = b.auto
	}
	plain, err := b.pack(ctx, to, e)
	if err != nil {
		return err
	}
	o := store.Outgoing{ID: e.ID, Peer: to, Kind: e.Kind, GroupID: gid, Plain: plain}
	err = b.withSession(ctx, to, func(tx *store.Tx, s *sealer) error {
		if o.MType, o.Body, o.Session, err = s.seal(tx, plain); err != nil {
			return err
		}
		return errors.Join(tx.AddOutgoing(o), also(tx))
	})
	if err != nil {
		return err
	}
	p, err := b.upload(ctx, o)
	switch {
	case errors.Is(err, ErrPinMismatch):
		return err
	case err != nil:
		return fmt.Errorf("%w (%w)", err, ErrKept)
	case p.Text != "" && p.State == store.Queued:
		return fmt.Errorf("%s (%w)", p.Text, ErrKept)
	case p.Text != "":
		return errors.New(p.Text)
	}
	return nil
}

// sealer encrypts for one peer inside a transaction.
type sealer struct {
	box  *Box
	peer string
	key  *letter.ClaimedKey // for a new session; nil while one is there
}

// errNoSession asks for a key of the peer.
var errNoSession = errors.New("no session")

// withSession runs fn in a transaction, with a fresh key of the peer when there is no session that may send. The key is claimed
// outside the transaction, so fn may run twice.
func (b *Box) withSession(ctx context.Context, peer string, fn func(*store.Tx, *sealer) error) error {
	s := &sealer{box: b, peer: peer}
	err := b.store.Tx(ctx, func(tx *store.Tx) error { return fn(tx, s) })
	if !errors.Is(err, errNoSession) {
		return err
	}
	key, err := b.relay.claim(ctx, peer)
	if err != nil {
		return err
	}
	if err := b.check(ctx, peer, key.IdentityKey, key.SigningKey); err != nil {
		return err
	}
	s.key = &key
	return b.store.Tx(ctx, func(tx *store.Tx) error {
		if err := tx.SavePeerKeys(peer, store.Keys{Identity: key.IdentityKey, Signing: key.SigningKey}); err != nil {
			return err
		}
		return fn(tx, s)
	})
}

// seal encrypts with the most recently used session that may send, or begins one with the claimed key.
func (s *sealer) seal(tx *store.Tx, plain []byte) (mtype int, body, session string, err error) {
	stored, err := tx.Sessions(s.peer)
	if err != nil {
		return 0, "", "", err
	}
	stored = slices.DeleteFunc(stored, func(x store.Session) bool { return x.Retired })
	o, err := s.pick(tx, stored)
	if err != nil {
		return 0, "", "", err
	}
	if mtype, body, err = o.Encrypt(s.box.rand, plain); err != nil {
		return 0, "", "", err
	}
	return mtype, body, o.ID(), s.box.saveSession(tx, s.peer, o, false)
}

// pick is the session to send with.
func (s *sealer) pick(tx *store.Tx, stored []store.Session) (*olm.Session, error) {
	key, err := tx.PickleKey()
	if err != nil {
		return nil, err
	}
	for _, x := range stored {
		if o, err := olm.UnpickleSession(x.Pickle, key); err == nil {
			return o, nil
		}
		s.box.log.Warn("a stored session is damaged and passed over", "peer", s.peer)
	}
	if s.key == nil {
		return nil, errNoSession
	}
	account, err := loadAccount(tx)
	if err != nil {
		return nil, err
	}
	o, err := account.Outbound(s.box.rand, s.key.IdentityKey, s.key.OneTimeKey)
	if err != nil {
		return nil, &peerKeyError{err}
	}
	return o, nil
}

// peerKeyError is a key of a peer that no session can be begun with. It concerns letters to that peer only.
type peerKeyError struct{ cause error }

func (e *peerKeyError) Error() string {
	return "the recipient's key cannot be used: " + e.cause.Error()
}

func (e *peerKeyError) Unwrap() error { return e.cause }

func (b *Box) saveSession(tx *store.Tx, peer string, o *olm.Session, opened bool) error {
	key, err := tx.PickleKey()
	if err != nil {
		return err
	}
	pickle, err := o.Pickle(b.rand, key)
	if err != nil {
		return err
	}
	return tx.SaveSession(peer, o.ID(), pickle, opened)
}

// flush uploads what is due, or all. Only a relay out of reach, a false key and the end of ctx stop it.
func (b *Box) flush(ctx context.Context, early bool) (resent int, problems []Problem, err error) {
	var rows []store.Outgoing
	err = b.store.Tx(ctx, func(tx *store.Tx) (err error) {
		rows, err = tx.OutboxDue(early)
		return err
	})
	for _, o := range rows {
		p, uploadErr := b.upload(ctx, o)
		switch {
		case uploadErr != nil:
			return resent, problems, uploadErr
		case p.Text != "":
			problems = append(problems, p)
		default:
			resent++
		}
	}
	return resent, problems, err
}

// upload brings one letter to the relay and notes what came of it. A problem concerns this letter only; an error stops
// whoever sends.
func (b *Box) upload(ctx context.Context, o store.Outgoing) (Problem, error) {
	if p, err := b.expire(ctx, o); err != nil || p.Text != "" {
		return p, err
	}
	if o.Body == "" {
		if p, err := b.reseal(ctx, &o); err != nil || p.Text != "" {
			return p, err
		}
	}
	res, err := b.relay.send(ctx, o.Peer, o.MType, o.Body)
	if err != nil {
		return b.failed(ctx, o, err)
	}
	if res.Refused.Refused {
		return b.refused(ctx, o, res.Refused.Sig)
	}
	o.State, o.Problem = store.AtRelay, ""
	o.Tries++
	return Problem{}, b.store.Tx(ctx, func(tx *store.Tx) error {
		o.Due = tx.Now() + backoff(o.Tries-1, time.Minute, 6*time.Hour)
		return tx.TouchOutgoing(o)
	})
}

// expire gives up a letter that nobody acknowledged for a month, or that would be encrypted again when it is two months old: its
// recipient could not tell it from a new one any more (see [store.Tx.Looked]).
func (b *Box) expire(ctx context.Context, o store.Outgoing) (p Problem, err error) {
	now := float64(b.store.Now().Unix())
	if o.Created == 0 || o.Body != "" && now-o.Made <= sendFor.Seconds() || o.Body == "" && now-o.Created <= store.RetryFor {
		return p, nil // a letter of this moment has no time yet
	}
	o.State, o.Problem = store.Dead, "not acknowledged in 30 days: its recipient may not read letters any more, or does not fetch yours"
	return Problem{o.ID, o.Peer, o.State, o.Problem}, b.store.Tx(ctx, func(tx *store.Tx) error { return tx.CloseOutgoing(o) })
}

// reseal encrypts a refused letter once more, with a new session.
func (b *Box) reseal(ctx context.Context, o *store.Outgoing) (Problem, error) {
	err := b.withSession(ctx, o.Peer, func(tx *store.Tx, s *sealer) (err error) {
		if o.MType, o.Body, o.Session, err = s.seal(tx, o.Plain); err != nil {
			return err
		}
		return tx.Reseal(*o)
	})
	if err != nil {
		return b.failed(ctx, *o, err)
	}
	return Problem{}, nil
}

// failed puts a letter off, or gives it up.
func (b *Box) failed(ctx context.Context, o store.Outgoing, cause error) (Problem, error) {
	_, badKey := errors.AsType[*peerKeyError](cause)
	r, answered := errors.AsType[*RelayError](cause)
	if !badKey && (!answered || r.everyCall()) {
		return Problem{}, cause // the same for every letter
	}
	o.Problem = cause.Error()
	o.Tries++
	err := b.store.Tx(ctx, func(tx *store.Tx) error {
		o.Due = tx.Now() + backoff(o.Tries, 5*time.Second, time.Hour)
		if answered && r.Status == http.StatusRequestEntityTooLarge || tx.Now()-o.Created > giveUpAfter.Seconds() && o.Created > 0 {
			o.State = store.Dead
			return tx.CloseOutgoing(o)
		}
		if o.State == "" {
			o.State = store.Queued
		}
		return tx.TouchOutgoing(o)
	})
	return Problem{o.ID, o.Peer, o.State, o.Problem}, err
}

// refused deals with a relay's word that the recipient refused this ciphertext. Only the recipient's signature counts. Most
// often it could not be opened: the sessions of that time send no more, and the letter is encrypted once again. Refused again,
// it stays in the outbox for the user to see.
func (b *Box) refused(ctx context.Context, o store.Outgoing, sig string) (Problem, error) {
	keys, err := b.keys(ctx, o.Peer)
	if err != nil {
		return b.failed(ctx, o, err)
	}
	if ok, err := letter.Verify(keys.Signing, letter.NackText(o.Peer, letter.BodyHash(o.Body)), sig); err != nil || !ok {
		return b.failed(ctx, o, &RelayError{Tool: letter.ToolSendMessage, Status: http.StatusOK, Text: "a refusal that its recipient did not sign"})
	}
	again := false
	err = b.store.Tx(ctx, func(tx *store.Tx) error {
		now, there, err := tx.OutboxRow(o.ID)
		if err != nil || !there || now.Body != o.Body {
			return err // acknowledged or dealt with meanwhile
		}
		o = now
		if err := errors.Join(tx.RetireSessions(o.Peer, o.Made, o.Session), dropMember(tx, o.GroupID, o.Peer)); err != nil {
			return err
		}
		// A refused request is one whose code was not good: asking again would not make it better.
		// One of retalk's outbox has no text to encrypt.
		if again = !o.Again && o.Kind != kindRequest && len(o.Plain) > 0 && tx.Now()-o.Created <= sendFor.Seconds(); again {
			o.State, o.Again, o.Body, o.Session, o.Problem = store.Queued, true, "", "", "refused once; encrypted again"
			return tx.Reseal(o)
		}
		o.State, o.Problem = store.Refused, "refused by its recipient: it may have blocked you, left the group, or be unable to open your letters"
		if o.Kind == kindRequest {
			o.Problem = "refused by its recipient: the code was not good"
		}
		return tx.CloseOutgoing(o)
	})
	if err != nil {
		return Problem{}, err
	}
	if again {
		p, err := b.upload(ctx, o)
		if err == nil && p.Text == "" {
			b.log.Info("a letter that its recipient could not open was encrypted again", "peer", o.Peer, "letter_id", o.ID)
			p = Problem{o.ID, o.Peer, store.AtRelay, o.Problem}
		}
		return p, err
	}
	if o.State == "" {
		return Problem{}, nil
	}
	return Problem{o.ID, o.Peer, o.State, o.Problem}, nil
}
