package channel_test

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/channel"
	"github.com/agntchat/agntchat/internal/executor"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/realtime"
	"github.com/agntchat/agntchat/internal/wire"
)

// withGateway puts a running gateway behind the sockets.
func withGateway(b *bench) *flow.Gateway {
	b.t.Helper()
	log := slog.New(slog.DiscardHandler)
	g := flow.NewGateway(b.DB, b.Chat, b.Bus, log, flow.GatewayConfig{})
	b.Chat.Turns, b.Chat.Forget = g, g.ForgetTx
	b.router.Executor = channel.Bridges{Gateway: g, Log: log}.New
	rooms := channel.NewRooms()
	b.Also(&channel.Encoder{Bus: b.Bus, Log: log, Families: []channel.Encode{channel.ChatEvents(rooms, nil), channel.GatewayEvents()}})
	if err := g.Start(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(g.Stop)
	return g
}

func registered(b *bench, g *flow.Gateway, agent access.Actor, instance string, ours bool) id.Executor {
	b.t.Helper()
	e, err := g.RegisterExecutor(b.t.Context(), agent, executor.Registration{Key: "k", InstanceID: instance, MaxConcurrent: 2, Ours: ours, DeviceName: new("laptop")})
	if err != nil {
		b.t.Fatal(err)
	}
	return e.ID
}

func bridge(ex id.Executor) map[string]any {
	return map[string]any{"executor_id": ex.String(), "bridge_version": "2.11.24"}
}

// TestP3_BridgeGetsItsWork is the life of a stock bridge on the socket (bridge
// contract 2.4 to 2.7), and what people see of it.
func TestP3_BridgeGetsItsWork(t *testing.T) {
	t.Parallel()
	b := open(t)
	g := withGateway(b)
	ada := b.Person("Ada")
	bot := b.Agent(ada, "Nova")
	conv := b.Room("direct", ada, bot)
	web := b.dial(ada)
	webUser := web.Join(user(ada), nil)
	webUser.Expect("presence_snapshot")
	webRoom := web.Join(room(conv), nil)
	webRoom.Expect("recent_messages")

	ex := registered(b, g, bot, "i-1", false)
	status := read[wire.AgentStatusChanged](t, webUser.Expect("agent_status_changed"))
	if status.AgentID != bot.ID.String() || status.Presence != "online_local" || status.DeviceName == nil || *status.DeviceName != "laptop" {
		t.Fatalf("status %+v", status)
	}
	m := b.Say(ada, conv, "hello").Message
	ch := b.dial(bot).Join(user(bot), bridge(ex))
	if r := ch.Push("catchup", map[string]any{}); r.Status != "ok" || !strings.Contains(string(r.Response), `"messages"`) {
		t.Fatalf("catchup %+v", r)
	}
	raw := ch.Expect("gateway_message")
	d := read[wire.GatewayMessage](t, raw)
	if d.MessageID != m.ID.String() || d.ConversationID != conv.String() || d.Content != "hello" || d.SenderType == nil || *d.SenderType != "human" {
		t.Fatalf("gateway_message %+v", d)
	}
	if len(d.Directives.PromptDirectives) == 0 || !d.Directives.HumanExpectsReply || len(d.RecentMessages) != 1 || d.LatestSeenMessageID == nil || len(d.ConversationMembers) != 2 {
		t.Fatalf("gateway_message %s", raw)
	}
	for _, ours := range []string{`"generation"`, `"merged"`, `"leaseSeconds"`} {
		if strings.Contains(string(raw), ours) {
			t.Errorf("a stock bridge got %s", ours)
		}
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"messageType", "contentStructured", "metadata", "conversationType", "conversationMemory", "contextBrief", "turnContext", "messageTriage", "turnOverride", "activeTaskId"} {
		if _, ok := keys[k]; !ok {
			t.Errorf("no key %s", k)
		}
	}
	if c := read[wire.ReceiptChanged](t, webRoom.Expect("receipt_changed")); c.Receipt.State != "claimed" || c.Receipt.AgentName != "Nova" {
		t.Fatalf("receipt %+v", c)
	}
	if err := g.Touch(t.Context(), bot.ID, conv, nil, nil); err != nil {
		t.Fatal(err)
	}
	busy := read[wire.AgentActivityChanged](t, webUser.Expect("agent_activity_changed"))
	if busy.Activity == nil || *busy.Activity != "working" || len(busy.ConversationIDs) != 1 {
		t.Fatalf("activity %+v", busy)
	}
	if n, _, err := g.StopAgents(t.Context(), ada, conv, bot.ID, nil); err != nil || n != 1 {
		t.Fatalf("stop %d, %v", n, err)
	}
	c := read[wire.Command](t, ch.Expect("gateway_command"))
	if c.Type != "stop_generation" || c.ConversationID == nil || *c.ConversationID != conv.String() {
		t.Fatalf("command %+v", c)
	}
	if idle := read[wire.AgentActivityChanged](t, webUser.Expect("agent_activity_changed")); idle.Activity != nil {
		t.Fatalf("activity %+v", idle)
	}
	for _, f := range ch.Pending() { // decision 22
		if !strings.HasPrefix(f.Event, "gateway_") {
			t.Errorf("a bridge got %s", f.Event)
		}
	}
}

func TestP3_OurBridgeGetsGenerationAndHint(t *testing.T) {
	t.Parallel()
	b := open(t)
	g := withGateway(b)
	ada := b.Person("Ada")
	bot := b.Agent(ada, "Nova")
	conv := b.Room("direct", ada, bot)
	b.Say(ada, conv, "one")
	b.Say(ada, conv, "two")
	ch := b.dial(bot).Join(user(bot), bridge(registered(b, g, bot, "i-1", true)))
	d := read[wire.GatewayMessage](t, ch.Expect("gateway_message"))
	if d.Content != "two" || d.Generation != 1 || len(d.Merged) != 1 || d.Merged[0].Content != "one" || d.LeaseSeconds != 600 {
		t.Fatalf("gateway_message %+v", d)
	}
	m := b.Say(ada, conv, "three").Message
	if err := g.Deliver(t.Context(), conv, m.ID); err != nil {
		t.Fatal(err)
	}
	if h := read[wire.GatewayMessageAdded](t, ch.Expect("gateway_message_added")); h.MessageID != m.ID.String() {
		t.Fatalf("hint %+v", h)
	}
}

// TestB3_TakeoverClosesTheOldSocket is decision 16 on the wire.
func TestB3_TakeoverClosesTheOldSocket(t *testing.T) {
	t.Parallel()
	b := open(t)
	g := withGateway(b)
	ada := b.Person("Ada")
	bot := b.Agent(ada, "Nova")
	conv := b.Room("direct", ada, bot)
	ex := registered(b, g, bot, "i-1", false)
	old := b.dial(bot)
	ch := old.Join(user(bot), bridge(ex))
	b.Say(ada, conv, "hello")
	first := read[wire.GatewayMessage](t, ch.Expect("gateway_message"))
	registered(b, g, bot, "i-2", false)
	if c := read[wire.Command](t, ch.Expect("gateway_command")); c.Type != "shutdown" || c.Reason == "" {
		t.Fatalf("command %+v", c)
	}
	if code, _ := old.Closed(); code == 1000 {
		t.Fatal("closed with 1000: the client would never come back")
	}
	next := b.dial(bot).Join(user(bot), bridge(ex))
	if d := read[wire.GatewayMessage](t, next.Expect("gateway_message")); d.ID != first.ID {
		t.Fatal("the work did not go to the new process")
	}
}

func TestB3_JoinsThatAreRefused(t *testing.T) {
	t.Parallel()
	b := open(t)
	g := withGateway(b)
	ada := b.Person("Ada")
	bot, other := b.Agent(ada, "Nova"), b.Agent(ada, "Vela")
	ex := registered(b, g, bot, "i-1", false)
	for name, try := range map[string]struct {
		who    access.Actor
		topic  string
		params map[string]any
		reason string
	}{
		"another agent's executor": {other, user(other), bridge(ex), "unknown_executor"},
		"an id of nobody":          {bot, user(bot), bridge(id.New[id.Executor]()), "unknown_executor"},
		"no id at all":             {bot, user(bot), map[string]any{"executor_id": "x"}, "unknown_executor"},
		"another's topic":          {other, user(bot), bridge(ex), "unauthorized"},
		"a person":                 {ada, user(ada), bridge(ex), "unauthorized"},
		"an older process":         {bot, user(bot), map[string]any{"executor_id": ex.String(), "instance_id": "i-0"}, "superseded"},
	} {
		if r := b.dial(try.who).TryJoin(try.topic, try.params).Reply; r.Status != "error" || r.Reason() != try.reason {
			t.Errorf("%s: %s %s", name, r.Status, r.Reason())
		}
	}
}

// TestP3_FrameStaysBelowOneMebibyte is bridge contract 2.1 and 2.7: the oldest
// history goes first, the trigger stays whole.
func TestP3_FrameStaysBelowOneMebibyte(t *testing.T) {
	t.Parallel()
	b := open(t)
	g := withGateway(b)
	ada := b.Person("Ada")
	bot := b.Agent(ada, "Nova")
	conv := b.Room("direct", ada, bot)
	big := strings.Repeat("ü", 60_000)
	for range 12 {
		b.Say(ada, conv, "%s", big)
	}
	last := b.Say(ada, conv, "%s", strings.Repeat("é", 100_000)).Message
	ch := b.dial(bot).Join(user(bot), bridge(registered(b, g, bot, "i-1", true)))
	raw := ch.Expect("gateway_message")
	d := read[wire.GatewayMessage](t, raw)
	if len(raw) >= realtime.MaxFrame {
		t.Fatalf("frame of %d bytes", len(raw))
	}
	if d.MessageID != last.ID.String() || d.Content != last.Content || len(d.Merged) != 12 {
		t.Fatalf("trigger of %d bytes, %d merged", len(d.Content), len(d.Merged))
	}
}
