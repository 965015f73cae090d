package judgetest

import (
	"context"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every endpoint, event and tool of the gateway contract has a suite, and that
// suite's golden file exercises it.
func TestB1_GatewayCoverage(t *testing.T) {
	t.Parallel()
	files := map[string][]golden{}
	names, err := fs.Glob(goldenFiles, "testdata/*/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		list, err := loadGolden(name)
		if err != nil {
			t.Fatal(err)
		}
		suite := "golden"
		if path.Dir(name) == "testdata/gateway" {
			suite = strings.TrimSuffix(path.Base(name), ".json")
		}
		files[suite] = append(files[suite], list...)
	}
	seen := map[string]bool{}
	for _, p := range points {
		if seen[p.what] {
			t.Errorf("%s is listed twice", p.what)
		}
		seen[p.what] = true
		if p.suite != "golden" && !slices.ContainsFunc(suites, func(s Suite) bool { return s.Name == p.suite }) {
			t.Errorf("[%s] %s: no suite %q", p.section, p.what, p.suite)
		}
		if !slices.ContainsFunc(files[p.suite], func(e golden) bool { return exercises(e, p.what) }) {
			t.Errorf("[%s] %s: suite %s does not exercise it", p.section, p.what, p.suite)
		}
	}
	// The other way round: what the suites call of these sections is a point.
	for suite, list := range files {
		if suite == "golden" || suite == scene {
			continue
		}
		for _, e := range list {
			if e.Method == "" || e.Method == "OPTIONS" || e.Method == "GET" && strings.HasPrefix(e.Path, "{{") || known(e) {
				continue
			}
			t.Errorf("%s: %s %s is no point of the table", suite, e.Method, e.Path)
		}
	}
	for _, s := range suites {
		if s.Run == nil && files[s.Name] == nil {
			t.Errorf("suite %s has no golden file", s.Name)
		}
	}
	for suite := range files {
		if suite != "golden" && suite != scene && !slices.ContainsFunc(suites, func(s Suite) bool { return s.Name == suite }) {
			t.Errorf("golden file %s belongs to no suite", suite)
		}
	}
}

// setting lists calls that only set a scene; the golden files judge them.
var setting = []string{
	"POST /api/agents", "GET /api/agents/{}", "PATCH /api/agents/{}/model-config", "POST /api/auth/agent-token",
}

func known(e golden) bool {
	return slices.ContainsFunc(points, func(p point) bool { return exercises(e, p.what) }) ||
		slices.ContainsFunc(setting, func(what string) bool { return exercises(e, what) })
}

func exercises(e golden, what string) bool {
	kind, arg, _ := strings.Cut(what, " ")
	switch kind {
	case "event":
		return e.Socket == "expect" && among(e.Event, arg)
	case "push":
		return e.Socket == "push" && e.Event == arg
	case "tool":
		body, _ := e.Body.(map[string]any)
		params, _ := body["params"].(map[string]any)
		return str(body, "tool_name") == arg || str(params, "name") == arg
	}
	return e.Method == kind && pathFits(arg, e.Path)
}

// The suites pass against a server that keeps the rules.
func TestB1_GatewaySuitesAgainstTheFake(t *testing.T) {
	t.Parallel()
	RunSuites(t, newFake(t, ""), fakeSuites...)
}

// A restart, as far as the fake can have one: every socket drops.
func TestB1_GatewayRestartOfTheFake(t *testing.T) {
	t.Parallel()
	g, drop := startFake(t, "")
	g.Restart = func(context.Context) error { drop(); return nil }
	RunSuites(t, g, "restarted")
}

// fakeSuites are those whose part of a server the fake has.
var fakeSuites = []string{
	"task_life", "task_fail", "task_stop", "task_park", "task_subtasks", "task_plan", "task_reattach", "sdk_events",
	"task_rest", "task_requests", "scope_requests", "mcp", "dm", "soul", "context", "files", "files_desktop", "permissions", "decisions", "credentials", "agent_queries", "bridge_tasks", "bridge_asks", "bridge_durable_asks", "bridge_queries", "task_races", "approval_races", "external", "inbox_races",
}

// Every gateway file decodes, names known shapes only, and refers to variables
// that the scene or an earlier exchange captures.
func TestB1_GatewayFilesAreSound(t *testing.T) {
	t.Parallel()
	base := map[string]bool{"password": true}
	sound(t, gatewayFile(scene), base)
	for _, s := range suites {
		if s.Run != nil {
			continue
		}
		known := map[string]bool{}
		for v := range base {
			known[v] = true
		}
		sound(t, gatewayFile(s.Name), known)
	}
}

var section = regexp.MustCompile(`^((bridge|desktop|decision) \d+(\.\d+)*|row [A-Z]\d+)$`)

// sound checks one golden file and adds what it captures to known.
func sound(t *testing.T, name string, known map[string]bool) {
	t.Helper()
	list, err := loadGolden(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if !section.MatchString(e.Section) {
			t.Errorf("%s %s: section %q", name, e.Name, e.Section)
		}
		for _, s := range goldenStrings(e) {
			for _, m := range placeholder.FindAllStringSubmatch(s, -1) {
				if m[2] == "" && !known[m[1]] {
					t.Errorf("%s %s: {{%s}} is not captured before", name, e.Name, m[1])
				}
			}
			for alt := range strings.SplitSeq(s, "|") {
				if _, ref, ok := strings.Cut(alt, "$ref:"); ok && namedShapes()[ref] == nil {
					t.Errorf("%s %s: shape %s is not defined", name, e.Name, ref)
				}
			}
		}
		for v := range e.Capture {
			known[v] = true
		}
	}
}

func TestPathFits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		endpoint, path string
		want           bool
	}{
		{"/api/tasks/{}", "/api/tasks/{{taskId}}", true},
		{"/api/tasks/{}", "/api/tasks/{{taskId}}/status", false},
		{"/api/tasks", "/api/tasks?status=complete", true},
		{"{}", "{{put}}", true},
	} {
		if got := pathFits(c.endpoint, c.path); got != c.want {
			t.Errorf("pathFits(%s, %s) = %v", c.endpoint, c.path, got)
		}
	}
}
