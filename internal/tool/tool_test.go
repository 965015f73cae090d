package tool_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/tool"
)

func spec(name, schema string) tool.Spec {
	return tool.Spec{Definition: tool.Definition{Name: name, Description: "does it", Category: "test", InputSchema: json.RawMessage(schema)}}
}

const empty = `{"type":"object","properties":{}}`

func registry(t *testing.T, specs ...tool.Spec) *tool.Registry {
	t.Helper()
	r, err := tool.NewRegistry(specs...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestK3_CatalogueFollowsFactsAndIsStable(t *testing.T) {
	t.Parallel()
	assigned, essential, api := spec("b_assigned", empty), spec("c_needed", empty), spec("d_api", empty)
	assigned.Assigned, essential.Essential = true, true
	api.Relevant = func(f tool.Facts) bool { return f.APIs > 0 }
	r := registry(t, spec("z_all", empty), assigned, essential, api)
	names := func(f tool.Facts) string {
		var out []string
		for _, d := range r.Resolve(f) {
			out = append(out, d.Name)
		}
		return strings.Join(out, " ")
	}
	for want, f := range map[string]tool.Facts{
		"z_all c_needed":                  {},
		"z_all b_assigned c_needed":       {Choices: map[string]bool{"b_assigned": true}},
		"c_needed":                        {Choices: map[string]bool{"z_all": false, "c_needed": false}},
		"z_all c_needed d_api":            {APIs: 1},
		"z_all b_assigned c_needed d_api": {APIs: 2, Choices: map[string]bool{"z_all": true, "b_assigned": true}},
	} {
		if got := names(f); got != want {
			t.Errorf("%+v: %q, want %q", f, got, want)
		}
		if !reflect.DeepEqual(r.Resolve(f), r.Resolve(f)) {
			t.Error("the catalogue changes between calls")
		}
	}
}

func TestK3_KebabAndSnakeAreOneTool(t *testing.T) {
	t.Parallel()
	r := registry(t, spec("complete_task", empty))
	if s, ok := r.Lookup("complete-task"); !ok || s.Name != "complete_task" {
		t.Errorf("%v %v", s, ok)
	}
	if _, err := tool.NewRegistry(spec("a_b", empty), spec("a-b", empty)); err == nil {
		t.Error("two names of one tool are taken for two tools")
	}
}

func TestK3_BadSpecsAreRefused(t *testing.T) {
	t.Parallel()
	server, silent := spec("x", empty), spec("x", empty)
	server.Category, silent.Description = "server_tool", ""
	for name, s := range map[string]tool.Spec{
		"no object": spec("x", `{"type":"string"}`), "not JSON": spec("x", `{`), "unknown requirement": spec("x", `{"type":"object","properties":{},"required":["a"]}`),
		"bad schema": spec("x", `{"type":"object","properties":{"a":{"type":"number","minimum":"one"}}}`), "provider's category": server, "no description": silent,
	} {
		if _, err := tool.NewRegistry(s); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestK3_ArgumentsAreCheckedWithPaths(t *testing.T) {
	t.Parallel()
	r := registry(t, spec("x", `{"type":"object","properties":{"n":{"type":"integer","minimum":1},"list":{"type":"array","items":{"type":"object","properties":{"at":{"type":"string"}},"required":["at"]}}},"required":["n"]}`))
	for args, path := range map[string]string{
		`{}`: "(arguments)", `{"n":0}`: "n", `{"n":1,"list":[{"at":"a"},{"at":5}]}`: "list.1.at", `{"n":1,"list":[{}]}`: "list.0", `[]`: "(arguments)",
		`{"n":1`: "", `{"n":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`: "",
	} {
		err := r.Check("x", json.RawMessage(args))
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Code != "invalid_arguments" {
			t.Errorf("%s: %v", args, err)
			continue
		}
		if path != "" && (len(f.Fields) != 1 || f.Fields[0].Field != path || !strings.Contains(f.Message, path)) {
			t.Errorf("%s: %+v", args, f)
		}
	}
	if err := r.Check("x", json.RawMessage(`{"n":3,"more":true}`)); err != nil {
		t.Error(err)
	}
}

func TestK3_RiskAsks(t *testing.T) {
	t.Parallel()
	for risk, want := range map[tool.Risk][2]bool{tool.Low: {}, tool.Medium: {}, tool.High: {false, true}, tool.Critical: {true, true}} {
		if got := [2]bool{risk.Asks(false), risk.Asks(true)}; got != want {
			t.Errorf("%s asks %v", risk, got)
		}
	}
}

func TestSilentReasons(t *testing.T) {
	t.Parallel()
	for reason, silent := range map[string]bool{"no_action_needed": true, "huddle_redirect": true, "thread_redirect": true, "": true, "odd": true,
		"task_complete": false, "awaiting_input": false, "blocked": false} {
		if tool.SilentReason(reason) != silent {
			t.Errorf("%q: silent %v", reason, !silent)
		}
	}
}
