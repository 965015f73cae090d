package judgetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// sdkTool is one SDK method of bridge 5.3 with a harmless call of its endpoint:
// {c} is a conversation of the agent, {t} a task of its own. What the call
// answers does not matter, as long as the endpoint is there.
type sdkTool struct {
	method, path string
	body         map[string]any
}

var sdkTools = map[string]sdkTool{
	"send_message":               {"POST", "/api/conversations/{c}/messages", map[string]any{}},
	"get_messages":               {"GET", "/api/conversations/{c}/messages?limit=5", nil},
	"find_or_create_dm":          {"POST", "/api/conversations/dm", map[string]any{}},
	"complete_huddle":            {"POST", "/api/huddles/complete", map[string]any{}},
	"complete_thread":            {"POST", "/api/threads/complete", map[string]any{}},
	"share_file":                 {"POST", "/api/conversations/{c}/upload-url", map[string]any{}},
	"create_task":                {"POST", "/api/conversations/{c}/tasks", map[string]any{}},
	"complete_task":              {"POST", "/api/mcp", map[string]any{}},
	"fail_task":                  {"POST", "/api/mcp", map[string]any{}},
	"update_task_status":         {"PATCH", "/api/tasks/{t}/status", map[string]any{}},
	"update_task":                {"PATCH", "/api/tasks/{t}", map[string]any{"description": "probed"}},
	"accept_task_rest":           {"POST", "/api/tasks/{t}/accept", map[string]any{}},
	"report_progress":            {"POST", "/api/gateway/tasks/{t}/progress", map[string]any{"executor_id": nil, "current_step": "probe"}},
	"claim_next_step":            {"POST", "/api/gateway/tasks/{q}/claim-step", map[string]any{}},
	"report_step_progress":       {"POST", "/api/gateway/tasks/{q}/step-progress", map[string]any{}},
	"extend_task_plan":           {"POST", "/api/gateway/tasks/{q}/extend-plan", map[string]any{}},
	"search_memory":              {"POST", "/api/mcp", map[string]any{}},
	"get_memory":                 {"GET", "/api/conversations/{c}/memory", nil},
	"get_context":                {"GET", "/api/conversations/{c}/context?tier=0", nil},
	"get_context_brief":          {"GET", "/api/conversations/{c}/brief", nil},
	"get_agent_memories":         {"GET", "/api/agents/me/memories?limit=1", nil},
	"save_agent_memory":          {"POST", "/api/agents/me/memories", map[string]any{}},
	"get_family_memories":        {"GET", "/api/family/memories?limit=1", nil},
	"read_soul":                  {"GET", "/api/agents/me/soul", nil},
	"update_soul":                {"PATCH", "/api/agents/me/soul", map[string]any{}},
	"get_soul_template":          {"GET", "/api/agents/me/soul/template", nil},
	"get_profile":                {"GET", "/api/me", nil},
	"get_owner_location":         {"", "", nil}, // 404 means no location
	"update_input_schema":        {"POST", "/api/agents/me/capabilities", map[string]any{}},
	"get_skill_content":          {"", "", nil}, // 404 means no such skill
	"update_canvas_state":        {"POST", "/api/canvas/{c}/state/batch", map[string]any{}},
	"create_reminder":            {"POST", "/api/agents/me/reminders", map[string]any{}},
	"list_reminders":             {"GET", "/api/agents/me/reminders?status=active", nil},
	"cancel_reminder":            {"", "", nil},
	"list_routines":              {"GET", "/api/routines", nil},
	"create_routine":             {"POST", "/api/routines", map[string]any{}},
	"update_routine":             {"", "", nil},
	"delete_routine":             {"", "", nil},
	"pause_routine":              {"", "", nil},
	"resume_routine":             {"", "", nil},
	"list_knowledge":             {"GET", "/api/knowledge?limit=1", nil},
	"create_knowledge":           {"POST", "/api/knowledge", map[string]any{}},
	"upsert_knowledge":           {"PUT", "/api/knowledge/upsert", map[string]any{}},
	"delete_knowledge":           {"", "", nil},
	"list_knowledge_collections": {"GET", "/api/knowledge/collections", nil},
	"list_calendars":             {"GET", "/api/google/calendar/calendars", nil},
	"list_calendar_events":       {"GET", "/api/google/calendar/events?max_results=1", nil},
	"create_calendar_event":      {"POST", "/api/google/calendar/events", map[string]any{}},
	"get_calendar_event":         {"", "", nil},
	"update_calendar_event":      {"", "", nil},
	"delete_calendar_event":      {"", "", nil},
	"move_calendar_event":        {"", "", nil},
	"send_email":                 {"POST", "/api/google/gmail/send", map[string]any{}},
	"save_draft":                 {"POST", "/api/google/gmail/drafts", map[string]any{}},
	"get_draft":                  {"", "", nil},
	"list_emails":                {"GET", "/api/google/gmail/messages?max_results=1", nil},
	"get_email":                  {"", "", nil},
	"get_stock_quote":            {"GET", "/api/finance/quote", nil},
	"search_stocks":              {"GET", "/api/finance/search", nil},
	"get_company_overview":       {"GET", "/api/finance/overview", nil},
	"get_economic_indicator":     {"GET", "/api/finance/economic", nil},
	"get_market_news":            {"GET", "/api/finance/news", nil},
	"get_top_movers":             {"GET", "/api/finance/movers", nil},
	"search_jobs_adzuna":         {"POST", "/api/mcp", map[string]any{}},
	"search_jobs_google":         {"POST", "/api/mcp", map[string]any{}},
	"search_jobs_theirstack":     {"POST", "/api/mcp", map[string]any{}},
	"get_salary_data":            {"POST", "/api/mcp", map[string]any{}},
	"list_repos":                 {"GET", "/api/github/repos?limit=1", nil},
	"get_repo":                   {"", "", nil},
	"list_issues":                {"", "", nil},
	"get_issue":                  {"", "", nil},
	"create_issue":               {"", "", nil},
	"close_issue":                {"", "", nil},
	"comment_on_issue":           {"", "", nil},
	"list_pull_requests":         {"", "", nil},
	"get_pull_request":           {"", "", nil},
	"get_file_content":           {"", "", nil},
	"search_code":                {"GET", "/api/github/search/code?q=x", nil},
	"create_scope_requests":      {"POST", "/api/gateway/scope-requests", map[string]any{}},
	"collect_scope_responses":    {"POST", "/api/gateway/scope-requests/collect", map[string]any{}},
	"respond_to_scope_request":   {"", "", nil},
	"submit_task_requests":       {"POST", "/api/gateway/task-requests", map[string]any{}},
	"batch_ack_messages":         {"POST", "/api/gateway/messages/batch-ack", map[string]any{}},
	"create_permission_request":  {"POST", "/api/agent/permission-requests", map[string]any{}},
	"get_permission_request":     {"", "", nil},
}

// nowTools are the methods and server tools whose domains exist with the
// gateway (row K3).
var nowTools = []string{
	"send_message", "get_messages", "find_or_create_dm", "share_file", "create_task", "complete_task", "fail_task", "update_task_status", "update_task",
	"accept_task_rest", "report_progress", "claim_next_step", "report_step_progress", "extend_task_plan", "get_context", "get_context_brief",
	"read_soul", "update_soul", "get_soul_template", "get_profile", "get_owner_location", "end_turn", "read_attachment",
}

// clientAttributes are attributes of the SDK's client object that a catalogue
// must never name: the dispatcher would run them (bridge 5.3).
var clientAttributes = []string{"stop", "run", "start", "close", "connect", "register", "heartbeat", "join"}

var toolName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

// catalogueRules judges resolvedTools beyond its shape (bridge 4.4, 4.5, 5.1 to
// 5.4): what a stock bridge does with each entry has to work.
func catalogueRules(t *testing.T, g Target) {
	s := newStage(t, g, "Collector")
	conv := s.room("direct", "")
	ready := make(chan *TaskTurn, 1)
	b := s.bridge(BridgeOptions{Task: func(ctx context.Context, task *TaskTurn) TaskReply {
		ready <- task
		<-ctx.Done()
		return TaskReply{}
	}})
	tools := listOf(b.me, "resolvedTools")
	byName := map[string]map[string]any{}
	methods := map[string]bool{}
	for _, tool := range tools {
		name := str(tool, "name")
		byName[name] = tool
		methods[methodOf(tool)] = true
		judgeTool(t, tool)
	}
	for _, name := range nowTools {
		if !methods[name] {
			t.Errorf("[row K3] the catalogue lacks %s", name)
		}
	}
	t.Run("stable", func(t *testing.T) {
		s.step("read the catalogue again", func(ctx context.Context) error {
			a, err := b.callFresh(ctx, call{method: "GET", path: "/api/me"})
			one, _ := json.Marshal(b.me["resolvedTools"])
			two, _ := json.Marshal(a.Map()["resolvedTools"])
			if err == nil && !bytes.Equal(one, two) {
				t.Error("[bridge 6.1] resolvedTools changed between two reads: tool definitions are part of the stable prompt")
			}
			return err
		})
	})
	fill := strings.NewReplacer("{c}", conv)
	probes := func(ofTask bool) {
		for _, method := range slices.Sorted(maps.Keys(methods)) {
			probe := sdkTools[method]
			if probe.method != "" && ofTask == strings.ContainsAny(strings.ReplaceAll(probe.path, "{c}", ""), "{}") {
				t.Run(method, func(t *testing.T) {
					s.step("probe "+method, func(ctx context.Context) error { return probeTool(ctx, t, b, method, fill.Replace(probe.path)) })
				})
			}
		}
	}
	probes(false)
	for name, tool := range byName {
		if _, sdk := sdkTools[methodOf(tool)]; sdk || str(tool, "category") == "server_tool" {
			continue
		}
		// A passthrough tool exists on the server: it never answers that it is unknown.
		t.Run("passthrough_"+name, func(t *testing.T) {
			s.step("probe "+name, func(ctx context.Context) error {
				a, err := b.callREST(ctx, call{method: "POST", path: "/api/mcp/call", body: map[string]any{
					"tool_name": name, "args": map[string]any{"__judge_probe": true}, "context": map[string]any{"conversation_id": conv, "active_conversation_id": conv},
				}})
				if text, _ := toolVerdict(a); strings.Contains(text, "tool_not_found") {
					t.Errorf("[bridge 5.1] %s is in the catalogue, but the passthrough does not know it: %s", name, clip(text, 200))
				}
				return err
			})
		})
	}
	s.assign(conv, "probe the tools", nil)
	s.step("a task of the agent's own", func(ctx context.Context) error {
		select {
		case task := <-ready:
			fill = strings.NewReplacer("{c}", conv, "{t}", task.TaskID, "{q}", task.QueueID)
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	probes(true)
}

func probeTool(ctx context.Context, t *testing.T, b *Bridge, method, path string) error {
	c := call{method: sdkTools[method].method, path: path}
	if body := sdkTools[method].body; body != nil {
		c.body = body
	}
	a, err := b.callREST(ctx, c)
	if err != nil {
		return err
	}
	if a.Status == 404 || a.Status == 405 || a.Status == 501 {
		t.Errorf("[bridge 5.3] %s is in the catalogue, but its endpoint %s %s answers %d", method, c.method, pathKind(c.path), a.Status)
	}
	if method == "report_progress" && !a.OK() {
		t.Errorf("[bridge 5.3] report_progress comes from the MCP process with the real task id and a null executor_id, and is answered %d", a.Status)
	}
	return nil
}

// bridgeToolkit: a tool that the owner takes away or gives back reaches a live
// bridge at its next refresh, without a restart (bridge 4.4, desktop 4.16).
func bridgeToolkit(t *testing.T, g Target) {
	s := newStage(t, g, "Refresher")
	conv := s.room("direct", "")
	b := s.bridge(BridgeOptions{Refresh: time.Millisecond, Model: func(_ context.Context, turn *Turn) Reply { return Reply{Text: "seen #" + turn.MessageID} }})
	s.open(s.d, conv)
	tool := ""
	s.step("find the tool", func(ctx context.Context) error {
		a, err := s.d.must(ctx, "desktop 4.16", "GET", "/api/tools", nil, "ToolSummaries")
		if tool, _ = dig(a.JSON, "tools.name=read_attachment.id"); err == nil && tool == "" {
			return errors.New("[row K3] GET /api/tools lacks read_attachment")
		}
		return err
	})
	turn := func(want bool) {
		m := s.say(s.d, conv, "look")
		s.answered(s.d, conv, "seen #"+m)
		if slices.Contains(b.Tools(), "read_attachment") != want {
			t.Errorf("[bridge 4.4] after the refresh the toolkit holds read_attachment: %v, want %v", !want, want)
		}
	}
	turn(true)
	s.step("take it away", func(ctx context.Context) error {
		_, err := s.d.must(ctx, "desktop 4.16", "DELETE", "/api/tools/"+tool+"/assign/"+s.agentID, nil, "")
		return err
	})
	turn(false)
	s.step("give it back", func(ctx context.Context) error {
		_, err := s.d.must(ctx, "desktop 4.16", "POST", "/api/tools/"+tool+"/assign", map[string]any{"agentId": s.agentID}, "")
		return err
	})
	turn(true)
}

// methodOf is the SDK method that a bridge looks for (bridge 4.5).
func methodOf(tool map[string]any) string {
	if m := str(tool, "executorMethod"); m != "" {
		return m
	}
	return strings.ReplaceAll(str(tool, "name"), "-", "_")
}

func judgeTool(t *testing.T, tool map[string]any) {
	t.Helper()
	name := str(tool, "name")
	if !toolName.MatchString(name) {
		t.Errorf("[bridge 4.5] tool name %q", name)
	}
	if method := methodOf(tool); slices.Contains(clientAttributes, method) || strings.HasPrefix(method, "_") {
		t.Errorf("[bridge 5.3] tool %s names the client's attribute %s, which the dispatcher would run", name, method)
	}
	schema, _ := tool["inputSchema"].(map[string]any)
	props, _ := schema["properties"].(map[string]any)
	if str(tool, "category") == "server_tool" {
		config, _ := tool["executorConfig"].(map[string]any)
		native, _ := config["anthropic"].(map[string]any)
		if native != nil && (str(native, "type") == "" || str(native, "name") == "") {
			t.Errorf("[bridge 4.5] server tool %s: executorConfig.anthropic needs type and name", name)
		}
		return
	}
	if schema["type"] != "object" {
		t.Errorf("[bridge 4.5] tool %s: inputSchema is no object schema: %s", name, brief(tool["inputSchema"]))
	}
	for _, need := range stringsOf(schema["required"]) {
		if props[need] == nil {
			t.Errorf("[bridge 4.5] tool %s requires %s, which is no property", name, need)
		}
	}
}
