package httpapi_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/wire"
)

// rpc sends one JSON-RPC request.
func (s *gateway) rpc(who access.Actor, method string, params m, status int) wire.RPCResponse {
	s.t.Helper()
	return as[wire.RPCResponse](s.t, s.do(who, "POST", "/mcp", m{"jsonrpc": "2.0", "id": 7, "method": method, "params": params}, status))
}

// none makes a request that is answered 204.
func (s *rest) none(who access.Actor, method, path string, body any) {
	s.t.Helper()
	var in bytes.Buffer
	if err := json.NewEncoder(&in).Encode(body); err != nil {
		s.t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	s.h.ServeHTTP(rec, httptest.NewRequestWithContext(httpx.WithActor(s.t.Context(), who), method, path, &in))
	if rec.Code != http.StatusNoContent || rec.Body.Len() != 0 {
		s.t.Fatalf("%s %s: %d %s, want 204", method, path, rec.Code, rec.Body)
	}
}

func into[T any](t *testing.T, raw wire.Map) (v T) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

func TestK3_MCPSpeaksJSONRPC(t *testing.T) {
	t.Parallel()
	s := openGateway(t)
	ada := s.Person("Ada")
	bot := s.Agent(ada, "Nova")
	room := s.Room("direct", ada, bot)
	s.Say(ada, room, "look here")

	hello := into[wire.RPCInitialize](t, s.rpc(bot, "initialize", m{"protocolVersion": "2025-03-26"}, 200).Result)
	if hello.ProtocolVersion != "2025-03-26" || hello.ServerInfo.Name != "agntchat" {
		t.Errorf("initialize: %+v", hello)
	}
	if v := into[wire.RPCInitialize](t, s.rpc(bot, "initialize", m{"protocolVersion": "1999-01-01"}, 200).Result).ProtocolVersion; v != "2025-06-18" {
		t.Errorf("unknown version: %s", v)
	}
	if r := s.rpc(bot, "ping", nil, 200); string(r.Result) != "{}" || string(r.ID) != "7" {
		t.Errorf("ping: %+v", r)
	}
	list := into[wire.RPCTools](t, s.rpc(bot, "tools/list", nil, 200).Result)
	always := 0
	for _, tl := range list.Tools {
		if strings.Contains(string(tl.Meta), "anthropic/alwaysLoad") {
			always++
		}
	}
	if len(list.Tools) < 4 || always == 0 {
		t.Errorf("tools/list: %d tools, %d always loaded", len(list.Tools), always)
	}
	if r := s.rpc(bot, "resources/list", nil, 200); r.Error == nil || r.Error.Code != -32601 {
		t.Errorf("unknown method: %+v", r)
	}
	if r := s.rpc(bot, "tools/call", m{}, 200); r.Error == nil || r.Error.Code != -32602 {
		t.Errorf("no name: %+v", r)
	}
	if body := s.do(bot, "POST", "/mcp", m{"jsonrpc": "2.0", "method": "notifications/initialized"}, 202); string(body) != "{}" {
		t.Errorf("a notification was answered: %s", body)
	}
	s.do(ada, "POST", "/mcp", m{"jsonrpc": "2.0", "id": 1, "method": "ping"}, 403)

	call := s.rpc(bot, "tools/call", m{"name": "get-messages", "arguments": m{"conversation_id": "current"}, "_meta": m{"context": m{"conversation_id": room}}}, 200)
	if out := into[wire.RPCToolResult](t, call.Result); out.IsError || !strings.Contains(out.Content[0].Text, "look here") {
		t.Errorf("tools/call: %+v", out)
	}
}

// A refusal reads as a failure for a stock bridge (bridge contract 2.8.1, 5.5), and
// every kind of refusal is told apart.
func TestK3_RefusalsReadAsFailures(t *testing.T) {
	t.Parallel()
	s := openGateway(t)
	ada := s.Person("Ada")
	bot := s.Agent(ada, "Nova")
	room := s.Room("direct", ada, bot)
	foreign := s.Room("direct", s.Person("Eve"), s.Agent(ada, "Other"))
	for name, tc := range map[string]struct {
		tool, code, says string
		args             m
	}{
		"unknown":       {"rm_rf", "tool_not_found", "rm_rf", m{}},
		"bad arguments": {"get_messages", "invalid_arguments", "limit", m{"conversation_id": "current", "limit": 1000}},
		"foreign room":  {"get_messages", "not_found", "", m{"conversation_id": foreign}},
	} {
		params := m{"name": tc.tool, "arguments": tc.args, "_meta": m{"context": m{"conversation_id": room}}}
		out := into[wire.RPCToolResult](t, s.rpc(bot, "tools/call", params, 200).Result)
		var text wire.ToolRefusal
		if err := json.Unmarshal([]byte(out.Content[0].Text), &text); err != nil || !out.IsError || text.Code != tc.code || !strings.Contains(text.Error, tc.says) {
			t.Errorf("%s over /api/mcp: %+v %v", name, out, err)
		}
		plain := as[wire.MCPResult](t, s.do(bot, "POST", "/mcp/call", m{"tool_name": tc.tool, "args": tc.args, "context": m{"conversation_id": room}}, 200))
		if plain.OK || plain.Error == nil || len(plain.Content) != 0 || plain.Code != tc.code {
			t.Errorf("%s over /api/mcp/call: %+v", name, plain)
		}
	}
}

// Owners choose the tools of their agents and see what they did (desktop 4.16).
func TestK3_OwnersChooseTools(t *testing.T) {
	t.Parallel()
	s := openGateway(t)
	ada := s.Person("Ada")
	bot := s.Agent(ada, "Nova")
	room := s.Room("direct", ada, bot)
	all := as[wire.PlatformTools](t, s.do(ada, "GET", "/tools", nil, 200))
	if len(all.Tools) < 5 || all.Tools[0].ID == "" || all.Tools[0].Scope != "global" || all.Tools[0].Enabled != nil {
		t.Fatalf("%+v", all)
	}
	path := "/agents/" + bot.ID.String()
	has := func(query string) (offered bool, enabled bool) {
		for _, tl := range as[wire.PlatformTools](t, s.do(ada, "GET", path+"/tools"+query, nil, 200)).Tools {
			if tl.Name == "list_members" {
				return true, *tl.Enabled
			}
		}
		return false, false
	}
	if offered, on := has(""); !offered || !on {
		t.Error("a common tool is not offered")
	}
	s.none(ada, "DELETE", "/tools/list-members/assign/"+bot.ID.String(), nil)
	if offered, _ := has(""); offered {
		t.Error("a tool that was taken away is offered")
	}
	if listed, on := has("?all=true"); !listed || on {
		t.Error("a tool that was taken away is not listed as such")
	}
	call := m{"tool_name": "list_members", "args": m{"conversation_id": room}, "context": m{}}
	if out := as[wire.MCPResult](t, s.do(bot, "POST", "/mcp/call", call, 200)); out.OK || out.Code != "forbidden" {
		t.Errorf("called all the same: %+v", out)
	}
	s.none(ada, "POST", "/tools/list_members/assign", m{"agentId": bot.ID})
	if out := as[wire.MCPResult](t, s.do(bot, "POST", "/mcp/call", call, 200)); !out.OK {
		t.Errorf("after it was given back: %+v", out)
	}
	rows := as[wire.ToolCallRows](t, s.do(ada, "GET", path+"/tool-calls", nil, 200)).ToolCalls
	if len(rows) != 2 || rows[0].Outcome != "done" || rows[1].Outcome != "refused" || rows[1].Code != "forbidden" || rows[0].PersonName == nil || *rows[0].PersonName != "Ada" {
		t.Errorf("calls %+v", rows)
	}
	s.do(ada, "DELETE", "/tools/end_turn/assign/"+bot.ID.String(), nil, 422)
	s.do(ada, "DELETE", "/tools/nothing/assign/"+bot.ID.String(), nil, 404)
	eve := s.Person("Eve")
	s.do(eve, "POST", "/tools/list_members/assign", m{"agentId": bot.ID}, 404)
	s.do(eve, "GET", path+"/tools", nil, 404)
	s.do(bot, "GET", "/tools", nil, 403)
}
