package judgetest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// RunStockBridgeTurn judges the whole message life of an unmodified bridge: the
// turn of bridge 2.7, catch-up, stale drafts by version, failures, stop, a
// killed process, a replaced process, and the SDK client.
func RunStockBridgeTurn(t *testing.T, g Target) {
	// Grouped, so that the restart below has the server for itself.
	t.Run("Live", func(t *testing.T) {
		for _, version := range []string{"2.11.24", "2.11.15", "2.7.0"} {
			t.Run("Turn_"+version, func(t *testing.T) { bridgeTurn(t, g, version) })
		}
		t.Run("Stale_dropped", func(t *testing.T) { bridgeStale(t, g, "2.11.24") })
		t.Run("Stale_reposted", func(t *testing.T) { bridgeStale(t, g, "2.11.15") })
		t.Run("Failure_is_visible", func(t *testing.T) { bridgeFailure(t, g) })
		t.Run("Stop", func(t *testing.T) { bridgeStop(t, g) })
		t.Run("Catchup_and_kill", func(t *testing.T) { bridgeKill(t, g) })
		for _, at := range []Step{StepPushed, StepStarted, StepAnswering, StepAnswered, StepAcked} {
			t.Run("Killed_when_"+string(at), func(t *testing.T) { bridgeKilledAt(t, g, at) })
		}
		t.Run("Backlog", func(t *testing.T) { bridgeBacklog(t, g) })
		t.Run("Large_messages", func(t *testing.T) { bridgeLarge(t, g) })
		t.Run("Takeover", func(t *testing.T) { bridgeTakeover(t, g) })
		t.Run("Socket_drop", func(t *testing.T) { bridgeDrop(t, g) })
		t.Run("Silent_end_turn", func(t *testing.T) { bridgeEndTurn(t, g) })
		t.Run("SDK_client", func(t *testing.T) { sdkClient(t, g) })
	})
	if g.Restart != nil {
		t.Run("Server_restart", func(t *testing.T) { bridgeRestart(t, g) })
	}
}

// bridgeTurn: two ordinary turns, seen live by the person, acked, never again.
func bridgeTurn(t *testing.T, g Target, version string) {
	t.Parallel()
	s := newStage(t, g, "Turner")
	conv := s.room("direct", "")
	b := s.bridge(BridgeOptions{Version: version, Model: func(ctx context.Context, turn *Turn) Reply {
		turn.Phase(ctx, "tool_call", "Reading notes")
		turn.Write(ctx, "working on it")
		turn.Write(ctx, "working on it: "+turn.Text())
		return Reply{Text: "done: " + turn.Text() + " #" + turn.MessageID, Tools: []string{"Bash"}}
	}})
	s.step("agent shows online", func(ctx context.Context) error {
		return s.d.until(ctx, "agent online", func() bool { return s.d.presence[s.agentID] == "online_local" })
	})
	s.open(s.d, conv)
	mark := s.d.Mark()
	first := s.say(s.d, conv, "alpha question")
	reply := s.answered(s.d, conv, "#"+first)
	meta, _ := reply["metadata"].(map[string]any)
	streamID := str(meta, "stream_id")
	if streamID == "" {
		t.Error("[desktop 9.6] the final message lacks metadata.stream_id")
	}
	// Frames may be merged; the golden exchanges check each phase on its own.
	s.step("the stream is seen live", func(ctx context.Context) error {
		_, err := s.d.WaitEvent(ctx, mark, "message_streaming", func(p map[string]any) bool { return str(p, "streamId") == streamID })
		return err
	})
	done := s.turns(b, "first turn acked", 1, byMessage(first))[0]
	second := s.say(s.d, conv, "beta question")
	s.answered(s.d, conv, "#"+second)
	again := s.turns(b, "second turn acked", 1, byMessage(second))[0]
	if !acked(done) || !acked(again) {
		t.Errorf("[bridge 2.7] acks answered %d and %d", done.AckStatus, again.AckStatus)
	}
	if strings.Join(done.Directives, "") != strings.Join(again.Directives, "") {
		t.Error("[bridge 6.1] promptDirectives changed between two turns: every byte re-bills the prompt")
	}
	// A new join and catch-up must bring nothing back.
	b.DropSocket()
	s.step("rejoin", func(ctx context.Context) error { return b.WaitJoined(ctx, 2) })
	var drained any
	b.read(func() { drained = b.catchups[len(b.catchups)-1]["messages"] })
	if n, _ := drained.(float64); n != 0 {
		t.Errorf("[bridge 2.5] catchup after all acks counts %v messages", n)
	}
	s.once(s.d, conv, "#"+first)
	s.once(s.d, conv, "#"+second)
	if n := s.d.Count(mark, "new_message", func(p map[string]any) bool { return str(p, "id") == str(reply, "id") }); n != 1 {
		t.Errorf("[desktop 3.4] the answer was broadcast %d times", n)
	}
	if n := s.d.Placeholders(); n != 0 {
		t.Errorf("[desktop 3.3] %d own bubbles are still sending", n)
	}
	s.step("graceful stop", func(ctx context.Context) error {
		superseded, err := b.Stop(ctx)
		if superseded {
			return errors.New("the only process was told superseded")
		}
		return err
	})
	s.step("agent shows offline", func(ctx context.Context) error {
		return s.d.until(ctx, "agent offline", func() bool { return s.d.presence[s.agentID] != "online_local" })
	})
}

// bridgeStale: a person writes while the agent drafts (bridge 3.1, decision 18).
func bridgeStale(t *testing.T, g Target, version string) {
	t.Parallel()
	s := newStage(t, g, "Drafter")
	conv := s.room("direct", "")
	drafting, goOn := make(chan string, 8), make(chan struct{})
	b := s.bridge(BridgeOptions{Version: version, MaxConcurrent: 2, Model: func(ctx context.Context, turn *Turn) Reply {
		drafting <- turn.MessageID
		if strings.Contains(turn.Text(), "first") {
			select {
			case <-goOn:
			case <-ctx.Done():
			}
		}
		return Reply{Text: "re #" + turn.MessageID}
	}})
	s.open(s.d, conv)
	first := s.say(s.d, conv, "first thought")
	s.step("draft begins", func(ctx context.Context) error { return waitFor(ctx, drafting, first) })
	second := s.say(s.d, conv, "second thought")
	close(goOn)
	r := s.turns(b, "first turn ends", 1, byMessage(first))[0]
	s.answered(s.d, conv, "re #"+second)
	last := s.turns(b, "second turn ends", 1, byMessage(second))[0]
	switch {
	case version == "2.11.24" && r.Outcome != "stale":
		t.Errorf("[decision 18] a draft older than a person's message: outcome %s, post %d, want a 409", r.Outcome, r.PostStatus)
	case version == "2.11.15" && (!r.Reposted || r.Outcome != "answered"):
		t.Errorf("[bridge 0.3 2.10.5] the re-post with the advanced anchor: outcome %s, reposted %v, post %d", r.Outcome, r.Reposted, r.PostStatus)
	}
	if !acked(r) || !acked(last) || last.Outcome != "answered" {
		t.Errorf("[bridge 2.7] acks %d %d, outcome of the newer turn %s", r.AckStatus, last.AckStatus, last.Outcome)
	}
	s.once(s.d, conv, "re #"+second)
	want := 0
	if version == "2.11.15" {
		want = 1
	}
	n := 0
	for _, m := range s.history(s.d, conv) {
		if strings.Contains(str(m, "content"), "re #"+first) {
			n++
		}
	}
	if n != want {
		t.Errorf("[bridge 3.1] the refused draft is stored %d times, want %d", n, want)
	}
}

// bridgeFailure: a raising handler and a provider failure are both visible.
func bridgeFailure(t *testing.T, g Target) {
	t.Parallel()
	s := newStage(t, g, "Failer")
	conv := s.room("direct", "")
	b := s.bridge(BridgeOptions{Model: func(_ context.Context, turn *Turn) Reply {
		switch {
		case strings.Contains(turn.Text(), "raise"):
			return Reply{Err: errors.New("boom")}
		case strings.Contains(turn.Text(), "auth"):
			return Reply{Kind: "auth_failure"}
		case strings.Contains(turn.Text(), "empty"):
			return Reply{}
		}
		return Reply{Text: "fine #" + turn.MessageID}
	}})
	s.open(s.d, conv)
	agentRow := func(what string, match func(m map[string]any) bool) {
		t.Helper()
		s.step(what, func(ctx context.Context) error {
			_, err := s.d.WaitMessage(ctx, conv, what, func(m map[string]any) bool { return str(m, "senderId") == s.agentID && match(m) })
			return err
		})
	}
	one := s.say(s.d, conv, "please raise")
	agentRow("visible ErrorReport", func(m map[string]any) bool { return str(m, "messageType") == "ErrorReport" })
	if r := s.turns(b, "failed turn acked", 1, byMessage(one))[0]; !acked(r) {
		t.Errorf("[bridge 2.7] ack before the ErrorReport answered %d", r.AckStatus)
	}
	two := s.say(s.d, conv, "auth please")
	agentRow("reply with metadata.errorKind", func(m map[string]any) bool {
		meta, _ := m["metadata"].(map[string]any)
		return str(meta, "errorKind") == "auth_failure"
	})
	s.turns(b, "auth turn acked", 1, func(r TurnRecord) bool { return r.MessageID == two && acked(r) })
	three := s.say(s.d, conv, "empty please")
	if r := s.turns(b, "empty turn acked", 1, byMessage(three))[0]; r.Outcome != "answered" {
		t.Errorf("[bridge 4.6] humanExpectsReply and an empty model: outcome %s, want the emptyResponse text posted", r.Outcome)
	}
	four := s.say(s.d, conv, "and now?")
	s.answered(s.d, conv, "fine #"+four)
	s.once(s.d, conv, "fine #"+four)
}

// bridgeStop: stop-agents cancels the running turn, which ends silently.
func bridgeStop(t *testing.T, g Target) {
	t.Parallel()
	s := newStage(t, g, "Stopper")
	conv := s.room("direct", "")
	running := make(chan string, 8)
	b := s.bridge(BridgeOptions{Model: func(ctx context.Context, turn *Turn) Reply {
		if strings.Contains(turn.Text(), "slow") {
			turn.Write(ctx, "slowly …")
			running <- turn.MessageID
			<-ctx.Done()
			return Reply{Text: "too late #" + turn.MessageID}
		}
		return Reply{Text: "quick #" + turn.MessageID}
	}})
	s.open(s.d, conv)
	mark := s.d.Mark()
	slow := s.say(s.d, conv, "slow one")
	s.step("turn runs", func(ctx context.Context) error { return waitFor(ctx, running, slow) })
	s.step("stop", func(ctx context.Context) error {
		_, err := s.d.must(ctx, "desktop 4.4", "POST", "/api/conversations/"+conv+"/stop-agents", map[string]any{"lastMessageId": slow}, "StopAnswer")
		return err
	})
	s.step("stream cancelled for the person", func(ctx context.Context) error {
		_, err := s.d.WaitEvent(ctx, mark, "message_streaming", func(p map[string]any) bool { return str(p, "status") == "cancelled" })
		return err
	})
	if r := s.turns(b, "stopped turn ends", 1, byMessage(slow))[0]; r.Outcome != "stopped" {
		t.Errorf("[bridge 2.11] outcome %s, want stopped by stop_generation", r.Outcome)
	}
	next := s.say(s.d, conv, "quick one")
	s.answered(s.d, conv, "quick #"+next)
	for _, m := range s.history(s.d, conv) {
		if strings.Contains(str(m, "content"), "too late") {
			t.Error("[bridge 2.11] a stopped turn was answered")
		}
	}
}

// bridgeEndTurn: end_turn through the passthrough, then no text: silence.
func bridgeEndTurn(t *testing.T, g Target) {
	t.Parallel()
	s := newStage(t, g, "Quiet")
	conv := s.room("direct", "")
	verdicts := make(chan bool, 8)
	b := s.bridge(BridgeOptions{Model: func(ctx context.Context, turn *Turn) Reply {
		_, unknown := turn.CallTool(ctx, "no_such_tool_"+uuid.NewString()[:8], map[string]any{})
		_, ended := turn.CallTool(ctx, "end_turn", map[string]any{"reason": "task_complete", "message": "all said"})
		verdicts <- ended && !unknown
		return Reply{Text: "closing #" + turn.MessageID}
	}})
	s.open(s.d, conv)
	id := s.say(s.d, conv, "finish up")
	s.answered(s.d, conv, "closing #"+id)
	s.turns(b, "turn ends", 1, func(r TurnRecord) bool { return r.MessageID == id && acked(r) })
	if !<-verdicts {
		t.Error("[bridge 5.5] end_turn has to read as success and an unknown tool as failure")
	}
	s.once(s.d, conv, "#"+id)
}

// sdkClient: topics and pushes of bridge 2.12, beside a bridge that answers.
func sdkClient(t *testing.T, g Target) {
	t.Parallel()
	s := newStage(t, g, "Library")
	known := s.room("direct", "")
	k := NewSDK(t, g.BaseURL, s.agentID, s.agentKey, SDKOptions{Ledger: s.led})
	s.step("sdk connects", k.Connect)
	s.step("sdk joined the known room", func(ctx context.Context) error { return k.WaitRoom(ctx, known) })
	fresh := s.room("group", "Heard of later")
	s.step("sdk joins a room it hears of", func(ctx context.Context) error { return k.WaitRoom(ctx, fresh) })
	s.open(s.d, fresh)
	s.say(s.d, fresh, "hello library")
	s.step("sdk hears the person", func(ctx context.Context) error {
		m, err := k.WaitMessage(ctx, "hello library")
		if err == nil && m["sender"] == nil {
			t.Error("[bridge 2.12] new_message without a sender object")
		}
		return err
	})
	s.step("sdk answers over the socket", func(ctx context.Context) error { return k.Send(ctx, fresh, "hello person") })
	s.answered(s.d, fresh, "hello person")
	s.once(s.d, fresh, "hello person")
}

// waitFor receives until the wanted value comes.
func waitFor(ctx context.Context, from <-chan string, want string) error {
	for {
		select {
		case got := <-from:
			if got == want {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
