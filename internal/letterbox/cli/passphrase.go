package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/agntchat/agntchat/internal/letterbox/post"
	"github.com/agntchat/agntchat/internal/letterbox/store"
)

// rekey changes, sets or removes the passphrase of an identity. The old one comes from where it always comes from; the new one
// never from the environment, where it would stand for both.
func (c *Call) rekey(ctx context.Context) error {
	verb := c.Pos(0)
	fresh, given, err := c.replacement()
	switch {
	case err != nil:
		return err
	case verb != "change" && verb != "set" && verb != "remove":
		return usagef("passphrase takes `change`, `set` or `remove`")
	case verb == "remove" && given:
		return usagef("`passphrase remove` takes no new passphrase")
	case verb != "remove" && !given:
		return usagef("`passphrase %s` needs --new-passphrase-file FILE (or - for standard input)", verb)
	}
	s, err := c.Store(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	none := false
	err = s.Tx(ctx, func(tx *store.Tx) (err error) { none, err = tx.NoPassphrase(); return err })
	switch {
	case err != nil:
		return err
	case verb == "set" && !none:
		return errors.New("this identity has a passphrase: use `agnt letter passphrase change`")
	case verb != "set" && none:
		return errors.New("this identity has no passphrase: use `agnt letter passphrase set`")
	}
	if err := c.unlock(ctx, s); err != nil {
		return err
	}
	if err := post.ChangePassphrase(ctx, s, fresh, c.Cost); err != nil {
		return err
	}
	if fresh.None() {
		c.say("Warning: the keys are stored UNENCRYPTED now. Whoever can read this folder can write in your name.")
	} else {
		c.say("From now on the new passphrase is the good one. Restart programs that have the identity open, and change the files and variables that hold the old one.\nCopies of the folder that were made before still open with the old one.")
	}
	return c.done("passphrase", verb, "done")
}

// replacement is the new passphrase; given says whether there is one.
func (c *Call) replacement() (p store.Passphrase, given bool, err error) {
	file := c.Get("--new-passphrase-file")
	switch {
	case !c.Has("--new-passphrase-file"):
		return p, false, nil
	case file != "-":
		p, err = c.passphraseFrom(file)
		return p, err == nil, err
	}
	secret, err := c.input()
	if secret = strings.TrimRight(secret, "\r\n"); err == nil && secret == "" {
		err = usagef("the new passphrase is empty")
	}
	return store.NewPassphrase(secret), err == nil, err
}

// padding shows or changes whose letters are filled up to a bucket of sizes.
func (c *Call) padding(ctx context.Context) error {
	verb := c.Pos(0)
	if verb != "" && verb != "on" && verb != "off" {
		return usagef("padding takes nothing, `on` or `off`")
	}
	if verb == "" && c.Has("--peer") {
		return usagef("--peer goes with `on` or `off`")
	}
	p, done, err := c.people(ctx, false)
	if err != nil {
		return err
	}
	defer done()
	if p.store == nil {
		_, err := c.Dir() // says how an identity is named
		return err
	}
	address := ""
	if c.Has("--peer") {
		if address, err = p.all.Resolve(c.Get("--peer")); err != nil {
			return err
		}
	}
	var without []string
	everybody := false
	err = p.store.Tx(ctx, func(tx *store.Tx) (err error) {
		if verb != "" {
			if err := tx.SetPadding(address, verb == "on"); err != nil {
				return err
			}
		}
		without, everybody, err = tx.Unpadded()
		return err
	})
	if err != nil {
		return err
	}
	if without == nil {
		without = []string{}
	}
	state := "on"
	if everybody {
		state = "off"
	}
	if c.Has("--json") {
		return c.line(post.Object{}.Add("padding", state).Add("off_for", without).Bytes())
	}
	if err := c.printf("%s", state); err != nil {
		return err
	}
	for _, a := range without {
		x, _ := p.all.ByAddress(a)
		if err := c.printf("off\t%s\t%s", a, post.Printable(x.Name, 80)); err != nil {
			return err
		}
	}
	return nil
}
