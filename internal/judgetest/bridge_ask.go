package judgetest

import (
	"context"
	"net/http"
	"time"
)

// Ask is the permission prompt of a CLI turn, end to end (bridge 5.10).
type Ask struct {
	Tool, Description      string
	Input                  map[string]any
	ConversationID, TaskID string
}

// Permission creates the request and polls it every Poll (2 s) for at most
// AskCeiling (330 s). Poll errors are ignored. The verdict is allowed, denied,
// expired, or refused when no request came to be (it fails closed). asked, if
// not nil, is called with the request's id before the first poll.
func (b *Bridge) Permission(ctx context.Context, ask Ask, asked func(id string)) string {
	body := map[string]any{"toolName": ask.Tool, "toolInput": ask.Input, "description": ask.Description}
	if ask.ConversationID != "" {
		body["conversationId"] = ask.ConversationID
	}
	if ask.TaskID != "" {
		body["taskId"] = ask.TaskID
	}
	a, err := b.callREST(ctx, call{method: "POST", path: "/api/agent/permission-requests", body: body})
	if err != nil {
		return "refused"
	}
	if a.OK() && a.Status != http.StatusOK {
		b.led.Break("bridge", "bridge 4.9", "permission request answered %d: the hook relay needs 200 exactly", a.Status)
	}
	if !a.OK() {
		return "refused"
	}
	if a.Str("status") == "approved" {
		return "allowed"
	}
	b.led.check("bridge", "bridge 4.9", "permission request", "PermissionAsked", a.JSON)
	id := a.Str("requestId")
	if id == "" {
		return "refused"
	}
	if asked != nil {
		asked(id)
	}
	for end := time.Now().Add(b.opt.AskCeiling); time.Now().Before(end); {
		if wait(ctx, b.opt.Poll) != nil {
			return "refused"
		}
		a, err := b.callREST(ctx, call{method: "GET", path: "/api/agent/permission-requests/" + id})
		if err != nil || a.Status != http.StatusOK {
			continue
		}
		b.led.check("bridge", "bridge 4.9", "permission poll", "PermissionPolled", a.JSON)
		switch a.Str("status") {
		case "approved":
			return "allowed"
		case "denied":
			return "denied"
		case "expired":
			return "expired"
		}
	}
	return "expired"
}

// query answers one gateway_agent_query (bridge 2.10): every path reports.
func (b *Bridge) query(p map[string]any) {
	b.led.check("bridge", "bridge 2.10", "gateway_agent_query", "AgentQuery", p)
	body, end := b.mine(), "/fail"
	if b.opt.Query == nil {
		body["error"] = "no_handler_registered"
	} else if text := b.opt.Query(b.run, p); text == "" {
		body["error"] = "handler_returned_no_result"
	} else {
		body["text"], body["model"], body["usage"], end = text, "judge-model-1", map[string]any{"input_tokens": 10, "output_tokens": 3}, "/respond"
	}
	b.report(call{method: "POST", path: "/api/gateway/agent-queries/" + str(p, "id") + end, body: body})
}
