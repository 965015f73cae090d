package tool_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/agntchat/agntchat/internal/tool"
)

func TestCatalogueIsStableAndWellFormed(t *testing.T) {
	t.Parallel()
	all := tool.ForAgent(tool.Holder{})
	if !reflect.DeepEqual(all, tool.ForAgent(tool.Holder{AgentType: "reviewer"})) {
		t.Error("the catalogue changes between calls")
	}
	seen := map[string]bool{}
	for _, d := range all {
		var schema struct {
			Type       string                     `json:"type"`
			Properties map[string]json.RawMessage `json:"properties"`
			Required   []string                   `json:"required"`
		}
		if err := json.Unmarshal(d.InputSchema, &schema); err != nil || schema.Type != "object" {
			t.Errorf("%s: schema %v %q", d.Name, err, schema.Type)
		}
		for _, r := range schema.Required {
			if _, ok := schema.Properties[r]; !ok {
				t.Errorf("%s requires %s, which it does not describe", d.Name, r)
			}
		}
		if seen[d.Name] || d.Description == "" || d.Category == "" || d.Category == "server_tool" {
			t.Errorf("%s is not usable", d.Name)
		}
		seen[d.Name] = true
	}
	if end := all[len(all)-1]; end.Name != tool.EndTurn || !end.AlwaysLoad || end.ExecutorMethod != "" {
		t.Errorf("end_turn must be passed through and always loaded: %+v", end)
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
