package flow

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/account"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/limit"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/view"
)

// errWrongPassword is never a 401: clients read that as a dead session (desktop 1.2).
var errWrongPassword = fault.New(fault.Invalid, "invalid_credentials", "The e-mail address or the password is wrong.")

var errNotCurrent = fault.New(fault.Invalid, "invalid_credentials", "The current password is wrong.").With("currentPassword", "wrong", "This is not your current password.")

// SignIn checks a password and opens a session. Only failures count towards the
// limit, per account and per address (decision 4).
func (i *Identity) SignIn(ctx context.Context, email, password, userAgent, address string) (SignedIn, error) {
	who, from := "login:"+strings.ToLower(strings.TrimSpace(email)), "address:"+limit.Origin(address)
	still := func() error { return i.failedTooOften(who, from) }
	if err := still(); err != nil {
		return SignedIn{}, err
	}
	c, _, err := account.FindPassword(ctx, i.DB, strings.TrimSpace(email))
	if err != nil {
		return SignedIn{}, err
	}
	ok, err := i.Hasher.Verify(ctx, c.PasswordHash, password, still)
	if err != nil {
		return SignedIn{}, err
	}
	if !ok {
		i.failures.Take(who)
		i.failures.Take(from)
		return SignedIn{}, errWrongPassword
	}
	return i.openSession(ctx, c, userAgent, address)
}

// failedTooOften tells who has to wait before the next attempt.
func (i *Identity) failedTooOften(keys ...string) error {
	for _, k := range keys {
		if wait, ok := i.failures.Peek(k); !ok {
			return fault.New(fault.Exhausted, "rate_limited", "Too many failed attempts. Wait a moment.").After(wait)
		}
	}
	return nil
}

// openSession signs in whose password was compared. It must still be theirs: a change
// of the password, or the end of the account, ends what was signed in before it, and
// this too.
func (i *Identity) openSession(ctx context.Context, c account.Credentials, userAgent, address string) (SignedIn, error) {
	var out SignedIn
	err := i.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		ok, err := account.HoldPasswordTx(ctx, tx, c.AccountID, c.PasswordHash)
		if err != nil {
			return err
		}
		if !ok {
			return errWrongPassword
		}
		if out.Token, _, err = account.InsertSessionTx(ctx, tx, c.AccountID, userAgent, address); err != nil {
			return err
		}
		out.Self, err = view.SelfOf(ctx, tx, c.AccountID)
		return err
	})
	return out, err
}

// MakeOneTimeCode makes a code that signs a person in once, for a start link.
func (i *Identity) MakeOneTimeCode(ctx context.Context, aid id.Participant, life time.Duration) (code string, err error) {
	err = i.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		code, err = account.InsertCodeTx(ctx, tx, aid, life)
		return err
	})
	return code, err
}

// SpendOneTimeCode opens a session for a start link.
func (i *Identity) SpendOneTimeCode(ctx context.Context, code, userAgent, address string) (SignedIn, error) {
	from := "address:" + limit.Origin(address)
	if err := i.failedTooOften(from); err != nil {
		return SignedIn{}, err
	}
	var out SignedIn
	err := i.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		aid, err := account.SpendCodeTx(ctx, tx, code)
		if err != nil {
			return err
		}
		if out.Token, _, err = account.InsertSessionTx(ctx, tx, aid, userAgent, address); err != nil {
			return err
		}
		out.Self, err = view.SelfOf(ctx, tx, aid)
		return err
	})
	if fault.Is(err, "code_invalid") {
		i.failures.Take(from)
	}
	return out, err
}

// Sessions lists the caller's sign-ins.
func (i *Identity) Sessions(ctx context.Context, actor access.Actor) ([]account.Session, error) {
	if err := access.RequirePerson(actor); err != nil {
		return nil, err
	}
	return account.ListSessions(ctx, i.DB, actor.ID)
}

// RevokeSession ends one of the caller's sign-ins; its sockets are closed.
func (i *Identity) RevokeSession(ctx context.Context, actor access.Actor, sid id.Session) error {
	if err := access.RequirePerson(actor); err != nil {
		return err
	}
	err := i.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		return account.DeleteSessionTx(ctx, tx, actor.ID, sid)
	})
	if err != nil {
		return err
	}
	i.forgetPerson(actor.ID)
	i.disconnect.DisconnectSession(sid, "signed out")
	return nil
}

// ChangePassword checks the old one, if there is one, sets the new one and ends all
// other sign-ins, and the start links that are about.
func (i *Identity) ChangePassword(ctx context.Context, actor access.Actor, current, next string) error {
	if err := access.RequirePerson(actor); err != nil {
		return err
	}
	who := "login:" + actor.ID.String()
	still := func() error { return i.failedTooOften(who) }
	if err := still(); err != nil {
		return err
	}
	a, err := account.Get(ctx, i.DB, actor.ID)
	if err != nil {
		return err
	}
	stored, err := account.PasswordHash(ctx, i.DB, actor.ID)
	if err != nil {
		return err
	}
	ok := stored == "" // none was set yet: the first account of dev
	if !ok {
		if ok, err = i.Hasher.Verify(ctx, stored, current, still); err != nil {
			return err
		}
	}
	if !ok {
		i.failures.Take(who)
		return errNotCurrent
	}
	if err := account.CheckPassword(next, a.Email); err != nil {
		f := *fault.From(err)
		for n := range f.Fields {
			f.Fields[n].Field = "newPassword"
		}
		return &f
	}
	hash, err := i.Hasher.Hash(ctx, next)
	if err != nil {
		return err
	}
	var ended []id.Session
	err = i.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		ok, err := account.SetPasswordTx(ctx, tx, actor.ID, stored, hash)
		if err != nil {
			return err
		}
		if !ok { // it was changed meanwhile
			return errNotCurrent
		}
		ended, err = account.DeleteOtherSessionsTx(ctx, tx, actor.ID, actor.SessionID)
		return err
	})
	if err != nil {
		return err
	}
	i.forgetPerson(actor.ID)
	for _, s := range ended {
		i.disconnect.DisconnectSession(s, "password changed")
	}
	i.Log.InfoContext(ctx, "password changed", slog.String("account_id", actor.ID.String()), slog.Int("sessions_ended", len(ended)))
	return nil
}
