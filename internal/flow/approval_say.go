package flow

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/approval"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/view"
)

// Say is the River job after a decision that no bridge waits for: the person's
// answer is a message of theirs in the room where it was asked, which wakes the
// agent there like any other; in their direct room when they do not sit there.
// The message names the tool or the label, never the input or the secret. Doing it
// twice posts it once.
func (s *Approvals) Say(ctx context.Context, args approval.AnswerArgs) error {
	if args.NotResumed {
		return s.sayNotResumed(ctx, args.ApprovalID)
	}
	if !args.MemberRequestID.IsZero() {
		return s.sayMember(ctx, args.MemberRequestID)
	}
	if !args.CredentialRequestID.IsZero() {
		c, err := view.OneCredential(ctx, s.DB, args.CredentialRequestID)
		if err != nil {
			return goneIsNil(err)
		}
		text := fmt.Sprintf("I will not give you the credential %q.", c.Label)
		if c.Status == approval.Fulfilled {
			text = fmt.Sprintf("The credential %q is there. Use it with call_with_credential, credential_id %s.", c.Label, c.CredentialID)
		}
		return s.sayAs(ctx, c.OwnerID, c.OrganizationID, c.AgentID, c.AgentName, c.ConversationID, text, "credential:"+c.ID.String(),
			map[string]any{"credential_request_id": c.ID, "decision": c.Status})
	}
	a, err := view.OneApproval(ctx, s.DB, args.ApprovalID)
	if err != nil {
		return goneIsNil(err)
	}
	text := fmt.Sprintf("No, do not run %s.", a.ToolName)
	if a.Status == approval.Approved {
		text = fmt.Sprintf("Yes, run %s, exactly as you asked. Call it again unchanged.", a.ToolName)
	}
	if a.DecisionText != "" {
		text += "\n\n" + a.DecisionText
	}
	return s.sayAs(ctx, a.DecidedBy, a.OrganizationID, a.AgentID, a.AgentName, a.ConversationID, text, "approval:"+a.ID.String(),
		map[string]any{"permission_request_id": a.ID, "decision": a.Status})
}

func (s *Approvals) sayAs(ctx context.Context, person id.Participant, org id.Organization, agent id.Participant, name string, room id.Conversation, text, key string, meta map[string]any) error {
	actor := access.Actor{Kind: access.Person, ID: person, OwnerID: person, OrganizationID: org}
	role := ""
	if !room.IsZero() {
		var err error
		if role, err = chat.Role(ctx, s.DB, room, person); err != nil {
			return err
		}
	}
	if role != chat.Member && role != chat.Admin {
		direct, _, err := s.Rooms.CreateConversation(ctx, actor, NewConversation{Type: chat.Direct, MemberIDs: []id.Participant{agent}})
		if err != nil {
			return goneIsNil(err)
		}
		room = direct.ID
	}
	raw, err := json.Marshal(map[string]any{"decision": meta, "mentions": []map[string]any{{"displayName": name, "participantId": agent}}})
	if err != nil {
		return fmt.Errorf("say decision: %w", err)
	}
	_, err = s.Rooms.Post(ctx, actor, Post{ConversationID: room, Content: fmt.Sprintf("@[%s] %s", name, text), ContentType: "text", Metadata: raw, ClientKey: key})
	if k := fault.KindOf(err); err != nil && (k == fault.Forbidden || k == fault.NotFound || k == fault.Conflict) {
		return nil // the room was closed meanwhile, or the answer was deleted: the decision stands
	}
	return err
}

// sayNotResumed tells people that an answer reached nobody.
func (s *Approvals) sayNotResumed(ctx context.Context, aid id.Approval) error {
	a, err := view.OneApproval(ctx, s.DB, aid)
	if err != nil || a.ConversationID.IsZero() {
		return goneIsNil(err)
	}
	_, err = s.Rooms.Post(ctx, access.System(), Post{ConversationID: a.ConversationID, Notice: &Notice{
		Code: NoticeNotResumed, Params: map[string]any{"agent": a.AgentName, "agent_id": a.AgentID, "tool": a.ToolName},
	}})
	return goneIsNil(err)
}
