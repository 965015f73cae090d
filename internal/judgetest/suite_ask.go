package judgetest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// bridgeAsks: permission prompts of a CLI turn through the stock bridge
// (bridge 5.10).
var bridgeAsks = inParallel(map[string]func(t *testing.T, g Target){
	"Allowed": askAllowed, "Denied": askDenied, "Standing": askStanding, "Life": askLife,
})

// inParallel is a suite of independent parts.
func inParallel(parts map[string]func(t *testing.T, g Target)) func(t *testing.T, g Target) {
	return func(t *testing.T, g Target) {
		for name, run := range parts {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				run(t, g)
			})
		}
	}
}

// asking is a stage whose bridge asks for permission once per message and says
// the verdict.
func asking(t *testing.T, g Target, name string) (s *stage, conv string, asked chan string) {
	s = newStage(t, g, name)
	conv, asked = s.room("direct", ""), make(chan string, 8)
	s.bridge(BridgeOptions{Poll: 100 * time.Millisecond, Model: func(ctx context.Context, turn *Turn) Reply {
		verdict := turn.b.Permission(ctx, Ask{
			Tool: "Bash", Input: map[string]any{"command": turn.Text()}, Description: "Run command: " + turn.Text(), ConversationID: turn.ConversationID,
		}, func(id string) { asked <- id })
		return Reply{Text: verdict + " #" + turn.MessageID}
	}})
	s.open(s.d, conv)
	return s, conv, asked
}

// resolve answers a request as the person and waits for the live events.
func (s *stage) resolve(mark int, id, decision string, always bool) {
	s.t.Helper()
	s.step("the prompt shows", func(ctx context.Context) error {
		p, err := s.d.WaitEvent(ctx, mark, "permission_request", func(p map[string]any) bool { return str(p, "id") == id })
		if err == nil {
			s.led.check("desktop", "desktop 3.5", "permission_request", "PermissionRequest", p)
		}
		return err
	})
	s.step(decision, func(ctx context.Context) error {
		_, err := s.d.must(ctx, "desktop 4.9", "POST", "/api/permission-requests/"+id+"/resolve", map[string]any{"decision": decision, "always": always}, "PermissionRequest")
		return err
	})
	s.step("the prompt goes", func(ctx context.Context) error {
		_, err := s.d.WaitEvent(ctx, mark, "permission_resolved", func(p map[string]any) bool { return str(p, "id") == id })
		return err
	})
}

func (s *stage) asked(from chan string) string {
	s.t.Helper()
	id := ""
	s.step("the bridge asks", func(ctx context.Context) error {
		select {
		case id = <-from:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	return id
}

func askAllowed(t *testing.T, g Target) {
	s, conv, asked := asking(t, g, "Gated")
	mark := s.d.Mark()
	m := s.say(s.d, conv, "make harbour")
	s.resolve(mark, s.asked(asked), "approve", false)
	s.answered(s.d, conv, "allowed #"+m)
	mark = s.d.Mark()
	m = s.say(s.d, conv, "make harbour")
	s.resolve(mark, s.asked(asked), "approve", false) // once is not always
	s.answered(s.d, conv, "allowed #"+m)
}

func askDenied(t *testing.T, g Target) {
	s, conv, asked := asking(t, g, "Refused")
	mark := s.d.Mark()
	m := s.say(s.d, conv, "rm -r harbour")
	s.resolve(mark, s.asked(asked), "deny", false)
	s.answered(s.d, conv, "denied #"+m)
}

// askStanding: always stores a grant; the next identical request is approved at
// once, and no prompt shows.
func askStanding(t *testing.T, g Target) {
	s, conv, asked := asking(t, g, "Trusted")
	mark := s.d.Mark()
	m := s.say(s.d, conv, "make sails")
	s.resolve(mark, s.asked(asked), "approve", true)
	s.answered(s.d, conv, "allowed #"+m)
	mark = s.d.Mark()
	m = s.say(s.d, conv, "make sails")
	s.answered(s.d, conv, "allowed #"+m)
	if n := s.d.Count(mark, "permission_request", nil); n != 0 {
		t.Errorf("[bridge 4.9] a standing grant still asked %d times", n)
	}
	if len(asked) != 0 {
		t.Error("[bridge 4.9] a covered request has to be answered approved by the create call")
	}
}

// askLife: a stock bridge's request lives at most 300 s, and it is re-read by a
// desktop that joins later (desktop 3.2).
func askLife(t *testing.T, g Target) {
	s, conv, asked := asking(t, g, "Waiting")
	m := s.say(s.d, conv, "make masts")
	id := s.asked(asked)
	late := s.browser("desktop B")
	if life := s.life(late, id); life <= 0 || life > 301*time.Second {
		t.Errorf("[bridge 7] a stock bridge's request lives %s, want at most 300 s", life)
	}
	s.resolve(0, id, "approve", false)
	s.answered(s.d, conv, "allowed #"+m)
}

// life is how long a listed request may be answered, from its ask on.
func (s *stage) life(d *Desktop, id string) time.Duration {
	s.t.Helper()
	var life time.Duration
	s.step("pending requests at start", func(ctx context.Context) error {
		a, err := d.must(ctx, "desktop 4.9", "GET", "/api/permission-requests", nil, "PermissionList")
		for _, r := range listOf(a.JSON, "requests") {
			if str(r, "id") == id {
				made, err1 := time.Parse(time.RFC3339Nano, str(r, "insertedAt"))
				ends, err2 := time.Parse(time.RFC3339Nano, str(r, "expiresAt"))
				life = ends.Sub(made)
				return errors.Join(err1, err2)
			}
		}
		return errors.Join(err, errors.New("[row S1] the request is not listed under its requestId"))
	})
	return life
}

// askDurable: a request that outlives every process (row S1) is an ordinary
// one with a longer life.
func askDurable(t *testing.T, g Target) {
	s := newStage(t, g, "Patient")
	b := s.bridge(BridgeOptions{})
	id := ""
	s.step("ask durably", func(ctx context.Context) error {
		a, err := b.callREST(ctx, call{method: "POST", path: "/api/agent/permission-requests", body: map[string]any{
			"toolName": "Bash", "toolInput": map[string]any{"command": "make keel"}, "description": "Run command: make keel", "durable": true, "ttlSeconds": 86400,
			"executorId": b.executorID, "runId": "judge-run-" + b.executorID, // what resumes the run (docs/protocol.md)
		}})
		if id = a.Str("requestId"); err == nil && (a.Status != 200 || id == "") {
			t.Errorf("[row S1] a durable request is answered %d %s", a.Status, clip(string(a.Body), 200))
		}
		return err
	})
	if life := s.life(s.d, id); life < 86300*time.Second || life > 86500*time.Second {
		t.Errorf("[row S1] a request with ttlSeconds 86400 lives %s", life)
	}
	b.Kill()
	s.resolve(0, id, "approve", false)
	two := s.bridge(BridgeOptions{})
	s.step("the next process reads the decision", func(ctx context.Context) error {
		a, err := two.callREST(ctx, call{method: "GET", path: "/api/agent/permission-requests/" + id})
		if err == nil && a.Str("status") != "approved" {
			t.Errorf("[row S1] the decision reads %s after a new process registered", brief(a.JSON))
		}
		return err
	})
}

// askRevise: the soul is revised by the agent's own model.
func askRevise(t *testing.T, g Target) {
	s := newStage(t, g, "Reviser")
	s.bridge(BridgeOptions{Query: func(_ context.Context, query map[string]any) string {
		if strings.Contains(str(query, "userContent"), "nothing") {
			return ""
		}
		return "# Revised"
	}})
	revise := func(ctx context.Context, instruction string) (Answer, error) {
		return s.d.call(ctx, "POST", "/api/agents/"+s.agentID+"/soul/revise", map[string]any{"instruction": instruction})
	}
	s.step("revise", func(ctx context.Context) error {
		a, err := revise(ctx, "Make it shorter.")
		if err == nil && (!a.OK() || a.Str("soulMd") != "# Revised") {
			t.Errorf("[desktop 4.10] soul/revise answered %d %s", a.Status, clip(string(a.Body), 200))
		}
		return err
	})
}
