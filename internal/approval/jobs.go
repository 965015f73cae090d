package approval

import "github.com/agntchat/agntchat/internal/id"

// ExpireArgs is the River job that ends requests whose time is over: one stands at
// the end of every request's life, and one comes by the clock as a net. It carries
// no id: it ends whatever is due.
type ExpireArgs struct{}

// Kind is River's name of the job.
func (ExpireArgs) Kind() string { return "expire_approvals" }

// AnswerArgs is the River job that says in a room what was decided, for an agent
// that waits for it there and not in a bridge. Exactly one of the ids is set.
// NotResumed: the run could not be told, and people should know.
type AnswerArgs struct {
	ApprovalID          id.Approval          `json:"approval_id"`
	CredentialRequestID id.CredentialRequest `json:"credential_request_id"`
	MemberRequestID     id.MemberRequest     `json:"member_request_id"`
	NotResumed          bool                 `json:"not_resumed"`
}

// Kind is River's name of the job.
func (AnswerArgs) Kind() string { return "say_decision" }
