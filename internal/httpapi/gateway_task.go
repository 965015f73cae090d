package httpapi

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/task"
	"github.com/agntchat/agntchat/internal/turn"
	"github.com/agntchat/agntchat/internal/wire"
)

// GatewayTask is the bridges' side of tasks (bridge 3.2; docs/protocol.md).
type GatewayTask struct {
	Tasks *flow.Tasks
	Log   *slog.Logger
}

// Mount mounts the routes.
func (g GatewayTask) Mount(r chi.Router) {
	h := func(f httpx.HandlerFunc) http.HandlerFunc { return httpx.Wrap(g.Log, f) }
	r.Post("/gateway/tasks/{row}/accept", h(onRun(g.accept)))
	r.Post("/gateway/tasks/{row}/progress", h(g.progress))
	r.Post("/gateway/tasks/{row}/claim-step", h(onClaim(g.planned, g.claimStep)))
	r.Post("/gateway/tasks/{row}/step-progress", h(onClaim(g.planned, g.stepProgress)))
	r.Post("/gateway/tasks/{row}/extend-plan", h(onClaim(g.planned, g.extendPlan)))
	r.Post("/gateway/tasks/{row}/complete", h(g.complete))
	r.Post("/gateway/tasks/{row}/release", h(onRun(g.release)))
	r.Post("/gateway/task-requests", h(g.requests))
}

// accept answers 200 to the run that may begin, 409 already_accepted to a second
// delivery, 403 executor_not_owned to who does not hold it, 404 when it is over.
func (g GatewayTask) accept(ctx context.Context, actor access.Actor, c flow.HeldClaim, _ wire.GatewayTaskCall) (any, error) {
	return wire.GatewayTaskDone{Status: "accepted"}, g.Tasks.Accept(ctx, actor, c)
}

// progress answers 403 or 404 when the task is over for this run (bridge 2.8).
func (g GatewayTask) progress(w http.ResponseWriter, r *http.Request) error {
	var in wire.GatewayTaskProgress
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	actor, p := httpx.Actor(r.Context()), flow.Progress{Step: in.CurrentStep, Phase: in.Phase, ElapsedMS: int64(in.ElapsedMS)}
	if in.ExecutorID == "" { // a tool process of a stock bridge knows the task, not the row (bridge 5.3)
		t, err := pathID[id.Task](r, "row")
		if err != nil {
			return err
		}
		if err := g.Tasks.ReportByTask(r.Context(), actor, t, p); err != nil {
			return err
		}
		return httpx.JSON(w, http.StatusOK, wire.GatewayTaskDone{Status: "ok"})
	}
	c, err := held(r, in.ExecutorID, in.Generation)
	if err != nil {
		return err
	}
	if err := g.Tasks.Report(r.Context(), actor, c, p); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.GatewayTaskDone{Status: "ok"})
}

// planned is held for calls about the plan, which tools of a model make too: they name
// the task where a bridge names the row, and their process knows no executor (bridge 5.3).
func (g GatewayTask) planned(r *http.Request, executor string, generation *int64) (flow.HeldClaim, error) {
	mine, err := g.Tasks.ClaimOf(r.Context(), httpx.Actor(r.Context()), chi.URLParam(r, "row"))
	if executor == "" {
		return mine, err
	}
	if err != nil {
		return held(r, executor, generation) // whether that is held is for the call to say
	}
	ex, err := bodyExecutor(executor)
	return flow.HeldClaim{QueueID: mine.QueueID, ExecutorID: ex, Generation: generation}, err
}

func (g GatewayTask) claimStep(ctx context.Context, actor access.Actor, c flow.HeldClaim, _ wire.GatewayTaskCall) (any, error) {
	out, err := g.Tasks.ClaimStep(ctx, actor, c)
	return present.StepClaimed(out), err
}

func (g GatewayTask) stepProgress(ctx context.Context, actor access.Actor, c flow.HeldClaim, in wire.GatewayTaskStep) (any, error) {
	return wire.GatewayTaskDone{Status: "ok"}, g.Tasks.ReportStep(ctx, actor, c, in.StepID, task.StepStatus(in.Status), in.Result)
}

func (g GatewayTask) extendPlan(ctx context.Context, actor access.Actor, c flow.HeldClaim, in wire.GatewayTaskPlan) (any, error) {
	steps, err := flow.StepsOf(in.Steps)
	if err != nil {
		return nil, err
	}
	plan, err := g.Tasks.ExtendPlan(ctx, actor, c, steps)
	return present.Plan(plan), err
}

// complete is the end of a run in one call, of our own bridge.
func (g GatewayTask) complete(w http.ResponseWriter, r *http.Request) error {
	var in wire.GatewayTaskComplete
	if err := httpx.DecodeLimit(w, r, &in, maxMessageBody); err != nil {
		return err
	}
	c := flow.TaskCompletion{
		Outcome: in.Outcome, Result: flow.TaskResult{Response: in.Response, Summary: in.Summary, Silent: in.Silent, ResultData: in.ResultData},
	}
	var err error
	if c.HeldClaim, err = held(r, in.ExecutorID, &in.Generation); err != nil {
		return err
	}
	if in.Error != nil {
		c.ErrorCode, c.ErrorMessage = in.Error.Code, in.Error.Message
	}
	if in.Usage != nil {
		c.Usage = &turn.Usage{Tokens: tokens(*in.Usage)}
		if in.Turn != nil {
			c.Usage.Model = in.Turn.Model
		}
	}
	for _, u := range in.ToolUses {
		c.ToolNames = append(c.ToolNames, u.Name)
	}
	status, err := g.Tasks.CompleteRun(r.Context(), httpx.Actor(r.Context()), c)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.GatewayTaskDone{Status: "completed", TaskStatus: string(status)})
}

func (g GatewayTask) release(ctx context.Context, actor access.Actor, c flow.HeldClaim, _ wire.GatewayTaskCall) (any, error) {
	return wire.GatewayTaskDone{Status: "released"}, g.Tasks.GiveBack(ctx, actor, c)
}

// requests makes the tasks of an agent's <task_request> blocks (bridge 5.7).
func (g GatewayTask) requests(w http.ResponseWriter, r *http.Request) error {
	var in wire.TaskRequests
	if err := httpx.DecodeLimit(w, r, &in, maxMessageBody); err != nil {
		return err
	}
	conv, err := id.Parse[id.Conversation](in.ConversationID)
	if err != nil {
		return fault.New(fault.Invalid, "invalid", "conversation_id is missing or not an id.").With("conversation_id", "required", "where the tasks are asked for")
	}
	source, err := optionalMessage("trigger_message_id", in.TriggerMessageID)
	if err != nil {
		return err
	}
	list := make([]flow.TaskRequest, len(in.TaskRequests))
	for n, t := range in.TaskRequests {
		list[n] = flow.TaskRequest{Title: t.Title, Description: t.Description, AssignedTo: listOrOne(t.AssignedTo), DependsOn: listOrOne(t.DependsOn), Metadata: t.Metadata}
	}
	var trigger id.Message
	if source != nil {
		trigger = *source
	}
	made, err := g.Tasks.RequestTasks(r.Context(), httpx.Actor(r.Context()), conv, trigger, list)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.TaskRequestsMade{Tasks: present.Tasks(made), Count: len(made)})
}
