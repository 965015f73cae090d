package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/term"

	"github.com/agntchat/agntchat/internal/letterbox/post"
	"github.com/agntchat/agntchat/internal/letterbox/store"
	"github.com/agntchat/agntchat/internal/wire/letter"
)

// maxInput bounds what is read from standard input.
const maxInput = 1 << 20

// newPassphrase is the passphrase of an identity that is being made.
func (c *Call) newPassphrase() (store.Passphrase, error) {
	if c.Has("--no-passphrase") {
		return store.Passphrase{}, nil
	}
	return c.passphrase()
}

func (c *Call) initialise(ctx context.Context) error {
	pass, err := c.newPassphrase() // first: a missing one leaves nothing behind
	if err != nil {
		return err
	}
	dir, ok := c.selected()
	user := firstOf(c.Get("--user"), c.Env.User)
	if !c.Has("--dir") && user != "" && (user != filepath.Base(user) || user == "." || user == "..") {
		return usagef("'%s' is no name for an identity: it is that of its folder; for a folder elsewhere give --dir", post.Printable(user, 80))
	}
	name := firstOf(c.Get("--display-name"), user)
	if !ok {
		user = c.freeUser()
		name = firstOf(name, user)
		dir = filepath.Join(c.home(), user)
		c.say("No user specified, defaulting to automatically generated \"%s\".", user)
	}
	if store.Exists(dir) || store.HasRetalk(dir) {
		_, err := openStore(ctx, dir) // says what to do about an identity of retalk
		return firstError(err, fmt.Errorf("an identity already exists at %s", dir))
	}
	relay, err := c.firstRelay()
	if err != nil {
		return err
	}
	if relay != "" {
		if err := post.CheckAddress(relay); err != nil {
			return err
		}
	}
	key := firstOf(c.Get("--api-key"), c.Env.APIKey)
	s, err := post.Create(ctx, dir, pass, c.Cost, store.Identity{Name: name, Relay: relay}, key)
	if errors.Is(err, store.ErrExists) {
		return fmt.Errorf("an identity already exists at %s", dir)
	}
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	var me store.Identity
	if err := s.Tx(ctx, func(tx *store.Tx) (err error) { me, err = tx.Identity(); return err }); err != nil {
		return err
	}
	c.say("created identity \"%s\" at %s", firstOf(post.Printable(name, 80), filepath.Base(dir)), dir)
	if pass.None() {
		c.say("\nWarning: the keys are stored UNENCRYPTED. Whoever can read this folder can write in your name.\nUse a passphrase for every identity whose privacy matters.")
	}
	c.say("\nFingerprint: %s\nRelay:       %s", me.Address, firstOf(relay, "(none: set one with `agnt letter config --relay URL`)"))
	if relay != "" && !c.Has("--no-register") {
		c.register(ctx, s)
	}
	c.say("\nSend this to people who should write to you:\n%s", invitation(me, name, relay, ""))
	switch {
	case c.Has("--json"):
		return c.line(post.Object{}.Add("fingerprint", me.Address).Add("name", me.Name).Bytes())
	case !c.Terminal:
		return c.printf("%s", me.Address)
	}
	return nil
}

// invitation prints what is sent to a person.
func (c *Call) invitation(text string) error {
	if c.Has("--json") {
		return c.line(post.Object{}.Add("text", text).Bytes())
	}
	return c.printf("%s", text)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// firstRelay is the relay of a new identity; the first one ever also writes the owner's configuration.
func (c *Call) firstRelay() (string, error) {
	if _, err := os.Stat(c.configFile()); errors.Is(err, os.ErrNotExist) {
		if err := c.writeConfig(config{"relay": firstRelay}); err != nil {
			return "", err
		}
	}
	g, err := c.config()
	return firstOf(c.Get("--relay"), c.Env.Relay, g.relay()), err
}

// register publishes the keys of a new identity. A relay that is away is no reason to have none.
func (c *Call) register(ctx context.Context, s *store.Store) {
	b, err := c.box(ctx, s)
	if err == nil {
		defer b.Close()
		_, err = b.Sync(ctx, post.ResendNone)
	}
	if err != nil {
		c.say("[retalk] warning: the keys were not published: %v. The next send, receive or sync tries again.", err)
	}
}

func (c *Call) id(ctx context.Context) error {
	s, err := c.Unlocked(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	var me store.Identity
	var invites []store.Invite
	now := 0.0
	err = s.Tx(ctx, func(tx *store.Tx) error {
		var e1, e2 error
		me, e1 = tx.Identity()
		invites, e2 = tx.Invites()
		now = tx.Now()
		return errors.Join(e1, e2)
	})
	if err != nil {
		return err
	}
	relay, err := c.relayOf(ctx, s)
	if err != nil {
		return err
	}
	name := firstOf(c.Get("--as"), me.Name)
	code := c.Get("--code")
	if c.Has("--last") {
		if code != "" {
			return usagef("give --code or --last, not both")
		}
		for _, i := range invites {
			if i.Active(now) {
				code = i.Code
			}
		}
		if code == "" {
			return errors.New("there is no good invite code: make one with `agnt letter invite new`")
		}
	}
	switch {
	case c.Has("--invite-message"):
		return c.invitation(invitation(me, name, relay, code))
	case c.Has("--invite-reply"):
		return c.invitation(fmt.Sprintf("```bash\n# Add me as a contact:\nagnt letter add %s --peer %s --verify\n```", me.Address, quote(firstOf(name, "me"))))
	case c.Has("--card") && !c.Has("--json"):
		return c.printf("Name: %s\nFingerprint: %s\nRelay: %s\nVerified: yes\nIdentity key: %s\nSigning key: %s", post.Printable(name, 80), me.Address, relay, me.IdentityKey, me.SigningKey)
	case c.Has("--json"):
		return c.line(post.Object{}.Add("fingerprint", me.Address).Add("name", name).Add("identity_key", me.IdentityKey).Add("signing_key", me.SigningKey).
			Add("verified", true).Add("relay", relay).Bytes())
	}
	return c.printf("%s", me.Address)
}

// invitation is a block that somebody pastes into a shell. Each line works as it stands: the commands after
// init find the identity and its passphrase by what the block exports, and a passphrase that exists is kept.
func invitation(me store.Identity, name, relay, code string) string {
	name = quote(firstOf(name, "me"))
	lines := []string{
		"```bash",
		"# Let's exchange end-to-end encrypted letters.",
		"# 1. Use this relay:",
		"export RETALK_RELAY=" + quote(firstOf(relay, "https://relay.example")),
		"# 2. Make your identity (leave this out if you have one). Whoever has its folder and this file is you:",
		`export RETALK_USER=me RETALK_PASSPHRASE_FILE="$HOME/.retalk-passphrase"`,
		`[ -s "$RETALK_PASSPHRASE_FILE" ] || (umask 077; head -c 24 /dev/urandom | base64 > "$RETALK_PASSPHRASE_FILE")`,
		"agnt letter init",
	}
	if code == "" {
		lines = append(lines, "# 3. Add me as a contact:", "agnt letter add "+me.Address+" --peer "+name+" --verify",
			"# 4. Send me your address, so that I can add you:", "agnt letter id")
	} else {
		lines = append(lines, "# 3. Ask to become my contact, with this code:", "agnt letter request "+me.Address+" --code "+quote(code)+" --peer "+name)
	}
	return strings.Join(append(lines, "```"), "\n")
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9._/:@%+=,-]+$`)

// quote makes one word of a shell, whatever is in it: names and codes come from elsewhere.
func quote(s string) string {
	s = post.Printable(s, 200)
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func (c *Call) configure(context.Context) error {
	g, err := c.config()
	if err != nil {
		return err
	}
	if c.Has("--relay") {
		relay := c.Get("--relay")
		if relay == "" {
			delete(g, "relay")
		} else {
			if err := post.CheckAddress(relay); err != nil {
				return err
			}
			g["relay"] = relay
		}
		if err := c.writeConfig(g); err != nil {
			return err
		}
	}
	b, err := json.MarshalIndent(g, "", "  ")
	if err != nil {
		return err
	}
	return c.line(b)
}

// Reads says at a terminal that it is read from: a person would take that for a program that hangs.
func (c *Call) Reads() {
	if f, ok := c.In.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		c.say("Reading from this terminal; Ctrl-D ends it.")
	}
}

// input reads standard input whole.
func (c *Call) input() (string, error) {
	c.Reads()
	b, err := io.ReadAll(io.LimitReader(bufio.NewReader(c.In), maxInput+1))
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	if len(b) > maxInput {
		return "", usagef("standard input has more than %d bytes", maxInput)
	}
	return string(b), nil
}

// checkAddress refuses what is no address. Only lower case is taken, because the address is compared as text.
func checkAddress(s string) error {
	if !letter.IsAddress(s) {
		return usagef("the fingerprint must be 32 lower-case hexadecimal characters")
	}
	return nil
}
