package judgetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
)

// set plays the scene and stops at the first exchange that fails.
func (r *goldenRun) set(t *testing.T) {
	t.Helper()
	list, err := loadGolden(gatewayFile(scene))
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, e := range list {
		r.play(t, e)
		if t.Failed() {
			t.Fatalf("the scene cannot be set: [%s] %s", e.Section, e.Name)
		}
	}
}

// task creates a task of the scene's agent in its direct room, waits for its
// delivery and accepts it. It returns the real id and the queue row.
func (r *goldenRun) task(t *testing.T, title string, metadata map[string]any, accept bool) (id, row string) {
	t.Helper()
	r.play(t, golden{
		Name: "create", Section: "bridge 3.7", Method: "POST", Path: "/api/conversations/{{direct}}/tasks", Auth: "{{humanToken}}", Status: []int{200, 201},
		Body:    map[string]any{"title": title, "description": title, "assignedTo": []any{"{{agentId}}"}, "metadata": metadata},
		Capture: map[string]string{"task": "id|task.id"},
	})
	r.play(t, golden{
		Name: "delivered", Section: "bridge 2.8", Socket: "expect", On: "agent", Topic: "user:{{agentId}}", Event: "gateway_task",
		Shape: map[string]any{"taskId": "{{task}}"}, Capture: map[string]string{"row": "id"},
	})
	if accept {
		r.play(t, golden{
			Name: "accept", Section: "bridge 2.8", Method: "POST", Path: "/api/gateway/tasks/{{row}}/accept", Auth: "{{agentToken}}",
			Body: map[string]any{"executor_id": "{{executor}}"}, Status: []int{200, 201, 202, 204},
		})
	}
	return r.vars["task"], r.vars["row"]
}

// atOnce sends the calls at the same time and returns their answers in order.
func (r *goldenRun) atOnce(t *testing.T, tokens []string, calls []call) []Answer {
	t.Helper()
	out := make([]Answer, len(calls))
	start := make(chan struct{})
	var wg sync.WaitGroup
	ctx, stop := context.WithTimeout(t.Context(), r.g.patience())
	defer stop()
	for i, c := range calls {
		wg.Go(func() {
			<-start
			a, err := r.rest.send(ctx, tokens[i%len(tokens)], c)
			if err != nil {
				t.Errorf("%s %s: %v", c.method, pathKind(c.path), err)
			}
			out[i] = a
		})
	}
	close(start)
	wg.Wait()
	return out
}

const racers = 8

func same(c call) []call {
	out := make([]call, racers)
	for i := range out {
		out[i] = c
	}
	return out
}

func finisher(name, task string, args map[string]any) call {
	args["task_id"], args["silent"] = task, false
	return call{method: "POST", path: "/api/mcp", body: map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{"name": name, "arguments": args, "_meta": map[string]any{"context": map[string]any{"task_id": task}}}}}
}

// racing is a suite of things that a stock bridge and people may do at the same
// moment, each of which has one outcome.
func racing(races map[string]func(t *testing.T, r *goldenRun)) func(t *testing.T, g Target) {
	return func(t *testing.T, g Target) {
		for name, race := range races {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r := newGoldenRun(t, g)
				r.set(t)
				race(t, r)
				r.led.Report(t)
			})
		}
	}
}

var (
	taskRaces     = racing(map[string]func(t *testing.T, r *goldenRun){"Accept": raceAccept, "Ends": raceEnds, "Cancel": raceCancel})
	approvalRaces = racing(map[string]func(t *testing.T, r *goldenRun){"Decisions": raceDecisions})
	inboxRaces    = racing(map[string]func(t *testing.T, r *goldenRun){"Claim": raceInbox})
)

func raceAccept(t *testing.T, r *goldenRun) {
	_, row := r.task(t, "accepted once", nil, false)
	won := 0
	for _, a := range r.atOnce(t, []string{r.vars["agentToken"]}, same(call{method: "POST", path: "/api/gateway/tasks/" + row + "/accept", body: map[string]any{"executor_id": r.vars["executor"]}})) {
		if a.OK() {
			won++
		}
	}
	if won != 1 {
		t.Errorf("[bridge 2.8] %d of %d deliveries were accepted: each would run", won, racers)
	}
}

// raceEnds: one complete or fail succeeds, and one response is posted.
func raceEnds(t *testing.T, r *goldenRun) {
	id, _ := r.task(t, "ended once", nil, true)
	calls := same(call{})
	for i := range calls {
		if i%4 == 3 {
			calls[i] = finisher("fail_task", id, map[string]any{"error": "lost the race"})
		} else {
			calls[i] = finisher("complete_task", id, map[string]any{"response": fmt.Sprintf("end %d of the race", i)})
		}
	}
	won, failed := 0, false
	for i, a := range r.atOnce(t, []string{r.vars["agentToken"]}, calls) {
		if _, ok := rpcVerdict(a); ok {
			won++
			failed = i%4 == 3
		}
	}
	if won != 1 {
		t.Errorf("[row T1] %d calls ended the task", won)
	}
	status, posted := "complete", 1
	if failed {
		status, posted = "failed", 0
	}
	r.ended(t, id, status, posted, "of the race$")
}

// ended reads the status, and how many messages of the direct room match.
func (r *goldenRun) ended(t *testing.T, id, status string, posted int, content string) {
	t.Helper()
	r.play(t, golden{Name: "status", Section: "row T1", Method: "GET", Path: "/api/tasks/" + id, Auth: "{{humanToken}}", Status: []int{200}, Shape: map[string]any{"status": status}})
	match := map[string]any{"senderId": "{{agentId}}", "content": "$re:" + content}
	shape := map[string]any{"messages": map[string]any{"$once": match}}
	if posted == 0 {
		shape = map[string]any{"messages": map[string]any{"$lacks": match}}
	}
	r.play(t, golden{Name: "posted", Section: "bridge 2.8.1", Method: "GET", Path: "/api/conversations/{{direct}}/messages?limit=30", Auth: "{{humanToken}}", Status: []int{200}, Shape: shape})
}

// raceCancel: a person stops the task while it completes; status and posted
// response agree.
func raceCancel(t *testing.T, r *goldenRun) {
	for round := range 4 {
		id, _ := r.task(t, fmt.Sprintf("stopped or done %d", round), nil, true)
		cancel := call{method: "PATCH", path: "/api/tasks/" + id + "/status", body: map[string]any{"status": "cancelled"}}
		text := fmt.Sprintf("done in round %d", round)
		answers := r.atOnce(t, []string{r.vars["agentToken"], r.vars["humanToken"]}, []call{finisher("complete_task", id, map[string]any{"response": text}), cancel})
		if _, done := rpcVerdict(answers[0]); done {
			r.ended(t, id, "complete", 1, "^"+text+"$")
		} else {
			r.ended(t, id, "cancelled", 0, "^"+text+"$")
		}
	}
}

// raceDecisions: one decision counts, and it is announced once.
func raceDecisions(t *testing.T, r *goldenRun) {
	r.play(t, golden{
		Name: "ask", Section: "bridge 4.9", Method: "POST", Path: "/api/agent/permission-requests", Auth: "{{agentToken}}", Status: []int{200},
		Body: map[string]any{"toolName": "Bash", "toolInput": map[string]any{"command": "race"}}, Capture: map[string]string{"perm": "requestId"},
	})
	calls := same(call{})
	for i := range calls {
		decision := "approve"
		if i%2 == 1 {
			decision = "deny"
		}
		calls[i] = call{method: "POST", path: "/api/permission-requests/" + r.vars["perm"] + "/resolve", body: map[string]any{"decision": decision, "always": false}}
	}
	r.atOnce(t, []string{r.vars["humanToken"]}, calls)
	resolved := golden{
		Name: "resolved", Section: "row S1", Socket: "expect", On: "human", Topic: "user:{{humanId}}", Event: "permission_resolved", Shape: map[string]any{"id": "{{perm}}"},
		Capture: map[string]string{"verdict": "status|id"},
	}
	r.play(t, resolved)
	resolved.Name, resolved.Socket, resolved.Capture = "resolved once", "silence", nil
	r.play(t, resolved)
	shape := map[string]any{"status": "$enum:approved,denied"}
	if v := r.vars["verdict"]; v == "approved" || v == "denied" {
		shape["status"] = v
	}
	r.play(t, golden{Name: "poll", Section: "bridge 3.8", Method: "GET", Path: "/api/agent/permission-requests/{{perm}}", Auth: "{{agentToken}}", Status: []int{200}, Shape: shape})
}

// raceInbox: claim marks as read in the same statement (bridge 8.3), so of many
// hooks one shows the message.
func raceInbox(t *testing.T, r *goldenRun) {
	for _, e := range []golden{
		{Name: "invite", Section: "desktop 4.13", Method: "POST", Path: "/api/invites", Auth: "{{humanToken}}", Body: map[string]any{"displayName": "Hooked"}, Status: []int{200, 201}, Capture: map[string]string{"code": "code"}},
		{
			Name: "claim", Section: "bridge 1.5", Method: "POST", Path: "/api/invites/{{code}}/claim", Body: map[string]any{"runtime": "external", "externalTool": "claude_code"}, Status: []int{201},
			Capture: map[string]string{"ext": "agentId", "extKey": "apiKey"},
		},
		{Name: "token", Section: "bridge 1.2", Method: "POST", Path: "/api/auth/agent-token", Body: map[string]any{"agent_id": "{{ext}}", "api_key": "{{extKey}}"}, Status: []int{200}, Capture: map[string]string{"extToken": "token"}},
		{Name: "room", Section: "desktop 4.4", Method: "POST", Path: "/api/conversations", Auth: "{{humanToken}}", Body: map[string]any{"type": "direct", "memberIds": []any{"{{ext}}"}}, Status: []int{200, 201}, Capture: map[string]string{"room": "id"}},
		{Name: "say", Section: "desktop 4.28", Method: "POST", Path: "/api/conversations/{{room}}/messages", Auth: "{{humanToken}}", Body: map[string]any{"content": "for one hook", "contentType": "text"}, Status: []int{200, 201}, Capture: map[string]string{"said": "id"}},
	} {
		r.play(t, e)
	}
	shown := 0
	for _, a := range r.atOnce(t, []string{r.vars["extToken"]}, same(call{method: "GET", path: "/api/agents/me/inbox?claim=true"})) {
		for _, room := range listOf(a.Map(), "unread") {
			for _, m := range listOf(room, "messages") {
				if str(m, "id") == r.vars["said"] {
					shown++
				}
			}
		}
	}
	if shown != 1 {
		t.Errorf("[bridge 8.3] the message was claimed by %d of %d hooks", shown, racers)
	}
}
