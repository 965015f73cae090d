package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agntchat/agntchat/internal/letterbox/post"
	"github.com/agntchat/agntchat/internal/letterbox/store"
)

// inviteDays is how long a code for one use is good.
const inviteDays = 7

func (c *Call) invite(ctx context.Context) error {
	switch c.Pos(0) {
	case "new":
		return c.newInvite(ctx)
	case "list":
		return c.listInvites(ctx)
	case "revoke":
		return c.revokeInvite(ctx)
	case "watch":
		return c.watchInvites(ctx)
	}
	return usagef("invite needs an action: %s", strings.Join(c.command.Words, ", "))
}

func (c *Call) newInvite(ctx context.Context) error {
	kind, days := store.Single, float64(inviteDays)
	if c.Has("--permanent") {
		kind, days = store.Permanent, 0
	}
	if c.Has("--expires") {
		d, err := strconv.ParseFloat(c.Get("--expires"), 64)
		if err != nil || !(d >= 0) || d > 36500 {
			return usagef("--expires takes a number of days, 0 for never")
		}
		days = d
	}
	s, err := c.Store(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	i := store.Invite{Code: post.NewCode(), Kind: kind, Peer: post.Printable(c.Get("--peer"), 80)}
	err = s.Tx(ctx, func(tx *store.Tx) error {
		i.Created = tx.Now()
		if days > 0 {
			i.Expires = i.Created + days*86400
		}
		return tx.AddInvite(i)
	})
	if err != nil {
		return err
	}
	return c.line(post.Object{}.Add("code", i.Code).Add("kind", i.Kind).Add("expires", orNull(i.Expires)).Add("peer", i.Peer).Bytes())
}

func orNull(seconds float64) any {
	if seconds == 0 {
		return nil
	}
	return seconds
}

func (c *Call) listInvites(ctx context.Context) error {
	s, err := c.Store(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	var list []store.Invite
	now := 0.0
	err = s.Tx(ctx, func(tx *store.Tx) (err error) {
		now = tx.Now()
		list, err = tx.Invites()
		return err
	})
	if err != nil {
		return err
	}
	c.none(len(list), "No invite codes yet: agnt letter invite new")
	for _, i := range list {
		if c.Has("--json") {
			err = c.line(post.Object{}.Add("code", i.Code).Add("kind", i.Kind).Add("peer", i.Peer).Add("created", i.Created).Add("expires", orNull(i.Expires)).
				Add("uses", i.Uses).Add("used_by", i.UsedBy).Add("revoked", i.Revoked).Add("active", i.Active(now)).Bytes())
		} else {
			state := "spent/expired"
			switch {
			case i.Revoked:
				state = "revoked"
			case i.Active(now):
				state = "active"
			}
			err = c.printf("%s\t%s\t%s\tuses=%d\tpeer=%s", i.Code, i.Kind, state, i.Uses, i.Peer)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Call) revokeInvite(ctx context.Context) error {
	if c.Count() != 2 {
		return usagef("invite revoke needs a code")
	}
	s, err := c.Store(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	found := false
	err = s.Tx(ctx, func(tx *store.Tx) (err error) {
		found, err = tx.RevokeInvite(c.Pos(1))
		return err
	})
	if err == nil && !found {
		err = errors.New("no such invite code")
	}
	if err != nil {
		return err
	}
	c.say("revoked %s", c.Pos(1))
	return c.done("code", c.Pos(1), "revoked")
}

func (c *Call) watchInvites(ctx context.Context) error {
	pause, err := c.every()
	if err != nil {
		return err
	}
	b, _, done, err := c.Box(ctx)
	if err != nil {
		return err
	}
	defer done()
	return c.watch(ctx, pause, b, func(ctx context.Context, _ bool) error {
		got, err := b.Requests(ctx, func(l post.Letter) error { return c.line(l.Line()) })
		c.tellReceived(got)
		return serious(err)
	})
}

func (c *Call) request(ctx context.Context) error {
	if c.Count() != 1 || c.Get("--code") == "" {
		return usagef("request needs the inviter's address and --code CODE")
	}
	b, _, done, err := c.Box(ctx)
	if err != nil {
		return err
	}
	defer done()
	p, closePeople, err := c.people(ctx, false)
	if err != nil {
		return err
	}
	defer closePeople()
	address, err := p.all.Resolve(c.Pos(0))
	if err != nil {
		return err
	}
	if err := c.before(ctx, b); err != nil {
		return err
	}
	keys, err := b.FetchKeys(ctx, address)
	if err != nil {
		return serious(err)
	}
	contact, _ := p.all.ByAddress(address)
	contact = store.Contact{Address: address, Name: firstOf(post.Printable(c.Get("--peer"), 80), contact.Name), Identity: keys.Identity, Signing: keys.Signing}
	if err := p.keep(ctx, contact, false); err != nil {
		return err
	}
	r, err := b.Request(ctx, address, c.Get("--code"))
	if err != nil {
		return serious(err)
	}
	c.say("asked %s to become a contact; there is an answer only in what happens next", orUnnamed(contact.Name))
	return c.line(post.Object{}.Add("id", r.ID).Add("to", r.To).Bytes())
}

func (c *Call) importRetalk(ctx context.Context) error {
	dir, err := c.Dir()
	if err != nil {
		return err
	}
	if store.Exists(dir) {
		return fmt.Errorf("an identity already exists at %s", dir)
	}
	if !store.HasRetalk(dir) {
		return fmt.Errorf("there is no identity of retalk at %s", dir)
	}
	old, err := store.OpenRetalk(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { _ = old.Close() }()
	var pass store.Passphrase
	if !old.NoPassphrase() {
		if pass, err = c.passphrase(); err != nil {
			return err
		}
	}
	done, err := post.ImportRetalk(ctx, old, dir, pass, c.Cost)
	if err != nil {
		return err
	}
	c.say("took over %s (%s): %d contacts, %d sessions, %d groups, %d letters of history, %d letters under way", orUser(done.Identity.Name), done.Identity.Address,
		done.Contacts, done.Sessions, done.Groups, done.History, done.Outbox)
	for _, lost := range slices.Compact(done.Left) {
		c.say("[retalk] left behind: %s", lost)
	}
	if c.Has("--json") {
		return c.line(post.Object{}.Add("fingerprint", done.Identity.Address).Add("name", done.Identity.Name).Add("contacts", done.Contacts).Add("sessions", done.Sessions).
			Add("groups", done.Groups).Add("history", done.History).Add("outbox", done.Outbox).Bytes())
	}
	return nil
}
