package task_test

import (
	"slices"
	"testing"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/task"
)

// cells is the transition table written out by hand, as docs/tasks.md has it: a row
// per event, a column per state in the order of task.Statuses. "-" is refused, "e"
// is already_ended.
var cells = map[task.Event]string{
	//             pending accepted in_progress blocked waiting complete failed cancelled rejected exhausted
	task.Accept:    "accepted - - - - e e e e e",
	task.Start:     "in_progress in_progress - - - e e e e e",
	task.Park:      "- blocked blocked - - e e e e e",
	task.ParkAgain: "- - - blocked blocked e e e e e",
	task.Wake:      "- - - pending pending e e e e e",
	task.Resume:    "- - - in_progress in_progress e e e e e",
	task.Requeue:   "- pending pending - - e e e e e",
	task.Reassign:  "pending pending pending pending pending e e e e e",
	task.Finish:    "complete complete complete complete complete e e e e e",
	task.Fail:      "failed failed failed failed failed e e e e e",
	task.Cancel:    "cancelled cancelled cancelled cancelled cancelled e e e e e",
	task.Reject:    "rejected rejected - - - e e e e e",
	task.Exhaust:   "exhausted exhausted exhausted - - e e e e e",
}

// TestT1_EveryCellOfTheMatrix compares the matrix with the table, every cell of it.
func TestT1_EveryCellOfTheMatrix(t *testing.T) {
	t.Parallel()
	if got := len(task.Events()); got != len(cells) {
		t.Fatalf("%d events, the table has %d", got, len(cells))
	}
	for _, e := range task.Events() {
		row := splitWords(cells[e])
		if len(row) != len(task.Statuses) {
			t.Fatalf("%s: %d cells", e, len(row))
		}
		for n, from := range task.Statuses {
			to, err := task.Next(from, e)
			switch want := row[n]; want {
			case "-":
				if !fault.Is(err, "illegal_transition") {
					t.Errorf("%s from %s: %s, %v", e, from, to, err)
				}
			case "e":
				if !fault.Is(err, "already_ended") {
					t.Errorf("%s from %s: %s, %v", e, from, to, err)
				}
			default:
				if err != nil || string(to) != want {
					t.Errorf("%s from %s: %s, %v; want %s", e, from, to, err, want)
				}
			}
		}
	}
}

func splitWords(s string) []string {
	var out []string
	word := ""
	for _, r := range s + " " {
		if r == ' ' {
			if word != "" {
				out = append(out, word)
			}
			word = ""
			continue
		}
		word += string(r)
	}
	return out
}

// TestT1_FailureCodesAreClosed: an unknown code becomes agent_failed, and what a
// stock bridge writes is read into a code of the list.
func TestT1_FailureCodesAreClosed(t *testing.T) {
	t.Parallel()
	if f := task.FailureOf("no such code"); f.Code != task.CodeAgentFailed || f.Transient {
		t.Errorf("unknown code: %+v", f)
	}
	codes := task.FailureCodes()
	for text, want := range map[string]string{
		"directives_unavailable: no prompt":                      task.CodeDirectives,
		"The run was interrupted because the machine restarted.": task.CodeKilled,
		"TimeoutError: the task timed out after 1650 s":          task.CodeTimeout,
		"Task produced no user-facing response text":             task.CodeAgentFailed,
		"ValueError: x": task.CodeAgentFailed,
	} {
		f := task.ReadFailure(text)
		if f.Code != want || !slices.Contains(codes, f.Code) {
			t.Errorf("%q is read as %s, want %s", text, f.Code, want)
		}
	}
}

// TestT1_PlansAreChecked: circles, unknown and double steps are refused, and the next
// step follows the dependencies.
func TestT1_PlansAreChecked(t *testing.T) {
	t.Parallel()
	step := func(k string, deps ...string) task.Step {
		return task.Step{Key: k, Title: k, Prompt: "do " + k, DependsOn: deps, Status: task.StepPending}
	}
	for name, plan := range map[string][]task.Step{
		"circle": {step("a", "b"), step("b", "a")}, "unknown": {step("a", "x")}, "twice": {step("a"), step("a")}, "self": {step("a", "a")},
		"no words": {{Key: "a"}}, "no key": {{Title: "t", Prompt: "p"}},
	} {
		if err := task.CheckPlan(nil, plan); !fault.Is(err, "invalid_plan") {
			t.Errorf("%s: %v", name, err)
		}
	}
	plan := []task.Step{step("c", "b"), step("b", "a"), step("a")}
	if err := task.CheckPlan(nil, plan); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a", "b", "c"} {
		n, skip := task.NextStep(plan, false)
		if n == nil || n.Key != want || len(skip) != 0 {
			t.Fatalf("next is %+v, skip %v; want %s", n, skip, want)
		}
		n.Status = task.StepCompleted
	}
	if n, _ := task.NextStep(plan, false); n != nil {
		t.Fatalf("a finished plan offers %s", n.Key)
	}
	plan[2].Status, plan[1].Status, plan[0].Status = task.StepFailed, task.StepPending, task.StepPending
	if n, skip := task.NextStep(plan, false); n != nil || !slices.Equal(slices.Sorted(slices.Values(skip)), []string{"b", "c"}) {
		t.Fatalf("after a failure: next %+v, skip %v", n, skip)
	}
}
