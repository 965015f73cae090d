package judgetest

import (
	"context"
	"testing"
)

// dayLateJoiner: whoever opens the room in mid-stream gets the current state of
// the running stream after the join (row P6), then the message.
func dayLateJoiner(t *testing.T, g Target) {
	t.Parallel()
	s := newStage(t, g, "Writer")
	conv := s.room("direct", "")
	b := s.browser("desktop B")
	goOn := make(chan struct{})
	s.bridge(BridgeOptions{Model: func(ctx context.Context, turn *Turn) Reply {
		turn.Write(ctx, "so far so good")
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return Reply{Text: "whole #" + turn.MessageID}
	}})
	s.open(s.d, conv)
	id := s.say(s.d, conv, "write slowly")
	writing := func(d *Desktop) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			return d.until(ctx, "the running text in the streaming store", func() bool {
				for _, l := range d.streams[conv] {
					if l.Sender == s.agentID && l.Phase == "writing" && l.Content == "so far so good" {
						return true
					}
				}
				return false
			})
		}
	}
	s.step("stream seen by who was there", writing(s.d))
	s.open(b, conv)
	s.step("stream seen by the late joiner", writing(b))
	close(goOn)
	s.answered(b, conv, "#"+id)
	s.step("stream gone with the message", func(ctx context.Context) error {
		return b.until(ctx, "no running stream", func() bool {
			for _, l := range b.streams[conv] {
				if l.Status != "complete" {
					return false
				}
			}
			return true
		})
	})
}

// dayWaiting: a message nobody can take shows awaiting_agent until it is
// answered; a stopped one shows not_answered (row P6, desktop 5.2).
func dayWaiting(t *testing.T, g Target) {
	t.Parallel()
	s := newStage(t, g, "Later")
	conv := s.room("direct", "")
	s.open(s.d, conv)
	id := s.say(s.d, conv, "anyone there?")
	state := func(msg, key string, want func(v map[string]any) bool) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			return s.d.until(ctx, "metadata."+key, func() bool {
				for _, m := range s.d.timeline[conv] {
					if str(m, "id") == msg {
						meta, _ := m["metadata"].(map[string]any)
						v, _ := meta[key].(map[string]any)
						return want(v)
					}
				}
				return false
			})
		}
	}
	s.step("waiting for the agent", state(id, "awaiting_agent", func(v map[string]any) bool { return str(v, "agent_id") == s.agentID }))
	running := make(chan string, 8)
	s.bridge(BridgeOptions{Model: func(ctx context.Context, turn *Turn) Reply {
		if turn.MessageID == id {
			return Reply{Text: "here now #" + turn.MessageID}
		}
		turn.Write(ctx, "…")
		running <- turn.MessageID
		<-ctx.Done()
		return Reply{Err: ctx.Err()}
	}})
	s.answered(s.d, conv, "#"+id)
	s.step("no longer waiting", state(id, "awaiting_agent", func(v map[string]any) bool { return v == nil }))
	stopped := s.say(s.d, conv, "never mind")
	s.step("turn runs", func(ctx context.Context) error { return waitFor(ctx, running, stopped) })
	s.step("stop", func(ctx context.Context) error {
		_, err := s.d.must(ctx, "desktop 4.4", "POST", "/api/conversations/"+conv+"/stop-agents", nil, "StopAnswer")
		return err
	})
	s.step("shown as not answered", state(stopped, "not_answered", func(v map[string]any) bool { return str(v, "reason") == "stopped" }))
}
