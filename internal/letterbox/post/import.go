package post

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"

	"github.com/agntchat/agntchat/internal/letterbox/olm"
	"github.com/agntchat/agntchat/internal/letterbox/store"
	"github.com/agntchat/agntchat/internal/wire/letter"
)

// Imported is what was taken over from an identity of retalk.
type Imported struct {
	Identity                                    store.Identity
	Contacts, Sessions, Groups, History, Outbox int
	Left                                        []string // what could not be, in words
}

// ImportRetalk makes an identity in dir of one that retalk made: its keys, so that its address stays, its sessions, contacts,
// groups, blocks, invites, letters under way and history. old is only read; the passphrase stays the same. From then on only
// one of the two may be used, since sessions that two programs move on separately break.
// Errors: [store.ErrPassphrase], [store.ErrExists].
func ImportRetalk(ctx context.Context, old *store.Retalk, dir string, pass store.Passphrase, cost store.Cost) (done Imported, err error) {
	secret := store.RetalkSecret(pass)
	defer clear(secret)
	account, err := olm.UnpickleLibolm(old.Meta("account"), secret)
	if errors.Is(err, olm.ErrForged) {
		return done, store.ErrPassphrase
	}
	if err != nil {
		return done, fmt.Errorf("the account of the retalk identity cannot be read: %w", err)
	}
	who := store.Identity{Name: old.Meta("name"), Relay: old.Meta("server_url")}
	s, err := CreateFrom(ctx, dir, pass, cost, account, who, func(tx *store.Tx) error {
		i := &importer{old: old, tx: tx, account: account, secret: secret, done: &done}
		return firstOf(i.settings, i.sessions, i.people, i.groups, i.letters, i.history)
	})
	if err != nil {
		return done, err
	}
	return done, s.Close()
}

func firstOf(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

type importer struct {
	old     *store.Retalk
	tx      *store.Tx
	account *olm.Account
	secret  []byte
	done    *Imported
}

func (i *importer) settings() (err error) {
	if i.done.Identity, err = i.tx.Identity(); err != nil {
		return err
	}
	if key := i.old.Meta("api_key"); key != "" {
		if err := i.tx.SetAPIKey(key); err != nil {
			return err
		}
	}
	if n, err := strconv.Atoi(i.old.Meta("group_cap")); err == nil && n > 0 {
		return i.tx.SetGroupCap(n)
	}
	return nil
}

func (i *importer) sessions() error {
	list, err := i.old.Sessions()
	if err != nil {
		return err
	}
	key, err := i.tx.PickleKey()
	if err != nil {
		return err
	}
	for n, s := range list {
		o, err := i.account.UnpickleLibolmSession(s.Pickle, i.secret)
		if err != nil {
			// The peer's next letter on it is refused, and its client begins a new one.
			i.done.Left = append(i.done.Left, "a session with "+Printable(s.Peer, 40))
			continue
		}
		pickle, err := o.Pickle(rand.Reader, key)
		if err != nil {
			return err
		}
		// Their order is that of their last use; early versions of retalk did not note it, and had one session with each peer.
		used := min(max(s.Used, 0), i.tx.Now()-1) + float64(n)*1e-6
		if err := i.tx.RestoreSession(s.Peer, o.ID(), pickle, used); err != nil {
			return err
		}
		i.done.Sessions++
	}
	return nil
}

func (i *importer) people() error {
	contacts, err := i.old.Contacts()
	if err != nil {
		return err
	}
	for _, c := range contacts {
		if c.Verified() && letter.Address(c.Identity, c.Signing) != c.Address {
			c.Identity, c.Signing = "", ""
			i.done.Left = append(i.done.Left, "keys of "+Printable(c.Name, 80)+" that are not its address's: verify it again")
		}
		if !letter.IsAddress(c.Address) {
			i.done.Left = append(i.done.Left, "contact "+Printable(c.Name, 80)+", whose address is none")
			continue
		}
		if err := i.tx.SaveContact(c); err != nil {
			return err
		}
		i.done.Contacts++
	}
	blocked, err := i.old.Blocked()
	if err != nil {
		return err
	}
	for _, address := range blocked {
		if err := i.tx.Block(address); err != nil {
			return err
		}
	}
	staged, err := i.old.Staged()
	if err != nil {
		return err
	}
	for _, c := range staged {
		if err := i.tx.Stage(c); err != nil {
			return err
		}
	}
	invites, err := i.old.Invites()
	if err != nil {
		return err
	}
	for _, inv := range invites {
		if err := i.tx.RestoreInvite(inv); err != nil {
			return err
		}
	}
	return nil
}

func (i *importer) groups() error {
	groups, err := i.old.Groups()
	if err != nil {
		return err
	}
	for _, g := range groups {
		if g.Name, err = i.tx.FreeGroupName(g.ID, g.Name); err != nil {
			return err
		}
		if err := i.tx.SaveGroup(g); err != nil {
			return err
		}
		i.done.Groups++
	}
	left, err := i.old.Left()
	if err != nil {
		return err
	}
	for _, g := range left {
		if err := i.tx.Leave(g); err != nil {
			return err
		}
	}
	return nil
}

// letters takes over what is under way: retalk keeps ciphertext only, so these can be sent again but not encrypted again.
func (i *importer) letters() error {
	outbox, err := i.old.Outbox()
	if err != nil {
		return err
	}
	for _, o := range outbox {
		o.Kind = kindMessage
		if err := i.tx.AddOutgoing(o); err != nil {
			return err
		}
		i.done.Outbox++
	}
	processed, err := i.old.Processed()
	if err != nil {
		return err
	}
	for _, p := range processed {
		// Whose letter it was is not known there; the hash names it well enough.
		if err := i.tx.AddProcessed(p[0], "", p[1]); err != nil {
			return err
		}
	}
	return nil
}

func (i *importer) history() error {
	letters, lost, err := i.old.History(i.secret)
	if err != nil {
		return err
	}
	for _, s := range letters {
		if err := i.tx.SaveHistory(s); err != nil {
			return err
		}
		i.done.History++
	}
	if lost > 0 {
		i.done.Left = append(i.done.Left, strconv.Itoa(lost)+" letters of history that do not open")
	}
	return nil
}
