package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/external"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/view"
)

// Health words of the contract (desktop 5.5).
const (
	Healthy  = "healthy"
	Degraded = "degraded"
	Stuck    = "stuck"
	Unseen   = "offline"
)

// waitsLong is how long a message may wait for an agent that is online before
// people are told.
const waitsLong = time.Minute

// AgentHealth says whether an agent can answer, derived from its executors and
// its queue at the moment of asking.
type AgentHealth struct {
	Agent     view.Agent
	Status    string
	Executors []ExecutorHealth
	Online    int
	Stuck     int // turns without a sign of life for half a lease
	Waiting   int // messages that wait
	Tasks     int // tasks that wait
	Blocker   *Blocker
	Claims    []view.ClaimRow  // only in the detail
	TaskWork  []view.TaskClaim // only in the detail
	Faults    []view.FaultRow  // only in the detail
}

// ExecutorHealth is one executor.
type ExecutorHealth struct {
	view.ExecutorRow
	Online  bool
	Pending *Command
}

// Blocker is why an agent cannot answer although it is there.
type Blocker struct {
	Code    string
	Message string
	Detail  string
}

// HealthOf lists the caller's agents in the active workspace.
func (g *Gateway) HealthOf(ctx context.Context, actor access.Actor) ([]AgentHealth, error) {
	if err := access.RequirePerson(actor); err != nil {
		return nil, err
	}
	agents, err := view.AgentsOf(ctx, g.DB, actor.ID, actor.OrganizationID)
	if err != nil {
		return nil, err
	}
	return g.health(ctx, agents)
}

// HealthDetail is one agent's, for its owner.
func (g *Gateway) HealthDetail(ctx context.Context, actor access.Actor, aid id.Participant) (AgentHealth, error) {
	a, err := g.managed(ctx, actor, aid)
	if err != nil {
		return AgentHealth{}, err
	}
	all, err := g.health(ctx, []view.Agent{a})
	if err != nil {
		return AgentHealth{}, err
	}
	h := all[0]
	if h.Claims, err = view.ClaimRows(ctx, g.DB, aid); err != nil {
		return AgentHealth{}, err
	}
	if h.TaskWork, err = view.TaskClaims(ctx, g.DB, aid); err != nil {
		return AgentHealth{}, err
	}
	h.Faults, err = view.RecentFaults(ctx, g.DB, aid)
	return h, err
}

// managed is an agent that the actor may manage; NotFound otherwise.
func (g *Gateway) managed(ctx context.Context, actor access.Actor, aid id.Participant) (view.Agent, error) {
	a, err := view.OneAgent(ctx, g.DB, aid)
	if err != nil {
		return view.Agent{}, err
	}
	return a, access.ManageAgent(actor, access.AgentFacts{ID: a.ID, OwnerID: a.OwnerID, OrganizationIDs: a.OrganizationIDs})
}

func (g *Gateway) health(ctx context.Context, agents []view.Agent) ([]AgentHealth, error) {
	ids := make([]id.Participant, len(agents))
	for n, a := range agents {
		ids[n] = a.ID
	}
	rows, err := view.ExecutorRows(ctx, g.DB, ids)
	if err != nil {
		return nil, err
	}
	queues, err := view.AgentQueues(ctx, g.DB, ids, g.cfg.MessageLease/2)
	if err != nil {
		return nil, err
	}
	tasks, err := view.TaskQueues(ctx, g.DB, ids, g.cfg.MessageLease/2)
	if err != nil {
		return nil, err
	}
	byAgent := map[id.Participant][]ExecutorHealth{}
	for _, r := range rows {
		byAgent[r.AgentID] = append(byAgent[r.AgentID], ExecutorHealth{ExecutorRow: r, Online: g.reg.executorOnline(r.ID), Pending: g.reg.pending(r.ID)})
	}
	out := make([]AgentHealth, len(agents))
	for n, a := range agents {
		q := queues[a.ID]
		h := AgentHealth{Agent: a, Executors: byAgent[a.ID], Waiting: q.Waiting, Tasks: tasks[a.ID].Waiting, Stuck: q.Silent + tasks[a.ID].Silent}
		for _, e := range h.Executors {
			if !e.Online {
				continue
			}
			h.Online++
			if h.Blocker == nil {
				h.Blocker = blockerOf(e.BackendHealth, time.Now())
			}
		}
		h.Status = statusOf(h, q, time.Now())
		out[n] = h
	}
	return out, nil
}

func statusOf(h AgentHealth, q view.AgentQueue, now time.Time) string {
	session := h.Agent.ExternalSession
	switch {
	case h.Online == 0 && session != nil && session.State != external.Ended && now.Sub(session.LastEventAt) < external.Silence:
		return Healthy // a person drives it; what waits is read with the next prompt
	case h.Online == 0:
		return Unseen
	case h.Stuck > 0:
		return Stuck
	case h.Blocker != nil, q.OldestIn != nil && q.Claimed == 0 && now.Sub(*q.OldestIn) > waitsLong:
		return Degraded
	default:
		return Healthy
	}
}

// blockerOf reads what a bridge reported about its model seat (bridge contract
// 4.13). A rate limit is over at reset_at, whether the bridge says so or not.
func blockerOf(health json.RawMessage, now time.Time) *Blocker {
	b := Blocker{Detail: stringKey(health, "detail")}
	switch stringKey(health, "status") {
	case "unauthenticated":
		b.Code, b.Message = "llm_unauthenticated", "The sign-in of its model on the machine where it runs is missing or expired."
	case "missing_cli":
		b.Code, b.Message = "llm_backend_missing", "The program of its model is not installed on the machine where it runs."
	case "error":
		b.Code, b.Message = "llm_backend_error", "Its model answers with an error."
	case "rate_limited":
		var reset float64
		_ = json.Unmarshal(keyOf(health, "reset_at"), &reset) // absent = unknown
		b.Code, b.Message = "llm_rate_limited", "The usage limit of its model is reached."
		if reset > 0 && reset < math.MaxInt32*10 {
			at := time.Unix(int64(reset), 0).UTC()
			if !at.After(now) {
				return nil
			}
			b.Message = fmt.Sprintf("The usage limit of its model is reached until %s.", at.Format("2006-01-02 15:04 MST"))
		}
	default:
		return nil
	}
	return &b
}

// Turns lists an agent's finished turns: all of them for its owner, for a room
// mate those of shared rooms.
func (g *Gateway) Turns(ctx context.Context, actor access.Actor, aid id.Participant, below view.Mark[id.Turn], limit int) ([]view.FinishedTurn, error) {
	a, err := view.OneAgent(ctx, g.DB, aid)
	if err != nil {
		return nil, err
	}
	viewer := actor.ID
	if actor.ID == a.OwnerID || actor.ID == a.ID {
		viewer = id.Participant{}
	} else if ok, err := view.ShareRoom(ctx, g.DB, actor.ID, aid); err != nil || !ok {
		return nil, orNotFound(err)
	}
	return view.FinishedTurns(ctx, g.DB, aid, below, limit, viewer)
}

// Receipts tells members of a room what became of its messages.
func (g *Gateway) Receipts(ctx context.Context, actor access.Actor, conv id.Conversation, ids []id.Message) ([]view.Receipt, error) {
	if err := g.reads(ctx, actor, conv); err != nil {
		return nil, err
	}
	return view.Receipts(ctx, g.DB, conv, ids)
}
