package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/wire"
)

// Health is how agents do, and the switches of their owner (desktop 4.10, 4.11).
// Mount it before Agent: /agents/health is a literal.
type Health struct {
	Gateway *flow.Gateway
	Tasks   *flow.Tasks
	Log     *slog.Logger
}

// Mount mounts the routes.
func (s Health) Mount(r chi.Router) {
	h := func(f httpx.HandlerFunc) http.HandlerFunc { return httpx.Wrap(s.Log, f) }
	r.Get("/agents/health", h(s.list))
	r.Get("/agents/{agent}/health", h(s.detail))
	r.Post("/agents/{agent}/health/offline", h(s.offline))
	r.Post("/agents/{agent}/health/reset", h(s.reset))
	r.Post("/agents/{agent}/health/clear-messages", h(s.clear))
	r.Post("/agents/{agent}/health/clear-tasks", h(s.clearTasks))
	r.Post("/agents/{agent}/health/unstick", h(s.unstick))
	r.Post("/agents/{agent}/executors/{executor}/kill", h(s.kill))
	r.Post("/agents/{agent}/wake", h(s.wake))
	r.Post("/agents/{agent}/stop", h(s.stop))
}

func (s Health) list(w http.ResponseWriter, r *http.Request) error {
	all, err := s.Gateway.HealthOf(r.Context(), httpx.Actor(r.Context()))
	if err != nil {
		return err
	}
	out := wire.AgentsHealth{Agents: make([]wire.AgentHealth, len(all))}
	for n, h := range all {
		out.Agents[n] = present.AgentHealth(h)
	}
	return httpx.JSON(w, http.StatusOK, out)
}

func (s Health) detail(w http.ResponseWriter, r *http.Request) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	h, err := s.Gateway.HealthDetail(r.Context(), httpx.Actor(r.Context()), aid)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.AgentHealthDetail(h, time.Now()))
}

// repair runs a maintenance call of the agent's owner and answers body.
func repair(w http.ResponseWriter, r *http.Request, f func(context.Context, access.Actor, id.Participant) (flow.Repair, error), body func(flow.Repair) any) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	out, err := f(r.Context(), httpx.Actor(r.Context()), aid)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, body(out))
}

func (s Health) offline(w http.ResponseWriter, r *http.Request) error {
	return repair(w, r, s.Gateway.MarkOffline, func(flow.Repair) any { return wire.Notice{Message: "The agent is marked offline."} })
}

func (s Health) reset(w http.ResponseWriter, r *http.Request) error {
	return repair(w, r, s.Gateway.ResetAgent, func(f flow.Repair) any {
		return wire.HealthReset{Message: "The agent was reset.", DisabledExecutors: f.Executors, UnclaimedMessages: f.Released}
	})
}

func (s Health) clear(w http.ResponseWriter, r *http.Request) error {
	return repair(w, r, s.Gateway.ClearMessages, func(f flow.Repair) any {
		return wire.HealthCleared{Message: "The queue was cleared.", Expired: f.Closed, Unclaimed: f.Released}
	})
}

func (s Health) clearTasks(w http.ResponseWriter, r *http.Request) error {
	return repair(w, r, s.Tasks.Clear, func(f flow.Repair) any {
		return wire.HealthCleared{Message: "The agent's tasks were ended.", Expired: f.Closed, Unclaimed: f.Released}
	})
}

func (s Health) unstick(w http.ResponseWriter, r *http.Request) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	tasks, err := s.Tasks.Unstick(r.Context(), httpx.Actor(r.Context()), aid)
	if err != nil {
		return err
	}
	return repair(w, r, s.Gateway.Unstick, func(f flow.Repair) any {
		return wire.HealthUnstuck{Message: "Running work went back to the queue.", ExecutorsReset: f.Executors, TasksExpired: tasks, MessagesRequeued: f.Released}
	})
}

func (s Health) kill(w http.ResponseWriter, r *http.Request) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	ex, err := executorID(r)
	if err != nil {
		return err
	}
	if err := s.Gateway.KillExecutor(r.Context(), httpx.Actor(r.Context()), aid, ex); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.Notice{Message: "The executor was told to shut down."})
}

func (s Health) wake(w http.ResponseWriter, r *http.Request) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	p, err := s.Gateway.WakeAgent(r.Context(), httpx.Actor(r.Context()), aid)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.Woken{Woken: p.Done, Status: p.Status, Reason: p.Reason})
}

func (s Health) stop(w http.ResponseWriter, r *http.Request) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	p, err := s.Gateway.StopAgent(r.Context(), httpx.Actor(r.Context()), aid)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.AgentStopped{Stopped: p.Done, Status: p.Status, Reason: p.Reason})
}
