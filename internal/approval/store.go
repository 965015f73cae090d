package approval

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// New is a request as it is stored. GrantID not zero: it is approved at once under
// that grant.
type New struct {
	OrganizationID id.Organization
	AgentID        id.Participant
	ConversationID id.Conversation
	TaskID         id.Task
	Source         Source
	ToolName       string
	Action         Action
	Description    string
	Reason         string
	Risk           Risk
	Scope          Scope
	Approvers      []id.Participant
	GrantID        id.Grant
	Durable        bool
	ExecutorID     id.Executor
	RunID          *string
	ToolUseID      *string
	Resume         *string
	Life           time.Duration
	DecidersNeeded int // 0 is 1
	TurnQueueID    id.QueueItem
	TurnGeneration *int64
}

// InsertTx stores a request. ErrOneAtATime when the run has an open one.
func InsertTx(ctx context.Context, tx *pg.Tx, n New) (Approval, error) {
	a, err := one(ctx, tx, "store approval", queryInsert, id.New[id.Approval](), n.OrganizationID, n.AgentID, n.ConversationID, n.TaskID, string(n.Source), n.ToolName,
		n.Action.Text, n.Action.Hash, n.Description, n.Reason, string(n.Risk), string(n.Scope.Kind), null(n.Scope.Facet), id.Strings(n.Approvers), n.GrantID,
		n.Durable, n.ExecutorID, n.RunID, n.ToolUseID, n.Resume, n.Life.Seconds(), max(n.DecidersNeeded, 1), n.TurnQueueID, n.TurnGeneration)
	if pg.IsUnique(err, "approvals_run_key") {
		return Approval{}, ErrOneAtATime
	}
	return must(a, err)
}

// Get reads a request; fault.ErrNotFound when there is none.
func Get(ctx context.Context, q pg.Querier, aid id.Approval) (Approval, error) {
	return must(one(ctx, q, "read approval", queryOne, aid))
}

// LockTx reads and locks a request; fault.ErrNotFound when there is none.
func LockTx(ctx context.Context, tx *pg.Tx, aid id.Approval) (Approval, error) {
	return must(one(ctx, tx, "lock approval", queryLock, aid))
}

// OpenOfRunTx is the one open request of a run, locked; nil when it has none.
func OpenOfRunTx(ctx context.Context, tx *pg.Tx, agent id.Participant, run string) (*Approval, error) {
	return one(ctx, tx, "open approval of run", queryOpenOfRun, agent, run)
}

// OfCallTx is the newest request for the same action of the same call, locked.
func OfCallTx(ctx context.Context, tx *pg.Tx, agent id.Participant, run string, call *string, hash string) (*Approval, error) {
	return one(ctx, tx, "approval of call", queryOfCall, agent, run, call, hash)
}

// OrphansTx locks what runs of earlier claims of the same delivery asked: open requests,
// and decisions that have reached nobody. Newest first.
func OrphansTx(ctx context.Context, tx *pg.Tx, n New) ([]Approval, error) {
	if n.TurnGeneration == nil {
		return nil, nil
	}
	return many(ctx, tx, "orphaned approvals", queryOrphans, n.TurnQueueID, *n.TurnGeneration, n.AgentID)
}

// SameTx lists what the agent has asked for exactly this action at this place and
// can still be used, newest first and locked: open requests, and approvals that
// nothing ran under. Durable ones are left out: they belong to their run.
func SameTx(ctx context.Context, tx *pg.Tx, n New) ([]Approval, error) {
	return many(ctx, tx, "same approvals", querySame, n.AgentID, n.Action.Hash, string(n.Source), n.ConversationID, n.TaskID, RedeemWithin.Seconds())
}

// CountOpen counts the agent's open requests.
func CountOpen(ctx context.Context, q pg.Querier, agent id.Participant) (n int, err error) {
	if err := q.QueryRow(ctx, queryCountOpen, agent).Scan(&n); err != nil {
		return 0, fmt.Errorf("count approvals: %w", err)
	}
	return n, nil
}

// Decision is what comes with an act; the zero value for those of no person.
type Decision struct {
	By     id.Participant
	Scope  string // once | exact | room | pattern
	Text   string
	Grant  id.Grant
	Edited *Action
}

// ActTx does something to a request that is locked. ErrDecided when its state does
// not allow it, ErrExpired when a person comes too late: then the caller expires
// it instead. The clock is read again here, for whoever waited for the lock was read
// before.
func ActTx(ctx context.Context, tx *pg.Tx, a Approval, act Act, d Decision) (Approval, error) {
	to, ok := Next(a.Status, act)
	switch {
	case !ok && a.Status == Expired:
		return Approval{}, ErrExpired
	case !ok:
		return Approval{}, ErrDecided
	case a.Overdue && (act == Approve || act == Edit || act == Deny):
		return Approval{}, ErrExpired
	}
	var edited, hash *string
	if d.Edited != nil {
		edited, hash = &d.Edited.Text, &d.Edited.Hash
	}
	out, err := one(ctx, tx, "decide approval", queryAct, a.ID, string(to), d.By, null(d.Scope), d.Text, d.Grant, edited, hash, string(a.Status))
	if err == nil && out == nil { // it is locked, so nothing but its time can have changed
		return Approval{}, ErrExpired
	}
	return must(out, err)
}

// UseTx marks a locked approval as used for a call, once. The same key may come
// again: its answer was lost. ErrUsed for any other.
func UseTx(ctx context.Context, tx *pg.Tx, a Approval, key string) (Approval, error) {
	switch {
	case !a.Status.Allows():
		return Approval{}, ErrNotAllowed
	case a.UsedAt != nil && a.UseKey != nil && *a.UseKey == key:
		return a, nil
	case a.UsedAt != nil:
		return Approval{}, ErrUsed
	case a.DecidedAt != nil && time.Since(*a.DecidedAt) > RedeemWithin:
		return Approval{}, ErrExpired
	}
	out, err := one(ctx, tx, "use approval", queryUse, a.ID, key)
	if err == nil && out == nil {
		return Approval{}, ErrUsed
	}
	return must(out, err)
}

// Due lists requests whose time is over, oldest first, without locking them.
func Due(ctx context.Context, q pg.Querier, limit int) ([]Approval, error) {
	return many(ctx, q, "due approvals", queryDue, limit)
}

// OpenInRoomTx locks the open requests of a room, of one agent or, when it is
// zero, of all.
func OpenInRoomTx(ctx context.Context, tx *pg.Tx, room id.Conversation, agent id.Participant) ([]Approval, error) {
	return many(ctx, tx, "open approvals of room", queryOpenOfRoom, room, agent)
}

// OpenOfTaskTx locks the open durable requests of a task's run, newest first.
func OpenOfTaskTx(ctx context.Context, tx *pg.Tx, t id.Task) ([]Approval, error) {
	return many(ctx, tx, "open approvals of task", queryOpenOfTask, t)
}

// OpenOfAgentTx locks the open requests of an agent.
func OpenOfAgentTx(ctx context.Context, tx *pg.Tx, agent id.Participant) ([]Approval, error) {
	return many(ctx, tx, "open approvals of agent", queryOpenOfAgent, agent)
}

func null(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func must(a *Approval, err error) (Approval, error) {
	switch {
	case err != nil:
		return Approval{}, err
	case a == nil:
		return Approval{}, fault.ErrNotFound
	}
	return *a, nil
}

func one(ctx context.Context, q pg.Querier, what, sql string, args ...any) (*Approval, error) {
	all, err := many(ctx, q, what, sql, args...)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

func many(ctx context.Context, q pg.Querier, what, sql string, args ...any) ([]Approval, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowToStructByName[Approval])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return out, nil
}
