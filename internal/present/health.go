package present

import (
	"encoding/json"
	"time"

	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/wire"
)

// AgentHealth is one row of the list (desktop 5.5).
func AgentHealth(h flow.AgentHealth) wire.AgentHealth {
	return wire.AgentHealth{
		AgentID: h.Agent.ID.String(), DisplayName: h.Agent.DisplayName, AvatarURL: h.Agent.AvatarURL, HealthStatus: h.Status,
		ExecutorCount: len(h.Executors), OnlineExecutorCount: h.Online, StuckCount: h.Stuck, QueuedTasks: h.Tasks,
		QueuedMessages: h.Waiting, Blocker: blocker(h.Blocker),
	}
}

func blocker(b *flow.Blocker) *wire.Blocker {
	if b == nil {
		return nil
	}
	out := &wire.Blocker{Code: b.Code, Message: b.Message}
	if b.Detail != "" {
		out.Detail = new(b.Detail)
	}
	return out
}

// AgentHealthDetail is one agent's health with its executors, claims and faults.
func AgentHealthDetail(h flow.AgentHealth, now time.Time) wire.AgentHealthDetail {
	out := wire.AgentHealthDetail{
		AgentID: h.Agent.ID.String(), HealthStatus: h.Status, ExecutorCount: len(h.Executors), OnlineExecutorCount: h.Online, StuckCount: h.Stuck,
		QueuedTasks: h.Tasks, QueuedMessages: h.Waiting, Blocker: blocker(h.Blocker), Executors: make([]wire.ExecutorHealth, len(h.Executors)), StuckTasks: make([]wire.StuckTask, len(h.TaskWork)),
		UnackedMessages: make([]wire.UnackedMessage, len(h.Claims)), Faults: make([]wire.RuntimeFault, len(h.Faults)),
	}
	for n, e := range h.Executors {
		out.Executors[n] = executorHealth(e, now)
		for _, c := range h.TaskWork {
			if c.Executor == e.ID {
				out.Executors[n].ActiveTaskCount++
			}
		}
	}
	for n, c := range h.Claims {
		out.UnackedMessages[n] = wire.UnackedMessage{
			ID: c.ID.String(), MessageID: c.MessageID.String(), ConversationID: c.ConversationID.String(), ClaimedAt: wire.At(c.ClaimedAt),
			ElapsedSeconds: seconds(now.Sub(c.ClaimedAt)),
		}
	}
	for n, c := range h.TaskWork {
		out.StuckTasks[n] = wire.StuckTask{ID: c.QueueID.String(), TaskID: c.TaskID.String(), Title: c.Title, ClaimedAt: wire.At(c.ClaimedAt), Status: c.Status, ElapsedSeconds: int64(now.Sub(c.ClaimedAt).Seconds())}
	}
	for n, f := range h.Faults {
		out.Faults[n] = wire.RuntimeFault{ID: f.ID, Kind: f.Kind, MessageID: idOrNil(f.MessageID), Detail: f.Detail, InsertedAt: wire.At(f.InsertedAt)}
		if !f.ConversationID.IsZero() {
			out.Faults[n].ConversationID = new(f.ConversationID.String())
		}
	}
	return out
}

func executorHealth(e flow.ExecutorHealth, now time.Time) wire.ExecutorHealth {
	status := "offline"
	switch {
	case e.Status == "disabled":
		status = e.Status
	case e.Online:
		status = "online"
	}
	return wire.ExecutorHealth{
		ID: e.ID.String(), DisplayName: e.DisplayName, ExecutorKey: e.ExecutorKey, Status: status, DeviceName: e.DeviceName, BridgeVersion: e.BridgeVersion,
		MaxConcurrent: e.MaxConcurrent, LastPollAt: new(wire.At(e.LastSeenAt)), SecondsSincePoll: seconds(now.Sub(e.LastSeenAt)),
		ProcessMetrics: object(e.Metrics), PendingCommand: pendingCommand(e.Pending),
	}
}

func pendingCommand(c *flow.Command) json.RawMessage {
	if c == nil {
		return orNull(nil)
	}
	raw, err := json.Marshal(map[string]any{"type": c.Type, "reason": c.Reason, "issuedAt": wire.At(c.IssuedAt)})
	if err != nil {
		return orNull(nil)
	}
	return raw
}

func seconds(d time.Duration) int { return max(0, int(d/time.Second)) }
