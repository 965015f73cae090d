// Package account owns accounts, identities, sessions, one_time_codes and
// llm_keys: who a person is, how they prove it, and the model keys they keep
// here. Names and pictures belong to participant, workspaces to workspace.
package account

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// PolicyVersion is the version of terms and privacy text that people accept now.
const PolicyVersion = "2026-11-01"

// Password is the built-in identity provider; its subject is the account's id (decision 2).
const Password = "password"

// ErrEmailTaken is the answer to a second account with the same address.
var ErrEmailTaken = fault.New(fault.Invalid, "email_taken", "An account with this e-mail address exists. Sign in instead.").With("email", "taken", "This address has an account.")

// Account is a person's own record; the jsonb columns are raw.
type Account struct {
	ID                      id.Participant
	Email                   string
	FirstName               string
	LastName                *string
	Description             string
	Metadata                json.RawMessage
	Timezone                *string
	Locale                  *string
	Location                *json.RawMessage
	MarketingOptIn          bool
	AnalyticsOptIn          bool
	AcceptedPolicyVersion   *string
	ActiveOrganizationID    id.Organization
	NotificationPreferences json.RawMessage
	Settings                json.RawMessage
	PlatformAdmin           bool
	InsertedAt              time.Time
	UpdatedAt               time.Time
}

// New is what a new account needs. PasswordHash is the built-in identity; without
// one the account signs in by a start link until it sets a password.
type New struct {
	ID             id.Participant
	Email          string
	FirstName      string
	LastName       *string
	Timezone       *string
	Locale         *string
	BirthDate      time.Time
	MarketingOptIn bool
	AnalyticsOptIn bool
	Organization   id.Organization
	PasswordHash   string
}

// InsertTx makes the account with its password identity. The first account of a
// server is its administrator: see OneAtATimeTx. ErrEmailTaken when the address is in use.
func InsertTx(ctx context.Context, tx *pg.Tx, n New) error {
	var birth *time.Time
	if !n.BirthDate.IsZero() {
		birth = &n.BirthDate
	}
	_, err := tx.Exec(ctx, insertSQL, n.ID, n.Email, n.FirstName, n.LastName, n.Timezone, n.Locale, birth, n.MarketingOptIn, n.AnalyticsOptIn, PolicyVersion, n.Organization)
	if pg.IsUnique(err, "accounts_email_key") {
		return ErrEmailTaken
	}
	if err != nil {
		return err
	}
	var hash *string
	if n.PasswordHash != "" {
		hash = &n.PasswordHash
	}
	_, err = tx.Exec(ctx, insertIdentitySQL, Password, n.ID.String(), n.ID, hash)
	return err
}

// Get reads one account; fault.ErrNotFound when absent or deleted.
func Get(ctx context.Context, q pg.Querier, aid id.Participant) (Account, error) {
	rows, err := q.Query(ctx, getSQL, aid)
	if err != nil {
		return Account{}, err
	}
	a, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Account])
	if pg.IsNotFound(err) {
		return Account{}, fault.ErrNotFound
	}
	return a, err
}

// Count tells how many accounts exist, counted up to two: enough to know "none" and "first".
func Count(ctx context.Context, q pg.Querier) (int, error) {
	var n int
	err := q.QueryRow(ctx, countSQL).Scan(&n)
	return n, err
}

// HoldTx keeps an account from being deleted until the transaction ends;
// fault.ErrNotFound when it has been.
func HoldTx(ctx context.Context, tx *pg.Tx, aid id.Participant) error {
	err := tx.QueryRow(ctx, holdSQL, aid).Scan(new(bool))
	if pg.IsNotFound(err) {
		return fault.ErrNotFound
	}
	return err
}

// OneAtATimeTx lets no other account be made until the transaction ends: of two that
// come at once only one is the first.
func OneAtATimeTx(ctx context.Context, tx *pg.Tx) error {
	_, err := tx.Exec(ctx, oneAtATimeSQL)
	return err
}

// OldestAdmin is the first administrator of this server; fault.ErrNotFound when there is none.
func OldestAdmin(ctx context.Context, q pg.Querier) (id.Participant, error) {
	var aid id.Participant
	err := q.QueryRow(ctx, oldestAdminSQL).Scan(&aid)
	if pg.IsNotFound(err) {
		return aid, fault.ErrNotFound
	}
	return aid, err
}

// Credentials is what sign-in compares.
type Credentials struct {
	AccountID    id.Participant
	PasswordHash string
}

// FindPassword looks up the built-in identity by e-mail address, in any case; ok is false when there is none.
func FindPassword(ctx context.Context, q pg.Querier, email string) (c Credentials, ok bool, err error) {
	err = q.QueryRow(ctx, findPasswordSQL, email, Password).Scan(&c.AccountID, &c.PasswordHash)
	if pg.IsNotFound(err) {
		return Credentials{}, false, nil
	}
	return c, err == nil, err
}

// PasswordHash reads the hash of one account's built-in identity; "" while none was set.
func PasswordHash(ctx context.Context, q pg.Querier, aid id.Participant) (string, error) {
	var h string
	err := q.QueryRow(ctx, passwordHashSQL, aid, Password).Scan(&h)
	if pg.IsNotFound(err) {
		return "", nil
	}
	return h, err
}

// HoldPasswordTx keeps the hash as it is until the transaction ends; ok is false when
// it is another one by now, or the account is gone. was is "" for none.
func HoldPasswordTx(ctx context.Context, tx *pg.Tx, aid id.Participant, was string) (ok bool, err error) {
	err = tx.QueryRow(ctx, holdPasswordSQL, aid, Password, was).Scan(&ok)
	if pg.IsNotFound(err) {
		return false, nil
	}
	return ok, err
}

// SetPasswordTx replaces the hash and ends the one-time codes that are about. ok is
// false when the hash is not the one that was checked any more.
func SetPasswordTx(ctx context.Context, tx *pg.Tx, aid id.Participant, was, hash string) (ok bool, err error) {
	tag, err := tx.Exec(ctx, setPasswordSQL, aid, Password, was, hash)
	if err != nil || tag.RowsAffected() == 0 {
		return false, err
	}
	_, err = tx.Exec(ctx, deleteCodesSQL, aid)
	return true, err
}

// Patch changes a profile; nil fields stay.
type Patch struct {
	FirstName      *string
	LastName       *string
	Description    *string
	Tagline        *string
	Timezone       *string
	Locale         **string // outer nil leaves, inner nil clears
	MarketingOptIn *bool
	AnalyticsOptIn *bool
	AcceptPolicy   bool
	Organization   *id.Organization
	Preferences    map[string]bool
	Settings       map[string]bool
	TourSeen       *string
}

// PatchTx applies a change of profile.
func PatchTx(ctx context.Context, tx *pg.Tx, aid id.Participant, p Patch) error {
	meta := map[string]any{}
	if p.Tagline != nil {
		meta["tagline"] = *p.Tagline
	}
	locale, setLocale := (*string)(nil), p.Locale != nil
	if setLocale {
		locale = *p.Locale
	}
	var policy *string
	if p.AcceptPolicy {
		policy = new(PolicyVersion)
	}
	org := id.Organization{}
	if p.Organization != nil {
		org = *p.Organization
	}
	_, err := tx.Exec(ctx, patchSQL, aid, p.FirstName, p.LastName, p.Description, mustJSON(meta), p.Timezone, setLocale, locale,
		p.MarketingOptIn, p.AnalyticsOptIn, policy, org, mustJSON(orEmpty(p.Preferences)), mustJSON(orEmpty(p.Settings)), p.TourSeen)
	return err
}

// DeleteTx forgets a person: address, names, texts, identities, sessions, keys. The row stays for old messages.
func DeleteTx(ctx context.Context, tx *pg.Tx, aid id.Participant) error {
	for _, sql := range []string{forgetSQL, deleteIdentitiesSQL, deleteCodesSQL, deleteSessionsSQL, deleteKeysSQL} {
		if _, err := tx.Exec(ctx, sql, aid); err != nil {
			return err
		}
	}
	return nil
}

func orEmpty(m map[string]bool) map[string]bool {
	if m == nil {
		return map[string]bool{}
	}
	return m
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("account: maps, strings and finite numbers always encode: " + err.Error())
	}
	return string(b)
}

// SetLocationTx stores where a person is, in numbers; nil forgets it.
func SetLocationTx(ctx context.Context, tx *pg.Tx, aid id.Participant, l *Location) error {
	var raw *string
	if l != nil {
		raw = new(mustJSON(*l))
	}
	_, err := tx.Exec(ctx, setLocationSQL, aid, raw)
	return err
}
