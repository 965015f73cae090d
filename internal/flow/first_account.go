package flow

import (
	"context"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/account"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/view"
)

// FirstAccount makes the account of a fresh `dev` server, without a password: its
// person comes in by a start link and may set one. ok is false when accounts exist.
func (i *Identity) FirstAccount(ctx context.Context, email, name string) (actor access.Actor, ok bool, err error) {
	n, err := account.Count(ctx, i.DB)
	if err != nil || n > 0 {
		return access.Actor{}, false, err
	}
	s, err := i.makeAccount(ctx, account.New{Email: email, FirstName: name}, name, "agntchat dev", "")
	if err != nil {
		return access.Actor{}, false, err
	}
	actor, err = i.Authenticate(ctx, s.Token)
	if err != nil {
		return access.Actor{}, false, err
	}
	return actor, true, i.RevokeSession(ctx, actor, actor.SessionID)
}

// OldestAdmin is the account that a start link of `dev` signs in.
func (i *Identity) OldestAdmin(ctx context.Context) (access.Actor, error) {
	aid, err := account.OldestAdmin(ctx, i.DB)
	if err != nil {
		return access.Actor{}, err
	}
	return access.Actor{Kind: access.Person, ID: aid, OwnerID: aid}, nil
}

// ActorOf is a participant acting without a request of its own: the server posts
// the demo's first words in the agent's name.
func (i *Identity) ActorOf(ctx context.Context, pid id.Participant) (access.Actor, error) {
	a, err := i.agentByID(ctx, pid)
	if err == nil {
		return agentActor(a), nil
	}
	if fault.KindOf(err) != fault.NotFound {
		return access.Actor{}, err
	}
	p, err := view.Person(ctx, i.DB, pid)
	if err != nil {
		return access.Actor{}, err
	}
	return access.Actor{Kind: access.Person, ID: p.ID, OwnerID: p.ID, OrganizationID: p.ActiveOrganizationID, PlatformAdmin: p.PlatformAdmin, DisplayName: p.DisplayName}, nil
}
