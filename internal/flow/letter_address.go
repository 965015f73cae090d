package flow

import (
	"context"
	"net"
	"net/url"
	"regexp"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/agent"
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire/letter"
)

// LetterAddresses are where an agent can be written to with encrypted letters, the newest first, for whoever sees the agent.
func (i *Identity) LetterAddresses(ctx context.Context, actor access.Actor, aid id.Participant) ([]agent.LetterAddress, error) {
	if _, _, err := i.Agent(ctx, actor, aid); err != nil {
		return nil, err
	}
	return agent.LetterAddresses(ctx, i.DB, aid)
}

// SetLetterAddress is an agent's report of its own address. The keys must hash to it and the signature must be theirs: an agent
// can neither invent an address nor claim somebody else's.
func (i *Identity) SetLetterAddress(ctx context.Context, actor access.Actor, a agent.LetterAddress, signature string) ([]agent.LetterAddress, error) {
	if err := access.RequireAgent(actor); err != nil {
		return nil, err
	}
	if err := checkLetterAddress(actor.ID, a, signature); err != nil {
		return nil, err
	}
	return i.changeLetterAddress(ctx, actor.ID, func(ctx context.Context, tx *pg.Tx) (bool, error) {
		return agent.SetLetterAddressTx(ctx, tx, actor.ID, a)
	})
}

// EndLetterAddress takes an agent's address away; ending none is no error.
func (i *Identity) EndLetterAddress(ctx context.Context, actor access.Actor) ([]agent.LetterAddress, error) {
	if err := access.RequireAgent(actor); err != nil {
		return nil, err
	}
	return i.changeLetterAddress(ctx, actor.ID, func(ctx context.Context, tx *pg.Tx) (bool, error) {
		return agent.EndLetterAddressTx(ctx, tx, actor.ID)
	})
}

func (i *Identity) changeLetterAddress(ctx context.Context, aid id.Participant, change func(context.Context, *pg.Tx) (bool, error)) (list []agent.LetterAddress, err error) {
	err = i.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		a, err := view.OneAgent(ctx, tx, aid)
		if err != nil {
			return err
		}
		changed, err := change(ctx, tx)
		if err != nil {
			return err
		}
		if changed {
			tx.Publish(event.UserTopic(a.OwnerID.String()), AgentChanged{AgentUpdated, a})
		}
		list, err = agent.LetterAddresses(ctx, tx, aid)
		return err
	})
	return list, err
}

// maxRelayURL is the longest address of a relay, in bytes.
const maxRelayURL = 2048

func checkLetterAddress(aid id.Participant, a agent.LetterAddress, signature string) error {
	bad := func(field, msg string) error {
		return fault.New(fault.Invalid, "invalid", msg).With(field, "invalid", msg)
	}
	switch {
	case !letter.IsKey(a.IdentityKey):
		return bad("identityKey", "A key is 32 bytes in base64 without padding.")
	case !letter.IsKey(a.SigningKey):
		return bad("signingKey", "A key is 32 bytes in base64 without padding.")
	case letter.Address(a.IdentityKey, a.SigningKey) != a.Fingerprint:
		return bad("fingerprint", "The keys do not hash to this address.")
	case !relayURL(a.RelayURL):
		return bad("relayUrl", "A relay is named by an https address without user, query and fragment; http is for this machine only.")
	}
	if ok, err := letter.Verify(a.SigningKey, letter.AddressText(aid.String(), a.Fingerprint, a.RelayURL), signature); err != nil || !ok {
		return bad("signature", "The signature is not that of these keys for this agent.")
	}
	return nil
}

// relayLetters are the characters of a relay's address: people copy it into a shell.
var relayLetters = regexp.MustCompile(`^[A-Za-z0-9._~:/%\[\]-]+$`)

// relayURL says whether an address can be shown to people as that of a relay.
func relayURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || len(s) > maxRelayURL || !relayLetters.MatchString(s) || u.Host == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return false
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return u.Scheme == "https" || u.Scheme == "http" && (host == "localhost" || ip != nil && ip.IsLoopback())
}
