package post

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/agntchat/agntchat/internal/letterbox/store"
	"github.com/agntchat/agntchat/internal/wire/letter"
)

// ErrNoGroup is a name that no group has.
var ErrNoGroup = errors.New("no group")

// GroupReceipt tells what became of a letter to a group: one copy to each member.
type GroupReceipt struct {
	ID      string // of the thread; each copy has its own
	Group   string
	GroupID string
	Sent    int
	Failed  []Failure
}

// SendGroup sends a copy of text to each member. A copy that fails stops no other one. Errors: [ErrNoGroup], [ErrPinMismatch];
// everything else is in the receipt.
func (b *Box) SendGroup(ctx context.Context, name, text string, save bool) (GroupReceipt, error) {
	g, err := b.group(ctx, name)
	if err != nil {
		return GroupReceipt{}, err
	}
	r := GroupReceipt{ID: NewID(), Group: g.Name, GroupID: g.ID}
	all := &roster{ID: g.ID, Name: g.Name, Members: append([]string{b.me.Address}, g.Members...)}
	for _, peer := range g.Members {
		e := envelope{ID: NewID(), Kind: kindMessage, Text: &text, Name: &b.me.Name, Group: all, Thread: r.ID}
		err := b.post(ctx, peer, g.ID, e, func(tx *store.Tx) error {
			if !save {
				return nil
			}
			return tx.SaveHistory(store.Saved{ID: r.ID, From: b.me.Address, FromName: b.me.Name, Peer: g.ID, Outgoing: true, Text: text, GroupID: g.ID, GroupName: g.Name})
		})
		switch {
		case errors.Is(err, ErrPinMismatch), errors.Is(err, ErrTooLong), ctx.Err() != nil:
			return r, err
		case err != nil:
			r.Failed = append(r.Failed, Failure{peer, err.Error()})
		default:
			r.Sent++
		}
	}
	return r, nil
}

// Members are the addresses of a group's other members, to whom [Box.SendGroup] would send. Errors: [ErrNoGroup].
func (b *Box) Members(ctx context.Context, name string) ([]string, error) {
	g, err := b.group(ctx, name)
	return g.Members, err
}

// LeaveGroup leaves a group and tells its members, as far as they can be reached; told and members count them.
func (b *Box) LeaveGroup(ctx context.Context, name string) (told, members int, err error) {
	g, err := b.group(ctx, name)
	if err != nil {
		return 0, 0, err
	}
	for _, peer := range g.Members {
		err := b.post(ctx, peer, g.ID, envelope{ID: NewID(), Kind: kindLeave, GroupID: g.ID, Name: &b.me.Name}, nothing)
		if errors.Is(err, ErrPinMismatch) {
			return told, len(g.Members), err
		}
		if err == nil {
			told++
		}
	}
	return told, len(g.Members), b.store.Tx(ctx, func(tx *store.Tx) error { return tx.Leave(g) })
}

// AskGroupCap asks a relay how many members a group may have, oneself included, and keeps the answer. The store may be locked.
func AskGroupCap(ctx context.Context, c Config) (limit int, err error) {
	r, err := newRelay(c, store.Identity{}, nil)
	if err != nil {
		return 0, err
	}
	defer r.http.CloseIdleConnections()
	info, err := r.ask(ctx)
	if err != nil {
		return 0, err
	}
	return limit, c.Store.Tx(ctx, func(tx *store.Tx) (err error) {
		if info.MaxGroupSize > 0 {
			err = tx.SetGroupCap(info.MaxGroupSize)
		}
		if err == nil {
			limit, err = tx.GroupCap()
		}
		return err
	})
}

func (b *Box) group(ctx context.Context, name string) (g store.Group, err error) {
	return g, b.store.Tx(ctx, func(tx *store.Tx) error {
		found, ok, err := tx.Group(name)
		if err == nil && !ok {
			err = fmt.Errorf("%w '%s'", ErrNoGroup, Printable(name, 80))
		}
		g = found
		return err
	})
}

// adopt takes over the roster that a letter brought: the last writer wins. A group keeps the name it has here; a new one whose
// name is taken gets another. The name is empty when the group is too large to be adopted.
func (r *reception) adopt(tx *store.Tx, foreign *roster, from string) (name string, err error) {
	g, known, err := tx.GroupByID(foreign.ID)
	if err != nil {
		return "", err
	}
	limit, err := tx.GroupCap()
	if err != nil {
		return "", err
	}
	var members []string
	for _, m := range append(slices.Clone(foreign.Members), from) {
		if m != r.box.me.Address && !slices.Contains(members, m) {
			members = append(members, m)
		}
	}
	if !known {
		g = store.Group{ID: foreign.ID}
		clean := chosenName(foreign.Name)
		if clean == "" || letter.IsAddress(clean) {
			clean = "group"
		}
		if g.Name, err = tx.FreeGroupName(g.ID, clean); err != nil {
			return "", err
		}
	}
	if len(members)+1 > limit {
		return g.Name, nil
	}
	g.Members = members
	return g.Name, tx.SaveGroup(g)
}

// dropMember takes a peer off a roster.
func dropMember(tx *store.Tx, gid, peer string) error {
	if gid == "" {
		return nil
	}
	g, ok, err := tx.GroupByID(gid)
	if err != nil || !ok || !slices.Contains(g.Members, peer) {
		return err
	}
	g.Members = slices.DeleteFunc(g.Members, func(m string) bool { return m == peer })
	return tx.SaveGroup(g)
}
