package judgetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// stage is one account with one agent, made through public endpoints only.
type stage struct {
	t   *testing.T
	g   Target
	led *Ledger
	d   *Desktop

	agentID, agentKey, agentName string
}

// newStage signs a person up, starts its desktop and makes an agent.
func newStage(t *testing.T, g Target, name string) *stage {
	t.Helper()
	s := &stage{t: t, g: g, led: &Ledger{}, agentName: name}
	t.Cleanup(func() { s.led.Report(t) })
	s.d = NewDesktop(t, g, DesktopOptions{Name: "desktop A", Ledger: s.led})
	s.step("sign up", func(ctx context.Context) error { return s.d.SignUp(ctx, "Ada", "Judge") })
	s.step("start sequence", s.d.Start)
	s.step("create agent", func(ctx context.Context) (err error) {
		s.agentID, s.agentKey, err = s.d.CreateAgent(ctx, name)
		return err
	})
	return s
}

func (s *stage) step(what string, fn func(ctx context.Context) error) {
	s.t.Helper()
	s.g.within(s.t, what, fn)
}

// browser is a further desktop session of the same person.
func (s *stage) browser(name string) *Desktop {
	s.t.Helper()
	d := NewDesktop(s.t, s.g, DesktopOptions{Name: name, Device: name, Origin: "http://localhost:1420", Ledger: s.led})
	s.step(name+" signs in", func(ctx context.Context) error { return d.SignIn(ctx, s.d.Email, s.d.Password) })
	s.step(name+" starts", d.Start)
	return d
}

// bridge starts a stock bridge for the stage's agent and waits for its join.
func (s *stage) bridge(opt BridgeOptions) *Bridge {
	s.t.Helper()
	opt.Ledger = s.led
	if opt.SocketDelay == 0 {
		opt.SocketDelay = 50 * time.Millisecond
	}
	if opt.Reconnect == 0 {
		opt.Reconnect = 300 * time.Millisecond
	}
	if opt.Backend == "" {
		opt.Backend = "claude_cli"
	}
	b := New(s.t, s.g.BaseURL, s.agentID, s.agentKey, opt)
	s.step("bridge "+opt.ExecutorKey+" starts", b.Start)
	s.step("bridge "+opt.ExecutorKey+" joins", func(ctx context.Context) error { return b.WaitJoined(ctx, 1) })
	return b
}

// room makes a conversation of the kind with the agent.
func (s *stage) room(kind, title string) string {
	s.t.Helper()
	var id string
	s.step("create "+kind, func(ctx context.Context) (err error) {
		id, err = s.d.CreateConversation(ctx, kind, title, s.agentID)
		return err
	})
	return id
}

// open opens a room in a desktop.
func (s *stage) open(d *Desktop, conv string) {
	s.t.Helper()
	s.step("open conversation", func(ctx context.Context) error { return d.OpenConversation(ctx, conv) })
}

// say sends a text and returns the stored message's id.
func (s *stage) say(d *Desktop, conv, text string) string {
	s.t.Helper()
	var id string
	s.step("send "+clip(text, 30), func(ctx context.Context) (err error) { id, err = d.Say(ctx, conv, text); return err })
	return id
}

// answered waits until the desktop shows a message of the agent that holds sub.
func (s *stage) answered(d *Desktop, conv, sub string) map[string]any {
	s.t.Helper()
	var m map[string]any
	s.step("answer with "+clip(sub, 40), func(ctx context.Context) (err error) {
		m, err = d.WaitMessage(ctx, conv, "the agent's answer", func(m map[string]any) bool {
			return str(m, "senderId") == s.agentID && strings.Contains(str(m, "content"), sub)
		})
		return err
	})
	return m
}

// turns waits until the bridge finished n turns that match.
func (s *stage) turns(b *Bridge, what string, n int, match func(TurnRecord) bool) []TurnRecord {
	s.t.Helper()
	var hit []TurnRecord
	s.step(what, func(ctx context.Context) error {
		return b.WaitTurns(ctx, what, func(all []TurnRecord) bool {
			hit = hit[:0]
			for _, r := range all {
				if match(r) {
					hit = append(hit, r)
				}
			}
			return len(hit) >= n
		})
	})
	return hit
}

// history reads the whole conversation over paged REST, oldest first.
func (s *stage) history(d *Desktop, conv string) []map[string]any {
	s.t.Helper()
	s.step("page through the history", func(ctx context.Context) error {
		if err := d.latest(ctx, conv); err != nil {
			return err
		}
		for range 200 {
			more, err := d.Older(ctx, conv)
			if err != nil || !more {
				return err
			}
		}
		return fmt.Errorf("the history does not end after 200 pages")
	})
	return d.Timeline(conv)
}

// once checks that exactly one stored message holds sub, and counts what the
// desktop saw live as well.
func (s *stage) once(d *Desktop, conv, sub string) {
	s.t.Helper()
	n := 0
	for _, m := range s.history(d, conv) {
		if str(m, "senderId") == s.agentID && strings.Contains(str(m, "content"), sub) {
			n++
		}
	}
	if n != 1 {
		s.t.Errorf("%q was answered %d times, want exactly once", clip(sub, 60), n)
	}
}

func acked(r TurnRecord) bool { return r.AckStatus >= 200 && r.AckStatus < 300 }

func byMessage(id string) func(TurnRecord) bool {
	return func(r TurnRecord) bool { return r.MessageID == id }
}
