package channel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/ask"
	"github.com/agntchat/agntchat/internal/executor"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/realtime"
	"github.com/agntchat/agntchat/internal/realtime/socket"
	"github.com/agntchat/agntchat/internal/wire"
)

// executorClass keeps what people get away from bridges (decision 22): nothing is
// broadcast to it, all is pushed to one socket.
const executorClass realtime.Class = "executor"

// Bridges makes the channels of executors.
type Bridges struct {
	Gateway *flow.Gateway
	Log     *slog.Logger
}

// New is Router.Executor.
func (b Bridges) New(actor access.Actor) socket.Channel {
	return &executorChannel{bridges: b, actor: actor}
}

// executorChannel is an agent's own topic joined by a bridge (bridge contract
// 2.4). It is also the flow.ExecutorSocket down which work is pushed.
type executorChannel struct {
	bridges Bridges
	actor   access.Actor
	id      id.Executor
	ours    bool
	member  *socket.Member
}

// Join implements socket.Channel. The executor must be the agent's own; it is
// online again from here on.
func (e *executorChannel) Join(ctx context.Context, m *socket.Member, params json.RawMessage) (any, error) {
	var p wire.ExecutorJoin
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, socket.Reason("bad_request")
	}
	ex, err := id.Parse[id.Executor](p.ExecutorID)
	if err != nil {
		return nil, socket.Reason("unknown_executor")
	}
	m.SetClass(executorClass)
	e.id, e.member = ex, m
	e.ours, err = e.bridges.Gateway.ReviveExecutor(ctx, e.actor, ex, p.InstanceID, p.BridgeVersion)
	switch {
	case errors.Is(err, executor.ErrUnknown):
		return nil, socket.Reason("unknown_executor")
	case err != nil:
		return nil, err
	}
	return nil, nil
}

// Joined implements socket.Joined: work is pushed only after the join's answer.
func (e *executorChannel) Joined(context.Context, *socket.Member) {
	e.bridges.Gateway.AddSocket(e.actor, e.id, e)
}

// Push implements socket.Channel.
func (e *executorChannel) Push(ctx context.Context, _ *socket.Member, event string, _ json.RawMessage) (any, error) {
	if event != "catchup" {
		return nil, socket.ErrUnknownEvent
	}
	n, err := e.bridges.Gateway.Catchup(ctx, e.actor)
	return wire.CatchupReply{Messages: n.Messages, Tasks: n.Tasks, ScopeRequests: n.Scopes, AgentQueries: n.Queries}, err
}

// Leave implements socket.Channel.
func (e *executorChannel) Leave(ctx context.Context, _ *socket.Member, _ socket.LeaveReason) {
	e.bridges.Gateway.LeaveExecutor(ctx, e.actor, e.id, e)
}

// Deliver implements flow.ExecutorSocket.
func (e *executorChannel) Deliver(d flow.Delivery) error {
	raw, err := present.FitDelivery(present.GatewayMessage(d), present.MaxDelivery)
	if err == nil {
		err = e.member.Push("gateway_message", raw)
	}
	if errors.Is(err, present.ErrTooLarge) || errors.Is(err, realtime.ErrFrameTooLarge) {
		return fmt.Errorf("%w: %w", flow.ErrUndeliverable, err)
	}
	return err
}

// DeliverApproval implements flow.ExecutorSocket.
func (e *executorChannel) DeliverApproval(d flow.ApprovalDelivery) error {
	err := e.member.Push("gateway_approval", present.GatewayApproval(d))
	if errors.Is(err, realtime.ErrFrameTooLarge) {
		return fmt.Errorf("%w: %w", flow.ErrUndeliverable, err)
	}
	return err
}

// DeliverQuery implements flow.ExecutorSocket.
func (e *executorChannel) DeliverQuery(q ask.Query) error {
	return e.member.Push("gateway_agent_query", present.GatewayQuery(q))
}

// DeliverScope implements flow.ExecutorSocket.
func (e *executorChannel) DeliverScope(s ask.Scope) error {
	return e.member.Push("gateway_scope_request", present.GatewayScope(s))
}

// DeliverTask implements flow.ExecutorSocket.
func (e *executorChannel) DeliverTask(d flow.TaskDelivery) error {
	raw, err := present.FitTask(present.GatewayTask(d), present.MaxDelivery)
	if err == nil {
		err = e.member.Push("gateway_task", raw)
	}
	if errors.Is(err, present.ErrTooLarge) || errors.Is(err, realtime.ErrFrameTooLarge) {
		return fmt.Errorf("%w: %w", flow.ErrUndeliverable, err)
	}
	return err
}

// Command implements flow.ExecutorSocket.
func (e *executorChannel) Command(c flow.Command) error {
	return e.member.Push("gateway_command", present.Command(c))
}

// Added implements flow.ExecutorSocket. Only a bridge of ours knows the event.
func (e *executorChannel) Added(h flow.AddedHint) error {
	if !e.ours {
		return nil
	}
	return e.member.Push("gateway_message_added", wire.GatewayMessageAdded{
		ID: h.QueueID.String(), MessageID: h.MessageID.String(), ConversationID: h.ConversationID.String(),
	})
}

// Shut implements flow.ExecutorSocket. The client may connect again (never 1000).
func (e *executorChannel) Shut(reason string) {
	e.member.Conn().Close(socket.CodeGoingAway, reason)
}
