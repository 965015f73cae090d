package httpapi

import (
	"encoding/base64"
	"encoding/binary"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/agntchat/agntchat/internal/approval"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// Approval is what agents ask people, from both sides (bridge 3.8, 5.10; desktop
// 4.9; docs/protocol.md 9).
type Approval struct {
	Approvals *flow.Approvals
	ToolTitle func(tool string) string // what a tool does, in English
	Log       *slog.Logger
}

// maxApprovalBody holds an action of the largest size, escaped.
const maxApprovalBody = 1 << 20

// Mount mounts the routes.
func (a Approval) Mount(r chi.Router) {
	h := func(f httpx.HandlerFunc) http.HandlerFunc { return httpx.Wrap(a.Log, f) }
	r.Post("/agent/permission-requests", h(a.ask))
	r.Get("/agent/permission-requests/{request}", h(a.look))
	r.Post("/agent/permission-requests/{request}/cancel", h(a.cancel))
	r.Post("/agent/permission-requests/{request}/redeem", h(a.redeem))
	r.Post("/gateway/approvals/{item}/ack", h(a.ack))
	r.Post("/gateway/approvals/{item}/release", h(a.release))
	r.Get("/permission-requests", h(a.list))
	r.Post("/permission-requests/{request}/resolve", h(a.resolve))
	r.Get("/approval-grants", h(a.grants))
	r.Delete("/approval-grants/{grant}", h(a.revoke))
	r.Get("/me/decisions", h(a.decisions))
	for path, place := range map[string]func(*http.Request) (approval.Place, error){
		"/agents/{agent}/approval-rule": agentPlace, "/organizations/{organization}/approval-rule": organizationPlace,
	} {
		r.Get(path, h(a.rule(place)))
		r.Put(path, h(a.setRule(place)))
		r.Delete(path, h(a.dropRule(place)))
	}
}

func approvalID(r *http.Request) (id.Approval, error) {
	return pathID[id.Approval](r, "request")
}

// optional reads an id that may be missing.
func optional[T interface {
	comparable
	IsZero() bool
}](field, s string, parse func(string) (T, error),
) (T, error) {
	var zero T
	if s == "" {
		return zero, nil
	}
	v, err := parse(s)
	if err != nil {
		return zero, fault.New(fault.Invalid, "invalid", "A field is not an id.").With(field, "format", err.Error())
	}
	return v, nil
}

func (a Approval) ask(w http.ResponseWriter, r *http.Request) error {
	var in wire.PermissionAsk
	if err := httpx.DecodeLimit(w, r, &in, maxApprovalBody); err != nil {
		return err
	}
	q := flow.AskApproval{
		ToolName: in.ToolName, Input: in.ToolInput, Description: in.Description, Reason: in.Reason, Durable: in.Durable, TTLSeconds: in.TTLSeconds,
		RunID: in.RunID, ToolUseID: in.ToolUseID, Resume: in.Resume, TurnGeneration: in.TurnGeneration,
	}
	var err error
	if q.ConversationID, err = optional("conversationId", in.ConversationID, id.Parse[id.Conversation]); err != nil {
		return err
	}
	if q.TaskID, err = optional("taskId", in.TaskID, id.Parse[id.Task]); err != nil {
		return err
	}
	if q.TurnID, err = optional("turnId", in.TurnID, id.Parse[id.QueueItem]); err != nil {
		return err
	}
	if q.ExecutorID, err = optional("executorId", in.ExecutorID, id.Parse[id.Executor]); err != nil {
		return err
	}
	out, err := a.Approvals.Ask(r.Context(), httpx.Actor(r.Context()), q)
	return answerState(w, out, err)
}

// answerState answers 200 exactly: a stock bridge takes anything else for a
// failure (decision 25).
func answerState(w http.ResponseWriter, out approval.Approval, err error) error {
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.PermissionState(out))
}

func (a Approval) look(w http.ResponseWriter, r *http.Request) error {
	aid, err := approvalID(r)
	if err != nil {
		return err
	}
	out, err := a.Approvals.Look(r.Context(), httpx.Actor(r.Context()), aid)
	return answerState(w, out, err)
}

func (a Approval) cancel(w http.ResponseWriter, r *http.Request) error {
	aid, err := approvalID(r)
	if err != nil {
		return err
	}
	out, err := a.Approvals.Cancel(r.Context(), httpx.Actor(r.Context()), aid)
	return answerState(w, out, err)
}

func (a Approval) redeem(w http.ResponseWriter, r *http.Request) error {
	aid, err := approvalID(r)
	if err != nil {
		return err
	}
	var in wire.PermissionRedeem
	if err := httpx.DecodeLimit(w, r, &in, maxApprovalBody); err != nil {
		return err
	}
	out, err := a.Approvals.Redeem(r.Context(), httpx.Actor(r.Context()), aid, in.ToolName, in.ToolInput, in.UseKey)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.PermissionRedeemed{Status: "approved", RequestID: out.ID.String(), ActionHash: out.Hash()})
}

func heldApproval(w http.ResponseWriter, r *http.Request) (flow.HeldApproval, string, error) {
	var in wire.ApprovalAck
	if err := httpx.Decode(w, r, &in); err != nil {
		return flow.HeldApproval{}, "", err
	}
	c, err := held(r, in.ExecutorID, &in.Generation)
	return flow.HeldApproval{QueueID: c.QueueID, ExecutorID: c.ExecutorID, Generation: in.Generation}, in.Outcome, err
}

func (a Approval) ack(w http.ResponseWriter, r *http.Request) error {
	c, outcome, err := heldApproval(w, r)
	if err != nil {
		return err
	}
	if outcome != "" && outcome != "resumed" && outcome != "failed" {
		return fault.New(fault.Invalid, "invalid", "This is no outcome.").With("outcome", "unknown", "resumed or failed")
	}
	if err := a.Approvals.Ack(r.Context(), httpx.Actor(r.Context()), c, outcome == "failed"); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.Acked{Status: "acknowledged"})
}

func (a Approval) release(w http.ResponseWriter, r *http.Request) error {
	c, _, err := heldApproval(w, r)
	if err != nil {
		return err
	}
	if err := a.Approvals.Release(r.Context(), httpx.Actor(r.Context()), c); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.Acked{Status: "released"})
}

// list is what waits for the caller.
func (a Approval) list(w http.ResponseWriter, r *http.Request) error {
	list, err := a.Approvals.Pending(r.Context(), httpx.Actor(r.Context()))
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.PermissionRequests(list))
}

func (a Approval) resolve(w http.ResponseWriter, r *http.Request) error {
	aid, err := approvalID(r)
	if err != nil {
		return err
	}
	var in wire.PermissionResolve
	if err := httpx.DecodeLimit(w, r, &in, maxApprovalBody); err != nil {
		return err
	}
	v := flow.Verdict{Act: approval.Act(in.Decision), Scope: in.Scope, GrantDays: in.GrantDays, Text: in.Text, Input: in.Input, Hash: in.ActionHash}
	if in.Always && v.Scope == "" && v.Act == approval.Approve {
		v.Scope = flow.ScopeAlways
	}
	out, err := a.Approvals.Resolve(r.Context(), httpx.Actor(r.Context()), aid, v)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.PermissionRequest(out))
}

func (a Approval) grants(w http.ResponseWriter, r *http.Request) error {
	list, err := a.Approvals.Grants(r.Context(), httpx.Actor(r.Context()))
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.ApprovalGrants(list, a.ToolTitle))
}

func (a Approval) revoke(w http.ResponseWriter, r *http.Request) error {
	g, err := pathID[id.Grant](r, "grant")
	if err != nil {
		return err
	}
	if err := a.Approvals.RevokeGrant(r.Context(), httpx.Actor(r.Context()), g); err != nil {
		return err
	}
	return httpx.NoContent(w)
}

// decisions is what waits for the caller, or with ?state=decided what is over.
func (a Approval) decisions(w http.ResponseWriter, r *http.Request) error {
	if r.URL.Query().Get("state") == "decided" {
		return a.decided(w, r)
	}
	list, err := a.Approvals.Decisions(r.Context(), httpx.Actor(r.Context()))
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.Decisions(list))
}

func (a Approval) decided(w http.ResponseWriter, r *http.Request) error {
	below, err := readMark(r.URL.Query().Get("before"))
	if err != nil {
		return err
	}
	limit := httpx.Limit(r, 50, 100)
	list, err := a.Approvals.PastDecisions(r.Context(), httpx.Actor(r.Context()), below, limit+1)
	if err != nil {
		return err
	}
	out := wire.PastDecisions{Decisions: make([]wire.PastDecision, min(len(list), limit))}
	for n := range out.Decisions {
		out.Decisions[n] = present.PastDecision(list[n])
	}
	if len(list) > limit {
		next := writeMark(list[limit-1].Mark())
		out.Next = &next
	}
	return httpx.JSON(w, http.StatusOK, out)
}

// A mark is 8 bytes of microseconds since 1970, as the database counts them, and 16 of the id.
const markSize = 24

func writeMark(m view.PastMark) string {
	return base64.RawURLEncoding.EncodeToString(append(binary.BigEndian.AppendUint64(nil, uint64(m.EndedAt.UnixMicro())), m.ID[:]...)) //nolint:gosec // back and forth, whatever its sign
}

// readMark is nil for an empty one.
func readMark(s string) (*view.PastMark, error) {
	if s == "" {
		return nil, nil //nolint:nilnil // nil is the newest page
	}
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(raw) != markSize {
		return nil, fault.New(fault.Invalid, "invalid", "This is no cursor of this list.").With("before", "format", "must be `next` of an earlier page")
	}
	return &view.PastMark{EndedAt: time.UnixMicro(int64(binary.BigEndian.Uint64(raw))), ID: uuid.UUID(raw[8:])}, nil //nolint:gosec // as above
}

func agentPlace(r *http.Request) (p approval.Place, err error) {
	p.AgentID, err = agentID(r)
	return p, err
}

func organizationPlace(r *http.Request) (p approval.Place, err error) {
	if p.OrganizationID, err = pathID[id.Organization](r, "organization"); err != nil {
		return p, err
	}
	return p, nil
}

type placeOf func(*http.Request) (approval.Place, error)

// rule answers who decides at a place: null where one person does.
func (a Approval) rule(of placeOf) httpx.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		p, err := of(r)
		if err != nil {
			return err
		}
		rule, err := a.Approvals.Rule(r.Context(), httpx.Actor(r.Context()), p)
		if err != nil {
			return err
		}
		return httpx.JSON(w, http.StatusOK, present.ApprovalRule(rule))
	}
}

func (a Approval) setRule(of placeOf) httpx.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		p, err := of(r)
		if err != nil {
			return err
		}
		var in wire.ApprovalRuleSet
		if err := httpx.Decode(w, r, &in); err != nil {
			return err
		}
		rule := approval.Rule{LeastRisk: approval.Risk(in.LeastRisk)}
		for _, s := range in.DeciderIDs {
			d, err := id.Parse[id.Participant](s)
			if err != nil {
				return fault.New(fault.Invalid, "invalid", "A field is not an id.").With("deciderIds", "format", err.Error())
			}
			rule.Deciders = append(rule.Deciders, d)
		}
		out, err := a.Approvals.SetRule(r.Context(), httpx.Actor(r.Context()), p, rule)
		if err != nil {
			return err
		}
		return httpx.JSON(w, http.StatusOK, present.ApprovalRule(out))
	}
}

func (a Approval) dropRule(of placeOf) httpx.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		p, err := of(r)
		if err != nil {
			return err
		}
		if err := a.Approvals.DropRule(r.Context(), httpx.Actor(r.Context()), p); err != nil {
			return err
		}
		return httpx.NoContent(w)
	}
}
