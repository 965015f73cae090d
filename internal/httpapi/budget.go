package httpapi

import (
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/turn"
	"github.com/agntchat/agntchat/internal/wire"
)

// Budget is what agents may use, and what their owners say when it is used up; and what
// administrators of rooms say to agents that want somebody in (docs/approvals.md).
type Budget struct {
	Gateway   *flow.Gateway
	Approvals *flow.Approvals
	Log       *slog.Logger
}

// Mount mounts the routes.
func (b Budget) Mount(r chi.Router) {
	h := func(f httpx.HandlerFunc) http.HandlerFunc { return httpx.Wrap(b.Log, f) }
	r.Get("/agents/{agent}/budget", h(b.get))
	r.Put("/agents/{agent}/budget", h(b.set))
	r.Delete("/agents/{agent}/budget", h(b.drop))
	r.Post("/budget-stops/{stop}/resolve", h(b.resolve))
	r.Post("/member-requests/{seat}/resolve", h(b.member))
}

func (b Budget) answer(w http.ResponseWriter, out *turn.Budget, err error) error {
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.AgentBudget(out))
}

func (b Budget) get(w http.ResponseWriter, r *http.Request) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	out, err := b.Gateway.Budget(r.Context(), httpx.Actor(r.Context()), aid)
	return b.answer(w, out, err)
}

func (b Budget) set(w http.ResponseWriter, r *http.Request) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	var in wire.BudgetSet
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	out, err := b.Gateway.SetBudget(r.Context(), httpx.Actor(r.Context()), aid, in.TokensPerDay)
	return b.answer(w, out, err)
}

func (b Budget) drop(w http.ResponseWriter, r *http.Request) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	if err := b.Gateway.DropBudget(r.Context(), httpx.Actor(r.Context()), aid); err != nil {
		return err
	}
	return httpx.NoContent(w)
}

func (b Budget) resolve(w http.ResponseWriter, r *http.Request) error {
	sid, err := pathID[id.BudgetStop](r, "stop")
	if err != nil {
		return err
	}
	var in wire.BudgetResolve
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	out, err := b.Gateway.ResolveStop(r.Context(), httpx.Actor(r.Context()), sid, flow.BudgetAnswer{Decision: in.Decision, TokensPerDay: in.TokensPerDay})
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.BudgetStop(out, ""))
}

func (b Budget) member(w http.ResponseWriter, r *http.Request) error {
	mid, err := pathID[id.MemberRequest](r, "seat")
	if err != nil {
		return err
	}
	var in wire.MemberResolve
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	if in.Decision != "approve" && in.Decision != "deny" {
		return fault.New(fault.Invalid, "invalid", "This is no decision.").With("decision", "unknown", "approve or deny")
	}
	out, err := b.Approvals.ResolveMember(r.Context(), httpx.Actor(r.Context()), mid, in.Decision == "approve")
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.MemberRequest(out))
}
