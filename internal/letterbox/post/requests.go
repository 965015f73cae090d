package post

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/agntchat/agntchat/internal/letterbox/olm"
	"github.com/agntchat/agntchat/internal/letterbox/store"
	"github.com/agntchat/agntchat/internal/wire/letter"
)

// A request is small, and a run looks at no more than this many letters: strangers must not fill the memory.
const (
	maxRequest  = 64 << 10 // characters of a request's body
	maxRequests = 2000
)

// Requests looks for contact requests among what strangers wrote, answers them by their invite codes, and gives a letter of
// kind [ContactAccepted] or [ContactRejected] for each to deliver, under the rules of [Box.Receive]. Letters of contacts and
// everything else of strangers stay where they are, unopened.
func (b *Box) Requests(ctx context.Context, deliver func(Letter) error) (Received, error) {
	r := &reception{box: b, requests: true, unknown: map[string]bool{}}
	// First what an earlier run answered and could not hand on: that needs no relay.
	waiting, err := b.undelivered(ctx)
	if err != nil {
		return r.done, err
	}
	if err := r.handOn(ctx, ReceiveOptions{Peers: waiting}.targets(), deliver); err != nil {
		return r.done, err
	}
	if _, err := b.upkeep(ctx); err != nil {
		return r.done, err
	}
	contacts, err := b.Contacts(ctx)
	if err != nil {
		return r.done, err
	}
	first := map[string]store.Incoming{}
	var order []string
	note := func(in store.Incoming) {
		if _, known := contacts.ByAddress(in.Peer); known || in.MType != olm.TypePreKey || len(in.Body) > maxRequest || len(order) == maxRequests {
			return
		}
		id := in.Peer + in.Hash
		if _, seen := first[id]; !seen {
			first[id] = in
			order = append(order, id)
		}
	}
	if err := b.waitingRequests(ctx, note); err != nil {
		return r.done, err
	}
	err = b.relay.peek(ctx, func(m letter.Message) error {
		note(store.Incoming{Hash: letter.BodyHash(m.Body), Peer: m.From, MType: int(m.MType), Body: m.Body, At: m.TS})
		return nil
	})
	if err != nil {
		if e, ok := errors.AsType[*RelayError](err); ok && strings.Contains(e.Text, "peek") {
			e.Text += " (the relay is too old to look at mail without taking it)"
		}
		return r.done, err
	}
	asked := map[string]bool{}
	for _, id := range order {
		in := first[id]
		if asked[in.Peer] {
			continue
		}
		is, err := r.isRequest(ctx, in)
		if err != nil {
			return r.done, err
		}
		if asked[in.Peer] = is; !is {
			continue
		}
		if err := b.relay.read(ctx, in.Peer, func(m letter.Message) error { return r.keep(ctx, m) }); err != nil {
			return r.done, err
		}
	}
	var targets []string
	for peer, is := range asked {
		if is {
			targets = append(targets, peer)
		}
	}
	if err := r.handOn(ctx, ReceiveOptions{Peers: targets}.targets(), deliver); err != nil {
		return r.done, err
	}
	return r.done, b.answer(ctx, false)
}

// waitingRequests shows the first letters that are in the store already, unopened.
func (b *Box) waitingRequests(ctx context.Context, note func(store.Incoming)) error {
	return b.store.Tx(ctx, func(tx *store.Tx) error {
		for after := int64(0); ; {
			in, more, err := tx.NextIncoming(after, "")
			if err != nil || !more {
				return err
			}
			after = in.N
			note(in)
		}
	})
}

// undelivered are the senders of answered requests whose record nobody took yet.
func (b *Box) undelivered(ctx context.Context) (peers []string, err error) {
	return peers, b.store.Tx(ctx, func(tx *store.Tx) error {
		for after := int64(0); ; {
			a, more, err := tx.NextArrived(after, "")
			if err != nil || !more {
				return err
			}
			after = a.N
			var l stored
			if err := json.Unmarshal(a.Letter, &l); err != nil {
				return errors.Join(store.ErrDamaged, err)
			}
			if l.answersRequest() {
				peers = append(peers, a.Peer)
			}
		}
	})
}

// isRequest opens a stranger's letter to see what it is, and keeps nothing of that. One that does not open any more, because it
// waited until the key that it was encrypted with had been changed twice, is remembered as unreadable and told once: it may have
// been a request.
func (r *reception) isRequest(ctx context.Context, in store.Incoming) (is bool, err error) {
	b, blocked := r.box, false
	err = b.store.Tx(ctx, func(tx *store.Tx) (err error) {
		blocked, err = tx.IsBlocked(in.Peer)
		return err
	})
	if err != nil || blocked {
		return false, err
	}
	if _, err := b.keys(ctx, in.Peer); err != nil {
		if _, ok := errors.AsType[*RelayError](err); ok {
			return false, nil // a stranger that the relay does not know either is nobody's contact
		}
		return false, err
	}
	err = b.store.Tx(ctx, func(tx *store.Tx) error {
		if _, known, err := tx.Processed(in.Hash, in.Peer); err != nil || known {
			is = known // a request that was answered comes again: it is answered again
			return err
		}
		plain, _, err := b.decrypt(tx, in)
		if err != nil {
			added, err2 := tx.AddUnreadable(in.Hash, in.Peer, "a stranger's letter, left at the relay: "+err.Error())
			if err2 == nil && added {
				r.done.Skipped = append(r.done.Skipped, Failure{in.Peer, "a stranger's letter cannot be opened (" + err.Error() + "); if it was a request, it has to be made again"})
			}
			return err2
		}
		e, ok := decodeEnvelope(plain)
		is = ok && e.Kind == kindRequest
		return nil
	})
	return is, err
}

// request answers a contact request: a good code makes its sender a contact with pinned keys.
func (r *reception) request(tx *store.Tx, in store.Incoming, e envelope, commit func() error) error {
	l := stored{Letter: Letter{ID: e.ID, Kind: ContactRejected, From: in.Peer, At: in.At}}
	keys, ok, err := tx.PeerKeys(in.Peer)
	if err != nil {
		return err
	}
	var contact store.Contact
	switch c, err := cardOfRequest(e.Card); {
	case !ok || err != nil || c.Address != in.Peer || c.Identity != keys.Identity || c.Signing != keys.Signing:
		l.Reason = "card-mismatch"
	default:
		contact = c
		inv, use, err := tx.UseInvite(e.Code, in.Peer)
		if err != nil {
			return err
		}
		switch use {
		case store.UseOK:
			if inv.Peer != "" {
				contact.Name = inv.Peer
			}
		case store.UseDuplicate:
			return errors.Join(commit(), tx.AddProcessed(in.Hash, in.Peer, e.ID), r.duplicate(tx, in, e.ID))
		default:
			l.Reason = string(use)
		}
	}
	if l.Reason != "" {
		// Its session and key stay unused: nothing of a stranger that was turned away is kept.
		b, err := json.Marshal(l)
		return errors.Join(err, tx.AddArrived(in.Peer, l.ID, b), tx.AddRefused(in.Hash, in.Peer), tx.AddAnswer(in.Peer, store.Nack, in.Hash), tx.DropIncoming(in.N))
	}
	if old, known := r.contacts.ByAddress(in.Peer); known && old.Name != "" {
		contact.Name = old.Name
	} else {
		contact.Name = r.contacts.FreeName(in.Peer, contact.Name)
	}
	if err := errors.Join(commit(), tx.SaveContact(contact)); err != nil {
		return err
	}
	r.contacts = append(r.contacts, contact)
	card := cardOf(contact)
	l.Kind, l.Code, l.Name, l.Card = ContactAccepted, e.Code, contact.Name, &card
	return r.arrive(tx, in, l)
}

// cardOfRequest reads the card of a request; both keys have to be on it.
func cardOfRequest(w *WireCard) (store.Contact, error) {
	if w == nil || w.IdentityKey == "" {
		return store.Contact{}, ErrCard
	}
	if letter.IsAddress(chosenName(w.Name)) {
		w.Name = ""
	}
	return w.Check("")
}
