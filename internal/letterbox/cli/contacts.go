package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agntchat/agntchat/internal/letterbox/post"
	"github.com/agntchat/agntchat/internal/letterbox/store"
	"github.com/agntchat/agntchat/internal/wire/letter"
)

// people is the address book that a command works on: an identity's with the owner-wide one under it, or that one alone.
type people struct {
	store *store.Store // nil for the owner-wide one alone
	book  store.Book
	own   []store.Contact
	all   post.Contacts
}

// people opens the address book; an identity is optional. The caller calls close.
func (c *Call) people(ctx context.Context, global bool) (p *people, closeAll func(), err error) {
	p, closeAll = &people{book: c.book()}, func() {}
	wide, err := p.book.Contacts(ctx)
	if err != nil {
		return nil, nil, err
	}
	dir, ok := c.selected()
	if !ok || global {
		p.own, p.all = wide, post.Overlay(wide, nil)
		return p, closeAll, nil
	}
	if p.store, err = openStore(ctx, dir); err != nil {
		return nil, nil, err
	}
	err = p.store.Tx(ctx, func(tx *store.Tx) (err error) {
		p.own, err = tx.Contacts()
		return err
	})
	if err != nil {
		return nil, nil, errors.Join(err, p.store.Close())
	}
	p.all = post.Overlay(p.own, wide)
	return p, func() { _ = p.store.Close() }, nil
}

func (p *people) save(ctx context.Context, c store.Contact) error {
	if p.store == nil {
		return p.book.Save(ctx, c)
	}
	return p.store.Tx(ctx, func(tx *store.Tx) error { return tx.SaveContact(c) })
}

func (p *people) remove(ctx context.Context, address string) (found bool, err error) {
	if p.store == nil {
		return p.book.Remove(ctx, address)
	}
	return found, p.store.Tx(ctx, func(tx *store.Tx) (err error) {
		found, err = tx.RemoveContact(address)
		return err
	})
}

// find is a contact by name or address.
func (p *people) find(who string) (store.Contact, bool) {
	if c, ok := p.all.ByName(who); ok {
		return c, true
	}
	return p.all.ByAddress(who)
}

// keep saves a contact. A name that another contact has is refused, or taken from it.
func (p *people) keep(ctx context.Context, c store.Contact, override bool) error {
	if letter.IsAddress(c.Name) {
		return usagef("the name looks like a user id: give a name for people")
	}
	if other, ok := p.all.ByName(c.Name); ok && other.Address != c.Address {
		if !override {
			return fmt.Errorf("the name '%s' is taken by %s: use '%s', or --override", c.Name, other.Address, p.all.FreeName(c.Address, c.Name))
		}
		for _, o := range p.own {
			if o.Address == other.Address {
				o.Name = ""
				if err := p.save(ctx, o); err != nil {
					return err
				}
			}
		}
	}
	return p.save(ctx, c)
}

func (c *Call) add(ctx context.Context) error {
	if c.Count() != 1 {
		return usagef("add needs an address")
	}
	if err := checkAddress(c.Pos(0)); err != nil {
		return err
	}
	if c.Has("--global") && (c.Has("--user") || c.Has("--dir")) {
		return usagef("--global is for all identities and --user or --dir for one: pick one")
	}
	p, done, err := c.people(ctx, c.Has("--global"))
	if err != nil {
		return err
	}
	defer done()
	contact := store.Contact{Address: c.Pos(0), Name: post.Printable(c.Get("--peer"), 80)}
	old, known := p.all.ByAddress(contact.Address)
	if known && contact.Name == "" {
		contact.Name = old.Name
	}
	if c.Has("--verify") {
		keys, err := c.fetchKeys(ctx, contact.Address)
		if err != nil {
			return err
		}
		contact.Identity, contact.Signing = keys.Identity, keys.Signing
	}
	if err := p.keep(ctx, contact, c.Has("--override")); err != nil {
		return err
	}
	c.say("added %s -> %s", orUnnamed(contact.Name), contact.Address)
	if known && old.Name != contact.Name {
		c.say("It was saved as %s before.", orUnnamed(old.Name))
	}
	switch {
	case contact.Verified():
		c.say("✓ Verified %s", firstOf(contact.Name, contact.Address))
	case old.Verified():
		c.say("Its keys were verified and are forgotten now: agnt letter verify %s", contact.Address)
	}
	return c.cardLine(contact)
}

// cardLine prints a contact's card when --json asks for it.
func (c *Call) cardLine(contact store.Contact) error {
	if !c.Has("--json") {
		return nil
	}
	return c.line(card(contact, "").Bytes())
}

func card(x store.Contact, as string) post.Object {
	return post.Object{}.Add("fingerprint", x.Address).Add("name", firstOf(as, x.Name)).Add("identity_key", x.Identity).Add("signing_key", x.Signing).Add("verified", x.Verified())
}

func orUnnamed(name string) string { return firstOf(post.Printable(name, 80), "(unnamed)") }

func verifiedWord(c store.Contact) string {
	if c.Verified() {
		return "verified"
	}
	return "unverified"
}

// fetchKeys asks the relay as the chosen identity, or as the only one there is.
func (c *Call) fetchKeys(ctx context.Context, address string) (k store.Keys, err error) {
	dir, ok := c.selected()
	if !ok {
		if dir, ok = c.onlyIdentity(); !ok {
			return k, usagef("asking the relay needs an identity: pass --user or --dir, or give --identity-key and --signing-key")
		}
	}
	s, err := openStore(ctx, dir)
	if err != nil {
		return k, err
	}
	defer func() { _ = s.Close() }()
	if err := c.unlock(ctx, s); err != nil {
		return k, err
	}
	b, err := c.box(ctx, s)
	if err != nil {
		return k, err
	}
	defer b.Close()
	return b.FetchKeys(ctx, address)
}

func (c *Call) verify(ctx context.Context) error {
	if c.Count() != 1 {
		return usagef("verify needs a contact")
	}
	p, done, err := c.people(ctx, false)
	if err != nil {
		return err
	}
	defer done()
	contact, ok := p.find(c.Pos(0))
	if !ok {
		return fmt.Errorf("no saved contact '%s': add it first", post.Printable(c.Pos(0), 80))
	}
	source := "the relay"
	switch identity, signing := c.Get("--identity-key"), c.Get("--signing-key"); {
	case (identity == "") != (signing == ""):
		return usagef("give both --identity-key and --signing-key: the fingerprint is the hash of the two")
	case identity != "":
		source = "given by you"
		if got := letter.Address(identity, signing); got != contact.Address {
			return fmt.Errorf("%w: the keys given hash to %s, not to %s: they are not recorded", post.ErrPinMismatch, got, contact.Address)
		}
		contact.Identity, contact.Signing = identity, signing
	default:
		keys, err := c.fetchKeys(ctx, contact.Address)
		if err != nil {
			return err
		}
		contact.Identity, contact.Signing = keys.Identity, keys.Signing
	}
	if err := p.save(ctx, contact); err != nil {
		return err
	}
	c.say("✓ Verified %s\n  Fingerprint: %s\n  Keys: from %s", firstOf(contact.Name, contact.Address), contact.Address, strings.TrimPrefix(source, "from "))
	return c.cardLine(contact)
}

func (c *Call) contacts(ctx context.Context) error {
	p, done, err := c.people(ctx, false)
	if err != nil {
		return err
	}
	defer done()
	switch {
	case c.Has("--show") && c.Has("--remove"):
		return usagef("give --show or --remove, not both")
	case c.Has("--remove"):
		contact, ok := p.find(c.Get("--remove"))
		if ok {
			ok, err = p.remove(ctx, contact.Address)
		}
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("no saved contact '%s' to remove here", post.Printable(c.Get("--remove"), 80))
		}
		c.say("removed contact '%s' (%s)", orUnnamed(contact.Name), contact.Address)
		return c.done("fingerprint", contact.Address, "removed")
	case c.Has("--show"):
		contact, ok := p.find(c.Get("--show"))
		if !ok && letter.IsAddress(c.Get("--show")) {
			contact, ok = store.Contact{Address: c.Get("--show")}, true
		}
		if !ok {
			return fmt.Errorf("unknown contact '%s'", post.Printable(c.Get("--show"), 80))
		}
		return c.contactLine(contact)
	}
	c.none(len(p.all), "No contacts yet: agnt letter add ADDRESS --peer NAME --verify")
	for _, x := range p.all {
		if !c.Has("--json") {
			err = c.contactLine(x)
		} else {
			err = c.line(post.Object{}.Add("name", x.Name).Add("fingerprint", x.Address).Add("identity_key", x.Identity).Add("signing_key", x.Signing).Add("verified", x.Verified()).Bytes())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Call) contactLine(x store.Contact) error {
	if c.Has("--json") {
		return c.line(card(x, c.Get("--as")).Bytes())
	}
	return c.printf("%s\t%s\t%s", orUnnamed(firstOf(c.Get("--as"), x.Name)), x.Address, verifiedWord(x))
}

func (c *Call) block(ctx context.Context) error {
	if _, err := c.Dir(); err != nil {
		return err
	}
	p, done, err := c.people(ctx, false)
	if err != nil {
		return err
	}
	defer done()
	if c.Has("--list") {
		if c.Count() > 0 || c.Has("--remove") {
			return usagef("give a peer, or --list, not both")
		}
		return c.listBlocked(ctx, p)
	}
	if c.Count() != 1 {
		return usagef("block needs a peer, or --list")
	}
	address, err := p.all.Resolve(c.Pos(0))
	if err != nil {
		return err
	}
	word := "blocked"
	err = p.store.Tx(ctx, func(tx *store.Tx) error {
		if c.Has("--remove") {
			word = "unblocked"
			return tx.Unblock(address)
		}
		return tx.Block(address)
	})
	if err != nil {
		return err
	}
	c.say("%s %s (%s)", word, post.Printable(c.Pos(0), 80), address)
	if c.Has("--json") {
		contact, _ := p.all.ByAddress(address)
		return c.line(post.Object{}.Add("fingerprint", address).Add("name", contact.Name).Bytes())
	}
	return nil
}

func (c *Call) listBlocked(ctx context.Context, p *people) error {
	var list []string
	err := p.store.Tx(ctx, func(tx *store.Tx) (err error) {
		list, err = tx.Blocked()
		return err
	})
	if err != nil {
		return err
	}
	c.none(len(list), "Nobody is blocked.")
	for _, address := range list {
		contact, _ := p.all.ByAddress(address)
		switch {
		case c.Has("--json"):
			err = c.line(post.Object{}.Add("fingerprint", address).Add("name", contact.Name).Bytes())
		case contact.Name != "":
			err = c.printf("%s\t%s", address, post.Printable(contact.Name, 80))
		default:
			err = c.printf("%s", address)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
