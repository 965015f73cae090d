package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/agntchat/agntchat/internal/bridge/session"
	"github.com/agntchat/agntchat/internal/letterbox/post"
	"github.com/agntchat/agntchat/internal/letterbox/store"
	"github.com/agntchat/agntchat/internal/wire/letter"
)

// Letters say whether an agent can be written to with encrypted letters, and where.
type Letters struct {
	On    bool
	Relay string // empty: the one of the agent's server
	Tools bool   // its models may read and write letters
}

// LetterDir is the folder of an agent's letter identity, for `agnt letter --dir`. It exists once letters were turned on.
func LetterDir(home, agentID string) string { return filepath.Join(AgentDir(home, agentID), "letters") }

const letterPath = "/api/agents/me/letter-address"

// Times of a letter identity's upkeep: how often its keys at the relay are looked after, and the pauses after a failure.
const (
	letterUpkeep   = time.Hour
	letterPauseMin = 5 * time.Second
	letterPauseMax = 10 * time.Minute
)

// letters keeps an agent's letter identity while the agent is online: it makes one when there is none, keeps its keys at the
// relay and reports its public part to the server. Where letters were turned off again the server is told that. aside is nil
// when there is nothing to do; local are the tools of the agent's models.
func (c Config) letters(a Agent) (aside session.Aside, local []session.Local) {
	k := c.keeper(a)
	switch {
	case a.Letters.On && a.Letters.Tools:
		return k.keep, k.tools()
	case a.Letters.On:
		return k.keep, nil
	case store.Exists(k.dir):
		return k.withdraw, nil
	}
	return nil, nil
}

func (c Config) keeper(a Agent) *letterKeeper {
	k := &letterKeeper{dir: LetterDir(c.Home, a.ID), relay: a.Letters.Relay, agent: a.ID, passFile: c.LetterPassphraseFile, save: a.Letters.Tools, log: c.Log.With("agent_id", a.ID)}
	if k.relay == "" {
		k.relay = a.URL + "/relay"
	}
	return k
}

type letterKeeper struct {
	dir, relay, agent, passFile string
	save                        bool // letters, for the tools
	log                         *slog.Logger

	open  sync.RWMutex // held for reading while a tool uses the store
	store *store.Store // nil while the identity is not ready
	turns letterTurns
}

// book is the identity's own address book: those of the owner's other identities are none of the agent's business.
func (k *letterKeeper) book() store.Book { return store.OpenBook(filepath.Dir(k.dir)) }

func (k *letterKeeper) ready(s *store.Store) {
	k.open.Lock()
	defer k.open.Unlock()
	k.store = s
}

// errNoAddresses is a server that keeps no letter addresses; there is nobody to report to.
var errNoAddresses = errors.New("the server keeps no letter addresses")

// errOtherAddress is a relay that does not take signatures for the address by which the bridge knows it.
var errOtherAddress = errors.New("the relay is known by another address, which --letter-relay must give exactly: that of the server is its public address and /relay")

// retry runs do until it succeeds or ctx ends, with growing pauses. It gives up on what time does not heal.
func (k *letterKeeper) retry(ctx context.Context, what string, do func(context.Context) error) error {
	for pause := letterPauseMin; ; pause = min(2*pause, letterPauseMax) {
		err := do(ctx)
		refused, _ := errors.AsType[*session.StatusError](err)
		switch {
		case err == nil, errors.Is(err, errNoAddresses), ctx.Err() != nil:
			return err
		case refused != nil && (refused.Status == http.StatusBadRequest || refused.Status == http.StatusUnprocessableEntity), errors.Is(err, store.ErrPassphrase), errors.Is(err, store.ErrDamaged), errors.Is(err, store.ErrNewer), errors.Is(err, post.ErrRelayAddress), errors.Is(err, errOtherAddress), errors.Is(err, os.ErrNotExist):
			k.log.Error("letters are off: "+what, slog.Any("error", err))
			return err
		}
		k.log.Warn("letters: "+what+" delayed", slog.Any("error", err))
		if !wait(ctx, pause/2+rand.N(pause/2+1)) {
			return context.Cause(ctx)
		}
	}
}

func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// keep is the life of an identity that is on.
func (k *letterKeeper) keep(ctx context.Context, call session.Call) {
	var s *store.Store
	err := k.retry(ctx, "the identity", func(ctx context.Context) (err error) {
		s, err = k.identity(ctx, call)
		return err
	})
	if err != nil {
		return
	}
	defer func() { _ = s.Close() }()
	k.ready(s)
	defer k.ready(nil)
	box, err := post.Open(ctx, post.Config{Store: s, Book: k.book(), Relay: k.relay, Log: k.log})
	if err != nil {
		k.log.Error("letters are off: the identity", slog.Any("error", err))
		return
	}
	defer box.Close()
	sync := func(ctx context.Context) error {
		_, err := box.Sync(ctx, post.ResendDue)
		if e, ok := errors.AsType[*post.RelayError](err); ok && strings.Contains(e.Text, letter.TextBadSignature) {
			return fmt.Errorf("%w, not by %s (%w)", errOtherAddress, k.relay, err)
		}
		if err != nil {
			return err
		}
		return k.fetch(ctx, box)
	}
	// First the keys: an address that people see is one that they can verify and write to.
	if k.retry(ctx, "publishing its keys", sync) != nil {
		return
	}
	err = k.retry(ctx, "reporting the address", func(ctx context.Context) error { return k.report(ctx, s, box, call) })
	if err != nil && !errors.Is(err, errNoAddresses) {
		return
	}
	k.log.Info("the agent has a letter address", "address", box.Me().Address, "relay", k.relay, "folder", k.dir)
	for wait(ctx, letterUpkeep) {
		if k.retry(ctx, "looking after its keys", sync) != nil {
			return
		}
	}
}

// fetch takes in what contacts wrote, for whoever reads it next, and hears what became of the agent's own letters: without it they
// would be sent again for a month.
func (k *letterKeeper) fetch(ctx context.Context, box *post.Box) error {
	contacts, err := box.Contacts(ctx)
	if err != nil || len(contacts) == 0 {
		return err
	}
	o := post.ReceiveOptions{Save: k.save}
	for _, c := range contacts {
		o.Peers = append(o.Peers, c.Address)
	}
	_, err = box.Fetch(ctx, o)
	return err
}

// withdraw tells the server that the agent has no address any more. The identity stays in its folder.
func (k *letterKeeper) withdraw(ctx context.Context, call session.Call) {
	err := k.retry(ctx, "taking the address away", func(ctx context.Context) error { return addressError(call(ctx, "DELETE", letterPath, nil, nil)) })
	if err == nil {
		k.log.Info("the agent has no letter address any more", "folder", k.dir)
	}
}

// identity opens the identity, or makes it.
func (k *letterKeeper) identity(ctx context.Context, call session.Call) (*store.Store, error) {
	if err := post.CheckAddress(k.relay); err != nil {
		return nil, err
	}
	pass, err := k.passphrase()
	if err != nil {
		return nil, err
	}
	if !store.Exists(k.dir) {
		var me struct {
			DisplayName string `json:"displayName"`
		}
		if err := call(ctx, "GET", "/api/me", nil, &me); err != nil {
			return nil, err
		}
		s, err := post.Create(ctx, k.dir, pass, store.DefaultCost, store.Identity{Name: me.DisplayName, Relay: k.relay}, "")
		if !errors.Is(err, store.ErrExists) {
			return s, err
		}
	}
	return k.existing(ctx, pass)
}

// existing opens the identity that is there. Errors: [store.ErrNone].
func (k *letterKeeper) existing(ctx context.Context, pass store.Passphrase) (*store.Store, error) {
	s, err := store.Open(ctx, k.dir)
	if err != nil {
		return nil, err
	}
	none := false
	err = s.Tx(ctx, func(tx *store.Tx) (err error) { none, err = tx.NoPassphrase(); return err })
	if none {
		pass = store.Passphrase{}
	}
	if err == nil {
		err = s.Unlock(ctx, pass)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// check says whether letters will work, as far as that can be said without making an identity or asking the relay.
func (k *letterKeeper) check(ctx context.Context) (string, error) {
	if err := post.CheckAddress(k.relay); err != nil {
		return "", err
	}
	pass, err := k.passphrase()
	if err != nil {
		return "", err
	}
	s, err := k.existing(ctx, pass)
	if errors.Is(err, store.ErrNone) {
		return "an identity is made when the bridge runs; relay " + k.relay, nil
	}
	if err != nil {
		return "", err
	}
	var me store.Identity
	err = s.Tx(ctx, func(tx *store.Tx) (err error) { me, err = tx.Identity(); return err })
	return "address " + me.Address + "; relay " + k.relay, errors.Join(err, s.Close())
}

func (k *letterKeeper) passphrase() (store.Passphrase, error) {
	if k.passFile == "" {
		return store.Passphrase{}, nil
	}
	b, err := os.ReadFile(k.passFile)
	if err != nil {
		return store.Passphrase{}, fmt.Errorf("passphrase file: %w", err)
	}
	if b = bytes.TrimRight(b, "\r\n"); len(b) == 0 {
		return store.Passphrase{}, fmt.Errorf("passphrase file %s is empty: %w", k.passFile, store.ErrPassphrase)
	}
	return store.NewPassphrase(string(b)), nil
}

// report tells the server the public part, signed with the identity's key for this agent.
func (k *letterKeeper) report(ctx context.Context, s *store.Store, box *post.Box, call session.Call) error {
	me := box.Me()
	sig, err := post.Sign(ctx, s, letter.AddressText(k.agent, me.Address, k.relay))
	if err != nil {
		return err
	}
	return addressError(call(ctx, "PUT", letterPath, map[string]string{
		"fingerprint": me.Address, "identityKey": me.IdentityKey, "signingKey": me.SigningKey, "relayUrl": k.relay, "signature": sig,
	}, nil))
}

// addressError tells a server without letter addresses from one that is in trouble.
func addressError(err error) error {
	if e, ok := errors.AsType[*session.StatusError](err); ok && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed) {
		return errNoAddresses
	}
	return err
}
