package flow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/account"
	"github.com/agntchat/agntchat/internal/agent"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
)

type ctx = context.Context

func soulPatch(text string) flow.AgentPatch {
	return flow.AgentPatch{Patch: agent.Patch{SoulMD: &text}}
}

func place(lat, lon float64) account.Location {
	return account.Location{Latitude: lat, Longitude: lon}
}

func TestK9_SoulsAreKeptAndDoNotShrink(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	i := b.identity()
	ada, bob := b.Person("Ada"), b.Person("Bob")
	bot := b.Agent(ada, "Nova")
	room := b.Room("direct", ada, bot)
	tools := b.toolbox()
	long := strings.Repeat("I like knots. ", 100) // 1400 characters
	set := func(text string) *fault.Error {
		t.Helper()
		b.asked(ada, bot, room)
		raw, _ := json.Marshal(map[string]string{"soul_md": text})
		return b.use(tools, bot, flow.ToolCall{Name: "update_soul", Args: raw, ConversationID: room.String()}).Refused
	}
	soul := func() string {
		t.Helper()
		now, _, err := i.SoulHistory(t.Context(), ada, bot.ID)
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	for n, text := range []string{"small", long, long[:1000], long[:700]} {
		if f := set(text); f != nil {
			t.Fatalf("step %d: %v", n, f)
		}
	}
	// 500 is more than half of 700, but not of what it was within the day.
	for _, text := range []string{"gone", long[:500]} {
		if f := set(text); f == nil || f.Code != "soul_shrinks" || !strings.Contains(f.Message, "1400") {
			t.Errorf("%d characters: %v", len(text), f)
		}
	}
	if soul() != long[:700] {
		t.Error("a blocked change changed something")
	}
	_, list, err := i.SoulHistory(t.Context(), ada, bot.ID)
	if err != nil || len(list) != 4 || list[0].SoulMD != long[:1000] || list[0].ReplacedByName != "Nova" || list[3].SoulMD != "" {
		t.Fatalf("%d %v", len(list), err)
	}
	if _, err := i.RevertSoul(t.Context(), bob, bot.ID, 0); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a stranger: %v", err)
	}
	if a, err := i.RevertSoul(t.Context(), ada, bot.ID, 0); err != nil || a.SoulMD != long[:1000] {
		t.Errorf("one back: %v", err)
	}
	if a, err := i.RevertSoul(t.Context(), ada, bot.ID, list[2].ID); err != nil || a.SoulMD != "small" { // its owner may do that
		t.Errorf("far back: %v", err)
	}
	if _, err := i.RevertSoul(t.Context(), ada, bot.ID, list[0].ID+1000); fault.KindOf(err) != fault.NotFound {
		t.Errorf("no such version: %v", err)
	}
	if _, err := i.RevertSoul(t.Context(), ada, b.Agent(ada, "Vela").ID, 0); !fault.Is(err, "no_history") {
		t.Errorf("no other soul: %v", err)
	}
	for n := range 60 {
		if _, err := i.EditAgent(t.Context(), ada, bot.ID, false, soulPatch(fmt.Sprint("soul ", n))); err != nil {
			t.Fatal(err)
		}
	}
	if n := b.Count(`SELECT count(*)::int FROM agent_souls WHERE agent_id = $1::uuid`, bot.ID); n != 50 {
		t.Errorf("%d earlier souls are kept", n)
	}
}

// The owner's place is theirs to share, with their own agents and only in their own
// turns.
func TestK3_LocationIsShared(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	i, tools := b.identity(), b.toolbox()
	ada, bob := b.Person("Ada"), b.Person("Bob")
	bot := b.Agent(ada, "Nova")
	room, group := b.Room("direct", ada, bot), b.Room("group", ada, bob, bot)
	b.asked(ada, bot, room)
	b.refused(tools, bot, room, "get_owner_location", `{}`, "no_location")
	before := time.Now().Add(-time.Minute)
	if _, err := i.ShareLocation(t.Context(), ada, place(59.9, 10.7)); err != nil {
		t.Fatal(err)
	}
	out := b.must(tools, bot, room, "get_owner_location", `{}`)
	if at, _ := out["location"].(map[string]any); at["latitude"] != 59.9 || at["longitude"] != 10.7 || at["timestamp"].(string) < before.UTC().Format(time.RFC3339) {
		t.Errorf("%+v", out)
	}
	b.asked(bob, bot, group)
	b.refused(tools, bot, group, "get_owner_location", `{}`, "forbidden")
	for _, bad := range [][2]float64{{91, 0}, {0, 181}, {-91, 0}} {
		if _, err := i.ShareLocation(t.Context(), ada, place(bad[0], bad[1])); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if err := i.HideLocation(t.Context(), ada); err != nil {
		t.Fatal(err)
	}
	if _, err := i.OwnerLocation(t.Context(), bot); !fault.Is(err, "no_location") {
		t.Errorf("taken back: %v", err)
	}
}

func TestK3_InputSchemaIsSeenInTheProfile(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	tools := b.toolbox()
	ada, bot, room, _ := b.couple(1, false)
	b.asked(ada, bot, room)
	b.must(tools, bot, room, "update_input_schema", `{"schema_dict":{"fields":[{"key":"harbour","type":"text","required":true}]}}`)
	b.refused(tools, bot, room, "update_input_schema", `{"schema_dict":{"fields":[{"key":"harbour"}]}}`, "invalid_arguments")
	if out := b.must(tools, bot, room, "get_profile", `{}`); !strings.Contains(fmt.Sprint(out), "harbour") {
		a, _, err := b.identity().Agent(t.Context(), ada, bot.ID)
		if err != nil || !strings.Contains(string(a.StructuredCapabilities), "harbour") {
			t.Errorf("%s %v", a.StructuredCapabilities, err)
		}
	}
}

// A model works through the plan of its task by the id of the task alone.
func TestT3_ToolsWorkThroughAPlan(t *testing.T) {
	t.Parallel()
	b := newTaskBench(t)
	_, tools := b.remembering()
	ada, bot, room, ex := b.couple(1, false)
	s := b.join(bot, ex)
	v, err := b.k.Create(t.Context(), ada, flow.NewTask{ConversationID: room, Title: "boat", AssignedTo: []id.Participant{bot.ID}, Metadata: json.RawMessage(`{"execution_plan":{"steps":[{"id":"wood","title":"Get wood","prompt":"Fetch it."}]}}`)})
	if err != nil {
		t.Fatal(err)
	}
	d := s.nextTask()
	call := func(name, args, code string) map[string]any {
		t.Helper()
		out := b.use(tools, bot, flow.ToolCall{Name: name, Args: json.RawMessage(args), ConversationID: room.String(), TaskID: v.ID.String()})
		got := ""
		if out.Refused != nil {
			got = out.Refused.Code
		}
		if got != code {
			t.Fatalf("%s: %q %v, want %q", name, got, out.Refused, code)
		}
		var m map[string]any
		_ = json.Unmarshal([]byte(out.Text), &m)
		return m
	}
	b.accept(bot, d)
	call("accept_task_rest", `{"task_id":"current"}`, "")
	step, _ := call("claim_next_step", `{"queued_task_id":"current"}`, "")["step"].(map[string]any)
	if step["id"] != "wood" || step["prompt"] != "Fetch it." {
		t.Fatalf("%+v", step)
	}
	call("claim_next_step", `{"queued_task_id":"current"}`, "step_in_progress")
	call("report_step_progress", `{"queued_task_id":"`+v.ID.String()+`","step_id":"mast","status":"completed"}`, "invalid")
	call("report_step_progress", `{"queued_task_id":"`+v.ID.String()+`","step_id":"wood","status":"completed","result":{"summary":"ten planks"}}`, "")
	call("extend_task_plan", `{"queued_task_id":"`+d.Claim.ID.String()+`","new_steps":[{"id":"hull","title":"Build","depends_on":["wood"]}]}`, "")
	call("extend_task_plan", `{"queued_task_id":"current","new_steps":[{"id":"hull","title":"Again"}]}`, "invalid_plan")
	if step, _ = call("claim_next_step", `{"queued_task_id":"current"}`, "")["step"].(map[string]any); step["id"] != "hull" {
		t.Fatalf("%+v", step)
	}
	call("report_step_progress", `{"queued_task_id":"current","step_id":"hull","status":"completed"}`, "")
	if out := call("claim_next_step", `{"queued_task_id":"current"}`, ""); out["status"] != "done" {
		t.Errorf("%+v", out)
	}
	detail, err := b.k.Detail(t.Context(), ada, v.ID)
	if err != nil || len(detail.Steps) != 2 || detail.Steps[1].Status != "completed" {
		t.Errorf("people see %+v, %v", detail.Steps, err)
	}
	other := b.Agent(ada, "Vela")
	out := b.use(tools, other, flow.ToolCall{Name: "claim_next_step", Args: json.RawMessage(`{"queued_task_id":"` + v.ID.String() + `"}`)})
	if out.Refused == nil || out.Refused.Code != "queue_item_not_found" {
		t.Errorf("another agent: %+v", out)
	}
}

// A bridge fills its model's cache with what its agent is told anyway.
func TestB1_WarmUpIsWhatTurnsAreTold(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, false)
	b.Room("group", ada, bot)
	s := b.join(bot, ex)
	warm, err := b.g.Warm(t.Context(), bot, 3)
	if err != nil || len(warm) != 2 {
		t.Fatalf("%d rooms, %v", len(warm), err)
	}
	b.Say(ada, room, "hello")
	d := s.next()
	for _, w := range warm {
		if w.Directives.Hash != d.Directives.Hash {
			t.Error("another stable part than in a turn")
		}
	}
	if _, err := b.g.Warm(t.Context(), ada, 3); fault.KindOf(err) != fault.Forbidden {
		t.Errorf("a person: %v", err)
	}
}
