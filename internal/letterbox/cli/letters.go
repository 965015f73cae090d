package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/alarm"
	"github.com/agntchat/agntchat/internal/letterbox/post"
	"github.com/agntchat/agntchat/internal/letterbox/spool"
	"github.com/agntchat/agntchat/internal/letterbox/store"
)

// upkeepEvery is how often a following receive looks after the keys (contract letters section 3).
const upkeepEvery = time.Minute

// historyPage is how many kept letters are read at a time.
const historyPage = 500

func (c *Call) send(ctx context.Context) error {
	switch {
	case c.Count() != 1:
		return usagef("send needs a text, in quotes")
	case c.Has("--peer") && c.Has("--group"):
		return usagef("give --peer or --group, not both")
	case !c.Has("--peer") && !c.Has("--group"):
		return usagef("send needs --peer PEER or --group GROUP")
	}
	text := c.Pos(0)
	if text == "-" {
		var err error
		if text, err = c.input(); err != nil {
			return err
		}
	}
	b, _, done, err := c.Box(ctx)
	if err != nil {
		return err
	}
	defer done()
	depth, err := c.depth()
	if err != nil {
		return err
	}
	b.Automatic(depth)
	if c.Has("--group") {
		return c.sendGroup(ctx, b, text)
	}
	to, err := c.resolve(ctx, b, c.Get("--peer"))
	if err != nil {
		return err
	}
	if err := c.before(ctx, b); err != nil {
		return err
	}
	r, err := b.Send(ctx, to, text, c.saves())
	if err != nil {
		return serious(err)
	}
	return c.line(post.Object{}.Add("id", r.ID).Add("to", r.To).Bytes())
}

// depth is how many automatic letters led to one that is sent now: more than none when an agent sends it in a turn that a letter began.
func (c *Call) depth() (int, error) {
	user, ok := spool.OpenRegistry(c.Env.UserHome).Lookup(c.Env.Session)
	if !ok {
		return 0, nil
	}
	d, err := alarm.OpenDesk(user, c.Env.Session, time.Now)
	if err != nil {
		return 0, err
	}
	return d.Depth()
}

// before looks after the keys and sends again what is due, which comes first. A letter that fails of these is told and stops nothing; a
// relay that cannot be reached does, before there is anything of the new letter.
func (c *Call) before(ctx context.Context, b *post.Box) error {
	s, err := b.Sync(ctx, post.ResendDue)
	c.tell(s)
	if err != nil {
		err = fmt.Errorf("nothing was sent: %w", err)
	}
	return serious(err)
}

// tell prints the letters that did not go out.
func (c *Call) tell(s post.Summary) {
	for _, p := range s.Problems {
		c.say("[retalk] letter %s to %s: %s: %s", p.ID, p.Peer, p.State, p.Text)
	}
}

func (c *Call) resolve(ctx context.Context, b *post.Box, peer string) (string, error) {
	contacts, err := b.Contacts(ctx)
	if err != nil {
		return "", err
	}
	return contacts.Resolve(peer)
}

func (c *Call) sendGroup(ctx context.Context, b *post.Box, text string) error {
	if err := c.before(ctx, b); err != nil {
		return err
	}
	r, err := b.SendGroup(ctx, c.Get("--group"), text, c.saves())
	if err != nil {
		return serious(err)
	}
	for _, f := range r.Failed {
		c.say("  ✗ %s: %s", f.Peer, f.Text)
	}
	if err := c.line(post.Object{}.Add("id", r.ID).Add("group", r.Group).Add("group_id", r.GroupID).Add("sent", r.Sent).Add("failed", len(r.Failed)).Bytes()); err != nil {
		return err
	}
	if len(r.Failed) > 0 {
		return errQuiet
	}
	return nil
}

// every is the pause of --follow.
func (c *Call) every() (time.Duration, error) {
	if !c.Has("--interval") {
		return 2 * time.Second, nil
	}
	if !c.Has("--follow") {
		return 0, usagef("--interval goes with --follow")
	}
	s, err := strconv.ParseFloat(c.Get("--interval"), 64)
	if err != nil || !(s > 0) || s > 86400 {
		return 0, usagef("--interval must be more than 0 seconds")
	}
	return time.Duration(s * float64(time.Second)), nil
}

// receiveOptions reads whose letters are wanted.
func (c *Call) receiveOptions(ctx context.Context, b *post.Box) (post.ReceiveOptions, error) {
	o := post.ReceiveOptions{All: c.Has("--all"), PeersOnly: c.Has("--peers-only"), DropContacts: c.Has("--no-save-contacts"), Save: c.saves()}
	for _, peer := range c.All("--peer") {
		address, err := c.resolve(ctx, b, peer)
		if err != nil {
			return o, err
		}
		o.Peers = append(o.Peers, address)
	}
	return o, nil
}

func (c *Call) receive(ctx context.Context) error {
	switch {
	case c.Has("--peer") && c.Has("--all"):
		return usagef("give --peer or --all, not both")
	case !c.Has("--peer") && !c.Has("--all"):
		return usagef("receive needs --peer PEER (as often as you like) or --all")
	}
	pause, err := c.every()
	if err != nil {
		return err
	}
	b, _, done, err := c.Box(ctx)
	if err != nil {
		return err
	}
	defer done()
	o, err := c.receiveOptions(ctx, b)
	if err != nil {
		return err
	}
	return c.watch(ctx, pause, b, func(ctx context.Context, upkeep bool) error {
		look := b.Poll
		if upkeep {
			look = b.Receive
		}
		got, err := look(ctx, o, func(l post.Letter) error { return c.line(l.Line()) })
		c.tellReceived(got)
		if err == nil && !c.Has("--follow") && !c.Has("--quiet") {
			c.none(got.Letters, "No new letters.")
		}
		return serious(err)
	})
}

func (c *Call) tellReceived(got post.Received) {
	for _, f := range got.Unreadable {
		c.say("[retalk] a letter from %s could not be opened (%s); it was asked for again", f.Peer, f.Text)
	}
	for _, f := range got.Skipped {
		c.say("[retalk] %s: %s", f.Peer, f.Text)
	}
}

// slowly is how often a follower looks beside a relay's hints, of which one may be lost.
const slowly = 30 * time.Second

// watch looks once, or with --follow until ctx ends: every pause, and at once when the relay gives a hint. While hints come and no
// interval was asked for, it looks slowly beside them.
func (c *Call) watch(ctx context.Context, pause time.Duration, b *post.Box, look func(ctx context.Context, upkeep bool) error) error {
	if !c.Has("--follow") {
		return look(ctx, true)
	}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	var kept time.Time
	var hints <-chan struct{}
	for push := true; ; {
		upkeep := time.Since(kept) >= upkeepEvery
		if upkeep && push && hints == nil {
			var err error
			if hints, err = b.Hints(ctx); errors.Is(err, post.ErrNoPush) {
				push = false
			}
			if hints != nil && !c.Has("--interval") {
				tick.Reset(slowly)
			}
		}
		err := look(ctx, upkeep)
		if ctx.Err() != nil {
			return nil // the user ended it
		}
		busy := tooMany(err)
		if err != nil && !busy {
			return err
		}
		if upkeep && !busy {
			kept = time.Now()
		}
		if busy { // that is no failure: it asks for time
			c.say("[retalk] %v", err)
			rest := time.NewTimer(slowly)
			select {
			case <-ctx.Done():
			case <-rest.C:
			}
			rest.Stop()
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case _, open := <-hints:
			if !open { // a stream ends after an hour at the latest; the next upkeep opens another one
				hints = nil
				tick.Reset(pause)
			}
		}
	}
}

func tooMany(err error) bool {
	r, ok := errors.AsType[*post.RelayError](err)
	return ok && r.Status == http.StatusTooManyRequests
}

func (c *Call) history(ctx context.Context) error {
	if c.Has("--peer") && c.Has("--group") {
		return usagef("give --peer or --group, not both")
	}
	p, done, err := c.kept(ctx)
	if err != nil {
		return err
	}
	defer done()
	with, err := c.conversation(ctx, p, c.Get("--peer"))
	if err != nil {
		return err
	}
	count := 0
	err = p.each(ctx, 0, with, func(s store.Saved) error {
		count++
		o := post.Object{}.Add("id", s.ID).Add("from", s.From).Add("name", p.name(s)).Add("direction", direction(s)).Add("text", s.Text)
		if s.GroupID != "" {
			o = o.Add("group", s.GroupName).Add("group_id", s.GroupID)
		}
		return c.line(o.Bytes())
	})
	if err == nil {
		c.none(count, "No letters are kept: send, receive and follow keep them with --save.")
	}
	return err
}

func direction(s store.Saved) string {
	if s.Outgoing {
		return "out"
	}
	return "in"
}

// kept is an unlocked store with its address book, for what needs no relay.
type kept struct {
	*people
	me store.Identity
}

func (c *Call) kept(ctx context.Context) (*kept, func(), error) {
	if _, err := c.Dir(); err != nil {
		return nil, nil, err
	}
	p, done, err := c.people(ctx, false)
	if err != nil {
		return nil, nil, err
	}
	k := &kept{people: p}
	err = c.unlock(ctx, p.store)
	if err == nil {
		err = p.store.Tx(ctx, func(tx *store.Tx) (err error) {
			k.me, err = tx.Identity()
			return err
		})
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return k, done, nil
}

// name is how the writer of a kept letter is called today.
func (k *kept) name(s store.Saved) string {
	if s.Outgoing {
		return k.me.Name
	}
	if c, ok := k.all.ByAddress(s.From); ok && c.Name != "" {
		return c.Name
	}
	return s.FromName
}

// each visits kept letters after number n.
func (k *kept) each(ctx context.Context, n int64, with string, visit func(store.Saved) error) error {
	for {
		var page []store.Saved
		err := k.store.Tx(ctx, func(tx *store.Tx) (err error) {
			page, err = tx.History(n, with, historyPage)
			return err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, s := range page {
			if err := visit(s); err != nil {
				return err
			}
			n = s.N
		}
	}
}

// conversation is the address of a peer or the id of the group that --group names; empty for neither.
func (c *Call) conversation(ctx context.Context, k *kept, peer string) (string, error) {
	if !c.Has("--group") {
		if peer == "" {
			return "", nil
		}
		return k.all.Resolve(peer)
	}
	var g store.Group
	return g.ID, k.store.Tx(ctx, func(tx *store.Tx) error {
		found, ok, err := tx.Group(c.Get("--group"))
		if err == nil && !ok {
			err = fmt.Errorf("%w '%s'", post.ErrNoGroup, post.Printable(c.Get("--group"), 80))
		}
		g = found
		return err
	})
}

func (c *Call) sync(ctx context.Context) error {
	b, _, done, err := c.Box(ctx)
	if err != nil {
		return err
	}
	defer done()
	resend := post.ResendAll
	if c.command.Name == "register" {
		resend = post.ResendNone
	}
	s, err := b.Sync(ctx, resend)
	c.tell(s)
	if err != nil {
		return serious(err)
	}
	return c.line(post.Object{}.Add("unclaimed", s.Unclaimed).Add("republished", s.Republished).Add("replenished", s.Replenished).
		Add("fallback_rotated", s.FallbackRotated).Add("resent", s.Resent).Bytes())
}

func (c *Call) share(ctx context.Context) error {
	if c.Count() != 1 || !c.Has("--peer") {
		return usagef("share needs a contact and --peer PEER")
	}
	b, _, done, err := c.Box(ctx)
	if err != nil {
		return err
	}
	defer done()
	contacts, err := b.Contacts(ctx)
	if err != nil {
		return err
	}
	address, err := contacts.Resolve(c.Pos(0))
	if err != nil {
		return err
	}
	to, err := contacts.Resolve(c.Get("--peer"))
	if err != nil {
		return err
	}
	contact, ok := contacts.ByAddress(address)
	if !ok {
		contact = store.Contact{Address: address}
	}
	contact.Name = firstOf(c.Get("--as"), contact.Name)
	if err := c.before(ctx, b); err != nil {
		return err
	}
	r, err := b.Share(ctx, to, contact)
	if err != nil {
		return serious(err)
	}
	c.say("shared contact '%s' (%s) with %s", orUnnamed(contact.Name), address, post.Printable(c.Get("--peer"), 80))
	return c.line(post.Object{}.Add("id", r.ID).Add("to", r.To).Add("shared", address).Bytes())
}
