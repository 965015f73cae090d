package judgetest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// deliver covers steps 9 to 13 for a turn whose model came back.
func (b *Bridge) deliver(t *Turn, rec *TurnRecord, reply Reply) {
	go b.telemetry(t, reply)
	extra := b.extract(t, reply.Text)
	text := strings.TrimSpace(extra.text)
	silent := t.endTurn != "" && t.endTurn != "task_complete" && t.endTurn != "awaiting_input" && t.endTurn != "blocked"
	meta := map[string]any{"model": "judge-model-1", "backend": b.opt.Backend, "stream_id": t.streamID, "tool_calls": t.calls}
	switch {
	case reply.Kind == "auth_failure":
		text, meta["errorKind"] = t.errorText("authFailure", "My model provider refused its key."), reply.Kind
	case reply.Kind == "rate_limit":
		text, meta["errorKind"] = t.errorText("rateLimitFailure", "My model provider is limiting me."), reply.Kind
	case silent && versionAtMost(b.opt.Version, "2.11.15"):
		text = ""
	case text == "" && t.endTurn == "" && !extra.routed && t.directives()["humanExpectsReply"] == true:
		text = t.errorText("emptyResponse", "I have no answer to that.")
	}
	if reply.Kind != "" {
		b.fault(t, "model_error", reply.Kind)
	}
	b.routeDMs(t, extra, text)
	if text == "" {
		rec.Outcome = "empty"
		b.stream(b.run, t.ConversationID, map[string]any{"stream_id": t.streamID, "status": "cancelled"})
		rec.AckStatus = b.ackEnd(t)
		return
	}
	b.step(StepAnswering, t)
	b.leaveFlight(t)
	body := map[string]any{"content": clipRunes(text, 30_000), "contentType": "text", "metadata": meta, "lastSeenMessageId": t.anchor()}
	a, err := b.postReply(t, rec, body)
	status := "complete"
	switch {
	case err != nil, !a.OK() && rec.Outcome != "stale":
		rec.Outcome, status = "refused", "cancelled"
		b.fault(t, "reply_post_failed", fmt.Sprint(err, " ", a.Status))
	case rec.Outcome == "stale":
		status = "cancelled"
	default:
		rec.Outcome, rec.ReplyID = "answered", a.Str("id")
		b.led.check("bridge", "bridge 3.3", "POST messages", "Posted", a.JSON)
		b.step(StepAnswered, t)
	}
	b.stream(b.run, t.ConversationID, map[string]any{"stream_id": t.streamID, "status": status})
	if rec.Outcome == "answered" {
		b.afterReply(t, extra)
	}
	rec.AckStatus = b.ackEnd(t)
}

// postReply posts the reply and handles 409 by version: 2.10.5 to 2.11.15 post
// once more with an advanced anchor, the others drop (bridge 3.1).
func (b *Bridge) postReply(t *Turn, rec *TurnRecord, body map[string]any) (Answer, error) {
	a, err := b.post(b.run, t.ConversationID, body)
	rec.PostStatus = a.Status
	if err != nil || a.Status != http.StatusConflict {
		return a, err
	}
	b.led.check("bridge", "bridge 3.1", "409 body", "Stale", a.JSON)
	rec.Outcome = "stale"
	if !versionAtMost(b.opt.Version, "2.11.15") || !versionAtMost("2.10.5", b.opt.Version) {
		return a, nil
	}
	newest, newestAt := "", ""
	list, _ := a.Map()["newMessages"].([]any)
	for _, e := range list {
		m, _ := e.(map[string]any)
		if at := str(m, "insertedAt"); at >= newestAt {
			newest, newestAt = str(m, "id"), at
		}
	}
	body["lastSeenMessageId"] = newest
	a, err = b.post(b.run, t.ConversationID, body)
	rec.PostStatus, rec.Reposted = a.Status, true
	if err == nil && a.OK() {
		rec.Outcome = ""
	}
	return a, err
}

// raised is a handler that raised or timed out: ack first, then a visible
// ErrorReport, and a fault (bridge 2.7, 3.6).
func (b *Bridge) raised(t *Turn, rec *TurnRecord, outcome, code, text, detail string) {
	rec.Outcome = outcome
	b.stream(b.run, t.ConversationID, map[string]any{"stream_id": t.streamID, "status": "cancelled"})
	rec.AckStatus = b.ackEnd(t)
	a, err := b.post(b.run, t.ConversationID, map[string]any{
		"content": text, "contentType": "text", "messageType": "ErrorReport",
		"metadata": map[string]any{"error_code": code, "severity": "warning"},
	})
	if err == nil {
		rec.PostStatus, rec.ReplyID = a.Status, a.Str("id")
		if !a.OK() && b.run.Err() == nil {
			b.led.Break("bridge", "bridge 2.7", "ErrorReport after the ack answered %d: it is exempt from the stale check", a.Status)
		}
	}
	b.fault(t, "model_error", detail)
}

func (b *Bridge) post(ctx context.Context, conv string, body map[string]any) (Answer, error) {
	return b.callREST(ctx, call{method: "POST", path: "/api/conversations/" + conv + "/messages", body: body})
}

func (b *Bridge) stream(ctx context.Context, conv string, body map[string]any) {
	a, err := b.callREST(ctx, call{method: "POST", path: "/api/conversations/" + conv + "/stream", body: body})
	if err == nil && (a.Status == 400 || a.Status == 404 || a.Status == 422) {
		b.led.Break("bridge", "bridge 3.3", "POST stream with status %s answered %d", brief(body["status"]), a.Status)
	}
}

func (b *Bridge) ack(queueID string) int {
	a, err := b.callREST(b.run, call{method: "POST", path: "/api/gateway/messages/" + queueID + "/ack", body: map[string]any{"executor_id": b.executorID}})
	if err != nil {
		return 0
	}
	return a.Status
}

func (b *Bridge) ackEnd(t *Turn) int {
	b.leaveFlight(t)
	status := b.ack(t.QueueID)
	b.step(StepAcked, t)
	return status
}

// telemetry is step 9, in the background.
func (b *Bridge) telemetry(t *Turn, reply Reply) {
	b.report(call{method: "POST", path: "/api/usage", body: map[string]any{
		"usage": map[string]any{"input_tokens": 1200, "output_tokens": 80, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 0},
		"model": "judge-model-1", "turn": map[string]any{"tool_calls": t.calls, "iterations": 1, "mcp_tools_attached": 4, "mcp_server": "connected"},
	}})
	if strings.HasSuffix(b.opt.Backend, "_cli") && len(reply.Tools) > 0 {
		uses := make([]map[string]any, 0, len(reply.Tools))
		for _, name := range reply.Tools {
			uses = append(uses, map[string]any{"name": name})
		}
		b.report(call{method: "POST", path: "/api/agents/me/cli-tool-uses", body: map[string]any{"conversation_id": t.ConversationID, "tool_uses": uses}})
	}
}

func (b *Bridge) fault(t *Turn, kind, detail string) {
	b.report(call{method: "POST", path: "/api/agents/me/runtime-faults", body: map[string]any{
		"kind": kind, "conversation_id": t.ConversationID, "detail": clip(detail, 1000), "message_id": t.MessageID,
	}})
}

func (b *Bridge) track(t *Turn, stop context.CancelCauseFunc) {
	b.change(func() {
		if b.cancels[t.ConversationID] == nil {
			b.cancels[t.ConversationID] = map[string]context.CancelCauseFunc{}
		}
		b.cancels[t.ConversationID][t.QueueID] = stop
	})
}

func (b *Bridge) untrack(t *Turn) {
	b.change(func() { delete(b.cancels[t.ConversationID], t.QueueID) })
}

func (b *Bridge) leaveFlight(t *Turn) {
	b.change(func() {
		if b.inFlight[t.ConversationID] == t.MessageID {
			delete(b.inFlight, t.ConversationID)
		}
	})
}

func (b *Bridge) finish(rec TurnRecord) {
	b.change(func() { b.turns = append(b.turns, rec) })
}

func clipRunes(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n])
}
