package judgetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Suite is one part of the gateway contract that can be judged by itself
// (issue 3, section 6.1). Run signs up its own people and makes its own agents,
// so suites can run side by side against one server.
type Suite struct {
	Name string
	Run  func(t *testing.T, g Target)
}

// suites lists every suite, in the order of the contract. Those with a golden
// file of the same name in testdata/gateway play it after the scene.
var suites = []Suite{
	{"task_life", nil}, {"task_fail", nil}, {"task_stop", nil}, {"task_park", nil}, {"task_subtasks", nil},
	{"task_plan", nil}, {"task_reattach", nil}, {"task_rest", nil}, {"task_requests", nil}, {"scope_requests", nil},
	{"sdk_events", nil}, {"mcp", nil}, {"permissions", nil}, {"decisions", nil}, {"credentials", nil},
	{"files", nil}, {"files_desktop", nil}, {"soul", nil}, {"profile", nil}, {"context", nil}, {"memory", nil}, {"telemetry", nil},
	{"external", nil}, {"dm", nil}, {"huddles", nil}, {"health", nil}, {"agent_queries", nil}, {"catalogue", nil},
	{"owner_accounts", nil}, {"bridge_tasks", bridgeTasks}, {"bridge_asks", bridgeAsks},
	{"bridge_durable_asks", askDurable}, {"bridge_queries", askRevise}, {"catalogue_rules", catalogueRules},
	{"bridge_toolkit", bridgeToolkit}, {"message_types", nil}, {"task_races", taskRaces}, {"approval_races", approvalRaces},
	{"inbox_races", inboxRaces},
}

// Suites returns every suite of the gateway contract.
func Suites() []Suite {
	out := slices.Clone(suites)
	for i, s := range out {
		if s.Run == nil {
			out[i].Run = func(t *testing.T, g Target) { runGateway(t, g, s.Name) }
		}
	}
	return out
}

// RunSuites runs the named suites in parallel and returns when they are done. A
// name that no suite has fails.
func RunSuites(t *testing.T, g Target, names []string) {
	t.Helper()
	all := Suites()
	t.Run("Gateway", func(t *testing.T) {
		for _, name := range names {
			i := slices.IndexFunc(all, func(s Suite) bool { return s.Name == name })
			if i < 0 {
				t.Errorf("no suite is named %q", name)
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				all[i].Run(t, g)
			})
		}
	})
}

// scene is the golden file that every suite of exchanges begins with: two
// people, three agents, their rooms, executors and sockets.
const scene = "scene"

func gatewayFile(name string) string { return "testdata/gateway/" + name + ".json" }

// runGateway plays the scene and then the suite's own exchanges. Each exchange
// is a subtest that is named after its section of the contract.
func runGateway(t *testing.T, g Target, suite string) {
	t.Helper()
	r := newGoldenRun(t, g)
	for _, name := range []string{scene, suite} {
		list, err := loadGolden(gatewayFile(name))
		if err != nil {
			t.Fatalf("%v", err)
		}
		for i, e := range list {
			ok := t.Run(fmt.Sprintf("%02d [%s] %s", i+1, e.Section, e.Name), func(t *testing.T) { r.play(t, e) })
			if !ok && name == scene {
				t.Fatalf("the scene cannot be set: [%s] %s", e.Section, e.Name)
			}
		}
	}
	r.led.Report(t)
}

// pathFits tells whether a golden path, without its query, is an instance of
// the endpoint, whose variable segments are written {}.
func pathFits(endpoint, path string) bool {
	path, _, _ = strings.Cut(path, "?")
	want, got := strings.Split(endpoint, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != "{}" && want[i] != got[i] {
			return false
		}
	}
	return true
}
