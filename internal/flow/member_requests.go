package flow

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/approval"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/view"
)

// MemberAsked tells one of those who may decide that an agent wants somebody in a
// room, or what became of it.
type MemberAsked struct {
	To      id.Participant
	Request view.MemberRequest
}

// Topic is the person's own.
func (e MemberAsked) Topic() string { return event.UserTopic(e.To.String()) }

func publishMember(tx *pg.Tx, r view.MemberRequest) {
	for _, p := range r.Approvers {
		tx.Publish(event.UserTopic(p.String()), MemberAsked{p, r})
	}
}

// AskMember is an agent's question to the administrators of a room to let somebody in.
// The agent sits there, and it and the person of its turn may write there. Errors:
// approval.ErrNoApprover without an administrator who is a person, approval.ErrAsked,
// already_member, direct_room.
func (s *Approvals) AskMember(ctx context.Context, c ToolCaller, room id.Conversation, who id.Participant, reason string) (out view.MemberRequest, err error) {
	reason = strings.TrimSpace(reason)
	if utf8.RuneCountInString(reason) > approval.MaxText || !clean(reason) {
		return out, fault.New(fault.Invalid, "invalid", "This reason cannot be shown.").With("reason", "too_long", "at most 2000 characters")
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		if err := c.both(ctx, tx, room, access.PostInRoom); err != nil {
			return err
		}
		r, err := chat.Get(ctx, tx, room)
		if err != nil {
			return err
		}
		if r.Type == chat.Direct {
			return fault.New(fault.Invalid, "direct_room", "A direct conversation has exactly two members.")
		}
		known, err := view.Reachable(ctx, tx, c.Agent.ID, c.Agent.OwnerID, r.OrganizationID, []id.Participant{who})
		if err != nil {
			return err
		}
		if _, ok := known[who]; !ok || !c.Person.IsPerson() || mayReach(ctx, tx, c.Person, who) != nil {
			return fault.New(fault.NotFound, "not_found", "You know nobody with this id.")
		}
		members, err := view.MembersOf(ctx, tx, room)
		if err != nil {
			return err
		}
		n := approval.MemberRequest{OrganizationID: r.OrganizationID, ConversationID: room, AgentID: c.Agent.ID, ParticipantID: who, TaskID: c.Task, Reason: reason}
		for _, m := range members {
			if m.ParticipantID == who {
				return fault.New(fault.Conflict, "already_member", "They sit in this room already.")
			}
			if !m.IsAgent() && access.AdminRoom(access.Actor{Kind: access.Person, ID: m.ParticipantID}, facts(r, m.Role)) == nil {
				n.Approvers = append(n.Approvers, m.ParticipantID)
			}
		}
		if len(n.Approvers) == 0 {
			return approval.ErrNoApprover
		}
		asked, err := approval.AskMemberTx(ctx, tx, n)
		if err != nil {
			return err
		}
		if err := s.Jobs.ExpireAt(ctx, tx, asked.ExpiresAt); err != nil {
			return fmt.Errorf("plan expiry: %w", err)
		}
		if out, err = view.OneMemberRequest(ctx, tx, asked.ID); err != nil {
			return err
		}
		publishMember(tx, out)
		return nil
	})
	return out, err
}

// ResolveMember is a person's decision: with a yes the newcomer gets a seat as if that
// person had added them, with their rights of now. The first decision stands. Errors:
// NotFound for who was not asked, approval.ErrDecided, approval.ErrExpired, and those
// of adding a member: then it stays open.
func (s *Approvals) ResolveMember(ctx context.Context, actor access.Actor, mid id.MemberRequest, yes bool) (out view.MemberRequest, err error) {
	if err := access.RequirePerson(actor); err != nil {
		return out, err
	}
	r, err := approval.MemberRequestByID(ctx, s.DB, mid)
	switch {
	case err != nil:
		return out, err
	case !r.MayDecide(actor.ID):
		return out, fault.ErrNotFound
	case r.Status != approval.Pending || r.Overdue:
		yes = false // refused below
	}
	to := approval.Denied
	if yes {
		to = approval.Approved
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		if yes { // the room is locked before the request, as where a room is deleted
			if _, err := s.Rooms.AddMemberTx(ctx, tx, actor, r.ConversationID, r.ParticipantID); err != nil {
				return err
			}
		}
		r, err := approval.LockMemberTx(ctx, tx, mid)
		if err != nil {
			return err
		}
		if _, err := approval.DecideMemberTx(ctx, tx, r, to, actor.ID); err != nil {
			return err
		}
		if err := s.Jobs.Answer(ctx, tx, approval.AnswerArgs{MemberRequestID: mid}); err != nil {
			return err
		}
		if out, err = view.OneMemberRequest(ctx, tx, mid); err != nil {
			return err
		}
		publishMember(tx, out)
		return nil
	})
	return out, err
}

func (s *Approvals) expireMembers(ctx context.Context, page int) (n int, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		due, err := approval.ExpireMembersTx(ctx, tx, page)
		n = len(due)
		for _, r := range due {
			if err != nil {
				return err
			}
			var v view.MemberRequest
			if v, err = view.OneMemberRequest(ctx, tx, r.ID); err == nil {
				publishMember(tx, v)
			}
		}
		return err
	})
	return n, err
}

// sayMember tells the agent what was decided, in the room.
func (s *Approvals) sayMember(ctx context.Context, mid id.MemberRequest) error {
	r, err := view.OneMemberRequest(ctx, s.DB, mid)
	if err != nil {
		return goneIsNil(err)
	}
	text := fmt.Sprintf("I will not add %s.", r.ParticipantName)
	if r.Status == approval.Approved {
		text = r.ParticipantName + " is in this room now, as you asked."
	}
	return s.sayAs(ctx, r.DecidedBy, r.OrganizationID, r.AgentID, r.AgentName, r.ConversationID, text, "member:"+r.ID.String(),
		map[string]any{"member_request_id": r.ID, "decision": r.Status})
}
