package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agntchat/agntchat/internal/letterbox/post"
	"github.com/agntchat/agntchat/internal/letterbox/store"
	"github.com/agntchat/agntchat/internal/wire/letter"
)

func (c *Call) group(ctx context.Context) error {
	action, name := c.Pos(0), c.Pos(1)
	if !slices.Contains(c.command.Words, action) {
		return usagef("group needs an action: %s", strings.Join(c.command.Words, ", "))
	}
	if action != "list" && name == "" {
		return usagef("group %s needs a name", action)
	}
	if action == "leave" {
		return c.leave(ctx, name)
	}
	if _, err := c.Dir(); err != nil {
		return err
	}
	p, done, err := c.people(ctx, false)
	if err != nil {
		return err
	}
	defer done()
	switch action {
	case "list":
		return c.listGroups(ctx, p)
	case "join":
		return c.join(ctx, p, name)
	case "create":
		return c.createGroup(ctx, p, name)
	}
	var g store.Group
	err = p.store.Tx(ctx, func(tx *store.Tx) (err error) {
		g, err = mustGroup(tx, name)
		return err
	})
	if err != nil {
		return err
	}
	switch action {
	case "members":
		return c.listMembers(p, g)
	case "add", "remove":
		return c.changeMembers(ctx, p, g, action)
	case "rename":
		return c.rename(ctx, p, g)
	}
	if err := p.store.Tx(ctx, func(tx *store.Tx) error { return tx.RemoveGroup(g.ID) }); err != nil {
		return err
	}
	c.say("deleted group '%s'", g.Name)
	return c.groupLine(g)
}

func mustGroup(tx *store.Tx, name string) (store.Group, error) {
	g, ok, err := tx.Group(name)
	if err == nil && !ok {
		g, ok, err = tx.GroupByID(name)
	}
	if err == nil && !ok {
		err = fmt.Errorf("%w '%s'", post.ErrNoGroup, post.Printable(name, 80))
	}
	return g, err
}

// groupLine prints a group when --json asks for it.
func (c *Call) groupLine(g store.Group) error {
	if !c.Has("--json") {
		return nil
	}
	return c.line(groupObject(g).Bytes())
}

func groupObject(g store.Group) post.Object {
	if g.Members == nil {
		g.Members = []string{}
	}
	return post.Object{}.Add("group_id", g.ID).Add("name", g.Name).Add("members", g.Members)
}

func (c *Call) listGroups(ctx context.Context, p *people) error {
	var list []store.Group
	err := p.store.Tx(ctx, func(tx *store.Tx) (err error) {
		list, err = tx.Groups()
		return err
	})
	if err != nil {
		return err
	}
	c.none(len(list), "No groups yet: agnt letter group create NAME MEMBERS")
	for _, g := range list {
		if c.Has("--json") {
			err = c.line(groupObject(g).Bytes())
		} else {
			err = c.printf("%s\t%s\t%d member(s)", post.Printable(g.Name, 80), g.ID, len(g.Members))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Call) listMembers(p *people, g store.Group) error {
	for _, m := range g.Members {
		contact, _ := p.all.ByAddress(m)
		var err error
		if c.Has("--json") {
			err = c.line(post.Object{}.Add("name", contact.Name).Add("fingerprint", m).Bytes())
		} else {
			err = c.printf("%s\t%s", orUnnamed(contact.Name), m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// members reads the list of members, as third word or with --members.
func (c *Call) members(p *people) ([]string, error) {
	var list []string
	for _, word := range strings.Split(c.Pos(2)+","+c.Get("--members"), ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		address, err := p.all.Resolve(word)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(list, address) {
			list = append(list, address)
		}
	}
	if len(list) == 0 {
		return nil, usagef("group %s needs at least one member", c.Pos(0))
	}
	return list, nil
}

// fits checks the size that the relay allows, oneself included. Without a relay in reach the size it last said counts.
func (c *Call) fits(ctx context.Context, p *people, members int) error {
	limit := 0
	err := p.store.Tx(ctx, func(tx *store.Tx) (err error) {
		limit, err = tx.GroupCap()
		return err
	})
	if err != nil {
		return err
	}
	relay, err := c.relayOf(ctx, p.store)
	if err != nil {
		return err
	}
	if relay != "" {
		asked, err := post.AskGroupCap(ctx, post.Config{Store: p.store, Relay: relay, APIKey: firstOf(c.Get("--api-key"), c.Env.APIKey), UserAgent: c.Env.UserAgent})
		if err == nil {
			limit = asked
		}
	}
	if members+1 > limit {
		return fmt.Errorf("the group would have %d members with you, and the relay allows %d", members+1, limit)
	}
	return nil
}

func checkGroupName(name string) error {
	if letter.IsAddress(name) || name != post.Printable(name, 80) {
		return usagef("that is no name for a group: at most 80 printable characters, and not an address")
	}
	return nil
}

func (c *Call) createGroup(ctx context.Context, p *people, name string) error {
	members, err := c.members(p)
	if err != nil {
		return err
	}
	if err := errors.Join(checkGroupName(name), c.fits(ctx, p, len(members))); err != nil {
		return err
	}
	g := store.Group{ID: post.NewID(), Name: name, Members: members}
	err = p.store.Tx(ctx, func(tx *store.Tx) error {
		me, err := tx.Identity()
		if err != nil {
			return err
		}
		if slices.Contains(members, me.Address) {
			g.Members = slices.DeleteFunc(members, func(m string) bool { return m == me.Address })
		}
		if _, taken, err := tx.Group(name); err != nil || taken {
			return errors.Join(err, fmt.Errorf("group '%s' already exists", name))
		}
		return tx.SaveGroup(g)
	})
	if err != nil {
		return err
	}
	return c.line(groupObject(g).Bytes())
}

func (c *Call) changeMembers(ctx context.Context, p *people, g store.Group, action string) error {
	members, err := c.members(p)
	if err != nil {
		return err
	}
	if action == "add" {
		for _, m := range members {
			if !slices.Contains(g.Members, m) {
				g.Members = append(g.Members, m)
			}
		}
		if err := c.fits(ctx, p, len(g.Members)); err != nil {
			return err
		}
	} else {
		before := len(g.Members)
		g.Members = slices.DeleteFunc(g.Members, func(m string) bool { return slices.Contains(members, m) })
		if len(g.Members) == before {
			return fmt.Errorf("none of those are members of '%s'", g.Name)
		}
	}
	if err := p.store.Tx(ctx, func(tx *store.Tx) error { return tx.SaveGroup(g) }); err != nil {
		return err
	}
	c.say("group '%s' has %d member(s)", g.Name, len(g.Members))
	return c.groupLine(g)
}

func (c *Call) rename(ctx context.Context, p *people, g store.Group) error {
	old := g.Name
	g.Name = c.Pos(2)
	if g.Name == "" {
		return usagef("group rename needs the new name")
	}
	if err := checkGroupName(g.Name); err != nil {
		return err
	}
	err := p.store.Tx(ctx, func(tx *store.Tx) error {
		if other, taken, err := tx.Group(g.Name); err != nil || taken && other.ID != g.ID {
			return errors.Join(err, fmt.Errorf("group '%s' already exists", g.Name))
		}
		return tx.SaveGroup(g)
	})
	if err != nil {
		return err
	}
	c.say("renamed group '%s' to '%s' (here; other members keep their name for it)", old, g.Name)
	return c.groupLine(g)
}

func (c *Call) leave(ctx context.Context, name string) error {
	b, _, done, err := c.Box(ctx)
	if err != nil {
		return err
	}
	defer done()
	told, members, err := b.LeaveGroup(ctx, name)
	if err != nil {
		return serious(err)
	}
	c.say("left group '%s' (told %d/%d)", post.Printable(name, 80), told, members)
	if c.Has("--json") {
		return c.line(post.Object{}.Add("group", name).Add("told", told).Add("members", members).Bytes())
	}
	return nil
}

func (c *Call) join(ctx context.Context, p *people, name string) error {
	gid := ""
	err := p.store.Tx(ctx, func(tx *store.Tx) error {
		left, err := tx.Left()
		if err != nil {
			return err
		}
		for _, g := range left {
			if g.Name == name || g.ID == name {
				gid = g.ID
				return tx.Rejoin(g.ID)
			}
		}
		return fmt.Errorf("you have left no group '%s'", post.Printable(name, 80))
	})
	if err != nil {
		return err
	}
	c.say("you are back in group '%s' with the next letter of a member who has you on the list", post.Printable(name, 80))
	return c.done("group_id", gid, "joined")
}
