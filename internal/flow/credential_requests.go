package flow

import (
	"context"
	"fmt"
	"strings"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/approval"
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/view"
)

// PendingCredentials are the caller's open questions for secrets. An agent has none
// to answer.
func (s *Approvals) PendingCredentials(ctx context.Context, actor access.Actor) ([]view.Credential, error) {
	if !actor.IsPerson() {
		return nil, nil
	}
	return view.PendingCredentials(ctx, s.DB, actor.ID)
}

// GivenCredentials are the secrets that the caller gave to agents, without the
// secrets.
func (s *Approvals) GivenCredentials(ctx context.Context, actor access.Actor) ([]view.Credential, error) {
	if err := access.RequirePerson(actor); err != nil {
		return nil, err
	}
	return view.GivenCredentials(ctx, s.DB, actor.ID)
}

// AskCredential stores an agent's question for a secret and tells its owner.
// approval.ErrNoApprover when the owner's account is not active.
func (s *Approvals) AskCredential(ctx context.Context, actor access.Actor, n approval.NewCredential) (out view.Credential, err error) {
	if err := access.RequireAgent(actor); err != nil {
		return out, err
	}
	if err := n.Check(); err != nil {
		return out, err
	}
	n.AgentID, n.OrganizationID = actor.ID, actor.OrganizationID
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		if err := placeTx(ctx, tx, actor, &n.OrganizationID, n.ConversationID); err != nil {
			return err
		}
		who, err := view.Approvers(ctx, tx, actor.ID)
		if err != nil {
			return err
		}
		if len(who) == 0 {
			return approval.ErrNoApprover
		}
		n.OwnerID = who[0]
		c, err := approval.AskCredentialTx(ctx, tx, n)
		if err != nil {
			return err
		}
		if err := s.Jobs.ExpireAt(ctx, tx, c.ExpiresAt); err != nil {
			return fmt.Errorf("plan expiry: %w", err)
		}
		if out, err = view.OneCredential(ctx, tx, c.ID); err != nil {
			return err
		}
		tx.Publish(event.UserTopic(c.OwnerID.String()), CredentialAsked{out})
		return nil
	})
	return out, err
}

// Fulfil seals the secret and gives its use to the agent. It never comes out again
// but at the endpoint that it was asked for. Errors: fault.ErrNotFound for anybody
// but the one who was asked, approval.ErrDecided, approval.ErrExpired.
func (s *Approvals) Fulfil(ctx context.Context, actor access.Actor, cid id.CredentialRequest, value string) (view.Credential, error) {
	value = strings.TrimSpace(value)
	if value == "" || len(value) > approval.MaxSecret || strings.ContainsAny(value, "\r\n\x00") {
		return view.Credential{}, fault.New(fault.Invalid, "invalid", "This is no secret.").With("value", "invalid", "one line, at most 16384 bytes")
	}
	return s.answerCredential(ctx, actor, cid, func(ctx context.Context, tx *pg.Tx, c approval.Credential) (approval.Credential, error) {
		return approval.FulfilTx(ctx, tx, c, s.Ring.Seal(c.Purpose(), []byte(value)), s.Ring.Fingerprint([]byte(value)))
	})
}

// Decline ends the question without a secret. Errors as Fulfil.
func (s *Approvals) Decline(ctx context.Context, actor access.Actor, cid id.CredentialRequest) (view.Credential, error) {
	return s.answerCredential(ctx, actor, cid, approval.DeclineTx)
}

func (s *Approvals) answerCredential(ctx context.Context, actor access.Actor, cid id.CredentialRequest,
	answer func(context.Context, *pg.Tx, approval.Credential) (approval.Credential, error),
) (out view.Credential, err error) {
	if err := access.RequirePerson(actor); err != nil {
		return out, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		c, err := approval.LockCredentialTx(ctx, tx, cid)
		switch {
		case err != nil:
			return err
		case c.OwnerID != actor.ID:
			return fault.ErrNotFound
		}
		if c, err = answer(ctx, tx, c); err != nil {
			return err
		}
		if err := s.Jobs.Answer(ctx, tx, approval.AnswerArgs{CredentialRequestID: c.ID}); err != nil {
			return err
		}
		if out, err = view.OneCredential(ctx, tx, c.ID); err != nil {
			return err
		}
		tx.Publish(event.UserTopic(c.OwnerID.String()), CredentialResolved{out})
		return nil
	})
	return out, err
}

// ForgetCredential takes a secret away again.
func (s *Approvals) ForgetCredential(ctx context.Context, actor access.Actor, cid id.CredentialRequest) error {
	if err := access.RequirePerson(actor); err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error { return approval.ForgetCredentialTx(ctx, tx, cid, actor.ID) })
}

func (s *Approvals) expireCredentials(ctx context.Context, page int) (n int, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		due, err := approval.ExpireCredentialsTx(ctx, tx, page)
		if err != nil {
			return err
		}
		n = len(due)
		for _, c := range due {
			v, err := view.OneCredential(ctx, tx, c.ID)
			if err != nil {
				return err
			}
			tx.Publish(event.UserTopic(c.OwnerID.String()), CredentialResolved{v})
		}
		return nil
	})
	return n, err
}
