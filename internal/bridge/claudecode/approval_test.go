package claudecode_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/bridge/backend"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest/fakemodel"
	"github.com/agntchat/agntchat/internal/bridge/claudecode"
)

func always(v backend.Verdict) func(backend.GatedCall) backend.Verdict {
	return func(backend.GatedCall) backend.Verdict { return v }
}

func bash(command string) fakemodel.Tool {
	raw, _ := json.Marshal(map[string]string{"command": command, "description": "why"})
	return fakemodel.Tool{Name: "Bash", Args: string(raw)}
}

func gatedTurn(text string, g *bridgetest.Gate) backend.Turn {
	t := bridgetest.Turn(text)
	t.Gate = g
	return t
}

// waitFor runs a turn that stops for an approval and returns the approval of exactly that call.
func waitFor(t *testing.T, b *bench, text string) (backend.Approval, *bridgetest.Gate) {
	t.Helper()
	c := b.open(t)
	g := &bridgetest.Gate{Say: always(backend.Verdict{Decision: backend.Defer})}
	res, err := c.Run(t.Context(), gatedTurn(text, g), func(backend.Event) {})
	if err != nil || !res.Waiting || res.Text != "" {
		t.Fatalf("result %+v error %v", res, err)
	}
	if n := c.LiveForTest(); n != 0 {
		t.Fatalf("%d processes live while people decide", n)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	asked := g.Calls()
	if len(asked) == 0 || asked[0].Tool != "Bash" || asked[0].Reason != "why" || asked[0].RunID == "" || asked[0].CallID == "" {
		t.Fatalf("asked %+v", asked)
	}
	return backend.Approval{RunID: asked[0].RunID, CallID: asked[0].CallID, Tool: asked[0].Tool, Input: asked[0].Input}, g
}

func resumeTurn(g *bridgetest.Gate) backend.Turn {
	t := gatedTurn("", g)
	t.Input, t.History = nil, nil
	return t
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestS1_ClaudeRunsExactlyWhatWasApprovedAfterARestart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := filepath.Join(b.home, "made")
	b.model.On("make it", fakemodel.Step{Text: "I will.", Tools: []fakemodel.Tool{bash("echo once >> " + made)}})
	b.model.On("It may have run", fakemodel.Step{Text: "Nothing to do."})
	b.model.On("and now", fakemodel.Step{Text: "Still here."})
	b.model.On("Continue from where you left off", fakemodel.Step{Text: "It is made."})
	a, _ := waitFor(t, b, "make it")
	if exists(made) {
		t.Fatal("it ran before anybody decided")
	}
	g := &bridgetest.Gate{Say: always(backend.Verdict{Decision: backend.Allow})}
	rec := &bridgetest.Record{}
	res, err := b.open(t).Resume(t.Context(), resumeTurn(g), a, rec.Emit)
	if err != nil || res.Text != "It is made." || res.Waiting || rec.Text() != res.Text {
		t.Fatalf("result %+v streamed %q error %v", res, rec.Text(), err)
	}
	if asked := g.Calls(); len(asked) != 1 || asked[0].CallID != a.CallID || asked[0].RunID != a.RunID || string(asked[0].Input) != string(a.Input) {
		t.Fatalf("the resumed run asked %+v", asked)
	}
	if raw, err := os.ReadFile(made); err != nil || string(raw) != "once\n" {
		t.Fatalf("it wrote %q, %v", raw, err)
	}

	// The same decision again: nothing runs, and the model hears that it may have run.
	res, err = b.open(t).Resume(t.Context(), resumeTurn(g), a, func(backend.Event) {})
	if err != nil || res.Text != "Nothing to do." {
		t.Fatalf("result %+v error %v", res, err)
	}
	if raw, _ := os.ReadFile(made); string(raw) != "once\n" {
		t.Fatalf("it ran twice: %q", raw)
	}
	// The conversation goes on in the same session.
	again := bridgetest.Turn("and now")
	again.Input[0].ID = "m2"
	if res, err := b.open(t).Run(t.Context(), again, func(backend.Event) {}); err != nil || res.Text != "Still here." {
		t.Fatalf("result %+v error %v", res, err)
	}
}

func TestS1_ClaudeIsToldOfADenial(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := filepath.Join(b.home, "made")
	b.model.On("make it", fakemodel.Step{Tools: []fakemodel.Tool{bash("touch " + made)}})
	b.model.On("Continue from where you left off", fakemodel.Step{Text: "Understood."})
	a, _ := waitFor(t, b, "make it")
	g := &bridgetest.Gate{Say: always(backend.Verdict{Text: "Ada says: not on a Friday."})}
	res, err := b.open(t).Resume(t.Context(), resumeTurn(g), a, func(backend.Event) {})
	if err != nil || res.Text != "Understood." || exists(made) {
		t.Fatalf("result %+v error %v made %v", res, err, exists(made))
	}
	raw := b.model.Requests("/v1/messages")
	if !strings.Contains(raw[len(raw)-1].Raw, "not on a Friday") {
		t.Fatal("the model was not told why")
	}
}

func TestS1_ClaudeRunsTheEditedCall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made, edited := filepath.Join(b.home, "made"), filepath.Join(b.home, "edited")
	b.model.On("make it", fakemodel.Step{Tools: []fakemodel.Tool{bash("touch " + made)}})
	b.model.On("Continue from where you left off", fakemodel.Step{Text: "Done."})
	a, _ := waitFor(t, b, "make it")
	g := &bridgetest.Gate{Say: always(backend.Verdict{Decision: backend.Allow, Input: json.RawMessage(bash("touch " + edited).Args)})}
	if res, err := b.open(t).Resume(t.Context(), resumeTurn(g), a, func(backend.Event) {}); err != nil || res.Text != "Done." {
		t.Fatalf("result %+v error %v", res, err)
	}
	if exists(made) || !exists(edited) {
		t.Fatalf("made %v edited %v", exists(made), exists(edited))
	}
}

// TestS1_ClaudeOneGatedCallAtATime: the second of two calls is refused, and after
// the decision the model hears what the first one gave.
func TestS1_ClaudeOneGatedCallAtATime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, two := filepath.Join(b.home, "one"), filepath.Join(b.home, "two")
	b.model.On("make both", fakemodel.Step{Tools: []fakemodel.Tool{bash("echo first-result; touch " + one), bash("touch " + two)}})
	b.model.On("has an outcome now", fakemodel.Step{Text: "One is made, two must wait."})
	a, asked := waitFor(t, b, "make both")
	if n := len(asked.Calls()); n != 1 {
		t.Fatalf("%d calls were asked about", n)
	}
	g := &bridgetest.Gate{Say: always(backend.Verdict{Decision: backend.Allow})}
	res, err := b.open(t).Resume(t.Context(), resumeTurn(g), a, func(backend.Event) {})
	if err != nil || res.Text != "One is made, two must wait." {
		t.Fatalf("result %+v error %v", res, err)
	}
	if !exists(one) || exists(two) {
		t.Fatalf("one %v two %v", exists(one), exists(two))
	}
	raw := b.model.Requests("/v1/messages")
	last := raw[len(raw)-1].Raw
	if !strings.Contains(last, "first-result") || !strings.Contains(last, "One gated call at a time") {
		t.Fatal("the model does not know the outcome of both calls")
	}
}

// TestS1_ClaudeAnswersOtherMessagesWhileACallWaits: they have a session of their
// own, and the waiting one is the conversation's again when it was resumed.
func TestS1_ClaudeAnswersOtherMessagesWhileACallWaits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := filepath.Join(b.home, "made")
	b.model.On("afterwards", fakemodel.Step{Text: "All is well."}) // its history names the others
	b.model.On("meanwhile", fakemodel.Step{Text: "I wait for you."})
	b.model.On("Continue from where you left off", fakemodel.Step{Text: "It is made."})
	b.model.On("make it", fakemodel.Step{Tools: []fakemodel.Tool{bash("touch " + made)}})
	a, _ := waitFor(t, b, "make it")
	c := b.open(t)
	idle := &bridgetest.Gate{Say: always(backend.Verdict{Text: "nothing is asked here"})}
	turn := gatedTurn("meanwhile", idle)
	turn.Input[0].ID = "m2"
	res, err := c.Run(t.Context(), turn, func(backend.Event) {})
	if err != nil || res.Text != "I wait for you." || exists(made) {
		t.Fatalf("result %+v error %v", res, err)
	}
	g := &bridgetest.Gate{Say: always(backend.Verdict{Decision: backend.Allow})}
	if res, err = c.Resume(t.Context(), resumeTurn(g), a, func(backend.Event) {}); err != nil || res.Text != "It is made." || !exists(made) {
		t.Fatalf("result %+v error %v", res, err)
	}
	later := gatedTurn("afterwards", idle)
	later.Input[0].ID = "m3"
	later.History = []backend.Message{
		{ID: "m1", Text: "make it"}, {ID: "m2", Text: "meanwhile"}, {ID: "r1", Assistant: true, Text: "I wait for you."}, {ID: "r2", Assistant: true, Text: "It is made."},
	}
	if res, err = c.Run(t.Context(), later, func(backend.Event) {}); err != nil || res.Text != "All is well." {
		t.Fatalf("result %+v error %v", res, err)
	}
	raw := b.model.Requests("/v1/messages")
	if last := raw[len(raw)-1].Raw; !strings.Contains(last, "touch "+made) || !strings.Contains(last, "I wait for you.") || !strings.Contains(last, "It is made.") {
		t.Fatal("the conversation lost a part")
	}
	if n := len(idle.Calls()); n != 0 {
		t.Fatalf("the others asked %d times", n)
	}
}

// TestS1_ClaudeDoesNotRunWithoutItsGate: nothing that is gated runs when the hook
// cannot be reached.
func TestS1_ClaudeDoesNotRunWithoutItsGate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := filepath.Join(b.home, "made")
	b.model.On("make it", fakemodel.Step{Tools: []fakemodel.Tool{bash("touch " + made)}}, fakemodel.Step{Text: "I could not."})
	c := b.open(t)
	g := &bridgetest.Gate{Say: always(backend.Verdict{Decision: backend.Allow})}
	if res, err := c.Run(t.Context(), gatedTurn("hello", g), func(backend.Event) {}); err != nil || res.Text == "" {
		t.Fatalf("result %+v error %v", res, err)
	}
	c.CloseHooksForTest()
	turn := gatedTurn("make it", g)
	turn.Input[0].ID = "m2"
	if res, err := c.Run(t.Context(), turn, func(backend.Event) {}); err != nil || res.Text != "I could not." || exists(made) || len(g.Calls()) != 0 {
		t.Fatalf("result %+v error %v made %v", res, err, exists(made))
	}
}

func TestS1_OnlyPlainLooksAreNotAskedAbout(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]bool{
		"ls -la": true, "cat notes.txt": true, "grep -n word file": true, "pwd": true,
		"": false, "rm x": false, "ls; rm x": false, "cat $(rm x)": false, "ls > x": false, "cat a | sh": false, "ls\nrm x": false, "find . -delete": false,
		"git status": false, "FOO=1 ls": false, "cat `rm x`": false, "ls && rm x": false, "tail -f x &": false,
	} {
		if got := claudecode.HarmlessForTest([]byte(bash(command).Args)); got != want {
			t.Errorf("%q: %v", command, got)
		}
	}
	if claudecode.HarmlessForTest([]byte(`{"command":"ls","run_in_background":true}`)) || claudecode.HarmlessForTest([]byte(`[]`)) {
		t.Error("an input of another shape must be asked about")
	}
}

// TestS1_ClaudeAsksNobodyAtItsTerminal: a question, a plan to be approved: there is nobody
// at the terminal. The call fails at once, the model hears it, and the turn ends by itself
// (field.md 33).
func TestS1_ClaudeAsksNobodyAtItsTerminal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	question := fakemodel.Tool{Name: "AskUserQuestion", Args: `{"questions":[{"question":"Which colour?","header":"Colour","multiSelect":false,"options":[{"label":"Red","description":"r"},{"label":"Green","description":"g"}]}]}`}
	plan := fakemodel.Tool{Name: "ExitPlanMode", Args: `{"plan":"1. Paint."}`}
	b.model.On("paint it", fakemodel.Step{Tools: []fakemodel.Tool{question}}, fakemodel.Step{Tools: []fakemodel.Tool{plan}}, fakemodel.Step{Text: "Which colour do you want?"})
	g := &bridgetest.Gate{Say: always(backend.Verdict{Decision: backend.Allow})}
	res, err := b.open(t).Run(t.Context(), gatedTurn("paint it", g), func(backend.Event) {})
	if err != nil || res.Waiting || res.Text != "Which colour do you want?" {
		t.Fatalf("result %+v error %v", res, err)
	}
	raw := b.model.Requests("/v1/messages")
	if last := raw[len(raw)-1].Raw; strings.Count(last, `"is_error":true`) != 2 {
		t.Errorf("the model was not told that nobody answers: %s", last)
	}
}
