package judgetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// RunTwoBrowsersFiveConnections judges "answered once": two desktop sessions of
// one person write in several rooms at the same time to one agent that runs
// five processes with a socket each. Every message gets exactly one reply, each
// reply is broadcast once, no turn runs twice (row P2).
func RunTwoBrowsersFiveConnections(t *testing.T, g Target) {
	const perRoom = 5
	s := newStage(t, g, "Five")
	b := s.browser("desktop B")
	var bridges []*Bridge
	for i := range 5 {
		bridges = append(bridges, s.bridge(BridgeOptions{
			ExecutorKey: fmt.Sprintf("conn-%d", i+1), MaxConcurrent: 1,
			Model: func(ctx context.Context, turn *Turn) Reply {
				turn.Write(ctx, "thinking about "+turn.MessageID)
				return Reply{Text: "re #" + turn.MessageID}
			},
		}))
	}
	rooms := []string{s.room("direct", "")}
	for i := range 5 {
		rooms = append(rooms, s.room("group", fmt.Sprintf("Room %d", i+1)))
	}
	shared := s.room("group", "Shared")
	for _, d := range []*Desktop{s.d, b} {
		s.open(d, shared)
		for _, conv := range rooms {
			s.step("join room", func(ctx context.Context) error {
				_, err := d.socket().join(ctx, "conversation:"+conv, map[string]any{})
				return err
			})
		}
	}
	// A person waits for the answer in a room before writing there again, so that
	// no draft is stale and each message must get its own reply.
	sent := make(chan string, 1024)
	write := func(d *Desktop, conv string, n int) error {
		for i := range n {
			ctx, stop := context.WithTimeout(t.Context(), g.patience())
			id, err := d.Say(ctx, conv, fmt.Sprintf("%s asks %d", d.opt.Name, i))
			if err == nil {
				sent <- id
				_, err = d.WaitMessage(ctx, conv, "the answer to message "+id, func(m map[string]any) bool {
					return strings.Contains(str(m, "content"), "re #"+id)
				})
			}
			stop()
			if err != nil {
				return fmt.Errorf("%s in room %s: %w", d.opt.Name, conv, err)
			}
		}
		return nil
	}
	errs := make(chan error, len(rooms)+1)
	for i, conv := range rooms {
		d := s.d
		if i%2 == 1 {
			d = b
		}
		go func() { errs <- write(d, conv, perRoom) }()
	}
	go func() {
		for range perRoom {
			if err := errors.Join(write(s.d, shared, 1), write(b, shared, 1)); err != nil {
				errs <- err
				return
			}
		}
		errs <- nil
	}()
	for range len(rooms) + 1 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	close(sent)
	if t.Failed() {
		t.FailNow()
	}
	total := 0
	replies := map[string]int{}
	for _, conv := range append(rooms, shared) {
		for _, m := range s.history(s.d, conv) {
			if _, id, ok := strings.Cut(str(m, "content"), "re #"); ok {
				replies[id]++
			}
		}
	}
	for id := range sent {
		total++
		if replies[id] != 1 {
			t.Errorf("[row P2] message %s was answered %d times", id, replies[id])
		}
		for _, d := range []*Desktop{s.d, b} {
			if n := d.Count(0, "new_message", func(p map[string]any) bool { return strings.Contains(str(p, "content"), "re #"+id) }); n != 1 {
				t.Errorf("[desktop 3.4] %s saw the answer to %s %d times live", d.opt.Name, id, n)
			}
		}
	}
	if total != perRoom*(len(rooms)+2) || len(replies) != total {
		t.Errorf("%d messages were sent and %d distinct ones answered", total, len(replies))
	}
	s.noTurnTwice(bridges, total)
}

// noTurnTwice waits until every turn is acked and checks that each message ran
// in one process only, and that every process got work to do over its own slot.
func (s *stage) noTurnTwice(bridges []*Bridge, total int) {
	s.t.Helper()
	ran := map[string]int{}
	acks := 0
	for _, b := range bridges {
		s.step("turns of "+b.opt.ExecutorKey+" end", func(ctx context.Context) error {
			return b.until(ctx, "idle", func() bool { return b.activity == "idle" && len(b.inFlight) == 0 })
		})
		for _, r := range b.Turns() {
			if r.Outcome != "duplicate" {
				ran[r.MessageID]++
			}
			if r.Outcome == "answered" && acked(r) {
				acks++
			}
		}
	}
	for id, n := range ran {
		if n != 1 {
			s.t.Errorf("[row P2] message %s ran in %d processes", id, n)
		}
	}
	if len(ran) != total || acks != total {
		s.t.Errorf("%d messages, %d turns run, %d acknowledged", total, len(ran), acks)
	}
}
