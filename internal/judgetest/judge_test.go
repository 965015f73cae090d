package judgetest

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// The suites pass against a server that keeps the rules.
func TestSuitesAgainstTheFake(t *testing.T) {
	t.Parallel()
	g := newFake(t, "")
	t.Run("Bridge", func(t *testing.T) { RunStockBridgeTurn(t, g) })
	t.Run("Desktop", func(t *testing.T) { RunDesktopDay(t, g) })
	t.Run("Rules", func(t *testing.T) { RunWakeRules(t, g) })
	t.Run("Five", func(t *testing.T) { RunTwoBrowsersFiveConnections(t, g) })
}

// Each fault of the fake is found, and under the right section.
func TestFaultsAreFound(t *testing.T) {
	t.Parallel()
	for fault, section := range map[string]string{
		"history_newest_first": "bridge 2.7",
		"no_expects_reply":     "bridge 2.7",
		"binary":               "bridge 2.1",
		"parallel_turns":       "decision 17",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			g := newFake(t, fault)
			led := &Ledger{}
			playFault(t, g, led)
			for _, v := range led.Violations() {
				if v.Section == section {
					return
				}
			}
			t.Errorf("no violation of %s among %v", section, led.Violations())
		})
	}
}

// Faults that no single frame shows make a suite fail. The suite runs in a child
// process, because a failing *testing.T cannot be inspected from inside.
func TestSuitesFailOnFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ fault, part, want string }{
		{"double_reply", "Live/Turn_2.11.24", "answered 2 times"},
		{"never_stale", "Live/Stale_dropped", "decision 18"},
		{"no_nonce_echo", "Day/Rooms", "client_nonce"},
		{"answer_again", "Live/Killed_when_answered", "answered 2 times"},
		{"claims_lost", "Live/Killed_when_started", "answer with"},
		{"endless_loop", "Wake/Agent_loop_is_cut", "the agents were cut"},
		{"no_read_event", "Day/Echo_and_unread", "badge of the other device"},
		{"accept_twice", "Gateway/task_life", "second_delivery_is_refused"},
		{"ends_twice", "Gateway/task_life", "second_complete_already_ended"},
		{"accept_twice", "Gateway/task_races/Accept", "deliveries were accepted"},
		{"ends_twice", "Gateway/task_races/Ends", "calls ended the task"},
		{"rpc_error_member", "Gateway/bridge_tasks/Subtasks", "JSON-RPC error member"},
		{"no_task_directives", "Gateway/bridge_tasks/Completed", "promptDirectives"},
		{"no_stop_task", "Gateway/task_stop", "no gateway_command"},
		{"no_question", "Gateway/task_park", "question_waits_for_the_person"},
		{"silent_tasks", "Gateway/sdk_events", "no task_created"},
		{"request_201", "Gateway/permissions", "accepted are [200]"},
		{"no_grants", "Gateway/permissions", "standing_grant_approves_at_once"},
		{"long_request", "Gateway/bridge_asks/Life", "at most 300 s"},
		{"claim_leaves_unread", "Gateway/inbox_races", "hooks"},
		{"anonymous_query", "Gateway/agent_queries", "accepted are [400]"},
	} {
		t.Run(c.fault+" "+c.part, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFaultySuites$/"+c.part+"$", "-test.timeout=100s")
			cmd.Env = append(os.Environ(), faultVar+"="+c.fault)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatal("the suites passed")
			}
			if !strings.Contains(string(out), c.want) {
				t.Errorf("the failure does not name %s:\n%s", c.want, clip(string(out), 3000))
			}
		})
	}
}

const faultVar = "JUDGETEST_FAULT"

// TestFaultySuites does nothing unless TestSuitesFailOnFaults starts it.
func TestFaultySuites(t *testing.T) {
	fault := os.Getenv(faultVar)
	if fault == "" {
		return
	}
	g := newFake(t, fault)
	g.Patience = 3 * time.Second
	RunStockBridgeTurn(t, g)
	RunDesktopDay(t, g)
	RunWakeRules(t, g)
	RunSuites(t, g, fakeSuites...)
}

// playFault lets a desktop and a bridge talk and ignores every failure; only
// the ledger counts.
func playFault(t *testing.T, g Target, led *Ledger) {
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
	defer stop()
	d := NewDesktop(t, g, DesktopOptions{Ledger: led})
	if err := d.SignUp(ctx, "Ada", "Judge"); err != nil {
		t.Fatal(err)
	}
	agent, key, err := d.CreateAgent(ctx, "Faulty")
	if err != nil {
		t.Fatal(err)
	}
	if d.Start(ctx) != nil {
		return // the socket itself is what is broken
	}
	conv, err := d.CreateConversation(ctx, "direct", "", agent)
	if err != nil {
		t.Fatal(err)
	}
	b := New(t, g.BaseURL, agent, key, BridgeOptions{Ledger: led, SocketDelay: time.Millisecond, Model: func(ctx context.Context, turn *Turn) Reply {
		_ = wait(ctx, 100*time.Millisecond)
		return Reply{Text: "ok"}
	}})
	if err := b.Start(ctx); err != nil {
		t.Fatal(err)
	}
	_ = b.WaitJoined(ctx, 1)
	_ = d.OpenConversation(ctx, conv)
	_, _ = d.Say(ctx, conv, "one")
	_, _ = d.Say(ctx, conv, "two")
	_ = b.WaitTurns(ctx, "two turns", func(r []TurnRecord) bool { return len(r) >= 2 })
}

// Every golden file decodes, names known shapes only, and refers to variables
// that an earlier exchange captures.
func TestGoldenFilesAreSound(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(goldenFiles, "testdata/golden/*.json")
	if err != nil || len(names) == 0 {
		t.Fatalf("golden files: %v %v", names, err)
	}
	known := map[string]bool{"password": true}
	for _, name := range names {
		sound(t, name, known)
	}
}

func goldenStrings(e golden) []string {
	out := []string{e.Path, e.Auth, e.Topic}
	var walk func(v any)
	walk = func(v any) {
		switch x := v.(type) {
		case string:
			out = append(out, x)
		case []any:
			for _, y := range x {
				walk(y)
			}
		case map[string]any:
			for k, y := range x {
				if k == "$is" {
					out = append(out, "$ref:"+y.(string))
					continue
				}
				out = append(out, k)
				walk(y)
			}
		}
	}
	walk(e.Body)
	walk(e.Payload)
	walk(e.Shape)
	out = append(append(out, e.Forbid...), e.Within...)
	for _, s := range e.Headers {
		out = append(out, s)
	}
	return out
}

// Some golden exchanges that the fake can answer, played by the real runner.
func TestGoldenRunnerAgainstTheFake(t *testing.T) {
	t.Parallel()
	g := newFake(t, "")
	r := newGoldenRun(t, g)
	list, err := loadGolden("testdata/golden/00_public.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		t.Run(e.Name, func(t *testing.T) { r.play(t, e) })
	}
	r.led.Report(t)
}

// A whole turn of the golden files, socket steps included, played by the real
// runner. The parts left out need more of a server than the fake is.
func TestGoldenTurnAgainstTheFake(t *testing.T) {
	t.Parallel()
	r := newGoldenRun(t, newFake(t, ""))
	play := func(file string, names ...string) {
		list, err := loadGolden("testdata/golden/" + file)
		if err != nil {
			t.Fatal(err)
		}
		left := slices.Clone(names)
		for _, e := range list {
			if len(left) > 0 && e.Name == left[0] {
				left = left[1:]
				if !t.Run(e.Name, func(t *testing.T) { r.play(t, e) }) {
					t.FailNow()
				}
			}
		}
		if len(left) > 0 {
			t.Fatalf("%s has no %s in that order", file, left[0])
		}
	}
	play("10_account.json", "signup", "signup_older_client_display_name", "login", "login_wrong_password_never_401", "patch_names")
	play("20_agents.json", "create_flat_with_key", "create_of_another_person", "get_foreign", "token_ok_is_200", "token_wrong_key")
	r.vars["agentToken"] = r.vars["oldAgentToken"]
	play("30_conversations.json", "human_socket", "heartbeat", "join_user", "presence_snapshot", "join_user_of_another", "rejoin_user_replaces",
		"presence_snapshot_on_rejoin", "create_direct", "create_direct_again_is_the_same", "new_conversation_event", "get", "get_foreign", "create_group",
		"patch_title", "title_event", "join_conversation_foreign", "join_conversation_foreign_refused", "push_without_join_changes_nothing", "intruder_was_not_stored")
	play("40_executors.json", "register", "register_same_key_same_id", "heartbeat", "heartbeat_unknown", "foreign_token", "deregister_superseded_leaves_the_row",
		"usage", "mcp_end_turn", "mcp_unknown_tool_reads_as_failed")
	play("50_messages.json", "human_joins_the_room", "room_recent_messages", "second_device", "second_device_joins", "agent_socket", "agent_joins_with_executor",
		"agent_catchup", "agent_comes_online", "m1_push", "m1_echo", "m1_other_device_is_told_read", "m1_gateway", "stream_started", "stream_started_event",
		"stream_tool", "stream_tool_event", "stream_writing", "stream_writing_event", "reply", "reply_event", "reply_moves_the_row", "ack",
		"list_newest_first_for_agents", "list_limit_1_is_the_newest", "list_before_is_strictly_older", "unread_counts", "mark_read", "mark_read_other_device",
		"unread_counts_after", "m2_push", "m2_gateway", "m3_push_while_drafting", "m3_echo", "m3_waits_for_the_turn", "stale_draft_409", "stale_draft_not_stored",
		"cancel_with_signal_id", "end_turn_message_exempt_from_stale", "ack_second", "reply_third", "catchup_finds_nothing")
	r.led.Report(t)
}

func TestShapes(t *testing.T) {
	t.Parallel()
	m := matcher{clock: &timeFormat{}}
	for _, c := range []struct {
		name      string
		want, got any
		ok        bool
	}{
		{"literal", "a", "a", true},
		{"wrong literal", "a", "b", false},
		{"alternatives", "$int|null", nil, true},
		{"optional null", obj{"a?": "$int"}, obj{"a": nil}, true},
		{"optional wrong", obj{"a?": "$int"}, obj{"a": "x"}, false},
		{"absent key", obj{"a!": true}, obj{"a": 1.0}, false},
		{"camel", obj{"$camel": true}, obj{"a_b": 1.0}, false},
		{"some", "$some:$uuid", []any{}, false},
		{"contains", obj{"$contains": obj{"id": "x"}}, []any{obj{"id": "y"}, obj{"id": "x"}}, true},
		{"lacks", obj{"$lacks": obj{"id": "x"}}, []any{obj{"id": "x"}}, false},
		{"len", obj{"$len": 2.0}, []any{1.0}, false},
		{"desc", "$desc:at", []any{obj{"at": "2"}, obj{"at": "1"}}, true},
		{"asc broken", "$asc:at", []any{obj{"at": "2"}, obj{"at": "1"}}, false},
		{"time", "$time", "2026-01-02T03:04:05.123456Z", true},
		{"time other precision", "$time", "2026-01-02T03:04:05Z", false},
		{"time offset", "$time", "2026-01-02T03:04:05.123456+00:00", false},
		{"empty list", []any{}, []any{}, true},
		{"ref union", "$ref:Error", obj{"error": "text"}, true},
		{"ref union wrong", "$ref:Error", obj{"error": obj{"message": "no code"}}, false},
	} {
		if bad := m.match("x", c.want, c.got); (len(bad) == 0) != c.ok {
			t.Errorf("%s: got %v", c.name, bad)
		}
	}
}

func TestVersionAtMost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v, limit string
		want     bool
	}{{"2.11.15", "2.11.15", true}, {"2.11.16", "2.11.15", false}, {"2.9.9", "2.11.15", true}, {"2.11", "2.11.15", true}, {"3.0.0", "2.11.15", false}} {
		if got := versionAtMost(c.v, c.limit); got != c.want {
			t.Errorf("versionAtMost(%s, %s) = %v", c.v, c.limit, got)
		}
	}
}
