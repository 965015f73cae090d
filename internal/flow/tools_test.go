package flow_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/account"
	"github.com/agntchat/agntchat/internal/blob"
	"github.com/agntchat/agntchat/internal/executor"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/outbound"
	"github.com/agntchat/agntchat/internal/secret"
	"github.com/agntchat/agntchat/internal/turn"
)

// platform is what the tools of the bench's server work with. Programs of this
// machine stand for the web.
func (b *bench) platform() *flow.PlatformTools {
	fetch := outbound.New(outbound.Config{Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	b.t.Cleanup(fetch.Close)
	files := &flow.Files{DB: b.DB, Chat: b.Chat, Blobs: blob.Store{Dir: b.t.TempDir()}, Log: slog.New(slog.DiscardHandler)}
	return &flow.PlatformTools{DB: b.DB, Chat: b.Chat, Gateway: b.g, Identity: b.identity(), Files: files, Fetch: fetch, Robots: outbound.NewRobots(fetch)}
}

// identity is agents and people over the bench's database.
func (b *bench) identity() *flow.Identity {
	b.t.Helper()
	ring, err := secret.ParseRing(secret.Generate())
	if err != nil {
		b.t.Fatal(err)
	}
	return flow.NewIdentity(b.DB, ring, account.NewHasher(64, 1, 2), flow.SignupOpen, &disconnects{}, slog.New(slog.DiscardHandler))
}

// toolbox is the tools of the bench's server.
func (b *bench) toolbox(more ...flow.Tool) *flow.Tools {
	b.t.Helper()
	p := b.platform()
	t, err := flow.NewTools(b.DB, slog.New(slog.DiscardHandler), append(p.List(), more...)...)
	if err != nil {
		b.t.Fatal(err)
	}
	return t
}

func (b *bench) call(agent access.Actor, room id.Conversation, name, args string) flow.ToolResult {
	b.t.Helper()
	out, err := b.toolbox().Call(b.t.Context(), agent, flow.ToolCall{Name: name, Args: json.RawMessage(args), ConversationID: room.String()})
	if err != nil {
		b.t.Fatalf("%s: %v", name, err)
	}
	return out
}

// Silence towards a person is refused, as a refusal that a bridge sees as one
// (bridge contract 5.5, 5.6).
func TestEndTurn_RefusedWhilePersonWaits(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, false)
	s := b.join(bot, ex)
	b.Say(ada, room, "hello")
	d := s.next()
	out := b.call(bot, room, "end_turn", `{"reason":"no_action_needed"}`)
	if out.Refused == nil || out.Refused.Code != "reply_expected" || out.Text != "" {
		t.Fatalf("result %+v", out)
	}
	if out = b.call(bot, room, "end_turn", `{"reason":"task_complete"}`); out.Refused != nil || out.Text == "" {
		t.Fatalf("a terminator: %+v", out)
	}
	// Having spoken in this turn, it may end it silently; the message is the answer.
	if out = b.call(bot, room, "send_message", `{"conversation_id":"current","content":"done"}`); out.Refused != nil {
		t.Fatalf("send_message: %+v", out.Refused)
	}
	if out = b.call(bot, room, "end_turn", `{}`); out.Refused != nil {
		t.Fatalf("after speaking: %+v", out.Refused)
	}
	p, err := b.Chat.Post(t.Context(), bot, flow.Post{ConversationID: room, Content: "prose that came too late", Metadata: json.RawMessage(`{"stream_id":"s"}`)})
	if err != nil || !p.Suppressed {
		t.Fatalf("prose after a silent end: %+v, %v", p, err)
	}
	if got := b.ack(bot, d); got != turn.Answered {
		t.Fatalf("outcome %s", got)
	}
}

// An agent may stay silent towards an agent; the turn is passed and not redelivered.
func TestEndTurn_PassesTowardsAnAgent(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada := b.Person("Ada")
	bot, other := b.Agent(ada, "Nova"), b.Agent(ada, "Vela")
	room := b.Room("group", ada, bot, other)
	s := b.join(bot, b.register(bot, "k", "i", 1, false))
	m := b.Say(other, room, "@Nova thanks").Message
	d := s.next()
	if d.Directives.HumanExpectsReply {
		t.Fatal("an agent is no person")
	}
	if out := b.call(bot, room, "end_turn", `{"reason":"no_action_needed"}`); out.Refused != nil {
		t.Fatalf("refused: %+v", out.Refused)
	}
	s.leave()
	b.lapse()
	b.until(0, `SELECT count(*)::int FROM queued_messages`)
	if got := b.state(bot, m); got != "passed" || b.meta(m, "not_answered") != "" {
		t.Fatalf("state %s", got)
	}
}

func TestToolRefusalsAreNotErrors(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, _ := b.couple(1, false)
	foreign := b.Room("direct", b.Person("Eve"), b.Agent(ada, "Other"))
	for name, tc := range map[string]struct{ tool, args, code string }{
		"unknown":      {"rm_rf", `{}`, "tool_not_found"},
		"bad args":     {"get_messages", `[1]`, "invalid_arguments"},
		"no room":      {"get_messages", `{"conversation_id":"nowhere"}`, "missing_conversation_id"},
		"foreign room": {"get_messages", fmt.Sprintf(`{"conversation_id":%q}`, foreign), "not_found"},
		"foreign post": {"send_message", fmt.Sprintf(`{"conversation_id":%q,"content":"x"}`, foreign), "not_found"},
		"empty post":   {"send_message", `{"content":""}`, "content_empty"},
	} {
		if out := b.call(bot, room, tc.tool, tc.args); out.Refused == nil || out.Refused.Code != tc.code || out.Text != "" {
			t.Errorf("%s: %+v", name, out)
		}
	}
	b.Say(ada, room, "look here")
	if out := b.call(bot, room, "get_messages", `{"conversation_id":"{{current}}","limit":1}`); !strings.Contains(out.Text, "look here") {
		t.Errorf("get_messages: %+v", out)
	}
	if out := b.call(bot, room, "get_profile", ``); !strings.Contains(out.Text, `"Nova"`) {
		t.Errorf("get_profile: %+v", out)
	}
	if _, err := b.toolbox().Call(t.Context(), ada, flow.ToolCall{Name: "get_profile"}); fault.KindOf(err) != fault.Forbidden {
		t.Errorf("a person calls: %v", err)
	}
}

// A stock bridge acks a failed turn first and reports then (bridge contract 2.7).
func TestP5_ErrorReportSettlesItsTurn(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, false)
	s := b.join(bot, ex)
	m := b.Say(ada, room, "hello").Message
	d := s.next()
	b.ack(bot, d)
	report := flow.Post{ConversationID: room, Content: "It took too long.", MessageType: new("ErrorReport"), Metadata: json.RawMessage(`{"error_code":"turn_timeout"}`)}
	if _, err := b.Chat.Post(t.Context(), bot, report); err != nil {
		t.Fatal(err)
	}
	if got := b.state(bot, m); got != "failed" || b.meta(m, "not_answered") != "" {
		t.Fatalf("state %s, mark %s", got, b.meta(m, "not_answered"))
	}
	m = b.Say(ada, room, "again").Message
	d = s.next()
	reply := flow.Post{ConversationID: room, Content: "I am not signed in.", Metadata: json.RawMessage(`{"stream_id":"s","errorKind":"auth_failure"}`)}
	if _, err := b.Chat.Post(t.Context(), bot, reply); err != nil {
		t.Fatal(err)
	}
	if out := b.ack(bot, d); out != turn.Failed || b.state(bot, m) != "failed" {
		t.Fatalf("outcome %s", out)
	}
}

func TestHealthSaysWhyAnAgentCannotAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, false)
	status := func() flow.AgentHealth {
		t.Helper()
		all, err := b.g.HealthOf(t.Context(), ada)
		if err != nil || len(all) != 1 {
			t.Fatalf("health of %d, %v", len(all), err)
		}
		return all[0]
	}
	if h := status(); h.Status != "healthy" || h.Online != 1 {
		t.Fatalf("registered: %+v", h)
	}
	for _, tc := range []struct{ health, code string }{
		{`{"status":"unauthenticated","detail":"run login"}`, "llm_unauthenticated"}, {`{"status":"missing_cli"}`, "llm_backend_missing"},
		{`{"status":"error"}`, "llm_backend_error"}, {`{"status":"rate_limited","reset_at":99999999999}`, "llm_rate_limited"},
		{`{"status":"rate_limited","reset_at":1000}`, ""}, {`{"status":"ok"}`, ""},
	} {
		if _, err := b.g.Heartbeat(t.Context(), bot, ex, flow.Beat{Beat: executor.Beat{BackendHealth: json.RawMessage(tc.health)}}); err != nil {
			t.Fatal(err)
		}
		h := status()
		code := ""
		if h.Blocker != nil {
			code = h.Blocker.Code
		}
		if code != tc.code || (h.Status == "degraded") != (tc.code != "") {
			t.Errorf("%s: %s, blocker %s", tc.health, h.Status, code)
		}
	}
	s := b.join(bot, ex)
	b.Say(ada, room, "hello")
	d := s.next()
	b.touch(bot, d)
	if _, err := b.DB.Exec(t.Context(), `UPDATE queued_messages SET lease_until = now() + interval '20 seconds'`); err != nil {
		t.Fatal(err)
	}
	if h := status(); h.Status != "stuck" || h.Stuck != 1 {
		t.Fatalf("silent turn: %+v", h)
	}
	detail, err := b.g.HealthDetail(t.Context(), ada, bot.ID)
	if err != nil || len(detail.Claims) != 1 || len(detail.Executors) != 1 {
		t.Fatalf("detail %+v, %v", detail, err)
	}
	if r, err := b.g.Unstick(t.Context(), ada, bot.ID); err != nil || r.Released != 1 {
		t.Fatalf("unstick %+v, %v", r, err)
	}
	if c := receive(t, "command", s.commands); c.Type != "stop_generation" {
		t.Fatalf("command %+v", c)
	}
	s.next()
	b.Say(ada, room, "and this")
	if r, err := b.g.ClearMessages(t.Context(), ada, bot.ID); err != nil || r.Closed != 2 || r.Released != 1 {
		t.Fatalf("clear %+v, %v", r, err)
	}
	if p, err := b.g.StopAgent(t.Context(), ada, bot.ID); err != nil || !p.Done {
		t.Fatalf("stop %+v, %v", p, err)
	}
	if _, err := b.g.ResetAgent(t.Context(), ada, bot.ID); err != nil {
		t.Fatal(err)
	}
	if h := status(); h.Status != "offline" {
		t.Fatalf("after reset: %+v", h)
	}
	if _, err := b.g.Heartbeat(t.Context(), bot, ex, flow.Beat{}); !fault.Is(err, "executor_not_found") {
		t.Fatalf("a disabled executor beats: %v", err)
	}
	if p, err := b.g.WakeAgent(t.Context(), ada, bot.ID); err != nil || p.Done {
		t.Fatalf("wake %+v, %v", p, err)
	}
	b.register(bot, "k", "i-9", 1, false)
	if h := status(); h.Status != "healthy" {
		t.Fatalf("after a new registration: %+v", h)
	}
	eve := b.Person("Eve")
	if _, err := b.g.HealthDetail(t.Context(), eve, bot.ID); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a stranger's look: %v", err)
	}
	if _, err := b.g.StopAgent(t.Context(), eve, bot.ID); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a stranger stops it: %v", err)
	}
}

func TestK7_StablePartIsStoredOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, false)
	s := b.join(bot, ex)
	hashes := map[string]bool{}
	for n := range 3 {
		b.Say(ada, room, "message %d", n)
		d := s.next()
		hashes[d.Directives.Hash] = true
		b.reply(bot, d, "answer")
		b.ack(bot, d)
	}
	if n := b.Count(`SELECT count(*)::int FROM directive_parts`); len(hashes) != 1 || n != 1 {
		t.Fatalf("%d hashes over three turns, %d stored", len(hashes), n)
	}
	if _, err := b.DB.Exec(t.Context(), `UPDATE agents SET soul_md = 'new soul'`); err != nil {
		t.Fatal(err)
	}
	b.Say(ada, room, "and now")
	s.next()
	if n := b.Count(`SELECT count(*)::int FROM directive_parts`); n != 2 {
		t.Fatalf("%d parts after the soul changed", n)
	}
}
