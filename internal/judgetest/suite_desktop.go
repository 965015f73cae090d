package judgetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// RunDesktopDay judges a day of the desktop client: two devices of one person
// and an agent that answers; unread, read, delete, paging, rename, reconnect,
// refused joins, and a second person where the server lets people share a room.
func RunDesktopDay(t *testing.T, g Target) {
	// One group, so that this returns only when its parallel parts are done.
	t.Run("Day", func(t *testing.T) {
		t.Run("Echo_and_unread", func(t *testing.T) { dayUnread(t, g) })
		t.Run("Rooms", func(t *testing.T) { dayRooms(t, g) })
		t.Run("Delete_and_paging", func(t *testing.T) { dayPaging(t, g) })
		t.Run("Reconnect", func(t *testing.T) { dayReconnect(t, g) })
		t.Run("Stranger", func(t *testing.T) { dayStranger(t, g) })
		t.Run("Two_people", func(t *testing.T) { dayTwoPeople(t, g) })
		t.Run("Late_joiner", func(t *testing.T) { dayLateJoiner(t, g) })
		t.Run("Waiting_and_not_answered", func(t *testing.T) { dayWaiting(t, g) })
	})
}

// dayUnread: desktop 3.3, 3.8, 9.1, 9.3, 9.7.
func dayUnread(t *testing.T, g Target) {
	t.Parallel()
	s := newStage(t, g, "Counter")
	conv := s.room("direct", "")
	b := s.browser("desktop B")
	s.bridge(BridgeOptions{Model: func(_ context.Context, turn *Turn) Reply { return Reply{Text: "counted #" + turn.MessageID} }})
	s.open(s.d, conv)
	mark, markB := s.d.Mark(), b.Mark()
	id := s.say(s.d, conv, "count me")
	s.step("other device moves the row and is told it is read", func(ctx context.Context) error {
		_, err := b.WaitEvent(ctx, markB, "conversation_read", func(p map[string]any) bool { return str(p, "conversationId") == conv })
		return err
	})
	reply := s.answered(s.d, conv, "#"+id)
	s.step("other device gets conversation_updated", func(ctx context.Context) error {
		_, err := b.WaitEvent(ctx, markB, "conversation_updated", func(p map[string]any) bool {
			last, _ := p["lastMessage"].(map[string]any)
			return str(p, "conversationId") == conv && str(last, "id") == str(reply, "id")
		})
		return err
	})
	// Device A has the room open and focused: it marks read after 0.5 s, and B's
	// badge goes.
	s.step("badge of the other device is cleared", func(ctx context.Context) error {
		_, err := b.WaitEvent(ctx, markB, "conversation_read", nil)
		return errors.Join(err, b.until(ctx, "unread 0 on B", func() bool { return b.unread[conv] == 0 && len(b.counted[conv]) == 0 }))
	})
	if n := s.d.Count(mark, "new_message", func(p map[string]any) bool { return str(p, "id") == id }); n != 1 {
		t.Errorf("[desktop 9.1] the own message came back %d times on the conversation topic", n)
	}
	// Closed on both: each answer counts one, on both, and in the REST counts.
	other := s.room("group", "Elsewhere")
	s.open(s.d, conv)
	next := s.say(s.d, conv, "and once more")
	s.open(s.d, other)
	s.step("answer counts on both devices", func(ctx context.Context) error {
		for _, d := range []*Desktop{s.d, b} {
			if err := d.until(ctx, "row moved by the answer to "+next, func() bool {
				last, _ := d.rooms[conv]["lastMessage"].(map[string]any)
				return str(last, "senderId") == s.agentID && strings.Contains(str(last, "content"), "#"+next)
			}); err != nil {
				return err
			}
		}
		return nil
	})
	s.step("REST counts agree with the badge", func(ctx context.Context) error {
		a, err := b.must(ctx, "desktop 3.8", "GET", "/api/unread-counts", nil, "UnreadCounts")
		if err != nil {
			return err
		}
		counts, _ := a.Map()["unreadCounts"].(map[string]any)
		n, _ := counts[conv].(float64)
		if int(n) != b.Unread(conv) || int(n) > 1 {
			return fmt.Errorf("unread-counts says %v, the live badge %d, at most 1 is right", n, b.Unread(conv))
		}
		return nil
	})
	markA := s.d.Mark()
	s.open(b, conv)
	s.step("reading on B clears A", func(ctx context.Context) error {
		_, err := s.d.WaitEvent(ctx, markA, "conversation_read", func(p map[string]any) bool { return str(p, "conversationId") == conv })
		return err
	})
	if n := s.d.Unread(conv); n != 0 {
		t.Errorf("[desktop 9.7] A still shows %d unread", n)
	}
	s.step("an unread room read by REST", func(ctx context.Context) error {
		_, err := s.d.must(ctx, "desktop 4.4", "POST", "/api/conversations/"+conv+"/read", nil, "")
		return err
	})
}

// dayRooms: create, find, rename, delete, on all devices (desktop 4.4, 9.4).
func dayRooms(t *testing.T, g Target) {
	t.Parallel()
	s := newStage(t, g, "Roomer")
	b := s.browser("desktop B")
	mark := b.Mark()
	direct := s.room("direct", "")
	if again := s.room("direct", ""); again != direct {
		t.Error("[decision 6] POST of an existing direct room made another one")
	}
	group := s.room("group", "Planning")
	announced := func(id string) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			_, err := b.WaitEvent(ctx, mark, "new_conversation", func(p map[string]any) bool {
				c, _ := p["conversation"].(map[string]any)
				return str(c, "id") == id
			})
			return err
		}
	}
	s.step("direct room announced", announced(direct))
	s.step("group announced", announced(group))
	s.open(s.d, group)
	s.step("duplicate join replaces the first", func(ctx context.Context) error {
		before := 0
		s.d.read(func() { before = s.d.recents[group] })
		if _, err := s.d.socket().join(ctx, "conversation:"+group, map[string]any{}); err != nil {
			return err
		}
		return s.d.until(ctx, "recent_messages on the rejoin", func() bool { return s.d.recents[group] > before })
	})
	id := s.say(s.d, group, "still one copy after the second join")
	if n := s.d.Count(0, "new_message", func(p map[string]any) bool { return str(p, "id") == id }); n != 1 {
		t.Errorf("[desktop 9.11] after a duplicate join a message came %d times", n)
	}
	s.step("rename", func(ctx context.Context) error {
		if _, err := s.d.must(ctx, "desktop 4.4", "PATCH", "/api/conversations/"+group, map[string]any{"title": "Plans"}, "Conversation"); err != nil {
			return err
		}
		return b.until(ctx, "new title on B", func() bool { return str(b.rooms[group], "title") == "Plans" })
	})
	s.step("leave is answered", s.d.CloseConversation)
	s.step("delete", func(ctx context.Context) error {
		if _, err := s.d.must(ctx, "desktop 4.4", "DELETE", "/api/conversations/"+group, nil, ""); err != nil {
			return err
		}
		return b.until(ctx, "room gone on B", func() bool { return b.gone[group] })
	})
	s.step("rename the agent", func(ctx context.Context) error {
		if _, err := s.d.must(ctx, "desktop 4.10", "PATCH", "/api/agents/"+s.agentID, map[string]any{"displayName": "Renamed"}, "ListedAgent"); err != nil {
			return err
		}
		_, err := b.WaitEvent(ctx, mark, "agent_updated", func(p map[string]any) bool { return str(p, "id") == s.agentID })
		return err
	})
}

// dayPaging: 65 messages paged back without gap or double, then one deleted.
func dayPaging(t *testing.T, g Target) {
	t.Parallel()
	s := newStage(t, g, "Sleeper") // its bridge never runs
	conv := s.room("group", "Pages")
	s.open(s.d, conv)
	var ids []string
	for i := range 65 {
		ids = append(ids, s.say(s.d, conv, fmt.Sprintf("line %02d", i)))
	}
	late := s.browser("desktop C")
	s.open(late, conv)
	list := s.history(late, conv)
	if len(list) < len(ids) {
		t.Fatalf("[desktop 1.3] paging found %d of %d messages", len(list), len(ids))
	}
	at := 0
	last := ""
	for _, m := range list {
		if at < len(ids) && str(m, "id") == ids[at] {
			at++
		}
		if now := str(m, "insertedAt"); now <= last {
			t.Errorf("[row M2] insertedAt %s follows %s: message time is strictly increasing", now, last)
		} else {
			last = now
		}
	}
	if at != len(ids) {
		t.Errorf("[desktop 1.3] the pages hold the messages in another order, or with a gap after %d", at)
	}
	victim := ids[40]
	s.step("delete reaches both devices", func(ctx context.Context) error {
		if err := s.d.Delete(ctx, conv, victim); err != nil {
			return err
		}
		for _, d := range []*Desktop{s.d, late} {
			if _, err := d.WaitEvent(ctx, 0, "message_deleted", func(p map[string]any) bool { return str(p, "messageId") == victim }); err != nil {
				return err
			}
		}
		return nil
	})
	for _, m := range s.history(s.browserOn("desktop D", conv), conv) {
		if str(m, "id") == victim {
			t.Error("[desktop 3.4] a deleted message is listed")
		}
	}
}

func (s *stage) browserOn(name, conv string) *Desktop {
	s.t.Helper()
	d := s.browser(name)
	s.open(d, conv)
	return d
}

// dayReconnect: desktop 3.9; what was written meanwhile is there, once.
func dayReconnect(t *testing.T, g Target) {
	t.Parallel()
	s := newStage(t, g, "Napper")
	conv := s.room("group", "Tunnel")
	b := s.browserOn("desktop B", conv)
	s.open(s.d, conv)
	b.DropSocket()
	var ids []string
	for i := range 3 {
		ids = append(ids, s.say(s.d, conv, fmt.Sprintf("while B was away %d", i)))
	}
	s.step("resync", func(ctx context.Context) error { return b.WaitResynced(ctx, 1) })
	for _, id := range ids {
		s.step("message of the gap", func(ctx context.Context) error {
			_, err := b.WaitMessage(ctx, conv, "the message", func(m map[string]any) bool { return str(m, "id") == id })
			return err
		})
	}
	s.step("presence_snapshot on the rejoin", func(ctx context.Context) error {
		return b.until(ctx, "second snapshot", func() bool { return b.snapshots >= 2 })
	})
	id := s.say(b, conv, "B is back")
	s.step("A sees B's message", func(ctx context.Context) error {
		_, err := s.d.WaitMessage(ctx, conv, "B's message", func(m map[string]any) bool { return str(m, "id") == id })
		return err
	})
}

// dayStranger: another account sees nothing, and the refusal is consistent.
func dayStranger(t *testing.T, g Target) {
	t.Parallel()
	s := newStage(t, g, "Secret")
	conv := s.room("direct", "")
	s.open(s.d, conv)
	s.say(s.d, conv, "for no other eyes")
	x := NewDesktop(t, g, DesktopOptions{Name: "stranger", Ledger: s.led})
	s.step("stranger signs up", func(ctx context.Context) error { return x.SignUp(ctx, "Eve", "Other") })
	s.step("stranger starts", x.Start)
	for range 5 {
		s.step("join refused", func(ctx context.Context) error {
			begin := time.Now()
			_, err := x.socket().join(ctx, "conversation:"+conv, map[string]any{})
			if !errors.As(err, new(errReply)) {
				return fmt.Errorf("[desktop 3.2] want an error reply, got %w", err)
			}
			if d := time.Since(begin); d > 5*time.Second {
				return fmt.Errorf("[desktop 3.2] the refusal took %s: it has to be cheap", d)
			}
			return nil
		})
	}
	s.step("REST refused without 401", func(ctx context.Context) error {
		for _, path := range []string{"/api/conversations/" + conv, "/api/conversations/" + conv + "/messages?limit=30", "/api/agents/" + s.agentID} {
			a, err := x.call(ctx, "GET", path, nil)
			if err != nil {
				return err
			}
			if a.Status != 403 && a.Status != 404 {
				return fmt.Errorf("GET %s answered %d to a stranger", path, a.Status)
			}
		}
		return nil
	})
	leaked := x.Count(0, "conversation_updated", nil) + x.Count(0, "new_conversation", nil)
	if leaked != 0 {
		t.Errorf("[decision 27] a stranger received %d events", leaked)
	}
}

// dayTwoPeople: typing and presence between people. How people come to share a
// room is not fixed by the contract; a refusal ends this part.
func dayTwoPeople(t *testing.T, g Target) {
	t.Parallel()
	s := newStage(t, g, "Host")
	x := NewDesktop(t, g, DesktopOptions{Name: "guest", Ledger: s.led})
	s.step("guest signs up", func(ctx context.Context) error { return x.SignUp(ctx, "Grace", "Guest") })
	s.step("guest starts", x.Start)
	conv := ""
	s.step("shared group", func(ctx context.Context) error {
		a, err := s.d.call(ctx, "POST", "/api/conversations", map[string]any{"type": "group", "title": "Both", "memberIds": []string{x.ID}})
		if err == nil && a.OK() {
			conv = a.Str("id")
			return s.d.fetchConversation(ctx, conv)
		}
		return err
	})
	if conv == "" {
		t.Log("the server does not let two unrelated people share a room; nothing to judge")
		return
	}
	s.step("guest hears of the room", func(ctx context.Context) error {
		return x.until(ctx, "new_conversation", func() bool { return x.rooms[conv] != nil })
	})
	s.open(s.d, conv)
	s.open(x, conv)
	s.step("typing reaches the other", func(ctx context.Context) error {
		if err := s.d.Type(ctx, conv); err != nil {
			return err
		}
		return x.until(ctx, "typing dots", func() bool { return x.typing[conv][s.d.ID] })
	})
	id := s.say(s.d, conv, "hello guest")
	s.step("message clears the dots", func(ctx context.Context) error {
		_, err := x.WaitMessage(ctx, conv, "the message", func(m map[string]any) bool { return str(m, "id") == id })
		return err
	})
	typing := false
	x.read(func() { typing = x.typing[conv][s.d.ID] })
	if typing {
		t.Error("[desktop 3.7] the dots stay after the sender's message")
	}
	s.step("delete of another's message refused", func(ctx context.Context) error {
		if err := x.Delete(ctx, conv, id); !errors.As(err, new(errReply)) {
			return fmt.Errorf("want an error reply, got %w", err)
		}
		return nil
	})
}
