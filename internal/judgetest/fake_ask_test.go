package judgetest

import (
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
)

func (f *fake) decisions(_ *http.Request, who string, _ obj) (int, any) {
	out := []obj{}
	row := func(kind string, source any, agent string, conv, task any) obj {
		return obj{"kind": kind, "id": kind + ":" + source.(string), "sourceId": source, "conversationId": conv, "taskId": task,
			"agent": obj{"id": agent, "displayName": f.agents[agent]["displayName"]}, "insertedAt": f.stamp()}
	}
	for _, t := range f.tasks {
		if t.own == who && t.parked && !terminal[str(t.row, "status")] && f.fault != "no_question" {
			d := row("ask", t.row["id"], t.agent, t.row["conversationId"], t.row["id"])
			d["question"] = t.question
			out = append(out, d)
		}
	}
	for _, p := range f.asks {
		if p["ownerId"] == who && p["status"] == "pending" {
			d := row("permission", p["id"], str(p, "agentId"), p["conversationId"], p["taskId"])
			d["toolName"] = p["toolName"]
			out = append(out, d)
		}
	}
	return 200, obj{"decisions": out}
}

// later is five minutes from now.
func (f *fake) later() string {
	return f.last.Add(5 * time.Minute).Format("2006-01-02T15:04:05.000000Z")
}

// grantKey is what an "always" covers: the same agent, tool and input.
func grantKey(p obj) string { return str(p, "agentId") + str(p, "toolName") + brief(p["toolInput"]) }

func (f *fake) ask(_ *http.Request, who string, in obj) (int, any) {
	if str(in, "toolName") == "" {
		return 422, fail("invalid")
	}
	if conv := str(in, "conversationId"); conv != "" && f.member(conv, who) == nil {
		return 404, fail("not_found")
	}
	now := f.stamp()
	p := obj{"id": uuid.NewString(), "agentId": who, "ownerId": f.person(who), "conversationId": in["conversationId"], "taskId": in["taskId"], "toolName": in["toolName"],
		"toolInput": in["toolInput"], "description": in["description"], "status": "pending", "insertedAt": now, "expiresAt": f.later()}
	if ttl, _ := in["ttlSeconds"].(float64); in["durable"] == true {
		p["expiresAt"] = f.last.Add(time.Duration(ttl) * time.Second).Format("2006-01-02T15:04:05.000000Z")
	}
	if f.fault == "long_request" {
		p["expiresAt"] = "2099-01-01T00:00:00.000000Z"
	}
	if f.grants[grantKey(p)] {
		p["status"] = "approved"
	} else {
		f.toUser(f.person(who), "permission_request", maps.Clone(p))
	}
	f.asks = append(f.asks, p)
	status := 200
	if f.fault == "request_201" {
		status = 201
	}
	return status, obj{"requestId": p["id"], "status": p["status"]}
}

func (f *fake) pollAsk(r *http.Request, who string, _ obj) (int, any) {
	for _, p := range f.asks {
		if p["id"] == r.PathValue("id") && p["agentId"] == who {
			return 200, obj{"status": p["status"]}
		}
	}
	return 404, fail("not_found")
}

func (f *fake) listAsks(_ *http.Request, who string, _ obj) (int, any) {
	out := []obj{}
	for _, p := range f.asks {
		if p["ownerId"] == who && p["status"] == "pending" {
			out = append(out, p)
		}
	}
	return 200, obj{"requests": out}
}

func (f *fake) resolveAsk(r *http.Request, who string, in obj) (int, any) {
	to := map[string]string{"approve": "approved", "deny": "denied"}[str(in, "decision")]
	for _, p := range f.asks {
		if p["id"] != r.PathValue("id") || p["ownerId"] != who {
			continue
		}
		if to == "" {
			return 422, fail("invalid")
		}
		if p["status"] != "pending" {
			return 409, fail("already_decided")
		}
		p["status"] = to
		if in["always"] == true && f.fault != "no_grants" {
			f.grants[grantKey(p)] = true
		}
		f.toUser(who, "permission_resolved", maps.Clone(p))
		return 200, p
	}
	return 404, fail("not_found")
}

// fakeQuery is an agent query that a soul revision waits for.
type fakeQuery struct {
	agent, executor string
	done            chan string
}

// revise blocks outside the lock until the bridge answered.
func (f *fake) revise(w http.ResponseWriter, r *http.Request) {
	reply := f.handler(func(*http.Request, string, obj) (int, any) { return 404, fail("not_found") })
	f.mu.Lock()
	who, id := f.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")], r.PathValue("id")
	var q *fakeQuery
	if a := f.agents[id]; a != nil && a["ownerId"] == who {
		reply = f.handler(func(*http.Request, string, obj) (int, any) { return 409, fail("agent_offline") })
		for c := range f.conns {
			if c.who == id && c.executor != "" && f.exec[c.executor]["version"] != "2.9.8" && f.exec[c.executor]["gone"] == nil {
				q = &fakeQuery{id, c.executor, make(chan string, 1)}
				key := uuid.NewString()
				f.queries[key] = q
				c.send("user:"+id, "gateway_agent_query", obj{"id": key, "agentId": id, "label": "soul_revise", "systemPrompt": "Revise.", "userContent": "Please.", "maxTokens": nil, "tier": "fast",
					"status": "claimed", "expiresAt": f.later()})
				break
			}
		}
	}
	f.mu.Unlock()
	if q != nil {
		text := ""
		select {
		case text = <-q.done:
		case <-r.Context().Done():
			return
		}
		reply = f.handler(func(*http.Request, string, obj) (int, any) {
			if text == "" {
				return 422, fail("agent_failed")
			}
			return 200, obj{"soulMd": text}
		})
	}
	reply(w, r)
}

func (f *fake) answerQuery(r *http.Request, who string, in obj) (int, any) {
	q := f.queries[r.PathValue("id")]
	switch {
	case q == nil || q.agent != who:
		return 404, fail("not_found")
	case str(in, "executor_id") == "" && f.fault != "anonymous_query":
		return 400, fail("executor_id_required")
	case str(in, "executor_id") != "" && q.executor != in["executor_id"]:
		return 403, fail("executor_not_owned")
	}
	delete(f.queries, r.PathValue("id"))
	q.done <- str(in, "text")
	return 200, obj{"ok": true}
}
