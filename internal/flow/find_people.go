package flow

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/view"
)

// FindPeople finds people to talk with (desktop 4.26): by the whole e-mail
// address, or by name among those the caller has to do with. Bounded per caller,
// so that addresses cannot be tried out in numbers.
func (i *Identity) FindPeople(ctx context.Context, actor access.Actor, term string) ([]view.FoundPerson, error) {
	if err := access.RequirePerson(actor); err != nil {
		return nil, err
	}
	term = strings.TrimSpace(term)
	if n := utf8.RuneCountInString(term); n < 2 || n > 254 || !utf8.ValidString(term) || strings.ContainsRune(term, 0) {
		return nil, fault.New(fault.Invalid, "invalid", "Search for at least two characters.").With("q", "too_short", "Enter at least two characters.")
	}
	if wait, ok := i.searches.Take(actor.ID.String()); !ok {
		return nil, fault.New(fault.Exhausted, "rate_limited", "Too many searches. Wait a moment.").After(wait)
	}
	return view.FindPeople(ctx, i.DB, actor.ID, term)
}
