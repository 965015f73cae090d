package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/post"
	"github.com/agntchat/agntchat/internal/letterbox/store"
)

func (c *Call) outbox(ctx context.Context) error {
	id := c.Pos(1)
	switch {
	case c.Pos(0) == "state" && id == "":
		return usagef("outbox state needs the id of a letter")
	case c.Count() > 0 && c.Pos(0) != "state":
		return c.changeOutbox(ctx)
	}
	s, err := c.Store(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	var rows []store.Outgoing
	var unreadable []store.Unreadable
	var arrived []store.Delivered
	now := 0.0
	err = s.Tx(ctx, func(tx *store.Tx) error {
		var e1, e2 error
		now = tx.Now()
		if c.Has("--all") || id != "" {
			if arrived, e1 = tx.Delivered(id); e1 != nil {
				return e1
			}
		}
		if id != "" {
			row, ok, err := tx.OutboxRow(id)
			if ok {
				rows = []store.Outgoing{row}
			}
			return err
		}
		rows, e1 = tx.Outbox()
		unreadable, e2 = tx.Unreadable()
		return errors.Join(e1, e2)
	})
	if err != nil {
		return err
	}
	if id != "" && len(rows)+len(arrived) == 0 {
		return fmt.Errorf("there is no such letter: %s (acknowledged letters are remembered up to a thousand)", post.Printable(id, 80))
	}
	c.none(len(arrived)+len(rows)+len(unreadable), "No letter waits to be acknowledged.")
	for _, d := range arrived {
		if c.Has("--json") {
			err = c.line(post.Object{}.Add("id", d.ID).Add("to", d.Peer).Add("kind", d.Kind).Add("state", "acknowledged").Add("created", d.Created).Add("acknowledged", d.At).Bytes())
		} else {
			err = c.printf("%s\t%s\tacknowledged\t%s\t", d.ID, d.Peer, age(now-d.At))
		}
		if err != nil {
			return err
		}
	}
	for _, r := range rows {
		if c.Has("--json") {
			err = c.line(post.Object{}.Add("id", r.ID).Add("to", r.Peer).Add("kind", r.Kind).Add("state", string(r.State)).Add("created", r.Created).Add("tries", r.Tries).Add("problem", r.Problem).Bytes())
		} else {
			err = c.printf("%s\t%s\t%s\t%s\t%s", r.ID, r.Peer, r.State, age(now-r.Created), r.Problem)
		}
		if err != nil {
			return err
		}
	}
	for _, u := range unreadable {
		if c.Has("--json") {
			err = c.line(post.Object{}.Add("hash", u.Hash).Add("from", u.Peer).Add("state", "unreadable").Add("ts", u.At).Add("problem", u.Problem).Bytes())
		} else {
			err = c.printf("%.32s\t%s\tunreadable\t%s\t%s", u.Hash, u.Peer, age(now-u.At), u.Problem)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func age(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}

func (c *Call) changeOutbox(ctx context.Context) error {
	verb, id := c.Pos(0), c.Pos(1)
	if verb != "retry" && verb != "drop" || id == "" {
		return usagef("outbox takes nothing, `state ID`, `retry ID` or `drop ID`")
	}
	s, err := c.Unlocked(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	found := false
	err = s.Tx(ctx, func(tx *store.Tx) (err error) {
		if verb == "drop" {
			if found, err = tx.DropOutgoing(id); err == nil && !found {
				found, err = tx.DropUnreadable(id)
			}
		} else {
			found, err = tx.Revive(id)
		}
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("there is no such letter to %s: %s", verb, post.Printable(id, 80))
	}
	if err != nil {
		return err
	}
	return c.done("id", id, verb)
}
