package httpapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/wire"
)

// rpc sends one JSON-RPC request.
func (s *gateway) rpc(who access.Actor, method string, params m, status int) wire.RPCResponse {
	s.t.Helper()
	return as[wire.RPCResponse](s.t, s.do(who, "POST", "/mcp", m{"jsonrpc": "2.0", "id": 7, "method": method, "params": params}, status))
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
