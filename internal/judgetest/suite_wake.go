package judgetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// RunWakeRules judges who wakes whom (decisions 9 and 10) and what a regenerated
// key revokes (decision 3), seen from stock bridges.
func RunWakeRules(t *testing.T, g Target) {
	t.Run("Wake", func(t *testing.T) {
		t.Run("Mentions", func(t *testing.T) { wakeMentions(t, g) })
		t.Run("Agent_loop_is_cut", func(t *testing.T) { wakeLoop(t, g) })
		t.Run("Key_regenerated", func(t *testing.T) { wakeKey(t, g) })
	})
}

// peer makes a further agent of the same owner with a running bridge.
func (s *stage) peer(name string, model func(context.Context, *Turn) Reply) (id string, b *Bridge) {
	s.t.Helper()
	var key string
	s.step("create agent "+name, func(ctx context.Context) (err error) {
		id, key, err = s.d.CreateAgent(ctx, name)
		return err
	})
	b = New(s.t, s.g.BaseURL, id, key, BridgeOptions{Ledger: s.led, Backend: "claude_cli", SocketDelay: 1, Reconnect: reconnectDelays[6], Model: model})
	s.step(name+" starts", b.Start)
	s.step(name+" joins", func(ctx context.Context) error { return b.WaitJoined(ctx, 1) })
	return id, b
}

// wakeMentions: a mention wakes who is named, by the longest name, not inside
// code; without one the room's first agent is woken.
func wakeMentions(t *testing.T, g Target) {
	t.Parallel()
	s := newStage(t, g, "Max")
	reply := func(_ context.Context, turn *Turn) Reply { return Reply{Text: "re #" + turn.MessageID} }
	first := s.bridge(BridgeOptions{Model: reply})
	powerID, power := s.peer("Max Power", reply)
	hanID, han := s.peer("李雷", reply)
	var conv string
	s.step("group", func(ctx context.Context) (err error) {
		conv, err = s.d.CreateConversation(ctx, "group", "Mentions", s.agentID, powerID, hanID)
		return err
	})
	s.open(s.d, conv)
	all := []*Bridge{first, power, han}
	for _, c := range []struct {
		text string
		who  *Bridge
		name string
	}{
		{"nobody named", first, ""},
		{"@[Max Power] the whole name in brackets", power, "Max Power"},
		{"please @max power, the longest name wins in any case", power, "Max Power"},
		{"hello @Max!", first, "Max"},
		{"@李雷, 你好", han, "李雷"},
		{"in code it names nobody: `@[Max Power]`", first, ""},
		{"an address like someone@max.example names nobody", first, ""},
	} {
		mark := s.d.Mark()
		id := s.say(s.d, conv, c.text)
		r := s.turns(c.who, "turn for "+c.text, 1, byMessage(id))[0]
		if !acked(r) {
			t.Errorf("[bridge 2.7] ack answered %d", r.AckStatus)
		}
		m, err := s.d.WaitEvent(t.Context(), mark, "new_message", func(p map[string]any) bool { return str(p, "id") == id })
		if err != nil {
			t.Fatal(err)
		}
		meta, _ := m["metadata"].(map[string]any)
		named := strings.Join(namesOf(meta["mentions"]), ",")
		if named != c.name {
			t.Errorf("[decision 10] %q: mentions are %q, want %q", c.text, named, c.name)
		}
		for _, b := range all {
			if b != c.who {
				for _, r := range b.Turns() {
					if r.MessageID == id {
						t.Errorf("[decision 9] %q woke an agent that it does not name", c.text)
					}
				}
			}
		}
	}
}

func namesOf(v any) []string {
	var out []string
	for _, m := range listOf(v, "") {
		out = append(out, str(m, "displayName"))
	}
	return out
}

// wakeLoop: two agents that always name each other are cut after 12 messages
// without a person, with one visible notice; a person starts the count anew.
func wakeLoop(t *testing.T, g Target) {
	t.Parallel()
	s := newStage(t, g, "Ping")
	s.bridge(BridgeOptions{Model: func(_ context.Context, turn *Turn) Reply { return Reply{Text: "@[Pong] ping after " + turn.MessageID} }})
	pongID, pong := s.peer("Pong", func(_ context.Context, turn *Turn) Reply { return Reply{Text: "@[Ping] pong after " + turn.MessageID} })
	var conv string
	s.step("group", func(ctx context.Context) (err error) {
		conv, err = s.d.CreateConversation(ctx, "group", "Loop", s.agentID, pongID)
		return err
	})
	s.open(s.d, conv)
	agents, notices := 0, 0
	count := func() {
		agents, notices = 0, 0
		for _, m := range s.d.timeline[conv] {
			meta, _ := m["metadata"].(map[string]any)
			switch sender := str(m, "senderId"); {
			case str(meta, "code") != "" || sender == "":
				notices++
			case sender == s.agentID || sender == pongID:
				agents++
			}
		}
	}
	cut := func(n int) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			err := s.d.until(ctx, "the notice that the agents were cut", func() bool { count(); return notices >= n })
			if err != nil {
				return fmt.Errorf("%w (%d agent messages so far)", err, agents)
			}
			return nil
		}
	}
	s.say(s.d, conv, "@[Ping] off you go")
	s.step("loop is cut", cut(1))
	// A round trip with the same agent elsewhere: what was still to come has come.
	direct := ""
	s.step("direct room", func(ctx context.Context) (err error) {
		direct, err = s.d.CreateConversation(ctx, "direct", "", pongID)
		return err
	})
	s.open(s.d, direct)
	aside := s.say(s.d, direct, "still with me?")
	s.turns(pong, "turn elsewhere", 1, byMessage(aside))
	s.open(s.d, conv)
	s.d.read(count)
	if agents < 12 || agents > 13 || notices != 1 {
		t.Errorf("[decision 9] %d agent messages and %d notices before the cut, want 12 (and the one that wakes nobody) and 1", agents, notices)
	}
	s.say(s.d, conv, "@[Ping] again")
	s.step("a person starts the count anew", cut(2))
}

// wakeKey: a regenerated key ends the old process's socket and token at once;
// the new key works.
func wakeKey(t *testing.T, g Target) {
	t.Parallel()
	s := newStage(t, g, "Locked")
	conv := s.room("direct", "")
	s.open(s.d, conv)
	old := s.bridge(BridgeOptions{Model: func(_ context.Context, turn *Turn) Reply { return Reply{Text: "old #" + turn.MessageID} }})
	var sock *phxSocket
	old.read(func() { sock = old.sock })
	s.step("regenerate the key", func(ctx context.Context) error {
		a, err := s.d.must(ctx, "desktop 4.10", "POST", "/api/agents/"+s.agentID+"/regenerate-key", nil, "CreatedAgent")
		if err == nil && a.Str("apiKey") == s.agentKey {
			return fmt.Errorf("the key did not change")
		}
		s.agentKey = a.Str("apiKey")
		return err
	})
	s.step("old socket is closed", func(ctx context.Context) error {
		select {
		case <-sock.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	s.step("old token is dead", func(ctx context.Context) error {
		old.tokens.mu.Lock()
		token := old.tokens.token
		old.tokens.mu.Unlock()
		a, err := old.rest.send(ctx, token, call{method: "GET", path: "/api/me"})
		if err == nil && a.Status != 401 {
			return fmt.Errorf("[decision 3] GET /api/me with the old token answered %d", a.Status)
		}
		return err
	})
	old.Kill()
	s.bridge(BridgeOptions{Model: func(_ context.Context, turn *Turn) Reply { return Reply{Text: "new #" + turn.MessageID} }})
	id := s.say(s.d, conv, "who holds the key?")
	s.answered(s.d, conv, "new #"+id)
	s.once(s.d, conv, "#"+id)
}
