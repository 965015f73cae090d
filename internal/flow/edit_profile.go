package flow

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/account"
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/memory"
	"github.com/agntchat/agntchat/internal/participant"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/workspace"
)

// Limits of a profile in characters (desktop 6).
const (
	MaxProfileDescription = 500
	MaxTagline            = 140
	maxAvatarURL          = 2048
)

// ProfilePatch changes the caller's own profile; nil fields stay.
type ProfilePatch struct {
	DisplayName *string
	AvatarURL   **string // outer nil leaves, inner nil or "" clears
	account.Patch
}

// Self reads the caller's own record.
func (i *Identity) Self(ctx context.Context, actor access.Actor) (view.Self, error) {
	if err := access.RequirePerson(actor); err != nil {
		return view.Self{}, err
	}
	return view.SelfOf(ctx, i.DB, actor.ID)
}

// EditProfile applies a change and returns the new record. The display name
// follows first and last name unless it is given itself.
func (i *Identity) EditProfile(ctx context.Context, actor access.Actor, p ProfilePatch) (view.Self, error) {
	if err := access.RequirePerson(actor); err != nil {
		return view.Self{}, err
	}
	if err := checkProfile(&p); err != nil {
		return view.Self{}, err
	}
	var out view.Self
	err := i.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		if p.Organization != nil {
			if _, err := workspace.RoleOf(ctx, tx, *p.Organization, actor.ID); err != nil {
				return err
			}
			tx.Publish(event.UserTopic(actor.ID.String()), ActiveOrganizationChanged{AccountID: actor.ID, OrganizationID: *p.Organization})
		}
		if err := account.PatchTx(ctx, tx, actor.ID, p.Patch); err != nil {
			return err
		}
		if p.AvatarURL != nil {
			if err := participant.SetAvatarTx(ctx, tx, actor.ID, *p.AvatarURL); err != nil {
				return err
			}
		}
		if name, ok, err := i.newName(ctx, tx, actor.ID, p); err != nil {
			return err
		} else if ok {
			if err := participant.RenameTx(ctx, tx, actor.ID, name); err != nil {
				return err
			}
			if err := workspace.RenamePersonalTx(ctx, tx, actor.ID, name); err != nil {
				return err
			}
		}
		var err error
		out, err = view.SelfOf(ctx, tx, actor.ID)
		return err
	})
	if err == nil {
		i.forgetPerson(actor.ID)
	}
	return out, err
}

func (i *Identity) newName(ctx context.Context, tx *pg.Tx, aid id.Participant, p ProfilePatch) (string, bool, error) {
	if p.DisplayName != nil {
		name, err := participant.CleanName("displayName", *p.DisplayName)
		return name, err == nil, err
	}
	if p.FirstName == nil && p.LastName == nil {
		return "", false, nil
	}
	a, err := account.Get(ctx, tx, aid)
	if err != nil {
		return "", false, err
	}
	full := a.FirstName
	if a.LastName != nil {
		full += " " + *a.LastName
	}
	name, err := participant.CleanName("firstName", full)
	return name, err == nil, err
}

func checkProfile(p *ProfilePatch) error {
	long := func(field string, s *string, most int) error {
		if s != nil && utf8.RuneCountInString(*s) > most {
			return fault.Newf(fault.Invalid, "invalid", "This text may have at most %d characters.", most).With(field, "too_long", "This text is too long.")
		}
		return nil
	}
	if p.FirstName != nil && strings.TrimSpace(*p.FirstName) == "" {
		return fault.New(fault.Invalid, "invalid", "A first name is needed.").With("firstName", "required", "Enter your first name.")
	}
	if p.Timezone != nil {
		if _, err := time.LoadLocation(*p.Timezone); err != nil || *p.Timezone == "" {
			return fault.New(fault.Invalid, "invalid", "This time zone is not known.").With("timezone", "unknown", "Use a name such as Europe/Berlin.")
		}
	}
	if p.Locale != nil && *p.Locale != nil && !validLocale(**p.Locale) {
		return fault.New(fault.Invalid, "invalid", "This language is not known.").With("locale", "unknown", "Use a tag such as en or zh-CN.")
	}
	if p.AvatarURL != nil {
		u, err := cleanAvatar(*p.AvatarURL)
		if err != nil {
			return err
		}
		*p.AvatarURL = u
	}
	for _, err := range []error{long("firstName", p.FirstName, 60), long("lastName", p.LastName, 60), long("description", p.Description, MaxProfileDescription), long("tagline", p.Tagline, MaxTagline)} {
		if err != nil {
			return err
		}
	}
	return nil
}

// cleanAvatar accepts https addresses and paths of this server.
func cleanAvatar(u *string) (*string, error) {
	if u == nil || *u == "" {
		return nil, nil
	}
	if len(*u) > maxAvatarURL || (!strings.HasPrefix(*u, "https://") && (!strings.HasPrefix(*u, "/") || strings.HasPrefix(*u, "//"))) {
		return nil, fault.New(fault.Invalid, "invalid", "This picture address is not allowed.").With("avatarUrl", "scheme", "Use an https address.")
	}
	return u, nil
}

// DeleteAccount forgets the caller: personal data, sessions and keys go, they leave
// their groups, their agents are deleted, their messages stay under a nameless sender.
func (i *Identity) DeleteAccount(ctx context.Context, actor access.Actor, confirm string) error {
	if err := access.RequirePerson(actor); err != nil {
		return err
	}
	if confirm != "DELETE" {
		return fault.New(fault.Invalid, "confirm_required", "Type DELETE to confirm.").With("confirm", "mismatch", "Type DELETE.")
	}
	if i.Leave != nil {
		if err := i.Leave(ctx, actor); err != nil {
			return err
		}
	}
	for more := true; more; {
		agents, err := view.AgentsOf(ctx, i.DB, actor.ID, id.Organization{})
		if err != nil {
			return err
		}
		for _, a := range agents {
			if err := i.DeleteAgent(ctx, actor, a.ID); err != nil && fault.KindOf(err) != fault.NotFound {
				return err
			}
		}
		if more, err = i.deleteAccount(ctx, actor); err != nil {
			return err
		}
	}
	i.forgetPerson(actor.ID)
	i.disconnect.DisconnectParticipant(actor.ID, "account deleted")
	return nil
}

// errAgentsLeft rolls the end of an account back.
var errAgentsLeft = errors.New("flow: an agent was made meanwhile")

// deleteAccount is the last step: more says that it has agents again, and lives on.
func (i *Identity) deleteAccount(ctx context.Context, actor access.Actor) (more bool, err error) {
	err = i.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		if err := account.DeleteTx(ctx, tx, actor.ID); err != nil { // waits for who holds it
			return err
		}
		if n, err := view.CountAgents(ctx, tx, actor.ID); err != nil || n > 0 {
			return cmp.Or(err, errAgentsLeft)
		}
		if err := memory.ForgetOwnerTx(ctx, tx, actor.ID); err != nil {
			return err
		}
		if err := participant.RenameTx(ctx, tx, actor.ID, "Deleted account"); err != nil {
			return err
		}
		if err := participant.SetAvatarTx(ctx, tx, actor.ID, nil); err != nil {
			return err
		}
		return participant.SetStatusTx(ctx, tx, actor.ID, participant.Deleted)
	})
	if errors.Is(err, errAgentsLeft) {
		return true, nil
	}
	return false, err
}
