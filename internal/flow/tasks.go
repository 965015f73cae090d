package flow

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/task"
	"github.com/agntchat/agntchat/internal/view"
)

// TaskConfig holds the times of tasks. Zero fields take the defaults that stand with them.
type TaskConfig struct {
	Lease       time.Duration // AGNTCHAT_TASK_LEASE: a claim's life after its last sign (600 s)
	Most        time.Duration // AGNTCHAT_TASK_MAX_LEASE: a claim's life in all (24 h)
	Accept      time.Duration // until a bridge accepts what was pushed to it (60 s)
	MaxAttempts int           // runs that may end without an end of the task (4)
	Backoff     time.Duration // before the second run; doubles with each (15 s)
}

func (c TaskConfig) withDefaults() TaskConfig {
	d := func(v *time.Duration, def time.Duration) {
		if *v == 0 {
			*v = def
		}
	}
	d(&c.Lease, 600*time.Second)
	d(&c.Most, 24*time.Hour)
	d(&c.Accept, 60*time.Second)
	d(&c.Backoff, 15*time.Second)
	if c.MaxAttempts == 0 {
		c.MaxAttempts = 4
	}
	return c
}

// Tasks is the use cases of tasks and of the questions of their runs. It is the
// second source of work of the gateway: make it with NewTasks, which adds it.
type Tasks struct {
	DB      *pg.DB
	Chat    *Chat
	Gateway *Gateway
	Log     *slog.Logger
	// Approvals are the requests at which runs stop; nil: there are none.
	Approvals *Approvals

	cfg     TaskConfig
	queue   *task.Queue
	holder  *agentSet
	owed    *owed[task.Claim]
	steps   *stepCache
	answers waiters
	todo    chan func(context.Context) // what follows from a commit; a full one is left to the sweep
}

// NewTasks makes the service and adds it to the gateway; nothing runs before
// Gateway.Start.
func NewTasks(g *Gateway, c *Chat, cfg TaskConfig) *Tasks {
	cfg = cfg.withDefaults()
	t := &Tasks{
		DB: g.DB, Chat: c, Gateway: g, Log: g.Log, cfg: cfg, holder: newAgentSet(), owed: &owed[task.Claim]{}, steps: &stepCache{m: map[id.QueueItem]lastStep{}}, todo: make(chan func(context.Context), 1000),
		queue: task.NewQueue(task.Times{Lease: cfg.Lease, Most: cfg.Most, Accept: cfg.Accept}),
	}
	g.Serve(t)
	g.busy = append(g.busy, task.RoomsInWork)
	g.adopt = append(g.adopt, t.adopt)
	g.retire = append(g.retire, t.retire)
	g.aside, g.count = t.pushAside, t.counts
	return t
}

// TaskView is a task with who is involved and its live side.
type TaskView struct {
	task.Task
	People  map[id.Participant]view.TaskPerson
	Working bool       // derived from the lease
	Since   *time.Time // of the claim
}

// later runs what follows from a commit, soon and in order. It never blocks.
func (s *Tasks) later(f func(context.Context)) {
	select {
	case s.todo <- f:
	default: // the sweep finds it by what is stored
	}
}

func (s *Tasks) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case f := <-s.todo:
			f(ctx)
		}
	}
}

// views completes tasks; q may be a transaction.
func (s *Tasks) views(ctx context.Context, q pg.Querier, list []task.Task) ([]TaskView, error) {
	var people []id.Participant
	ids := make([]id.Task, len(list))
	for n, t := range list {
		ids[n] = t.ID
		people = append(people, t.CreatedBy, t.RequesterID)
		people = append(people, t.AssignedTo...)
	}
	known, err := view.TaskPeople(ctx, q, people)
	if err != nil {
		return nil, err
	}
	works, err := view.TaskWorks(ctx, q, ids)
	if err != nil {
		return nil, err
	}
	out := make([]TaskView, len(list))
	for n, t := range list {
		w := works[t.ID]
		out[n] = TaskView{Task: t, People: known, Working: w.Working, Since: w.ClaimedAt}
	}
	return out, nil
}

// facts is what access decides about.
func (s *Tasks) facts(ctx context.Context, q pg.Querier, actor access.Actor, t task.Task) (access.TaskFacts, error) {
	f := access.TaskFacts{RequesterID: t.RequesterID, CreatedBy: t.CreatedBy, Assignees: t.AssignedTo}
	people, err := view.TaskPeople(ctx, q, append([]id.Participant{t.CreatedBy}, t.AssignedTo...))
	if err != nil {
		return f, err
	}
	for _, p := range people {
		if !p.OwnerID.IsZero() {
			f.Owners = append(f.Owners, p.OwnerID)
		}
	}
	for _, c := range []id.Conversation{t.ConversationID, t.WorkConversationID} {
		role, err := chat.Role(ctx, q, c, actor.ID)
		if err != nil {
			return f, err
		}
		f.Member = f.Member || role != ""
		f.RoomAdmin = f.RoomAdmin || (role == chat.Admin && c == t.ConversationID)
	}
	return f, nil
}

// may reads a task and asks a rule about it.
func (s *Tasks) may(ctx context.Context, q pg.Querier, actor access.Actor, tid id.Task, rule func(access.Actor, access.TaskFacts) error) (task.Task, error) {
	t, err := task.Get(ctx, q, tid)
	if err != nil {
		return t, err
	}
	f, err := s.facts(ctx, q, actor, t)
	if err != nil {
		return t, err
	}
	return t, rule(actor, f)
}

// change runs one change of a task in a transaction of its own: its rooms are locked,
// then the task. When its version has moved, everybody involved is told, and
// what follows for other tasks is looked at after the commit.
func (s *Tasks) change(ctx context.Context, tid id.Task, fn func(ctx context.Context, tx *pg.Tx, t *task.Task) error) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error { return s.changeTx(ctx, tx, tid, fn) })
}

func (s *Tasks) changeTx(ctx context.Context, tx *pg.Tx, tid id.Task, fn func(ctx context.Context, tx *pg.Tx, t *task.Task) error) error {
	t, err := s.lockTx(ctx, tx, tid)
	if err != nil {
		return err
	}
	before := t
	if err := fn(ctx, tx, &t); err != nil {
		return err
	}
	if t.Version == before.Version {
		return nil
	}
	name := "task_updated"
	if t.Status.Ended() && !before.Status.Ended() {
		name = "task_completed"
	}
	return s.tellTx(ctx, tx, name, t, before)
}

// lockTx locks the rooms of a task and then the task.
func (s *Tasks) lockTx(ctx context.Context, tx *pg.Tx, tid id.Task) (task.Task, error) {
	t, err := task.Get(ctx, tx, tid)
	if err != nil {
		return t, err
	}
	rooms := []id.Conversation{t.ConversationID, t.WorkConversationID}
	slices.SortFunc(rooms, func(a, b id.Conversation) int { return compareText(a.String(), b.String()) })
	for _, c := range slices.Compact(rooms) {
		if _, err := chat.LockTx(ctx, tx, c); err != nil && fault.KindOf(err) != fault.NotFound {
			return t, err
		}
	}
	return task.LockTx(ctx, tx, tid)
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// tellTx tells everybody involved, brings the card up to date, and looks after the
// commit at what follows.
func (s *Tasks) tellTx(ctx context.Context, tx *pg.Tx, name string, t, before task.Task) error {
	views, err := s.views(ctx, tx, []task.Task{t})
	if err != nil {
		return err
	}
	v := views[0]
	to := audience(v)
	for _, p := range before.AssignedTo {
		if !slices.Contains(to, p) {
			to = append(to, p)
		}
	}
	tx.Publish(lane(t.ConversationID), TaskChanged{inRoom: inRoom{t.ConversationID}, Name: name, Task: v, To: to})
	if !t.CardMessageID.IsZero() && (t.Status != before.Status || t.Title != before.Title) {
		if err := s.Chat.PatchMetadataTx(ctx, tx, t.ConversationID, t.CardMessageID, map[string]any{"task_status": t.Status, "task_title": t.Title}); err != nil {
			return err
		}
	}
	if t.Status.Ended() && !before.Status.Ended() {
		tx.AfterCommit(func() { s.later(func(ctx context.Context) { s.follow(ctx, t) }) })
	}
	return nil
}

// audience is who hears of a task: who asked, who made it, who does it, and the
// owners of its agents.
func audience(v TaskView) []id.Participant {
	out := []id.Participant{v.RequesterID}
	add := func(p id.Participant) {
		if !p.IsZero() && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	add(v.CreatedBy)
	for _, p := range append([]id.Participant{v.CreatedBy}, v.AssignedTo...) {
		add(p)
		add(v.People[p].OwnerID)
	}
	return out
}

// agentOf is the agent that is to run the task; false for tasks of people, of nobody
// and of several.
func (v TaskView) agentOf() (id.Participant, bool) {
	if v.FanOut || len(v.AssignedTo) != 1 {
		return id.Participant{}, false
	}
	p := v.People[v.AssignedTo[0]]
	return p.ID, p.Kind == chat.Agent
}

// runner is agentOf for a task alone.
func (s *Tasks) runner(ctx context.Context, q pg.Querier, t task.Task) (id.Participant, bool, error) {
	views, err := s.views(ctx, q, []task.Task{t})
	if err != nil {
		return id.Participant{}, false, err
	}
	a, ok := views[0].agentOf()
	return a, ok, nil
}

// offerTx puts a pending task of an agent into the queue, unless it waits for other
// tasks or for its time.
func (s *Tasks) offerTx(ctx context.Context, tx *pg.Tx, t task.Task, why task.Reason, bound id.Executor) error {
	agent, ok, err := s.runner(ctx, tx, t)
	if err != nil || !ok || t.Status != task.Pending || t.RetryAt != nil {
		return err
	}
	deps, err := task.ByID(ctx, tx, t.DependsOn)
	if err != nil {
		return err
	}
	for _, d := range deps {
		if d.Status != task.Complete {
			return nil
		}
	}
	if err := task.EnqueueTx(ctx, tx, agent, t.ID, why, bound); err != nil {
		return err
	}
	tx.AfterCommit(func() { s.Gateway.Wake(agent) })
	return nil
}

// withdrawTx takes a task out of the queue; who ran it is told to stop when stop says
// why. The task is locked.
func (s *Tasks) withdrawTx(ctx context.Context, tx *pg.Tx, t task.Task, stop string) (*task.Claim, error) {
	if stop != "" {
		if err := s.dropApprovalsTx(ctx, tx, t.ID, stop); err != nil {
			return nil, err
		}
	}
	c, err := task.DequeueTx(ctx, tx, t.ID)
	if err != nil || c == nil {
		return c, err
	}
	tx.AfterCommit(func() {
		s.steps.drop(c.ID)
		s.Gateway.reg.forget(c.ExecutorID, c.ID)
		if c.Held() && stop != "" {
			s.Gateway.reg.command(c.ExecutorID, stopTask(t.ID, stop))
		}
		s.Gateway.Wake(c.AgentID)
		s.Gateway.tell.wake(c.AgentID)
	})
	return c, nil
}

func stopTask(t id.Task, reason string) Command {
	return Command{Type: "stop_task", Reason: reason, TaskID: t, IssuedAt: time.Now()}
}

// complain logs what the next sweep tries again.
func (s *Tasks) complain(ctx context.Context, msg string, err error, t id.Task) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, task.ErrEnded) {
		s.Log.WarnContext(ctx, msg, slog.Any("error", err), slog.String("task_id", t.String()))
	}
}
