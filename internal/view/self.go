package view

import (
	"context"

	"github.com/agntchat/agntchat/internal/account"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/participant"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/workspace"
)

// Self is a person with everything they see of themselves.
type Self struct {
	Account     account.Account
	Participant participant.Participant
	Workspaces  []workspace.Membership
}

// SelfOf reads it in three statements.
func SelfOf(ctx context.Context, q pg.Querier, aid id.Participant) (Self, error) {
	a, err := account.Get(ctx, q, aid)
	if err != nil {
		return Self{}, err
	}
	p, err := participant.Get(ctx, q, aid)
	if err != nil {
		return Self{}, err
	}
	w, err := workspace.ListOf(ctx, q, aid)
	return Self{Account: a, Participant: p, Workspaces: w}, err
}
