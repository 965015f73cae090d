package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agntchat/agntchat/internal/letterbox/post"
	"github.com/agntchat/agntchat/internal/letterbox/store"
)

func (c *Call) importCard(ctx context.Context) error {
	if c.Has("--from-retalk") {
		return c.importRetalk(ctx)
	}
	if _, err := c.Dir(); err != nil {
		return err
	}
	p, done, err := c.people(ctx, false)
	if err != nil {
		return err
	}
	defer done()
	switch {
	case c.Has("--list") && !c.Has("--inbox"):
		return usagef("--list goes with --inbox")
	case c.Has("--inbox") && c.Has("--list"):
		if c.Has("--as") {
			return usagef("--as has no meaning with --list")
		}
		return c.listStaged(ctx, p)
	case c.Has("--inbox"):
		return c.importStaged(ctx, p)
	}
	text := c.Pos(0)
	if text == "" || text == "-" {
		if text, err = c.input(); err != nil {
			return err
		}
	}
	var w post.WireCard
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return usagef("the card is not valid JSON")
	}
	contact, err := c.importOne(ctx, p, w)
	if err != nil {
		return err
	}
	return c.cardLine(contact)
}

func (c *Call) importOne(ctx context.Context, p *people, w post.WireCard) (store.Contact, error) {
	contact, err := w.Check(post.Printable(c.Get("--as"), 80))
	if err != nil {
		return contact, err
	}
	if contact.Name == "" {
		return contact, usagef("the card has no name: give one with --as")
	}
	if err := p.keep(ctx, contact, false); err != nil {
		return contact, err
	}
	c.say("imported contact '%s' (%s) [%s]", contact.Name, contact.Address, verifiedWord(contact))
	return contact, nil
}

func (p *people) staged(ctx context.Context) (list []store.Card, err error) {
	return list, p.store.Tx(ctx, func(tx *store.Tx) (err error) {
		list, err = tx.Staged()
		return err
	})
}

func (c *Call) listStaged(ctx context.Context, p *people) error {
	list, err := p.staged(ctx)
	if err != nil {
		return err
	}
	c.none(len(list), "No contact was shared with you.")
	for _, s := range list {
		verified := verifiedWord(s.Contact)
		if c.Has("--json") {
			err = c.line(post.Object{}.Add("fingerprint", s.Address).Add("name", s.Name).Add("identity_key", s.Identity).Add("signing_key", s.Signing).
				Add("from_fp", s.From).Add("from_name", s.FromName).Add("msg_id", s.ID).Add("ts", s.At).Add("verified", s.Verified()).Bytes())
		} else {
			err = c.printf("%s\t%s\t%s\tfrom %s", post.Printable(s.Name, 80), s.Address, verified, firstOf(post.Printable(s.FromName, 80), s.From))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Call) importStaged(ctx context.Context, p *people) error {
	list, err := p.staged(ctx)
	if err != nil {
		return err
	}
	if who := c.Pos(0); who != "" {
		all := list
		list = nil
		for _, s := range all {
			if s.Name == who || s.Address == who {
				list = append(list, s)
			}
		}
		if len(list) == 0 {
			return fmt.Errorf("no shared contact '%s' (see `agnt letter import --inbox --list`)", post.Printable(who, 80))
		}
	}
	if c.Has("--as") && len(list) != 1 {
		return usagef("--as names one contact: say which")
	}
	imported, refused := 0, 0
	for _, s := range list {
		w := post.WireCard{Fingerprint: s.Address, Name: s.Name, IdentityKey: s.Identity, SigningKey: s.Signing}
		contact, err := c.importOne(ctx, p, w)
		if err != nil {
			c.say("[retalk] kept for later: %v", err)
			refused++
			continue
		}
		if err := p.store.Tx(ctx, func(tx *store.Tx) error { return tx.Unstage(s.Address) }); err != nil {
			return err
		}
		p.own = append(p.own, contact)
		p.all = append(p.all, contact)
		imported++
		if err := c.cardLine(contact); err != nil {
			return err
		}
	}
	c.say("import --inbox: %d imported, %d refused", imported, refused)
	if refused > 0 {
		return errQuiet
	}
	return nil
}
