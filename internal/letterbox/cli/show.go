package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/letterbox/post"
	"github.com/agntchat/agntchat/internal/letterbox/store"
)

// chatWidth is how wide a conversation is drawn, in characters.
const chatWidth = 72

func (c *Call) show(ctx context.Context) error {
	var peer string
	switch {
	case c.Has("--dir") && c.Count() > 1:
		return usagef("with --dir DIR the user is not named: show PEER --dir DIR")
	case c.Has("--dir"):
		peer = c.Pos(0)
	case c.Count() == 0:
		return usagef("show needs USER PEER, or PEER --dir DIR")
	default:
		c.Args.flags["--dir"] = []string{filepath.Join(c.home(), c.Pos(0))}
		peer = c.Pos(1)
	}
	if c.Has("--web") {
		return c.web(ctx)
	}
	if (peer == "") == !c.Has("--group") {
		return usagef("show needs a peer or --group GROUP, or --web for all")
	}
	k, done, err := c.kept(ctx)
	if err != nil {
		return err
	}
	defer done()
	with, err := c.conversation(ctx, k, peer)
	if err != nil {
		return err
	}
	d := &drawing{out: c.Out, me: firstOf(k.me.Name, "me"), with: firstOf(c.Get("--group"), peer), kept: k, json: c.Has("--json")}
	if contact, ok := k.all.ByAddress(with); ok && contact.Name != "" {
		d.with = contact.Name
	}
	if err := d.head(); err != nil {
		return err
	}
	if err := k.each(ctx, 0, with, d.letter); err != nil {
		return err
	}
	if d.last == 0 {
		c.say("no saved messages with %s yet: send and receive with --save", post.Printable(d.with, 80))
		if err := d.print("(no saved messages)"); err != nil {
			return err
		}
	}
	if !c.Has("--follow") {
		return nil
	}
	return c.showOn(ctx, k, with, d)
}

// showOn fetches and draws what comes.
func (c *Call) showOn(ctx context.Context, k *kept, with string, d *drawing) error {
	b, err := c.box(ctx, k.store)
	if err != nil {
		return err
	}
	defer b.Close()
	o := post.ReceiveOptions{Peers: []string{with}, Save: true}
	if c.Has("--group") {
		var g store.Group
		err := k.store.Tx(ctx, func(tx *store.Tx) (err error) {
			g, err = mustGroup(tx, c.Get("--group"))
			return err
		})
		if err != nil {
			return err
		}
		o.Peers = g.Members
	}
	return c.watch(ctx, 2*time.Second, b, func(ctx context.Context, upkeep bool) error {
		look := b.Poll
		if upkeep {
			look = b.Receive
		}
		got, err := look(ctx, o, func(post.Letter) error { return nil }) // it is in the history by now
		c.tellReceived(got)
		if err != nil {
			return serious(err)
		}
		return k.each(ctx, d.last, with, d.letter)
	})
}

// drawing prints a conversation.
type drawing struct {
	out  io.Writer
	me   string
	with string
	kept *kept
	json bool
	last int64  // number of the last letter drawn
	day  string // of the last letter
}

func (d *drawing) print(s string) error {
	if d.json {
		return nil
	}
	_, err := fmt.Fprintln(d.out, s)
	return err
}

func (d *drawing) head() error {
	return d.print(fmt.Sprintf("💬 %s ⇄ %s\n", post.Printable(d.me, 80), post.Printable(d.with, 80)))
}

func (d *drawing) letter(s store.Saved) error {
	d.last = s.N
	name := d.kept.name(s)
	at := time.Unix(0, int64(s.At*1e9)).Local()
	if d.json {
		_, err := d.out.Write(append(post.Object{}.Add("id", s.ID).Add("from", s.From).Add("name", name).Add("direction", direction(s)).Add("text", s.Text).Add("ts", s.At).Bytes(), '\n'))
		return err
	}
	if day := at.Format(time.DateOnly); day != d.day {
		d.day = day
		if err := d.print("📅 " + day); err != nil {
			return err
		}
	}
	clock := at.Format("15:04")
	var lines []string
	for _, line := range strings.Split(s.Text, "\n") {
		lines = append(lines, wrap(post.Printable(line, 100_000), chatWidth*3/4)...)
	}
	if s.Outgoing {
		lines = append([]string{clock + " · " + post.Printable(firstOf(name, "me"), 80) + " 🟢"}, lines...)
		for i, l := range lines {
			lines[i] = strings.Repeat(" ", max(0, chatWidth-utf8.RuneCountInString(l))) + l
		}
	} else {
		lines = append([]string{"🔵 " + post.Printable(firstOf(strings.TrimPrefix(name, "~"), s.From), 80) + " · " + clock}, lines...)
	}
	return d.print(strings.Join(lines, "\n") + "\n")
}

// wrap breaks a line at spaces so that it is at most width characters long, words that are longer excepted.
func wrap(line string, width int) []string {
	var lines []string
	current := ""
	for _, word := range strings.Split(line, " ") {
		if current != "" && utf8.RuneCountInString(current)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, current)
			current = word
			continue
		}
		if current != "" {
			current += " "
		}
		current += word
	}
	return append(lines, current)
}
