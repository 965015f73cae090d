package judgetest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"
)

// bridgeKill: what was sent while no bridge lived is delivered by catch-up; a
// process killed in mid-turn loses nothing and answers nothing twice.
func bridgeKill(t *testing.T, g Target) {
	t.Parallel()
	s := newStage(t, g, "Phoenix")
	conv := s.room("direct", "")
	s.open(s.d, conv)
	early := s.say(s.d, conv, "sent before any bridge")
	started := make(chan string, 8)
	hang := s.bridge(BridgeOptions{ExecutorKey: "phoenix", Model: func(ctx context.Context, turn *Turn) Reply {
		started <- turn.MessageID
		turn.Write(ctx, "half a thought")
		<-ctx.Done()
		return Reply{Err: ctx.Err()}
	}})
	s.step("catch-up delivers", func(ctx context.Context) error { return waitFor(ctx, started, early) })
	hang.Kill()
	fresh := s.bridge(BridgeOptions{ExecutorKey: "phoenix", Model: func(_ context.Context, turn *Turn) Reply {
		return Reply{Text: "after the crash #" + turn.MessageID}
	}})
	if fresh.ExecutorID() != hang.ExecutorID() {
		t.Error("[bridge 3.2] the same agent and key got another executor id")
	}
	s.answered(s.d, conv, "#"+early)
	s.turns(fresh, "redelivered turn acked", 1, func(r TurnRecord) bool { return r.MessageID == early && acked(r) })
	s.once(s.d, conv, "#"+early)
}

// bridgeRestart: the executor id stays valid over a restart of the server, the
// bridge registers no second time, a message stored before is answered after.
func bridgeRestart(t *testing.T, g Target) {
	s := newStage(t, g, "Stayer")
	conv := s.room("direct", "")
	s.open(s.d, conv)
	b := s.bridge(BridgeOptions{Heartbeat: 2 * time.Second, Model: func(_ context.Context, turn *Turn) Reply {
		return Reply{Text: "still here #" + turn.MessageID}
	}})
	before := s.say(s.d, conv, "before the restart")
	s.answered(s.d, conv, "#"+before)
	s.turns(b, "turn acked", 1, func(r TurnRecord) bool { return r.MessageID == before && acked(r) })
	rctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	if err := g.Restart(rctx); err != nil {
		t.Fatalf("restart the server: %v", err)
	}
	s.step("bridge comes back by itself", func(ctx context.Context) error { return b.WaitJoined(ctx, 2) })
	s.step("desktop comes back by itself", func(ctx context.Context) error { return s.d.WaitResynced(ctx, 1) })
	later := s.say(s.d, conv, "after the restart")
	s.answered(s.d, conv, "#"+later)
	s.once(s.d, conv, "#"+later)
	s.once(s.d, conv, "#"+before)
}

// bridgeTakeover: a second process of the same key replaces the first, whose
// DELETE then reads superseded (decision 16).
func bridgeTakeover(t *testing.T, g Target) {
	t.Parallel()
	s := newStage(t, g, "Twin")
	conv := s.room("direct", "")
	s.open(s.d, conv)
	model := func(name string) func(context.Context, *Turn) Reply {
		return func(_ context.Context, turn *Turn) Reply { return Reply{Text: name + " #" + turn.MessageID} }
	}
	old := s.bridge(BridgeOptions{ExecutorKey: "twin", Model: model("old")})
	fresh := s.bridge(BridgeOptions{ExecutorKey: "twin", Model: model("new")})
	s.step("older process is told to shut down", func(ctx context.Context) error { return old.WaitStopped(ctx) })
	if !strings.Contains(strings.Join(old.Commands(), " "), "shutdown") {
		t.Error("[decision 16] the older process got no gateway_command shutdown")
	}
	id := s.say(s.d, conv, "who answers?")
	s.answered(s.d, conv, "new #"+id)
	s.once(s.d, conv, "#"+id)
	s.turns(fresh, "turn of the new process", 1, func(r TurnRecord) bool { return r.MessageID == id && acked(r) })
}

// bridgeDrop: the socket goes while a turn runs; the turn ends over REST and is
// not run again after the rejoin.
func bridgeDrop(t *testing.T, g Target) {
	t.Parallel()
	s := newStage(t, g, "Dropper")
	conv := s.room("direct", "")
	running, goOn := make(chan string, 8), make(chan struct{})
	runs := make(chan struct{}, 8)
	b := s.bridge(BridgeOptions{Model: func(ctx context.Context, turn *Turn) Reply {
		runs <- struct{}{}
		turn.Write(ctx, "…")
		running <- turn.MessageID
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return Reply{Text: "survived #" + turn.MessageID}
	}})
	s.open(s.d, conv)
	id := s.say(s.d, conv, "mind the gap")
	s.step("turn runs", func(ctx context.Context) error { return waitFor(ctx, running, id) })
	b.DropSocket()
	s.step("rejoin", func(ctx context.Context) error { return b.WaitJoined(ctx, 2) })
	close(goOn)
	s.answered(s.d, conv, "survived #"+id)
	s.turns(b, "turn ends", 1, func(r TurnRecord) bool { return r.MessageID == id && acked(r) })
	s.once(s.d, conv, "#"+id)
	if len(runs) != 1 {
		t.Errorf("[bridge 2.6] the turn ran %d times", len(runs))
	}
}

// bridgeKilledAt: the process dies at one point of its turn and a new one of the
// same key takes over; the message is answered exactly once (decisions 12 to 16).
func bridgeKilledAt(t *testing.T, g Target, at Step) {
	t.Parallel()
	s := newStage(t, g, "Mortal")
	conv := s.room("direct", "")
	s.open(s.d, conv)
	model := func(_ context.Context, turn *Turn) Reply { return Reply{Text: "lived #" + turn.MessageID} }
	dead := make(chan struct{})
	var once sync.Once
	old := s.bridge(BridgeOptions{ExecutorKey: "mortal", Model: model, Step: func(b *Bridge, now Step, _ string) {
		if now == at {
			once.Do(func() { b.Kill(); close(dead) })
		}
	}})
	id := s.say(s.d, conv, "do not die")
	s.step("the process dies", func(ctx context.Context) error {
		select {
		case <-dead:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	fresh := s.bridge(BridgeOptions{ExecutorKey: "mortal", Model: model, MaxConcurrent: 1}) // one after the other: see below
	if fresh.ExecutorID() != old.ExecutorID() {
		t.Error("[bridge 3.2] the same agent and key got another executor id")
	}
	s.answered(s.d, conv, "#"+id)
	// A round trip in another room first: by then a second delivery of the first
	// message, which is older and of which one runs at a time, would have run, and no
	// newer message here would have hidden it as a stale draft.
	other := s.room("group", "Elsewhere")
	s.open(s.d, other)
	aside := s.say(s.d, other, "are you alive?")
	s.answered(s.d, other, "#"+aside)
	s.turns(fresh, "turn in the other room acked", 1, func(r TurnRecord) bool { return r.MessageID == aside && acked(r) })
	s.open(s.d, conv)
	next := s.say(s.d, conv, "and afterwards?")
	s.answered(s.d, conv, "#"+next)
	s.turns(fresh, "next turn acked", 1, func(r TurnRecord) bool { return r.MessageID == next && acked(r) })
	s.once(s.d, conv, "#"+id)
	s.once(s.d, conv, "#"+next)
}

// bridgeBacklog: messages written while no bridge lived come in order, one turn
// at a time, each answered once: the anchor of a caught-up turn is the newest
// message it shows, so nothing in the backlog makes an older draft stale.
func bridgeBacklog(t *testing.T, g Target) {
	t.Parallel()
	s := newStage(t, g, "Backlog")
	conv := s.room("direct", "")
	s.open(s.d, conv)
	var ids []string
	for _, text := range []string{"one", "two", "three", "four"} {
		ids = append(ids, s.say(s.d, conv, text))
	}
	b := s.bridge(BridgeOptions{Model: func(_ context.Context, turn *Turn) Reply { return Reply{Text: "took #" + turn.MessageID} }})
	s.answered(s.d, conv, "#"+ids[len(ids)-1])
	done := s.turns(b, "all turns acked", len(ids), acked)
	for i, r := range done {
		if i < len(ids) && r.MessageID != ids[i] {
			t.Errorf("[row P4] turn %d is not message %d: order inside a conversation is kept", i+1, i+1)
		}
	}
	for _, id := range ids {
		s.once(s.d, conv, "#"+id)
	}
}

// bridgeLarge: messages of the largest size in a script of three bytes a letter
// fit no 1 MiB frame together; frames are split or shortened, nothing is lost.
// The clients record every frame that would have closed the real socket.
func bridgeLarge(t *testing.T, g Target) {
	t.Parallel()
	s := newStage(t, g, "Heavy")
	conv := s.room("direct", "")
	s.open(s.d, conv)
	var ids []string
	for range 5 {
		ids = append(ids, s.say(s.d, conv, strings.Repeat("\u6c49", 99_990)))
	}
	b := s.bridge(BridgeOptions{Model: func(_ context.Context, turn *Turn) Reply { return Reply{Text: "weighed #" + turn.MessageID} }})
	s.answered(s.d, conv, "#"+ids[len(ids)-1])
	s.turns(b, "all turns acked", len(ids), acked)
	late := s.browserOn("desktop B", conv)
	for _, id := range ids {
		s.once(late, conv, "#"+id)
	}
	held := map[string]int{}
	for _, m := range late.Timeline(conv) {
		held[str(m, "id")] = len([]rune(str(m, "content")))
	}
	for _, id := range ids {
		if held[id] != 99_990 {
			t.Errorf("[decision 5] a message of 99990 letters is read back with %d", held[id])
		}
	}
}
