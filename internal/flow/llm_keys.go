package flow

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/account"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// keyProviders are the model providers whose keys can be stored.
var keyProviders = map[string]bool{"anthropic": true, "openai": true, "openrouter": true}

// LLMKeys lists the caller's model keys without their secrets.
func (i *Identity) LLMKeys(ctx context.Context, actor access.Actor) ([]account.LLMKey, error) {
	if err := access.RequirePerson(actor); err != nil {
		return nil, err
	}
	return account.ListKeys(ctx, i.DB, actor.ID)
}

// AddLLMKey seals and stores a model key (B8). The secret is write-only from here on.
func (i *Identity) AddLLMKey(ctx context.Context, actor access.Actor, provider, token, label string, makeDefault bool) (out account.LLMKey, err error) {
	if err := access.RequirePerson(actor); err != nil {
		return out, err
	}
	if !keyProviders[provider] {
		return out, fault.New(fault.Invalid, "invalid", "This provider is not known.").With("provider", "unknown", "Use anthropic, openai or openrouter.")
	}
	if token, err = cleanSecret(token); err != nil {
		return out, err
	}
	if utf8.RuneCountInString(label) > 100 {
		return out, fault.New(fault.Invalid, "invalid", "A label may have at most 100 characters.").With("label", "too_long", "This label is too long.")
	}
	k := account.LLMKey{ID: id.New[id.Credential](), AccountID: actor.ID, Provider: provider, Label: label, Fingerprint: i.Ring.Fingerprint([]byte(token))}
	err = i.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		out, err = account.InsertKeyTx(ctx, tx, k, i.Ring.Seal(account.KeyPurpose(k.ID), []byte(token)), makeDefault)
		return err
	})
	return out, err
}

// EditLLMKey changes the label or replaces the secret; nil fields stay.
func (i *Identity) EditLLMKey(ctx context.Context, actor access.Actor, kid id.Credential, label, token *string) (out account.LLMKey, err error) {
	if err := access.RequirePerson(actor); err != nil {
		return out, err
	}
	var sealed []byte
	var fingerprint *string
	if token != nil && *token != "" {
		clean, err := cleanSecret(*token)
		if err != nil {
			return out, err
		}
		sealed, fingerprint = i.Ring.Seal(account.KeyPurpose(kid), []byte(clean)), new(i.Ring.Fingerprint([]byte(clean)))
	}
	err = i.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		out, err = account.PatchKeyTx(ctx, tx, actor.ID, kid, label, sealed, fingerprint)
		return err
	})
	return out, err
}

// DefaultLLMKey makes a key its provider's default.
func (i *Identity) DefaultLLMKey(ctx context.Context, actor access.Actor, kid id.Credential) (out account.LLMKey, err error) {
	if err := access.RequirePerson(actor); err != nil {
		return out, err
	}
	err = i.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		out, err = account.SetDefaultKeyTx(ctx, tx, actor.ID, kid)
		return err
	})
	return out, err
}

// DeleteLLMKey forgets a key.
func (i *Identity) DeleteLLMKey(ctx context.Context, actor access.Actor, kid id.Credential) error {
	if err := access.RequirePerson(actor); err != nil {
		return err
	}
	return i.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error { return account.DeleteKeyTx(ctx, tx, actor.ID, kid) })
}

// ResolveLLMKey gives the secret to its owner or to an agent of the owner (B8):
// the only way out. keyID zero means the provider's default.
func (i *Identity) ResolveLLMKey(ctx context.Context, actor access.Actor, provider string, keyID id.Credential) (string, error) {
	if actor.Kind != access.Person && actor.Kind != access.Agent {
		return "", fault.ErrUnauthenticated
	}
	if !keyProviders[provider] {
		return "", fault.ErrNotFound
	}
	kid, sealed, err := account.SealedKey(ctx, i.DB, actor.OwnerID, provider, keyID)
	if err != nil {
		return "", err
	}
	plain, _, err := i.Ring.Open(account.KeyPurpose(kid), sealed)
	if err != nil {
		return "", err
	}
	return string(plain), nil
}

func cleanSecret(s string) (string, error) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > 4096 || strings.ContainsAny(s, " \t\r\n") {
		return "", fault.New(fault.Invalid, "invalid", "This is not a key.").With("token", "invalid", "Paste the key without spaces.")
	}
	return s, nil
}
