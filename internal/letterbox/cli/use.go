package cli

import (
	"context"

	"github.com/agntchat/agntchat/internal/letterbox/post"
	"github.com/agntchat/agntchat/internal/letterbox/store"
)

// People is the address book that the call sees. It needs no passphrase.
func (c *Call) People(ctx context.Context) (post.Contacts, error) {
	p, done, err := c.people(ctx, false)
	if err != nil {
		return nil, err
	}
	defer done()
	return p.all, nil
}

// Me is the identity that the call acts as, and its relay. It needs no passphrase.
func (c *Call) Me(ctx context.Context) (me store.Identity, relay string, err error) {
	s, err := c.Store(ctx)
	if err != nil {
		return me, "", err
	}
	defer func() { _ = s.Close() }()
	if err := s.Tx(ctx, func(tx *store.Tx) (err error) { me, err = tx.Identity(); return err }); err != nil {
		return me, "", err
	}
	relay, err = c.relayOf(ctx, s)
	return me, relay, err
}

// Saves says whether letters go to the history: --save or RETALK_SAVE_MESSAGE.
func (c *Call) Saves() bool { return c.saves() }

// Say prints a line for people.
func (c *Call) Say(format string, args ...any) { c.say(format, args...) }
