package codex_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/bridge/backend"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest/fakemodel"
)

func exec(command string) fakemodel.Tool {
	raw, _ := json.Marshal(map[string]string{"cmd": command})
	return fakemodel.Tool{Name: "exec_command", Args: string(raw)}
}

// waitFor runs a turn that stops for an approval, in a bridge that ends then.
func waitFor(t *testing.T, b *bench, text string) backend.Approval {
	t.Helper()
	c := b.open(t)
	g := &bridgetest.Gate{Say: func(backend.GatedCall) backend.Verdict { return backend.Verdict{Decision: backend.Defer} }}
	turn := bridgetest.Turn(text)
	turn.Gate = g
	res, err := c.Run(t.Context(), turn, func(backend.Event) {})
	if err != nil || !res.Waiting || res.Text != "" {
		t.Fatalf("result %+v error %v", res, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	asked := g.Calls()
	if len(asked) != 1 || asked[0].RunID == "" || !json.Valid(asked[0].Input) {
		t.Fatalf("asked %+v", asked)
	}
	return backend.Approval{RunID: asked[0].RunID, CallID: asked[0].CallID, Tool: asked[0].Tool, Input: asked[0].Input, Allowed: true}
}

// equal allows one call of exactly this input.
func equal(input json.RawMessage) *bridgetest.Gate {
	used := false
	return &bridgetest.Gate{Say: func(c backend.GatedCall) backend.Verdict {
		if used || string(c.Input) != string(input) {
			return backend.Verdict{Decision: backend.Defer}
		}
		used = true
		return backend.Verdict{Decision: backend.Allow}
	}}
}

func TestS1_CodexRunsExactlyWhatWasApprovedAfterARestart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := filepath.Join(b.dir.Work(), "made")
	b.model.On("People have approved", fakemodel.Step{Tools: []fakemodel.Tool{exec("echo once >> " + made)}}, fakemodel.Step{Text: "It is made."})
	b.model.On("make it", fakemodel.Step{Tools: []fakemodel.Tool{exec("echo once >> " + made)}})
	a := waitFor(t, b, "make it")
	if a.Tool != "shell" || !strings.Contains(string(a.Input), "echo once") || !strings.Contains(string(a.Input), b.dir.Work()) {
		t.Fatalf("approval %+v", a)
	}
	if _, err := os.Stat(made); err == nil {
		t.Fatal("it ran before anybody decided")
	}
	turn := bridgetest.Turn("")
	turn.Gate = equal(a.Input)
	rec := &bridgetest.Record{}
	res, err := b.open(t).Resume(t.Context(), turn, a, rec.Emit)
	if err != nil || res.Text != "It is made." || res.Waiting || rec.Text() != res.Text {
		t.Fatalf("result %+v streamed %q error %v", res, rec.Text(), err)
	}
	if raw, err := os.ReadFile(made); err != nil || string(raw) != "once\n" {
		t.Fatalf("it wrote %q, %v", raw, err)
	}
}

// TestS1_CodexAsksAgainForAnotherCall: the resumed model wants something else than
// what was approved: that waits, and nothing has run.
func TestS1_CodexAsksAgainForAnotherCall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := filepath.Join(b.dir.Work(), "made")
	b.model.On("People have approved", fakemodel.Step{Tools: []fakemodel.Tool{exec("touch " + made + "2")}})
	b.model.On("make it", fakemodel.Step{Tools: []fakemodel.Tool{exec("touch " + made)}})
	a := waitFor(t, b, "make it")
	turn := bridgetest.Turn("")
	turn.Gate = equal(a.Input)
	res, err := b.open(t).Resume(t.Context(), turn, a, func(backend.Event) {})
	if err != nil || !res.Waiting {
		t.Fatalf("result %+v error %v", res, err)
	}
	if left, _ := filepath.Glob(made + "*"); len(left) > 0 {
		t.Fatalf("ran: %v", left)
	}
}

func TestS1_CodexIsToldOfADenial(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := filepath.Join(b.dir.Work(), "made")
	b.model.On("it was not approved. They say: not on a Friday", fakemodel.Step{Text: "Understood."})
	b.model.On("make it", fakemodel.Step{Tools: []fakemodel.Tool{exec("touch " + made)}})
	a := waitFor(t, b, "make it")
	a.Allowed, a.Text = false, "not on a Friday"
	turn := bridgetest.Turn("")
	turn.Gate = equal(nil)
	res, err := b.open(t).Resume(t.Context(), turn, a, func(backend.Event) {})
	if err != nil || res.Text != "Understood." {
		t.Fatalf("result %+v error %v", res, err)
	}
	if _, err := os.Stat(made); err == nil {
		t.Fatal("it ran")
	}
}

// TestS1_CodexIsRefusedInTheTurn: an answer at hand needs no second turn.
func TestS1_CodexIsRefusedInTheTurn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := filepath.Join(b.dir.Work(), "made")
	b.model.On("make it", fakemodel.Step{Tools: []fakemodel.Tool{exec("touch " + made)}})
	b.model.On("nobody may decide", fakemodel.Step{Text: "Then not."})
	turn := bridgetest.Turn("make it")
	turn.Gate = &bridgetest.Gate{Say: func(backend.GatedCall) backend.Verdict { return backend.Verdict{Text: "nobody may decide"} }}
	res, err := b.open(t).Run(t.Context(), turn, func(backend.Event) {})
	if err != nil || res.Text != "Then not." {
		t.Fatalf("result %+v error %v", res, err)
	}
	if _, err := os.Stat(made); err == nil {
		t.Fatal("it ran")
	}
}
