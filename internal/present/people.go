package present

import (
	"strings"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// FoundPerson is a person in a search result: enough to tell namesakes apart, not
// the whole address.
func FoundPerson(f view.FoundPerson, online Online) wire.Participant {
	return wire.Participant{
		ID: f.ID.String(), Type: "human", DisplayName: f.DisplayName, AvatarURL: f.AvatarURL, Status: "active", Online: online(f.ID), MaskedEmail: maskEmail(f.Email),
	}
}

// maskEmail keeps the first letter and the domain: a•••@example.com.
func maskEmail(s string) string {
	local, domain, ok := strings.Cut(s, "@")
	if !ok || local == "" {
		return ""
	}
	_, n := utf8.DecodeRuneInString(local)
	return local[:n] + "•••@" + domain
}
