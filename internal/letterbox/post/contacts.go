package post

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agntchat/agntchat/internal/letterbox/store"
	"github.com/agntchat/agntchat/internal/wire/letter"
)

// Contacts is an address book.
type Contacts []store.Contact

// Overlay is what an identity sees: its own contacts, and those of the owner-wide book that have neither an address nor a name
// of its own ones.
func Overlay(own, book []store.Contact) Contacts {
	list := slices.Clone(own)
	for _, g := range book {
		if !slices.ContainsFunc(own, func(c store.Contact) bool { return c.Address == g.Address || c.Name != "" && c.Name == g.Name }) {
			list = append(list, g)
		}
	}
	slices.SortStableFunc(list, func(a, b store.Contact) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// ByAddress finds a contact.
func (c Contacts) ByAddress(address string) (store.Contact, bool) {
	return c.find(func(x store.Contact) bool { return x.Address == address })
}

// ByName finds a contact.
func (c Contacts) ByName(name string) (store.Contact, bool) {
	return c.find(func(x store.Contact) bool { return name != "" && x.Name == name })
}

func (c Contacts) find(is func(store.Contact) bool) (store.Contact, bool) {
	if i := slices.IndexFunc(c, is); i >= 0 {
		return c[i], true
	}
	return store.Contact{}, false
}

// ErrUnknownPeer is neither a contact's name nor an address.
var ErrUnknownPeer = errors.New("unknown peer")

// Resolve gives the address of a contact's name or of an address.
func (c Contacts) Resolve(peer string) (string, error) {
	if x, ok := c.ByName(peer); ok {
		return x.Address, nil
	}
	if letter.IsAddress(peer) {
		return peer, nil
	}
	return "", fmt.Errorf("%w '%s': add it first, or give its 32 hexadecimal characters", ErrUnknownPeer, Printable(peer, 80))
}

// Display is how a sender is shown: the contact's name, else ~ and the name it gives itself, else nothing.
func (c Contacts) Display(address, own string) string {
	if x, ok := c.ByAddress(address); ok && x.Name != "" {
		return x.Name
	}
	if own != "" {
		return "~" + own
	}
	return ""
}

// FreeName is name, or name-2, name-3, … when another address than peer has it.
func (c Contacts) FreeName(peer, name string) string {
	free := name
	for n := 2; ; n++ {
		if x, ok := c.ByName(free); !ok || x.Address == peer {
			return free
		}
		free = fmt.Sprintf("%s-%d", name, n)
	}
}

// Contacts is what this identity sees.
func (b *Box) Contacts(ctx context.Context) (Contacts, error) {
	book, err := b.book.Contacts(ctx)
	if err != nil {
		return nil, err
	}
	var own []store.Contact
	err = b.store.Tx(ctx, func(tx *store.Tx) (err error) {
		own, err = tx.Contacts()
		return err
	})
	return Overlay(own, book), err
}

// ErrCard is a card that cannot be saved.
var ErrCard = errors.New("bad contact card")

// Check gives the contact of a card under a name, as its own when name is empty. Keys must be those of the address.
// Errors: [ErrCard], [ErrPinMismatch].
func (w WireCard) Check(name string) (store.Contact, error) {
	if name == "" {
		name = chosenName(w.Name)
	}
	c := store.Contact{Address: w.Fingerprint, Name: name, Identity: w.IdentityKey, Signing: w.SigningKey}
	switch {
	case !letter.IsAddress(w.Fingerprint):
		return c, fmt.Errorf("%w: its fingerprint is not 32 lower-case hexadecimal characters", ErrCard)
	case letter.IsAddress(name):
		return c, fmt.Errorf("%w: its name looks like a user id; give it another one with --as", ErrCard)
	case (c.Identity == "") != (c.Signing == ""):
		return c, fmt.Errorf("%w: it has only one of two keys", ErrCard)
	case c.Identity != "" && letter.Address(c.Identity, c.Signing) != c.Address:
		return c, fmt.Errorf("%w: the card's keys hash to %s, not to %s", ErrPinMismatch, letter.Address(c.Identity, c.Signing), c.Address)
	}
	return c, nil
}
