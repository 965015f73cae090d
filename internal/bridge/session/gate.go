package session

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/agntchat/agntchat/internal/bridge/backend"
)

// redeemTries and redeemPause bound how a lost answer of the gate is asked for again.
const (
	redeemTries = 3
	redeemPause = 2 * time.Second
)

// gate asks the server about the CLI's own tools (row S1, docs/protocol.md 9). A
// question that nobody has answered yet ends the run; whatever goes wrong refuses.
type gate struct {
	agent              *Agent
	work               *work // the delivery whose run asks
	conversation, task string
	run                keptRun

	mu       sync.Mutex // one call at a time
	approval *Approval  // the decision with which the run is resumed
	used     bool       // it was spent
	opened   string     // the request at which the run stops
}

func (a *Agent) newGate(w *work, conversation, task string, run keptRun) *gate {
	return &gate{agent: a, work: w, conversation: conversation, task: task, run: run}
}

// Ask implements backend.Gate.
func (g *gate) Ask(ctx context.Context, c backend.GatedCall) backend.Verdict {
	g.mu.Lock()
	defer g.mu.Unlock()
	if v, decided := g.decided(ctx, c); decided {
		return v
	}
	if err := g.agent.keepRun(c.RunID, g.run); err != nil {
		g.agent.log.Error("run not kept", "error", err)
		return refuse("This machine cannot keep the run while people decide.")
	}
	body := map[string]any{
		"toolName": c.Tool, "toolInput": c.Input, "conversationId": g.conversation, "durable": true, "executorId": g.agent.executorID(),
		"runId": c.RunID, "toolUseId": c.CallID, "description": describe(c), "reason": cut(c.Reason, 2000),
	}
	if g.task != "" {
		body["taskId"] = g.task
	}
	if gen := g.agent.generation(g.work); gen > 0 {
		body["turnId"], body["turnGeneration"] = g.work.queueID, gen
	}
	var out struct {
		Status    string `json:"status"`
		RequestID string `json:"requestId"`
	}
	err := g.call(ctx, "/api/agent/permission-requests", body, &out)
	switch {
	case isStatus(err, http.StatusConflict, "one_gated_call"):
		return refuse("One gated call at a time: another call of this run waits for an approval.")
	case isStatus(err, http.StatusUnprocessableEntity, "no_approver"):
		return refuse("There is nobody who may approve this. Answer without it.")
	case err != nil:
		g.agent.log.Warn("approval not asked for", "tool", c.Tool, "error", err)
		return refuse("People cannot be asked now. Answer without it, and say what you would have done.")
	}
	switch out.Status {
	case "approved":
		v, _ := g.redeem(ctx, out.RequestID, c, c.Input)
		return v
	case "pending":
		g.opened = out.RequestID
		return backend.Verdict{Decision: backend.Defer}
	case "denied":
		return refuse("People have denied this call.")
	default:
		return refuse("Nobody decided about this call in time. You may ask again.")
	}
}

// decided answers the call from the decision that the run was resumed with.
func (g *gate) decided(ctx context.Context, c backend.GatedCall) (backend.Verdict, bool) {
	ap := g.approval
	if ap == nil || g.used {
		return backend.Verdict{}, false
	}
	same := c.CallID == ap.ToolUseID
	if !ap.allowed() {
		if !same {
			return backend.Verdict{}, false
		}
		g.used = true
		text := "People have denied this call."
		if ap.Status == "expired" {
			text = "Nobody decided about this call in time. You may ask again if it still matters."
		}
		if ap.Text != "" {
			text += " They say: " + ap.Text
		}
		return refuse(text), true
	}
	input := c.Input
	if same && ap.Edited {
		input = ap.Input
	}
	v, err := g.redeem(ctx, ap.RequestID, c, input)
	if isStatus(err, http.StatusConflict, "action_changed") {
		return backend.Verdict{}, false // another action: it is asked about anew
	}
	g.used = true
	if v.Decision == backend.Allow && same && ap.Edited {
		v.Input = ap.Input
	}
	return v, true
}

// redeem spends the approval for exactly this action, before it runs.
func (g *gate) redeem(ctx context.Context, request string, c backend.GatedCall, input json.RawMessage) (backend.Verdict, error) {
	var b [16]byte
	_, _ = rand.Read(b[:])
	body := map[string]any{"toolName": c.Tool, "toolInput": input, "useKey": hex.EncodeToString(b[:])}
	err := g.call(ctx, "/api/agent/permission-requests/"+url.PathEscape(request)+"/redeem", body, nil)
	switch {
	case err == nil:
		return backend.Verdict{Decision: backend.Allow}, nil
	case isStatus(err, http.StatusConflict, "already_used"):
		return refuse("This approval was used before: the call may have run. Look at its effect before you ask again."), err
	case isStatus(err, http.StatusConflict, "approval_expired"):
		return refuse("The approval is too old. Ask again if it still matters."), err
	default:
		return refuse("The approval could not be confirmed, so the call did not run."), err
	}
}

// call is a REST call that is repeated when its answer was lost: both calls of the
// gate may be.
func (g *gate) call(ctx context.Context, path string, body, out any) (err error) {
	for range redeemTries {
		if err = g.agent.api.call(ctx, "POST", path, body, out); err == nil {
			return nil
		}
		if status, ok := errors.AsType[*StatusError](err); ok && status.Status < 500 && status.Status != http.StatusTooManyRequests {
			return err
		}
		if !wait(ctx, redeemPause) {
			return err
		}
	}
	return err
}

// settle withdraws the question of a run that ended without waiting for its answer.
func (g *gate) settle(ctx context.Context, waiting bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened == "" || waiting {
		return
	}
	if err := g.call(ctx, "/api/agent/permission-requests/"+url.PathEscape(g.opened)+"/cancel", struct{}{}, nil); err != nil {
		g.agent.log.Warn("approval request not withdrawn", "approval_id", g.opened, "error", err)
	}
}

// noGate refuses every call: a draft that is only revised needs none.
type noGate struct{}

// Ask implements backend.Gate.
func (noGate) Ask(context.Context, backend.GatedCall) backend.Verdict {
	return refuse("Only the reply is being revised: write it without tools.")
}

func refuse(text string) backend.Verdict { return backend.Verdict{Text: text} }

// describe is the one line that a list shows.
func describe(c backend.GatedCall) string {
	var in map[string]json.RawMessage
	_ = json.Unmarshal(c.Input, &in)
	for _, word := range [][2]string{{"command", "Run command"}, {"file_path", "Write file"}, {"url", "Fetch"}, {"query", "Search"}, {"changes", "Change files"}} {
		raw, ok := in[word[0]]
		if !ok {
			continue
		}
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return word[1]
		}
		return cut(word[1]+": "+text, 500)
	}
	return "Use tool: " + c.Tool
}

// keptRun is what a resumed run needs beside the CLI's own session. It holds the
// prompt and therefore stays on this machine, in the agent's private folder.
type keptRun struct {
	Backend   string `json:"backend"`
	System    string `json:"system"`
	Model     string `json:"model"`
	Effort    string `json:"effort"`
	MaxTokens int64  `json:"max_tokens"`
	Talk      bool   `json:"talk,omitempty"`    // a message's turn: it ends no task, whatever room it is in
	Message   string `json:"message,omitempty"` // that it answers, or that the task was asked with
	Task      string `json:"task,omitempty"`    // that it works at, or in whose work room it talks
}

func (a *Agent) runFile(runID string) string {
	sum := sha256.Sum256([]byte(runID))
	return filepath.Join(a.opt.Dir, "runs", hex.EncodeToString(sum[:16])+".json")
}

// keepRun stores the run durably before anybody is asked.
func (a *Agent) keepRun(runID string, r keptRun) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("keep run: %w", err)
	}
	path := a.runFile(runID)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("keep run: %w", err)
	}
	return writeDurably(path, raw)
}

func (a *Agent) keptRun(runID string) (r keptRun, err error) {
	raw, err := os.ReadFile(a.runFile(runID))
	if err != nil {
		return r, fmt.Errorf("read run: %w", err)
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, fmt.Errorf("read run: %w", err)
	}
	return r, nil
}

func (a *Agent) forgetRun(runID string) { _ = os.Remove(a.runFile(runID)) }
