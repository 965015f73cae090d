package follow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/cli"
	"github.com/agntchat/agntchat/internal/letterbox/post"
	"github.com/agntchat/agntchat/internal/letterbox/spool"
)

func (f command) session(ctx context.Context, c *call) error {
	p, err := place(c)
	if err != nil {
		return err
	}
	registry := spool.OpenRegistry(c.Env.UserHome)
	switch c.Pos(0) {
	case "start", "end":
		id := c.Get("--session")
		if id == "" {
			c.Reads()
			h, err := spool.ReadHook(c.In)
			if err != nil {
				return cli.Usagef("session %s needs --session ID, or a hook's input: %v", c.Pos(0), err)
			}
			id = h.SessionID
		}
		if id, err = spool.Clean(id); err != nil {
			return cli.Usagef("'%s' is no session id", post.Printable(c.Get("--session"), 80))
		}
		if c.Pos(0) == "end" {
			if err := p.User().Detach(ctx, registry, id); err != nil {
				return err
			}
			return printJSON(c, map[string]any{"session": id, "ended": true})
		}
		n, err := p.User().Attach(ctx, registry, id)
		if err != nil {
			return err
		}
		return printJSON(c, map[string]any{"session": id, "replayed": n})
	case "list":
		return f.sessions(c, p, registry)
	case "gc":
		removed, err := spool.GC(ctx, registry, p.User(), time.Now())
		for _, name := range removed {
			if c.Has("--json") {
				err = errors.Join(err, printJSON(c, map[string]string{"removed": name}))
			} else if _, e := fmt.Fprintln(c.Out, "removed", name); e != nil {
				err = errors.Join(err, e)
			}
		}
		return err
	}
	return cli.Usagef("session needs an action: start, end, list, gc")
}

func (f command) sessions(c *call, p Place, registry *spool.Registry) error {
	list, err := registry.List()
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.User != p.User() {
			continue
		}
		r, err := s.User.Reader(s.ID, spool.Messages)
		if err != nil {
			continue
		}
		unread, err := r.Next(spool.Limit{Lines: 1000, Bytes: 64 << 20})
		if err != nil {
			return err
		}
		if c.Has("--json") {
			err = printJSON(c, map[string]any{"session": s.ID, "since": s.At.UTC().Format(time.RFC3339), "unread": len(unread.Lines)})
		} else {
			_, err = fmt.Fprintf(c.Out, "%s\t%s\t%d unread\n", s.ID, clock(s.At), len(unread.Lines))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
