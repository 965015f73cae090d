package httpapi_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/ask"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/flow/flowtest"
	"github.com/agntchat/agntchat/internal/httpapi"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/wire"
)

// gateway is the routes of bridges and of people who watch them.
type gateway struct {
	*rest
	g     *flow.Gateway
	turns chan flow.Delivery
}

// Deliver and the rest implement flow.ExecutorSocket.
func (s *gateway) Deliver(d flow.Delivery) error               { s.turns <- d; return nil }
func (s *gateway) DeliverApproval(flow.ApprovalDelivery) error { return fmt.Errorf("no socket") }
func (s *gateway) Command(flow.Command) error                  { return fmt.Errorf("no socket") } // kept for the heartbeat
func (s *gateway) Added(flow.AddedHint) error                  { return nil }
func (s *gateway) Shut(string)                                 {}
func (s *gateway) DeliverQuery(ask.Query) error                { return nil }
func (s *gateway) DeliverScope(ask.Scope) error                { return nil }
func (s *gateway) DeliverTask(flow.TaskDelivery) error         { return nil }

func openGateway(t *testing.T) *gateway {
	t.Helper()
	w, log := flowtest.New(t), slog.New(slog.DiscardHandler)
	g := flow.NewGateway(w.DB, w.Chat, w.Bus, log, flow.GatewayConfig{})
	w.Chat.Turns = g
	tasks := flow.NewTasks(g, w.Chat, flow.TaskConfig{})
	w.Chat.Answered = tasks.AnsweredByTx
	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Stop)
	tools, err := flow.NewTools(w.DB, log, (&flow.PlatformTools{DB: w.DB, Chat: w.Chat, Gateway: g}).List()...)
	if err != nil {
		t.Fatal(err)
	}
	r := chi.NewRouter()
	httpapi.Message{Chat: w.Chat, Log: log}.Mount(r)
	httpapi.Stream{Chat: w.Chat, Log: log}.Mount(r)
	httpapi.Gateway{Gateway: g, Log: log}.Mount(r)
	httpapi.AgentTelemetry{Gateway: g, Log: log}.Mount(r)
	httpapi.Location{Identity: &flow.Identity{DB: w.DB}, Log: log}.Mount(r)
	httpapi.Tool{Tools: tools, Log: log}.Mount(r)
	httpapi.MCP{Tools: tools, Version: "test", Log: log}.Mount(r)
	httpapi.Health{Gateway: g, Tasks: tasks, Log: log}.Mount(r)
	httpapi.Task{Tasks: tasks, Log: log}.Mount(r)
	httpapi.GatewayTask{Tasks: tasks, Log: log}.Mount(r)
	httpapi.Turn{Gateway: g, Log: log}.Mount(r)
	httpapi.Stop{Gateway: g, Log: log}.Mount(r)
	return &gateway{rest: &rest{World: w, t: t, h: r}, g: g, turns: make(chan flow.Delivery, 100)}
}

// connect registers an executor and joins its socket.
func (s *gateway) connect(bot access.Actor, meta m) string {
	s.t.Helper()
	e := as[wire.Executor](s.t, s.do(bot, "POST", "/gateway/executors", m{
		"executor_key": "k", "display_name": "bridge", "capabilities": []string{"x"}, "connection_type": "long_poll", "max_concurrent": 1,
		"instance_id": "0123456789abcdef0123456789abcdef", "backend_health": m{"status": "ok", "detail": nil}, "resumable_task_ids": []string{}, "metadata": meta,
	}, 200))
	ex, err := id.Parse[id.Executor](e.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	s.g.AddSocket(bot, ex, s)
	return e.ID
}

// TestP5_StockTurnOverREST is a turn as the stock bridge runs it (bridge contract
// 2.7): stream, reply, usage, ack.
func TestP5_StockTurnOverREST(t *testing.T) {
	t.Parallel()
	s := openGateway(t)
	ada := s.Person("Ada")
	bot := s.Agent(ada, "Nova")
	room := s.Room("direct", ada, bot)
	ex := s.connect(bot, m{"device_name": "laptop", "bridge_version": "2.11.24"})
	asked := s.Say(ada, room, "hello").Message
	d := <-s.turns
	item := "/gateway/messages/" + d.Claim.QueueID.String()
	s.do(bot, "POST", "/conversations/"+room.String()+"/stream", m{"stream_id": "s", "status": "started", "phase": "thinking"}, 200)
	beat := as[wire.HeartbeatAnswer](t, s.do(bot, "POST", "/gateway/executors/"+ex+"/heartbeat", m{
		"metrics": m{"pid": 1, "uptime_seconds": 2.5, "current_activity": "processing_message:" + d.Claim.QueueID.String()}, "bridge_version": "2.11.24", "backend_health": m{"status": "ok", "detail": nil},
	}, 200))
	if beat.Commands == nil {
		t.Error("a heartbeat answers a list of commands")
	}
	s.do(bot, "POST", "/conversations/"+room.String()+"/messages", m{
		"content": "hi", "contentType": "text", "lastSeenMessageId": d.LatestSeen.String(), "metadata": m{"stream_id": "s", "model": "m-1", "backend": "anthropic", "tool_calls": 1},
	}, 201)
	s.do(bot, "POST", "/usage", m{"usage": m{"input_tokens": 3, "output_tokens": 4}, "model": "m-1", "turn": m{"tool_calls": 1, "iterations": 1}}, 200)
	s.do(bot, "POST", "/agents/me/cli-tool-uses", m{"conversation_id": room.String(), "tool_uses": []m{{"name": "mcp__agentgram__x"}}}, 200)
	s.do(bot, "POST", "/agents/me/runtime-faults", m{"kind": "model_error", "conversation_id": room.String(), "detail": "x", "message_id": asked.ID.String()}, 200)
	s.do(bot, "GET", "/owner/location", nil, 404)

	s.do(bot, "POST", item+"/ack", m{"executor_id": id.New[id.Executor]().String()}, 403)
	s.do(bot, "POST", item+"/ack", m{}, 422)
	if got := as[wire.Acked](t, s.do(bot, "POST", item+"/ack", m{"executor_id": ex}, 200)); got.Outcome != "answered" {
		t.Fatalf("%+v", got)
	}
	s.do(bot, "POST", item+"/ack", m{"executor_id": ex}, 200)
	batch := as[wire.BatchAcked](t, s.do(bot, "POST", "/gateway/messages/batch-ack", m{"executor_id": ex, "ids": []string{d.Claim.QueueID.String(), "x"}}, 200))
	if batch.Count != 1 || len(batch.Results) != 2 || batch.Results[1].Status != "error" {
		t.Fatalf("%+v", batch)
	}
	receipts := as[wire.Receipts](t, s.do(ada, "GET", "/conversations/"+room.String()+"/receipts?messageIds="+asked.ID.String(), nil, 200))
	if len(receipts.Receipts) != 1 || receipts.Receipts[0].State != "answered" || receipts.Receipts[0].AnswerID == nil {
		t.Fatalf("%+v", receipts)
	}
	turns := as[wire.Turns](t, s.do(ada, "GET", "/agents/"+bot.ID.String()+"/turns?limit=5", nil, 200))
	if len(turns.Turns) != 1 || turns.HasMore || turns.Turns[0].Model == nil || *turns.Turns[0].Model != "m-1" {
		t.Fatalf("%+v", turns)
	}
	health := as[wire.AgentHealthDetail](t, s.do(ada, "GET", "/agents/"+bot.ID.String()+"/health", nil, 200))
	if health.HealthStatus != "healthy" || len(health.Executors) != 1 || health.Executors[0].Status != "online" || len(health.Faults) != 1 || health.Executors[0].DeviceName == nil {
		t.Fatalf("%+v", health)
	}
	list := as[wire.AgentsHealth](t, s.do(ada, "GET", "/agents/health", nil, 200))
	if len(list.Agents) != 1 || list.Agents[0].OnlineExecutorCount != 1 {
		t.Fatalf("%+v", list)
	}
	if got := as[wire.Deregistered](t, s.do(bot, "DELETE", "/gateway/executors/"+ex+"?instance_id=other", nil, 200)); !got.Superseded {
		t.Fatal("another instance is superseded")
	}
	s.do(bot, "DELETE", "/gateway/executors/"+ex+"?instance_id=0123456789abcdef0123456789abcdef", nil, 200)
	if s.g.Online(bot.ID) {
		t.Fatal("online after the end")
	}
}

// TestP5_OurTurnOverREST is docs/protocol.md 3.
func TestP5_OurTurnOverREST(t *testing.T) {
	t.Parallel()
	s := openGateway(t)
	ada := s.Person("Ada")
	bot := s.Agent(ada, "Nova")
	room := s.Room("direct", ada, bot)
	ex := s.connect(bot, m{"client": "agnt", "protocol": 1})
	s.Say(ada, room, "hello")
	d := <-s.turns
	if !d.Ours {
		t.Fatal("client agnt, protocol 1 is ours")
	}
	later := s.Say(ada, room, "wait").Message
	item := "/gateway/messages/" + d.Claim.QueueID.String()
	body := m{"executor_id": ex, "generation": d.Claim.Generation, "outcome": "answered", "reply": m{"content": "hi", "last_seen_message_id": d.LatestSeen.String()}}
	raw := s.do(bot, "POST", item+"/complete", body, 409)
	if stale := as[wire.Stale](t, raw); !stale.Stale || len(stale.NewMessages) != 1 || stale.NewMessages[0].ID != later.ID.String() || strings.Contains(string(raw), `"error"`) {
		t.Fatalf("%s", raw)
	}
	body["generation"] = d.Claim.Generation + 1
	if got := as[wire.ErrorBody](t, s.do(bot, "POST", item+"/complete", body, 403)); got.Error.Code != "executor_not_owned" {
		t.Fatalf("%+v", got)
	}
	stream := m{"stream_id": "s", "status": "streaming", "content": "h", "queue_id": d.Claim.QueueID.String(), "generation": d.Claim.Generation + 1}
	s.do(bot, "POST", "/conversations/"+room.String()+"/stream", stream, 403)
	s.do(bot, "POST", item+"/complete", m{"executor_id": ex, "generation": d.Claim.Generation, "outcome": "answered"}, 422)
	body["generation"] = d.Claim.Generation
	first := as[wire.TurnCompleted](t, s.do(bot, "POST", item+"/complete", body, 200))
	again := as[wire.TurnCompleted](t, s.do(bot, "POST", item+"/complete", body, 200))
	if first.Status != "completed" || first.Message == nil || again.Message == nil || first.Message.ID != again.Message.ID {
		t.Fatalf("%+v %+v", first, again)
	}
	d = <-s.turns
	item = "/gateway/messages/" + d.Claim.QueueID.String()
	s.do(bot, "POST", item+"/release", m{"executor_id": ex, "generation": d.Claim.Generation}, 200)
	d = <-s.turns
	if n := s.do(ada, "POST", "/conversations/"+room.String()+"/stop-agents", m{"lastMessageId": later.ID.String(), "agentId": bot.ID.String()}, 200); !strings.Contains(string(n), `"stopped":1`) {
		t.Fatalf("%s", n)
	}
	beat := as[wire.HeartbeatAnswer](t, s.do(bot, "POST", "/gateway/executors/"+ex+"/heartbeat", m{"claims": []m{{"id": d.Claim.QueueID.String(), "generation": d.Claim.Generation}}}, 200))
	if len(beat.Lost) != 1 || len(beat.Commands) != 1 || beat.Commands[0].Type != "stop_generation" {
		t.Fatalf("%+v", beat)
	}
	s.do(bot, "POST", "/gateway/messages/"+d.Claim.QueueID.String()+"/ack", m{"executor_id": ex}, 200)
	s.do(bot, "POST", "/gateway/executors/"+id.New[id.Executor]().String()+"/heartbeat", m{}, 404)
	s.do(bot, "POST", "/gateway/messages/"+id.New[id.QueueItem]().String()+"/ack", m{"executor_id": ex}, 404)
}

// A refusal has an error and no text (bridge contract 5.5).
func TestToolCallOverREST(t *testing.T) {
	t.Parallel()
	s := openGateway(t)
	ada := s.Person("Ada")
	bot := s.Agent(ada, "Nova")
	room := s.Room("direct", ada, bot)
	s.connect(bot, nil)
	s.Say(ada, room, "hello")
	<-s.turns
	call := func(name string, args m) wire.MCPResult {
		t.Helper()
		return as[wire.MCPResult](t, s.do(bot, "POST", "/mcp/call", m{"tool_name": name, "args": args, "context": m{"conversation_id": room.String()}}, http.StatusOK))
	}
	for _, r := range []wire.MCPResult{call("end_turn", m{"reason": "no_action_needed"}), call("nothing_like_it", m{})} {
		if r.OK || r.Error == nil || len(r.Content) != 0 {
			t.Errorf("%+v", r)
		}
	}
	if r := call("get_profile", m{}); !r.OK || len(r.Content) != 1 || r.Error != nil {
		t.Errorf("%+v", r)
	}
}
