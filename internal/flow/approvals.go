package flow

import (
	"context"
	"log/slog"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/approval"
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/limit"
	"github.com/agntchat/agntchat/internal/participant"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/secret"
	"github.com/agntchat/agntchat/internal/view"
)

// DecisionRooms is what approvals need of Chat.
type DecisionRooms interface {
	// Post stores a message in a transaction of its own, within the writer's rate.
	Post(ctx context.Context, actor access.Actor, in Post) (Posted, error)
	// CreateConversation makes a room or finds the direct one.
	CreateConversation(ctx context.Context, actor access.Actor, n NewConversation) (out view.Conversation, created bool, err error)
	// AddMember gives somebody a seat, by the rights of the actor.
	AddMemberTx(ctx context.Context, tx *pg.Tx, actor access.Actor, conv id.Conversation, who id.Participant) (out view.Member, err error)
}

// DecisionJobs puts what must happen into the transaction.
type DecisionJobs interface {
	// ExpireAt ends what is due at that time.
	ExpireAt(ctx context.Context, tx *pg.Tx, at time.Time) error
	// Answer says a decision where the agent waits for it.
	Answer(ctx context.Context, tx *pg.Tx, args approval.AnswerArgs) error
}

// Approvals is what agents ask people: whether something may run, and for secrets
// (S1, docs/approvals.md).
type Approvals struct {
	DB    *pg.DB
	Ring  *secret.Ring
	Rooms DecisionRooms
	Jobs  DecisionJobs
	Wake  func(agents ...id.Participant) // the dispatcher: a run hears of its decision
	Log   *slog.Logger
	Tasks *Tasks // whose runs stop at requests; nil: there are none

	asking *limit.Buckets
	work   *approvalWork
}

// An agent that asks without end buries what people should read.
const (
	asksPerSecond = 1
	asksAtOnce    = 60
)

// NewApprovals makes the service.
func NewApprovals(db *pg.DB, ring *secret.Ring, rooms DecisionRooms, jobs DecisionJobs, wake func(...id.Participant), log *slog.Logger) *Approvals {
	return &Approvals{DB: db, Ring: ring, Rooms: rooms, Jobs: jobs, Wake: wake, Log: log, asking: limit.New(asksPerSecond, asksAtOnce, 10_000)}
}

// ApprovalAsked tells one of those who may decide.
type ApprovalAsked struct {
	To       id.Participant
	Approval view.Approval
}

// Topic is the person's own.
func (e ApprovalAsked) Topic() string { return event.UserTopic(e.To.String()) }

// ApprovalResolved tells one of them that it is over, whatever became of it.
type ApprovalResolved struct {
	To       id.Participant
	Approval view.Approval
}

// Topic is the person's own.
func (e ApprovalResolved) Topic() string { return event.UserTopic(e.To.String()) }

// CredentialAsked tells an agent's owner that it needs a secret.
type CredentialAsked struct{ Credential view.Credential }

// Topic is the owner's.
func (e CredentialAsked) Topic() string { return event.UserTopic(e.Credential.OwnerID.String()) }

// CredentialResolved tells the owner's devices that it is over.
type CredentialResolved struct{ Credential view.Credential }

// Topic is the owner's.
func (e CredentialResolved) Topic() string { return event.UserTopic(e.Credential.OwnerID.String()) }

func publishAsked(tx *pg.Tx, a view.Approval) {
	for _, p := range a.Approvers {
		tx.Publish(event.UserTopic(p.String()), ApprovalAsked{p, a})
	}
}

func publishResolved(tx *pg.Tx, a view.Approval) {
	for _, p := range a.Approvers {
		tx.Publish(event.UserTopic(p.String()), ApprovalResolved{p, a})
	}
}

// Pending is what the caller has to decide, what ends first on top. An agent has
// nothing to decide.
func (s *Approvals) Pending(ctx context.Context, actor access.Actor) ([]view.Approval, error) {
	if !actor.IsPerson() {
		return nil, nil
	}
	return view.PendingApprovals(ctx, s.DB, actor.ID)
}

// Decisions is everything that waits for the caller (desktop 5.22).
func (s *Approvals) Decisions(ctx context.Context, actor access.Actor) ([]view.Decision, error) {
	if err := access.RequirePerson(actor); err != nil {
		return nil, err
	}
	return view.Decisions(ctx, s.DB, actor.ID)
}

// PastDecisions is what waited for the caller and what came of it, newest first; below
// nil is the newest page.
func (s *Approvals) PastDecisions(ctx context.Context, actor access.Actor, below *view.PastMark, limit int) ([]view.PastDecision, error) {
	if err := access.RequirePerson(actor); err != nil {
		return nil, err
	}
	return view.PastDecisions(ctx, s.DB, actor.ID, below, limit)
}

// Grants are the standing yeses that the caller gave.
func (s *Approvals) Grants(ctx context.Context, actor access.Actor) ([]view.Grant, error) {
	if err := access.RequirePerson(actor); err != nil {
		return nil, err
	}
	return view.Grants(ctx, s.DB, actor.ID)
}

// RevokeGrant ends a standing yes of the caller: the next call asks again.
func (s *Approvals) RevokeGrant(ctx context.Context, actor access.Actor, g id.Grant) error {
	if err := access.RequirePerson(actor); err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error { return approval.RevokeTx(ctx, tx, g, actor.ID) })
}

// endTx ends an open request without a person, and tells those who could have
// decided. A run of ours hears of an expiry like of a decision.
func (s *Approvals) endTx(ctx context.Context, tx *pg.Tx, a approval.Approval, act approval.Act) error {
	out, err := approval.ActTx(ctx, tx, a, act, approval.Decision{})
	if err != nil {
		return err
	}
	if out.Durable && out.Status == approval.Expired {
		if err := s.tellRunTx(ctx, tx, out); err != nil {
			return err
		}
	}
	if out.Durable {
		s.Tasks.followRunLater(tx, out.TaskID)
	}
	v, err := view.OneApproval(ctx, tx, out.ID)
	if err != nil {
		return err
	}
	publishResolved(tx, v)
	return nil
}

// tellRunTx puts the answer into the queue of the executor that can resume the run.
func (s *Approvals) tellRunTx(ctx context.Context, tx *pg.Tx, a approval.Approval) error {
	if err := approval.EnqueueTx(ctx, tx, a); err != nil {
		return err
	}
	tx.AfterCommit(func() { s.Wake(a.AgentID) })
	return nil
}

// expireOne ends one request if it is still open and its time is over.
func (s *Approvals) expireOne(ctx context.Context, aid id.Approval) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		a, err := approval.LockTx(ctx, tx, aid)
		if err != nil || !a.Overdue {
			return goneIsNil(err)
		}
		return s.endTx(ctx, tx, a, approval.Expire)
	})
}

// endOrphan ends a request whose run is gone and whose turn is over.
func (s *Approvals) endOrphan(ctx context.Context, aid id.Approval) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		a, err := approval.LockTx(ctx, tx, aid)
		if err != nil || a.Status != approval.Pending {
			return goneIsNil(err)
		}
		return s.endTx(ctx, tx, a, orExpire(a, approval.Supersede))
	})
}

// ExpireDue is the sweeper: it ends every request whose time is over, and those that
// nobody waits for any more. Doing it twice changes nothing.
func (s *Approvals) ExpireDue(ctx context.Context) error {
	const page = 200
	orphans, err := view.OrphanedApprovals(ctx, s.DB)
	if err != nil {
		return err
	}
	for _, a := range orphans {
		if err := s.endOrphan(ctx, a); err != nil {
			return err
		}
	}
	for {
		due, err := approval.Due(ctx, s.DB, page)
		if err != nil {
			return err
		}
		for _, a := range due {
			if err := s.expireOne(ctx, a.ID); err != nil {
				return err
			}
		}
		n, err := s.expireCredentials(ctx, page)
		if err != nil {
			return err
		}
		m, err := s.expireMembers(ctx, page)
		if err != nil {
			return err
		}
		if len(due) < page && n < page && m < page {
			return nil
		}
	}
}

// cancelTx ends what an agent, zero for every agent, still asks in a room: it was
// stopped there, or has left. Nothing of it can be approved any more.
func (s *Approvals) cancelTx(ctx context.Context, tx *pg.Tx, room id.Conversation, agent id.Participant) error {
	open, err := approval.OpenInRoomTx(ctx, tx, room, agent)
	if err != nil {
		return err
	}
	for _, a := range open {
		if err := s.endTx(ctx, tx, a, approval.Cancel); err != nil {
			return err
		}
	}
	return nil
}

// Retire ends everything of an agent that was deleted or switched off: open
// requests and what its runs wait to hear, and of a deleted one standing yeses and
// secrets too. An agent that is active keeps all.
func (s *Approvals) Retire(ctx context.Context, agent id.Participant) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		who, err := view.AgentIdentityByID(ctx, tx, agent)
		if err != nil || who.Status == participant.Active {
			return goneIsNil(err)
		}
		open, err := approval.OpenOfAgentTx(ctx, tx, agent)
		if err != nil {
			return err
		}
		for _, a := range open {
			if err := s.endTx(ctx, tx, a, approval.Cancel); err != nil {
				return err
			}
		}
		if err := approval.ForgetTx(ctx, tx, agent); err != nil || who.Status != participant.Deleted {
			return err
		}
		if err := approval.RevokeAllTx(ctx, tx, agent); err != nil {
			return err
		}
		return approval.ForgetCredentialsTx(ctx, tx, agent)
	})
}

// own lets only the agent that asked see its request.
func own(actor access.Actor, a approval.Approval, err error) (approval.Approval, error) {
	if err == nil && a.AgentID != actor.ID {
		err = fault.ErrNotFound
	}
	if err != nil {
		return approval.Approval{}, err
	}
	return a, nil
}
