package judgetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Suite is one part of the gateway contract that can be judged by itself.
// Run signs up its own people and makes its own agents, so suites can run side by
// side against one server.
type Suite struct {
	Name  string
	Run   func(t *testing.T, g Target)
	Alone bool // restarts the server, so that nothing may run beside it
}

// suites lists every suite, in the order of the contract. Those with a golden
// file of the same name in testdata/gateway play it after the scene.
var suites = []Suite{
	{Name: "task_life"}, {Name: "task_fail"}, {Name: "task_stop"}, {Name: "task_park"}, {Name: "task_subtasks"}, {Name: "task_plan"},
	{Name: "task_reattach"}, {Name: "task_rest"}, {Name: "task_requests"}, {Name: "scope_requests"}, {Name: "sdk_events"}, {Name: "mcp"},
	{Name: "permissions"}, {Name: "decisions"}, {Name: "credentials"}, {Name: "files"}, {Name: "files_desktop"}, {Name: "soul"}, {Name: "profile"},
	{Name: "context"}, {Name: "memory"}, {Name: "telemetry"}, {Name: "external"}, {Name: "dm"}, {Name: "huddles"}, {Name: "health"},
	{Name: "agent_queries"}, {Name: "catalogue"}, {Name: "owner_accounts"}, {Name: "bridge_tasks", Run: bridgeTasks},
	{Name: "bridge_asks", Run: bridgeAsks}, {Name: "bridge_durable_asks", Run: askDurable}, {Name: "bridge_queries", Run: askRevise},
	{Name: "catalogue_rules", Run: catalogueRules}, {Name: "bridge_toolkit", Run: bridgeToolkit}, {Name: "message_types"},
	{Name: "task_races", Run: taskRaces}, {Name: "approval_races", Run: approvalRaces}, {Name: "inbox_races", Run: inboxRaces},
	{Name: "restarted", Run: restarted, Alone: true},
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

// RunSuites runs the named suites in parallel, then those that run alone, and
// returns when all are done. Without names it runs every suite; a name that no
// suite has fails.
func RunSuites(t *testing.T, g Target, names ...string) {
	t.Helper()
	var together, alone []Suite
	all := Suites()
	if len(names) == 0 {
		for _, s := range all {
			names = append(names, s.Name)
		}
	}
	for _, name := range names {
		i := slices.IndexFunc(all, func(s Suite) bool { return s.Name == name })
		switch {
		case i < 0:
			t.Errorf("no suite is named %q", name)
		case all[i].Alone:
			alone = append(alone, all[i])
		default:
			together = append(together, all[i])
		}
	}
	t.Run("Gateway", func(t *testing.T) {
		for _, s := range together {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				s.Run(t, g)
			})
		}
	})
	t.Run("Alone", func(t *testing.T) {
		for _, s := range alone {
			t.Run(s.Name, func(t *testing.T) { s.Run(t, g) })
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
