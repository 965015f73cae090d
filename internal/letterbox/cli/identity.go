package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/agntchat/agntchat/internal/letterbox/post"
	"github.com/agntchat/agntchat/internal/letterbox/store"
)

// firstRelay is what the first init writes into the owner's configuration (contract letters section 3).
const firstRelay = "https://relay.retalk.dev"

func (c *Call) home() string {
	if c.Env.Home != "" {
		return c.Env.Home
	}
	return filepath.Join(c.Env.UserHome, ".retalk")
}

func (c *Call) book() store.Book { return store.OpenBook(c.home()) }

// Dir is the folder of the identity that the call acts as: --dir, then --user, then RETALK_USER.
func (c *Call) Dir() (string, error) {
	dir, ok := c.selected()
	if !ok {
		return "", usagef("no user selected: pass --user NAME (-u NAME), set RETALK_USER, or pass --dir DIR")
	}
	return dir, nil
}

func (c *Call) selected() (dir string, ok bool) {
	switch {
	case c.Has("--dir"):
		return c.Get("--dir"), true
	case c.Has("--user"):
		return filepath.Join(c.home(), c.Get("--user")), true
	case c.Env.User != "":
		return filepath.Join(c.home(), c.Env.User), true
	case c.Env.Dir != "":
		return c.Env.Dir, true
	}
	return "", false
}

// Store opens the identity's store, locked. The caller closes it.
func (c *Call) Store(ctx context.Context) (*store.Store, error) {
	dir, err := c.Dir()
	if err != nil {
		return nil, err
	}
	return openStore(ctx, dir)
}

func openStore(ctx context.Context, dir string) (*store.Store, error) {
	s, err := store.Open(ctx, dir)
	if errors.Is(err, store.ErrNone) {
		hint := "create one with `agnt letter init`"
		if store.HasRetalk(dir) {
			hint = "there is one of retalk: bring it over with `agnt letter import --from-retalk`"
		}
		return nil, fmt.Errorf("no identity at %s: %s", dir, hint)
	}
	return s, err
}

// Unlocked opens the identity's store with its passphrase. The caller closes it.
func (c *Call) Unlocked(ctx context.Context) (*store.Store, error) {
	s, err := c.Store(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.unlock(ctx, s); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (c *Call) unlock(ctx context.Context, s *store.Store) error {
	open := false
	err := s.Tx(ctx, func(tx *store.Tx) (err error) {
		open, err = tx.NoPassphrase()
		return err
	})
	if err != nil {
		return err
	}
	var pass store.Passphrase
	if !open {
		if c.Has("--no-passphrase") {
			return usagef("this identity has a passphrase: give it with --passphrase-file or RETALK_PASSPHRASE")
		}
		if pass, err = c.passphrase(); err != nil {
			return err
		}
	}
	if err := s.Unlock(ctx, pass); err != nil {
		return fmt.Errorf("could not unlock the identity at %s: %w", s.Dir(), err)
	}
	return nil
}

// Box opens the identity and its relay, and tells people who acts. The caller calls close.
func (c *Call) Box(ctx context.Context) (b *post.Box, s *store.Store, closeAll func(), err error) {
	if s, err = c.Unlocked(ctx); err != nil {
		return nil, nil, nil, err
	}
	b, err = c.box(ctx, s)
	if err != nil {
		return nil, nil, nil, errors.Join(err, s.Close())
	}
	if !c.Has("--quiet") {
		me := b.Me()
		c.say("using %s (%s) from %s", orUser(me.Name), me.Address, s.Dir())
	}
	return b, s, func() {
		b.Close()
		_ = s.Close()
	}, nil
}

func orUser(name string) string {
	if name == "" {
		return "user"
	}
	return post.Printable(name, 80)
}

func (c *Call) box(ctx context.Context, s *store.Store) (*post.Box, error) {
	relay, err := c.relayOf(ctx, s)
	if err != nil {
		return nil, err
	}
	if relay == "" {
		return nil, usagef("no relay: pass --relay URL, set RETALK_RELAY, or save one with `agnt letter config --relay URL`")
	}
	key, err := c.keyOf(ctx, s)
	if err != nil {
		return nil, err
	}
	return post.Open(ctx, post.Config{Store: s, Book: c.book(), Relay: relay, APIKey: key, UserAgent: c.Env.UserAgent, Log: c.log()})
}

// relayOf is the relay's address: --relay, then RETALK_RELAY, then the identity's, then the owner's.
func (c *Call) relayOf(ctx context.Context, s *store.Store) (string, error) {
	var me store.Identity
	err := s.Tx(ctx, func(tx *store.Tx) (err error) {
		me, err = tx.Identity()
		return err
	})
	if err != nil {
		return "", err
	}
	config, err := c.config()
	return firstOf(c.Get("--relay"), c.Env.Relay, me.Relay, config.relay()), err
}

func (c *Call) keyOf(ctx context.Context, s *store.Store) (key string, err error) {
	if key = firstOf(c.Get("--api-key"), c.Env.APIKey); key != "" {
		return key, nil
	}
	return key, s.Tx(ctx, func(tx *store.Tx) (err error) {
		key, err = tx.APIKey()
		return err
	})
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// passphrase finds the secret; it never asks (contract letters 2.3).
func (c *Call) passphrase() (store.Passphrase, error) {
	switch {
	case c.Has("--passphrase"):
		if c.Get("--passphrase") == "" {
			return store.Passphrase{}, usagef("the passphrase is empty; --no-passphrase makes an identity without one")
		}
		return store.NewPassphrase(c.Get("--passphrase")), nil
	case c.Has("--passphrase-file"):
		return c.passphraseFrom(c.Get("--passphrase-file"))
	case c.Env.PassphraseFile != "":
		return c.passphraseFrom(c.Env.PassphraseFile)
	case c.Env.Passphrase != "":
		return store.NewPassphrase(c.Env.Passphrase), nil
	}
	return store.Passphrase{}, usagef("no passphrase: pass --passphrase-file FILE, set RETALK_PASSPHRASE_FILE or RETALK_PASSPHRASE, or use --no-passphrase for an identity without one")
}

// passphraseFrom reads a passphrase file without the end of its line.
func (c *Call) passphraseFrom(file string) (store.Passphrase, error) {
	st, err := os.Stat(file)
	if err != nil {
		return store.Passphrase{}, usagef("passphrase file: %v", err)
	}
	if !st.Mode().IsRegular() && st.Mode()&(os.ModeNamedPipe|os.ModeCharDevice) == 0 {
		return store.Passphrase{}, usagef("passphrase file: %s is not a file", file)
	}
	if runtime.GOOS != "windows" && st.Mode().IsRegular() && st.Mode().Perm()&0o077 != 0 {
		c.say("[retalk] warning: other users may read the passphrase file %s; set its mode to 0600", file)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return store.Passphrase{}, usagef("passphrase file: %v", err)
	}
	if b = bytes.TrimRight(b, "\r\n"); len(b) == 0 {
		return store.Passphrase{}, usagef("passphrase file: %s is empty", file)
	}
	return store.NewPassphrase(string(b)), nil
}

// config is the owner's config.json: any members, of which we know `relay`.
type config map[string]any

func (g config) relay() string {
	s, _ := g["relay"].(string)
	return s
}

func (c *Call) configFile() string { return filepath.Join(c.home(), "config.json") }

func (c *Call) config() (config, error) {
	b, err := os.ReadFile(c.configFile())
	if errors.Is(err, os.ErrNotExist) {
		return config{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	var g config
	if json.Unmarshal(b, &g) != nil || g == nil {
		return config{}, nil //nolint:nilerr // a damaged file is an empty one, as retalk has it
	}
	return g, nil
}

func (c *Call) writeConfig(g config) error {
	if err := os.MkdirAll(c.home(), 0o700); err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	b, err := json.MarshalIndent(g, "", "  ")
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(c.home(), ".config-*") // mode 0600
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	_, err = tmp.Write(append(b, '\n'))
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), c.configFile())
	}
	if err != nil {
		return fmt.Errorf("configuration: %w", errors.Join(err, os.Remove(tmp.Name())))
	}
	return nil
}

// freeUser is the name of a new identity when none is given: the login name and the next free number.
func (c *Call) freeUser() string {
	base := firstOf(c.Env.Login, "user")
	pattern := regexp.MustCompile(`^` + regexp.QuoteMeta(base) + `-(\d+)$`)
	highest := 0
	for _, home := range []string{c.home(), ".retalk"} {
		entries, err := os.ReadDir(home)
		if err != nil {
			continue
		}
		for _, e := range entries {
			m := pattern.FindStringSubmatch(e.Name())
			dir := filepath.Join(home, e.Name())
			if m == nil || !store.Exists(dir) && !store.HasRetalk(dir) {
				continue
			}
			if n, err := strconv.Atoi(m[1]); err == nil {
				highest = max(highest, n)
			}
		}
	}
	return base + "-" + strconv.Itoa(highest+1)
}

// onlyIdentity is the one identity of the home folder, when there is exactly one.
func (c *Call) onlyIdentity() (dir string, ok bool) {
	entries, err := os.ReadDir(c.home())
	if err != nil {
		return "", false
	}
	for _, e := range entries {
		if d := filepath.Join(c.home(), e.Name()); store.Exists(d) {
			if ok {
				return "", false
			}
			dir, ok = d, true
		}
	}
	return dir, ok
}

// saves says whether letters go to the history: --save or RETALK_SAVE_MESSAGE.
func (c *Call) saves() bool {
	switch strings.ToLower(strings.TrimSpace(c.Env.SaveMessage)) {
	case "1", "true", "t", "yes", "y", "on":
		return true
	}
	return c.Has("--save")
}
