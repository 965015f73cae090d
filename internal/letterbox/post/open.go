package post

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/agntchat/agntchat/internal/letterbox/olm"
	"github.com/agntchat/agntchat/internal/letterbox/store"
	"github.com/agntchat/agntchat/internal/wire/letter"
)

// errLeave ends the transaction that opened a letter without a trace: it stays as it came.
var errLeave = errors.New("left for later")

// open deals with one ciphertext in one transaction: afterwards it is refused, known already, unreadable, or an opened letter.
func (r *reception) open(ctx context.Context, in store.Incoming) error {
	refused, err := r.refuses(ctx, in.Peer)
	if err != nil {
		return err
	}
	done := r.done
	err = r.box.store.Tx(ctx, func(tx *store.Tx) error {
		switch {
		case refused:
			return errors.Join(tx.AddAnswer(in.Peer, store.Nack, in.Hash), tx.DropIncoming(in.N))
		case in.MType != olm.TypePreKey && in.MType != olm.TypeNormal:
			return tx.DropIncoming(in.N)
		case r.unknown[in.Peer]:
			return errLeave
		}
		return r.decrypt(tx, in)
	})
	if err != nil {
		r.done = done
	}
	if errors.Is(err, errLeave) {
		return nil
	}
	return err
}

func (r *reception) decrypt(tx *store.Tx, in store.Incoming) error {
	d, known, err := tx.Processed(in.Hash, in.Peer)
	if err != nil {
		return err
	}
	if known && d.Refused {
		return errors.Join(tx.AddAnswer(in.Peer, store.Nack, in.Hash), tx.DropIncoming(in.N))
	}
	if known {
		return r.duplicate(tx, in, d.ID)
	}
	plain, commit, err := r.box.decrypt(tx, in)
	if err != nil {
		return r.unreadable(tx, in, err)
	}
	e, ok := decodeEnvelope(plain)
	if r.requests && (!ok || e.Kind != kindRequest) {
		return errLeave
	}
	if ok && e.Kind == kindRequest {
		return r.request(tx, in, e, commit)
	}
	if err := commit(); err != nil {
		return err
	}
	if !ok {
		return r.unreadable(tx, in, errors.New("it holds no envelope"))
	}
	if again, err := tx.ProcessedID(in.Peer, e.ID); err != nil || again {
		if err != nil {
			return err
		}
		if err := tx.AddProcessed(in.Hash, in.Peer, e.ID); err != nil {
			return err
		}
		return r.duplicate(tx, in, e.ID)
	}
	return r.accept(tx, in, e)
}

// duplicate acknowledges once more what its sender did not hear of. A letter that was not handed on yet is acknowledged when
// it is.
func (r *reception) duplicate(tx *store.Tx, in store.Incoming, id string) error {
	if err := tx.DropIncoming(in.N); err != nil || id == "" {
		return err
	}
	if waits, err := tx.IsArrived(in.Peer, id); err != nil || waits {
		return err
	}
	return tx.AddAnswer(in.Peer, store.Ack, id)
}

// unreadable refuses a letter, which makes its sender encrypt it once more, and remembers it for the user.
func (r *reception) unreadable(tx *store.Tx, in store.Incoming, cause error) error {
	if r.requests {
		return errLeave
	}
	r.done.Unreadable = append(r.done.Unreadable, Failure{in.Peer, cause.Error()})
	_, err := tx.AddUnreadable(in.Hash, in.Peer, cause.Error())
	return errors.Join(err, tx.AddAnswer(in.Peer, store.Nack, in.Hash), tx.DropIncoming(in.N))
}

// accept takes an opened envelope that is new.
func (r *reception) accept(tx *store.Tx, in store.Incoming, e envelope) error {
	own := ""
	if e.Name != nil {
		own = *e.Name
	}
	l := stored{Letter: Letter{ID: e.ID, Kind: Chat, From: in.Peer, At: in.At}, OwnName: own}
	switch {
	case e.Kind == kindAck:
		return errors.Join(r.acknowledged(tx, in.Peer, e.ID), tx.AddProcessed(in.Hash, in.Peer, ""), tx.DropIncoming(in.N))
	case e.Kind == kindContact && e.Card != nil:
		l.Kind, l.Card = Contact, e.Card
		if err := r.stage(tx, in, e, own); err != nil {
			return err
		}
	case e.Kind == kindLeave && e.GroupID != "":
		l.Kind, l.GroupID = GroupLeave, e.GroupID
		if err := dropMember(tx, e.GroupID, in.Peer); err != nil {
			return err
		}
	case e.Text != nil:
		l.Text, l.Thread, l.Auto = *e.Text, e.Thread, min(e.Auto, maxAuto)
		if e.Group.usable() {
			left, err := tx.HasLeft(e.Group.ID)
			if err != nil {
				return err
			}
			if left {
				return errors.Join(tx.AddRefused(in.Hash, in.Peer), tx.AddAnswer(in.Peer, store.Nack, in.Hash), tx.DropIncoming(in.N))
			}
			if l.Group, err = r.adopt(tx, e.Group, in.Peer); err != nil {
				return err
			}
			l.GroupID = e.Group.ID
		}
		if err := r.save(tx, l); err != nil {
			return err
		}
	default:
		// A kind of a later version that says nothing to people, or a control letter without what makes it one.
		r.done.Skipped = append(r.done.Skipped, Failure{in.Peer, fmt.Sprintf("a letter of the unknown kind %q was acknowledged and passed over", Printable(e.Kind, 40))})
		return errors.Join(tx.AddProcessed(in.Hash, in.Peer, e.ID), tx.AddAnswer(in.Peer, store.Ack, e.ID), tx.DropIncoming(in.N))
	}
	return r.arrive(tx, in, l)
}

// arrive makes an opened letter durable.
func (r *reception) arrive(tx *store.Tx, in store.Incoming, l stored) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return errors.Join(tx.AddProcessed(in.Hash, in.Peer, l.ID), tx.AddArrived(in.Peer, l.ID, b), tx.DropIncoming(in.N))
}

func (r *reception) save(tx *store.Tx, l stored) error {
	if !r.options.Save {
		return nil
	}
	return tx.SaveHistory(store.Saved{ID: l.ID, From: l.From, FromName: r.contacts.Display(l.From, l.OwnName), Peer: l.From, Text: l.Text, GroupID: l.GroupID, GroupName: l.Group})
}

func (r *reception) stage(tx *store.Tx, in store.Incoming, e envelope, own string) error {
	if r.options.DropContacts || !letter.IsAddress(e.Card.Fingerprint) {
		return nil
	}
	return tx.Stage(store.Card{
		Contact: store.Contact{Address: e.Card.Fingerprint, Name: chosenName(e.Card.Name), Identity: e.Card.IdentityKey, Signing: e.Card.SigningKey},
		From:    in.Peer, FromName: r.contacts.Display(in.Peer, own), ID: e.ID, At: tx.Now(),
	})
}

// acknowledged forgets a letter that arrived. One that was encrypted again proves that a refusal did not mean that the peer had
// left the group.
func (r *reception) acknowledged(tx *store.Tx, peer, id string) error {
	o, there, err := tx.OutboxRow(id)
	if err != nil || !there || o.Peer != peer {
		return err
	}
	if err := tx.Acknowledged(id); err != nil || !o.Again || o.GroupID == "" {
		return err
	}
	g, ok, err := tx.GroupByID(o.GroupID)
	if err != nil || !ok || slices.Contains(g.Members, peer) {
		return err
	}
	g.Members = append(g.Members, peer)
	return tx.SaveGroup(g)
}

// decrypt opens a ciphertext with the sessions of its sender, or with a new one when it begins one. commit saves what changed
// by that; until it is called nothing has.
func (b *Box) decrypt(tx *store.Tx, in store.Incoming) (plain []byte, commit func() error, err error) {
	key, err := tx.PickleKey()
	if err != nil {
		return nil, nil, err
	}
	stored, err := tx.Sessions(in.Peer)
	if err != nil {
		return nil, nil, err
	}
	failure := errors.New("it belongs to no session of ours")
	for _, x := range stored {
		o, err := olm.UnpickleSession(x.Pickle, key)
		if err != nil {
			continue
		}
		mine := in.MType == olm.TypeNormal || o.Matches(in.Body)
		if !mine {
			continue
		}
		plain, err := o.Decrypt(in.MType, in.Body)
		if err == nil {
			return plain, func() error { return b.saveSession(tx, in.Peer, o, true) }, nil
		}
		failure = err
		if in.MType == olm.TypePreKey {
			return nil, nil, failure
		}
	}
	if in.MType != olm.TypePreKey {
		return nil, nil, failure
	}
	return b.begin(tx, in)
}

// begin opens the first letter of a session that the sender began.
func (b *Box) begin(tx *store.Tx, in store.Incoming) (plain []byte, commit func() error, err error) {
	keys, ok, err := tx.PeerKeys(in.Peer)
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		return nil, nil, errLeave // its keys are asked for by the next run
	}
	account, err := loadAccount(tx)
	if err != nil {
		return nil, nil, err
	}
	o, err := account.Inbound(keys.Identity, in.Body)
	if err != nil {
		return nil, nil, err
	}
	if plain, err = o.Decrypt(in.MType, in.Body); err != nil {
		return nil, nil, err
	}
	return plain, func() error {
		// Account, session and letter in one transaction: a crash neither spends the key for nothing nor leaves it to be used again.
		account.Consume(o)
		return errors.Join(saveAccount(tx, b.rand, account), b.saveSession(tx, in.Peer, o, true))
	}, nil
}
