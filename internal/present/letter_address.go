package present

import (
	"github.com/agntchat/agntchat/internal/agent"
	"github.com/agntchat/agntchat/internal/wire"
)

// LetterAddresses are an agent's addresses for encrypted letters: the one in force and the former ones.
func LetterAddresses(list []agent.LetterAddress) wire.LetterAddresses {
	out := wire.LetterAddresses{Former: []wire.FormerLetterAddress{}}
	for _, a := range list {
		if a.Until != nil {
			out.Former = append(out.Former, wire.FormerLetterAddress{Fingerprint: a.Fingerprint, Since: wire.At(a.Since), Until: wire.At(*a.Until)})
			continue
		}
		out.LetterAddress = &wire.LetterAddress{
			Fingerprint: a.Fingerprint, IdentityKey: a.IdentityKey, SigningKey: a.SigningKey, RelayURL: a.RelayURL, Since: wire.At(a.Since),
		}
	}
	return out
}
