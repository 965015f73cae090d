// Package approval owns the questions that agents put to people: may this run
// (approvals), what is allowed for good (approval_grants), and give me this secret
// (credential_requests); and the queue by which a run hears what was decided. It
// knows no socket and decides nothing about who may see a room.
//
// An approval is about bytes: the canonical JSON of the exact action and its
// SHA-256 (canonical.go). Its states and what leads from one to another are data
// (transitions); docs/approvals.md tells the rest.
package approval

import (
	"time"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
)

// State is where a request stands. All but Pending are final.
type State string

// The states (S1).
const (
	Pending    State = "pending"
	Approved   State = "approved"
	Edited     State = "edited" // approved, but another input than was asked
	Denied     State = "denied"
	Expired    State = "expired"
	Superseded State = "superseded" // the run asked anew
	Cancelled  State = "cancelled"  // the run ended by itself
)

// Act is what happens to a request.
type Act string

// The acts.
const (
	Approve   Act = "approve"
	Edit      Act = "edit"
	Deny      Act = "deny"
	Expire    Act = "expire"
	Supersede Act = "supersede"
	Cancel    Act = "cancel"
)

// transitions is the whole state machine: what is missing cannot happen.
var transitions = map[State]map[Act]State{
	Pending: {Approve: Approved, Edit: Edited, Deny: Denied, Expire: Expired, Supersede: Superseded, Cancel: Cancelled},
}

// Next is the state that an act leads to; false when it leads nowhere.
func Next(s State, a Act) (State, bool) {
	to, ok := transitions[s][a]
	return to, ok
}

// contractWords are the four words that clients of the contracts know (desktop
// 5.8, bridge 4.9).
var contractWords = map[State]string{
	Pending: "pending", Approved: "approved", Edited: "approved", Denied: "denied", Expired: "expired", Superseded: "expired", Cancelled: "expired",
}

// Word is the state as clients of the contract know it.
func (s State) Word() string { return contractWords[s] }

// Allows reports that something may run.
func (s State) Allows() bool { return s == Approved || s == Edited }

// Source is who holds the action back.
type Source string

// The sources.
const (
	FromBridge Source = "bridge" // a CLI's own tool: the bridge runs it
	FromTool   Source = "tool"   // a tool of the server: it runs when it is called again
)

// Risk is how bad an action can be, for people to see.
type Risk string

// The classes.
const (
	Low      Risk = "low"
	Medium   Risk = "medium"
	High     Risk = "high"
	Critical Risk = "critical" // of server tools only: always asked
)

// Limits (docs/protocol.md 9).
const (
	StockLife      = 300 * time.Second // of a request that is polled (bridge 5.10)
	DefaultDurable = 7 * 24 * time.Hour
	LeastDurable   = time.Minute
	MostDurable    = 30 * 24 * time.Hour
	RedeemWithin   = 30 * 24 * time.Hour // from the decision to the run
	MaxText        = 2000                // characters of descriptions, reasons, decision texts
	MaxName        = 200                 // characters of tool, run and call names
	MaxResume      = 64 << 10            // bytes
	MaxOpen        = 100                 // open requests of one agent
	DefaultGrant   = 30 * 24 * time.Hour
	MostGrant      = 365 * 24 * time.Hour
	MaxGrants      = 500 // live grants of one agent
)

// Approval is one request.
type Approval struct {
	ID             id.Approval
	OrganizationID id.Organization
	AgentID        id.Participant
	ConversationID id.Conversation // zero: none
	TaskID         id.Task         // zero: none
	Source         Source
	ToolName       string
	Action         string // canonical JSON of {"input":…,"tool":…}
	ActionHash     string // hex SHA-256 of Action
	EditedAction   *string
	EditedHash     *string
	Description    string
	Reason         string
	Risk           Risk
	ScopeKind      ScopeKind
	ScopeFacet     *string
	Approvers      []id.Participant
	Status         State
	DecidedBy      id.Participant
	DecidedAt      *time.Time
	DecisionScope  *string // once | exact | room | pattern
	DecisionText   string
	GrantID        id.Grant
	Durable        bool
	ExecutorID     id.Executor
	RunID          *string
	ToolUseID      *string
	Resume         *string // JSON, as the bridge gave it
	UsedAt         *time.Time
	UseKey         *string
	ToldAt         *time.Time
	ToldExecutorID id.Executor
	ToldQueueID    id.QueueItem
	ToldGeneration *int64
	ToldOutcome    *string // resumed | failed
	ExpiresAt      time.Time
	InsertedAt     time.Time
	DecidersNeeded int     // different people who have to allow it: 1 or 2
	ProposedAction *string // what one of two deciders wants to run instead
	ProposedHash   *string
	TurnQueueID    id.QueueItem // the delivery whose run asked, and its claim; zero when it is not told
	TurnGeneration *int64
	Overdue        bool // pending, and its time is over: it expires as soon as somebody looks
}

// Hash is that of what may run: of the edited action when it was edited.
func (a Approval) Hash() string {
	if a.EditedHash != nil {
		return *a.EditedHash
	}
	return a.ActionHash
}

// MayDecide reports that the person is one of those who may see and decide it.
func (a Approval) MayDecide(p id.Participant) bool {
	for _, x := range a.Approvers {
		if x == p {
			return true
		}
	}
	return false
}

// The refusals.
var (
	ErrNoApprover = fault.New(fault.Invalid, "no_approver", "Nobody may decide this, so it cannot run.")
	ErrDecided    = fault.New(fault.Conflict, "already_decided", "This request was decided before.")
	ErrExpired    = fault.New(fault.Conflict, "approval_expired", "Nobody answered in time. The agent may ask again.")
	ErrOneAtATime = fault.New(fault.Conflict, "one_gated_call", "One gated call at a time: this run waits for an answer to another one. Make this call again after it.")
	ErrNotAllowed = fault.New(fault.Conflict, "not_approved", "This was not approved.")
	ErrChanged    = fault.New(fault.Conflict, "action_changed", "This is not what was approved. Ask again for exactly this.")
	ErrUsed       = fault.New(fault.Conflict, "already_used", "This approval was used before. It is good for one run.")
	ErrNoSecond   = fault.New(fault.Invalid, "no_approver", "Two people have to allow this, and there are not two who may, so it cannot run.")
	ErrSecond     = fault.New(fault.Conflict, "second_person_needed", "You have allowed this. It runs when another person has allowed it too.")
	ErrTooMany    = fault.New(fault.Exhausted, "too_many_open", "Too many requests wait for an answer.")
)
