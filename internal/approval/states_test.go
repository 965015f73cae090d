package approval_test

import (
	"testing"

	"github.com/agntchat/agntchat/internal/approval"
)

// TestS1_EveryCellOfTheStateMachine: seven states and six acts. Only an open
// request can become anything, so nothing that was decided, has expired or was
// withdrawn is ever approved later.
func TestS1_EveryCellOfTheStateMachine(t *testing.T) {
	t.Parallel()
	states := []approval.State{approval.Pending, approval.Approved, approval.Edited, approval.Denied, approval.Expired, approval.Superseded, approval.Cancelled}
	from := map[approval.Act]approval.State{
		approval.Approve: approval.Approved, approval.Edit: approval.Edited, approval.Deny: approval.Denied,
		approval.Expire: approval.Expired, approval.Supersede: approval.Superseded, approval.Cancel: approval.Cancelled,
	}
	for _, s := range states {
		for act, to := range from {
			got, ok := approval.Next(s, act)
			if s == approval.Pending && (!ok || got != to) {
				t.Errorf("%s of a pending request leads to %q", act, got)
			}
			if s != approval.Pending && (ok || got != "") {
				t.Errorf("%s leads from %s to %q", act, s, got)
			}
		}
		if got := s.Allows(); got != (s == approval.Approved || s == approval.Edited) {
			t.Errorf("%s allows: %v", s, got)
		}
		switch w := s.Word(); w {
		case "pending", "approved", "denied", "expired":
		default:
			t.Errorf("%s reads as %q, which is no word of the contract", s, w)
		}
	}
}
