package flow

import (
	"context"
	"net/mail"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/account"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/limit"
	"github.com/agntchat/agntchat/internal/participant"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/workspace"
)

// MinAge is the age in years from which a person may have an account (desktop 6).
const MinAge = 16

// SignUp is what a new person tells.
type SignUp struct {
	Email, Password                string
	FirstName, LastName            string
	DisplayName                    string // older clients
	AcceptedTerms                  bool
	BirthDate                      string // YYYY-MM-DD
	MarketingOptIn, AnalyticsOptIn bool
	Timezone, Locale               string
	UserAgent, Address             string
}

// SignedIn is a fresh session; the token is shown once.
type SignedIn struct {
	Token string
	Self  view.Self
}

// SignUp makes the account, its personal workspace and a session in one
// transaction (W1). Invalid input is reported field by field.
func (i *Identity) SignUp(ctx context.Context, in SignUp) (SignedIn, error) {
	if err := i.takesAccounts(ctx, i.DB); err != nil {
		return SignedIn{}, err
	}
	if err := i.failedTooOften("signup:" + limit.Origin(in.Address)); err != nil {
		return SignedIn{}, err
	}
	n, display, err := checkSignUp(in)
	if err == nil {
		n.PasswordHash, err = i.Hasher.Hash(ctx, in.Password)
	}
	if err != nil {
		return SignedIn{}, err
	}
	return i.makeAccount(ctx, n, display, in.UserAgent, in.Address)
}

// takesAccounts refuses where sign-up is closed, but for the first account.
func (i *Identity) takesAccounts(ctx context.Context, q pg.Querier) error {
	if i.Signup == SignupOpen {
		return nil
	}
	n, err := account.Count(ctx, q)
	if err == nil && n > 0 {
		err = fault.New(fault.Forbidden, "signup_closed", "This server takes no new accounts. Ask its administrator.")
	}
	return err
}

// makeAccount stores a checked account, its workspace and a session.
func (i *Identity) makeAccount(ctx context.Context, n account.New, display, userAgent, address string) (SignedIn, error) {
	n.ID, n.Organization = id.New[id.Participant](), id.New[id.Organization]()
	var out SignedIn
	err := i.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		if err := account.OneAtATimeTx(ctx, tx); err != nil {
			return err
		}
		if err := i.takesAccounts(ctx, tx); err != nil { // another may have been the first meanwhile
			return err
		}
		if err := participant.InsertTx(ctx, tx, participant.Participant{ID: n.ID, Kind: participant.Human, DisplayName: display}); err != nil {
			return err
		}
		// The organisation is written after the account that owns it; the account's own reference is deferred.
		if err := account.InsertTx(ctx, tx, n); err != nil {
			return err
		}
		if err := workspace.InsertPersonalTx(ctx, tx, n.Organization, n.ID, clipRunes(display, 100)); err != nil {
			return err
		}
		var err error
		if out.Token, _, err = account.InsertSessionTx(ctx, tx, n.ID, userAgent, address); err != nil {
			return err
		}
		out.Self, err = view.SelfOf(ctx, tx, n.ID)
		return err
	})
	if fault.Is(err, "email_taken") {
		i.failures.Take("signup:" + limit.Origin(address)) // trying addresses out is slow
	}
	return out, err
}

func checkSignUp(in SignUp) (account.New, string, error) {
	f := fault.New(fault.Invalid, "invalid", "Some fields need another look.")
	merge := func(err error) {
		if err != nil {
			f.Fields = append(f.Fields, fault.From(err).Fields...)
		}
	}
	n := account.New{MarketingOptIn: in.MarketingOptIn, AnalyticsOptIn: in.AnalyticsOptIn}
	email, err := cleanEmail(in.Email)
	merge(err)
	n.Email = email
	first, last := strings.TrimSpace(in.FirstName), strings.TrimSpace(in.LastName)
	if first == "" {
		first = strings.TrimSpace(in.DisplayName)
	}
	if first == "" {
		f = f.With("firstName", "required", "Enter your name.")
	}
	display, nameErr := participant.CleanName("firstName", strings.TrimSpace(first+" "+last))
	if first != "" {
		merge(nameErr)
	}
	n.FirstName = first
	if last != "" {
		n.LastName = &last
	}
	merge(account.CheckPassword(in.Password, in.Email))
	birth, err := time.Parse(time.DateOnly, in.BirthDate)
	switch {
	case err != nil:
		f = f.With("birthDate", "required", "Enter your date of birth.")
	case birth.AddDate(MinAge, 0, 0).After(time.Now()) || birth.Year() < 1900:
		f = f.With("birthDate", "too_young", "You must be at least 16 years old.")
	}
	n.BirthDate = birth
	if !in.AcceptedTerms {
		f = f.With("acceptedTerms", "required", "Accept the terms to go on.")
	}
	if _, err := time.LoadLocation(in.Timezone); err == nil && in.Timezone != "" {
		n.Timezone = &in.Timezone
	}
	if validLocale(in.Locale) {
		n.Locale = &in.Locale
	}
	if len(f.Fields) > 0 {
		f.Message = f.Fields[0].Message
		if !slices.ContainsFunc(f.Fields, func(c fault.Field) bool { return c.Field != "password" }) {
			f.Code = "password_weak"
		}
		return account.New{}, "", f
	}
	return n, display, nil
}

func cleanEmail(s string) (string, error) {
	s = strings.TrimSpace(s)
	a, err := mail.ParseAddress(s)
	if err != nil || a.Address != s || len(s) > 254 || !strings.Contains(s[strings.LastIndexByte(s, '@')+1:], ".") && !strings.HasSuffix(s, "@localhost") {
		return "", fault.New(fault.Invalid, "invalid", "This is not an e-mail address.").With("email", "invalid", "Enter a valid e-mail address.")
	}
	return s, nil
}

// validLocale accepts a language tag of letters, digits and hyphens.
func validLocale(s string) bool {
	if s == "" || len(s) > 35 {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

func clipRunes(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n])
}
