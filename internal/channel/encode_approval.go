package channel

import (
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/wire"
)

// longAction is the size in bytes from which an event leaves out what it says
// twice: the input stands in it once in any case, and that fits into a frame.
const longAction = 32 << 10

func short(p wire.PermissionRequest) wire.PermissionRequest {
	if len(p.Action) > longAction {
		p.Action = ""
	}
	if len(p.EditedInput) > longAction {
		p.EditedInput = wire.Map("null")
	}
	return p
}

// ApprovalEvents encodes what agents ask people, each for those who were asked
// (desktop 3.5; docs/protocol.md 9).
func ApprovalEvents() Encode {
	return func(ev event.Event) ([]Out, bool) {
		out := Out{Topics: []string{ev.Topic()}}
		switch e := ev.(type) {
		case flow.ApprovalAsked:
			out.Event, out.Payload = "permission_request", short(present.PermissionAsked(e.Approval))
		case flow.ApprovalResolved:
			out.Event, out.Payload = "permission_resolved", short(present.PermissionRequest(e.Approval))
		case flow.CredentialAsked:
			out.Event, out.Payload = "credential_request", present.CredentialRequest(e.Credential)
		case flow.CredentialResolved:
			out.Event, out.Payload = "credential_request_resolved", present.CredentialRequest(e.Credential)
		case flow.MemberAsked:
			out.Event, out.Payload = "member_request", present.MemberRequest(e.Request)
		case flow.BudgetStopped:
			out.Event, out.Payload = "budget_stop", present.BudgetStop(e.Stop, e.Name)
		default:
			return nil, false
		}
		return []Out{out}, true
	}
}
