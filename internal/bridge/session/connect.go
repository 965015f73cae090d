package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"
)

// connectLoop keeps one socket joined to the agent's topic until ctx ends.
func (a *Agent) connectLoop(ctx context.Context) {
	for try := 0; ctx.Err() == nil; {
		since := time.Now()
		err := a.connect(ctx)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, ErrKeyRefused) {
			a.replaced(ErrKeyRefused)
			return
		}
		if time.Since(since) > 30*time.Second {
			try = 0
		}
		a.log.Info("socket ended, reconnecting", slog.Any("error", err))
		if !a.pause(ctx, try) {
			return
		}
		try++
	}
}

// connect runs one connection: join, catch up, receive until it ends.
func (a *Agent) connect(ctx context.Context) error {
	token, err := a.api.tokens.get(ctx)
	if err != nil {
		return err
	}
	s, wait, err := dial(ctx, a.opt.URL, token, a.opt.Timing.SocketBeat, a.event)
	if err != nil {
		if isStatus(err, http.StatusUnauthorized, "") || isStatus(err, http.StatusForbidden, "") {
			a.api.tokens.drop(token)
		}
		return err
	}
	a.mu.Lock()
	a.sock = s
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		a.sock = nil
		a.mu.Unlock()
	}()
	topic := "user:" + a.opt.AgentID
	join := map[string]any{"executor_id": a.executorID(), "bridge_version": a.opt.Version}
	if _, err := s.push(ctx, topic, "phx_join", join); err != nil {
		s.close()
		_ = wait()
		return err
	}
	a.log.Info("agent is online", "url", a.opt.URL)
	a.catchup(ctx, s)
	a.wakeOutbox()
	stop := context.AfterFunc(ctx, s.close)
	defer stop()
	return wait()
}

// catchup asks the server to send every item that waits for this agent.
func (a *Agent) catchup(ctx context.Context, s *socket) {
	if _, err := s.push(ctx, "user:"+a.opt.AgentID, "catchup", struct{}{}); err != nil {
		a.log.Warn("catch-up failed", slog.Any("error", err))
	}
}

// event is called by the reader of the socket and never blocks.
func (a *Agent) event(topic, event string, payload json.RawMessage) {
	if topic != "user:"+a.opt.AgentID {
		return
	}
	switch event {
	case "gateway_message":
		var it Item
		if err := json.Unmarshal(payload, &it); err != nil || it.ID == "" || it.MessageID == "" {
			a.log.Error("unreadable gateway_message", slog.Any("error", err))
			return
		}
		a.take(it)
	case "gateway_approval":
		var ap Approval
		if err := json.Unmarshal(payload, &ap); err != nil || ap.ID == "" || ap.RequestID == "" {
			a.log.Error("unreadable gateway_approval", slog.Any("error", err))
			return
		}
		a.takeApproval(ap)
	case "gateway_task":
		var it TaskItem
		if err := json.Unmarshal(payload, &it); err != nil || it.ID == "" || it.TaskID == "" {
			a.log.Error("unreadable gateway_task", slog.Any("error", err))
			return
		}
		a.takeTask(it)
	case "gateway_scope_request":
		a.scope(payload)
	case "gateway_command":
		var c Command
		if err := json.Unmarshal(payload, &c); err != nil {
			a.log.Error("unreadable gateway_command", slog.Any("error", err))
			return
		}
		a.command(c)
	case "gateway_agent_query":
		var q Query
		if err := json.Unmarshal(payload, &q); err != nil || q.ID == "" {
			a.log.Error("unreadable gateway_agent_query", slog.Any("error", err))
			return
		}
		a.wg.Go(func() { a.answerQuery(q) })
	case "resync":
		a.mu.Lock()
		s := a.sock
		a.mu.Unlock()
		if s != nil {
			a.wg.Go(func() { a.catchup(a.life, s) })
		}
	case "gateway_message_added":
		// Only a hint: the server offers the message when the turn has ended.
	default:
		a.log.Debug("event ignored", "event", event)
	}
}

func (a *Agent) command(c Command) {
	switch c.Type {
	case "shutdown":
		a.log.Warn("the server asked this bridge to stop", "reason", c.Reason)
		err := ErrReplaced
		if c.Reason == "superseded" {
			err = fmt.Errorf("%w: another bridge of this agent has started under the same name %q. To run it in several places at once, name each with --executor-key", ErrReplaced, a.opt.ExecutorKey)
		}
		a.replaced(err)
	case "stop_generation":
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, w := range a.work {
			if w.conversation == c.ConversationID || (w.kind == kindApproval && w.approval.ConversationID == c.ConversationID) {
				w.cancel(errStopped)
			}
		}
	case "stop_task":
		a.stopTask(c.TaskID)
	default:
		a.log.Info("command ignored", "type", c.Type)
	}
}
