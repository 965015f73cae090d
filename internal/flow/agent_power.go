package flow

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/executor"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/participant"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/turn"
	"github.com/agntchat/agntchat/internal/view"
)

func orNotFound(err error) error {
	if err == nil {
		return fault.ErrNotFound
	}
	return err
}

func (g *Gateway) reads(ctx context.Context, actor access.Actor, conv id.Conversation) error {
	role, err := chat.Role(ctx, g.DB, conv, actor.ID)
	if err != nil {
		return err
	}
	return access.ReadRoom(actor, access.RoomFacts{ID: conv, Role: role})
}

// Power is the answer to wake and stop (desktop 4.10).
type Power struct {
	Done   bool
	Status string
	Reason string
}

// WakeAgent starts an agent that runs on its owner's computer: the owner's devices
// are asked to start it. An agent that is online needs nothing.
func (g *Gateway) WakeAgent(ctx context.Context, actor access.Actor, aid id.Participant) (Power, error) {
	a, err := g.managed(ctx, actor, aid)
	if err != nil {
		return Power{}, err
	}
	if g.reg.online(aid) {
		g.Wake(aid)
		return Power{Done: true, Status: "online"}, nil
	}
	g.askDevices(ctx, a.OwnerID, aid, "start_agent_request")
	return Power{Status: "offline", Reason: "start_requested"}, nil
}

// StopAgent tells all bridges of an agent to shut down.
func (g *Gateway) StopAgent(ctx context.Context, actor access.Actor, aid id.Participant) (Power, error) {
	a, err := g.managed(ctx, actor, aid)
	if err != nil {
		return Power{}, err
	}
	told := 0
	for _, ex := range g.reg.ofAgent(aid) {
		if g.reg.command(ex, shutdown("stopped_by_owner")) {
			told++
		}
	}
	g.askDevices(ctx, a.OwnerID, aid, "stop_agent_request")
	if told == 0 {
		return Power{Status: "offline", Reason: "not_running"}, nil
	}
	return Power{Done: true, Status: "stopping"}, nil
}

func shutdown(reason string) Command {
	return Command{Type: "shutdown", Reason: reason, IssuedAt: time.Now()}
}

func (g *Gateway) askDevices(ctx context.Context, owner, agent id.Participant, name string) {
	g.live(ctx, agent, []string{event.UserTopic(owner.String())}, name, map[string]string{"agentId": agent.String()})
}

// KillExecutor tells one bridge to shut down.
func (g *Gateway) KillExecutor(ctx context.Context, actor access.Actor, aid id.Participant, ex id.Executor) error {
	if _, err := g.managed(ctx, actor, aid); err != nil {
		return err
	}
	if _, err := executor.Get(ctx, g.DB, aid, ex); err != nil {
		return err
	}
	if !g.reg.command(ex, shutdown("killed_by_owner")) {
		return fault.New(fault.Conflict, "executor_offline", "This executor is not running.")
	}
	return nil
}

// Repair counts what a maintenance call did.
type Repair struct {
	Executors int // taken offline, disabled or told
	Released  int // turns that went back to the queue
	Closed    int // messages that were closed without an answer
}

// MarkOffline takes all executors of an agent offline: its owner's computer says
// that it does not run. A bridge that lives all the same connects again.
func (g *Gateway) MarkOffline(ctx context.Context, actor access.Actor, aid id.Participant) (Repair, error) {
	return g.resetAll(ctx, actor, aid, executor.Offline)
}

// ResetAgent disables all executors of an agent and gives their work back. Each
// comes back with its next registration.
func (g *Gateway) ResetAgent(ctx context.Context, actor access.Actor, aid id.Participant) (Repair, error) {
	return g.resetAll(ctx, actor, aid, executor.Disabled)
}

func (g *Gateway) resetAll(ctx context.Context, actor access.Actor, aid id.Participant, status string) (Repair, error) {
	var out Repair
	if _, err := g.managed(ctx, actor, aid); err != nil {
		return out, err
	}
	list, err := executor.ByAgent(ctx, g.DB, aid)
	if err != nil {
		return out, err
	}
	for _, e := range list {
		if e.Status == status || e.Status == executor.Disabled {
			continue
		}
		err := g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error { return executor.SetStatusTx(ctx, tx, e.ID, status) })
		if err != nil {
			return out, err
		}
		g.reg.setOffline(e.ID)
		if status == executor.Disabled {
			g.shutSockets(e.ID, "reset_by_owner")
		} else {
			for _, s := range g.reg.takeSockets(e.ID) {
				s.Shut("offline")
			}
		}
		n, err := g.releaseExecutor(ctx, aid, e.ID, nil)
		if err != nil {
			return out, err
		}
		out.Executors++
		out.Released += n
	}
	g.tell.wake(aid)
	return out, nil
}

// Unstick gives every running turn of an agent back and tells its bridges to stop
// working on it.
func (g *Gateway) Unstick(ctx context.Context, actor access.Actor, aid id.Participant) (Repair, error) {
	var out Repair
	if _, err := g.managed(ctx, actor, aid); err != nil {
		return out, err
	}
	list, err := executor.ByAgent(ctx, g.DB, aid)
	if err != nil {
		return out, err
	}
	for _, e := range list {
		heads, err := turn.Heads(ctx, g.DB, aid, e.ID)
		if err != nil {
			return out, err
		}
		for _, h := range heads {
			g.reg.command(e.ID, stopGeneration(h.ConversationID, "unstuck_by_owner"))
			if err := g.takeBack(ctx, aid, h.QueueID, sameClaim(h)); err != nil {
				return out, err
			}
			out.Released++
		}
		if len(heads) > 0 {
			out.Executors++
		}
	}
	return out, nil
}

// clearMost bounds the messages that one call closes.
const clearMost = 1000

// ClearMessages closes everything that waits for an agent or runs, visibly, as
// expired. At most clearMost in one call.
func (g *Gateway) ClearMessages(ctx context.Context, actor access.Actor, aid id.Participant) (Repair, error) {
	if _, err := g.managed(ctx, actor, aid); err != nil {
		return Repair{}, err
	}
	return g.clear(ctx, aid, "cleared", "cleared_by_owner")
}

// Retire is the River job of an agent that was deleted or switched off: nobody
// will answer what it still had, and people see that. Doing it twice changes
// nothing; an agent that is active again keeps what it has.
func (g *Gateway) Retire(ctx context.Context, aid id.Participant) error {
	a, err := view.AgentIdentityByID(ctx, g.DB, aid)
	if err != nil || a.Status == participant.Active {
		return goneIsNil(err)
	}
	for _, retire := range g.retire {
		if err := retire(ctx, aid); err != nil {
			return err
		}
	}
	for {
		out, err := g.clear(ctx, aid, "agent_off", "agent_off")
		if err != nil || out.Closed == 0 {
			return err
		}
	}
}

// clear closes at most clearMost rows of an agent with a code, and tells running
// turns to stop.
func (g *Gateway) clear(ctx context.Context, aid id.Participant, code, reason string) (Repair, error) {
	var out Repair
	rows, err := turn.OfAgent(ctx, g.DB, aid, clearMost)
	if err != nil {
		return out, err
	}
	// What waits goes first: ending a turn would claim it.
	slices.SortStableFunc(rows, func(a, b turn.Claim) int { return cmp.Compare(boolInt(a.Held()), boolInt(b.Held())) })
	for _, c := range rows {
		closed, err := g.clearOne(ctx, aid, c, code)
		if err != nil {
			return out, err
		}
		out.Closed += len(closed)
		if len(closed) > 0 && closed[0].Held() {
			out.Released++
			g.reg.command(closed[0].ExecutorID, stopGeneration(closed[0].ConversationID, reason))
		}
	}
	return out, nil
}

// clearOne closes the turn or the waiting row of c and returns its rows.
func (g *Gateway) clearOne(ctx context.Context, aid id.Participant, c turn.Claim, code string) (closed []turn.Claim, err error) {
	err = g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		group, waiting, err := lockTurnTx(ctx, tx, aid, c.QueueID)
		if err != nil {
			return err
		}
		if waiting {
			row, err := turn.LockTx(ctx, tx, c.QueueID)
			if err != nil || row == nil {
				return err
			}
			group = []turn.Claim{*row}
		}
		closed = group
		if len(group) == 0 {
			return nil
		}
		r := turn.Result{Outcome: turn.Expired, ErrorCode: code}
		if head := group[len(group)-1]; head.AnsweredAt != nil {
			if r, err = g.resultTx(ctx, tx, head); err != nil {
				return err
			}
		}
		return g.finishTx(ctx, tx, group, r)
	})
	return closed, err
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
