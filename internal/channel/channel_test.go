package channel_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/channel"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/flow/flowtest"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/realtime/phxtest"
	"github.com/agntchat/agntchat/internal/realtime/presence"
	"github.com/agntchat/agntchat/internal/realtime/socket"
	"github.com/agntchat/agntchat/internal/wire"
)

// bench is a world with a socket server in front of it.
type bench struct {
	*flowtest.World
	t      *testing.T
	base   string
	router *channel.Router

	mu     sync.Mutex
	actors map[string]access.Actor
}

func open(t *testing.T) *bench {
	t.Helper()
	w := flowtest.New(t)
	log := slog.New(slog.DiscardHandler)
	b := &bench{World: w, t: t, actors: map[string]access.Actor{}}
	people := presence.New(presence.Config{Grace: -1, OnChange: channel.PeopleChanged(context.Background(), w.DB, w.Bus, log)})
	rooms := channel.NewRooms()
	b.router = &channel.Router{DB: w.DB, Chat: w.Chat, Bus: w.Bus, Streams: w.Chat.Streams, Rooms: rooms, People: people, Log: log}
	w.Also(&channel.Encoder{Bus: w.Bus, Log: log, Families: []channel.Encode{channel.ChatEvents(rooms, nil)}})
	srv := socket.New(socket.Config{
		Bus: w.Bus, Route: b.router.Route, Log: log, ErrorReply: channel.ErrorReply(func(err error) { t.Errorf("internal error: %v", err) }),
		Authenticate: func(_ context.Context, r *http.Request) (socket.Session, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			a, ok := b.actors[r.URL.Query().Get("token")]
			if !ok {
				return socket.Session{}, fault.ErrUnauthenticated
			}
			return socket.Session{Participant: a.ID.String(), Value: a}, nil
		},
	})
	ts := httptest.NewServer(srv)
	b.base = ts.URL
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = srv.Drain(ctx)
		ts.Close()
		people.Close()
	})
	return b
}

func (b *bench) dial(a access.Actor) *phxtest.Client {
	b.t.Helper()
	b.mu.Lock()
	b.actors[a.ID.String()] = a
	b.mu.Unlock()
	return phxtest.Dial(b.t, b.base, phxtest.Options{Token: a.ID.String()})
}

func room(c id.Conversation) string { return "conversation:" + c.String() }
func user(a access.Actor) string    { return "user:" + a.ID.String() }
func nonce(s string) map[string]any { return map[string]any{"client_nonce": s} }
func text(s, n string) map[string]any {
	return map[string]any{"content": s, "content_type": "text", "metadata": nonce(n)}
}

func read[T any](t *testing.T, raw json.RawMessage) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("payload %s: %v", raw, err)
	}
	return v
}

// TestP1_SendEchoesAndMovesLists is desktop 9.1 to 9.3 and 9.7.
func TestP1_SendEchoesAndMovesLists(t *testing.T) {
	t.Parallel()
	b := open(t)
	ada, bob := b.Person("Ada"), b.Person("Bob")
	conv := b.Room("group", ada, bob)
	b.Say(bob, conv, "before")
	phone, desk, other := b.dial(ada), b.dial(ada), b.dial(bob)
	deskUser, bobUser := desk.Join(user(ada), map[string]any{"client": "desktop"}), other.Join(user(bob), nil)
	deskUser.Expect("presence_snapshot")
	bobUser.Expect("presence_snapshot")
	adaRoom, bobRoom := phone.Join(room(conv), nil), other.Join(room(conv), nil)

	recent := read[wire.RecentMessages](t, adaRoom.Expect("recent_messages"))
	if len(recent.Messages) != 1 || recent.Messages[0].Content != "before" || recent.Seq != 1 {
		t.Fatalf("recent_messages %+v", recent)
	}
	reply := adaRoom.Push("new_message", text("hello", "n-1"))
	if reply.Status != "ok" {
		t.Fatalf("reply %+v", reply)
	}
	for _, ch := range []*phxtest.Channel{adaRoom, bobRoom} {
		m := read[wire.Message](t, ch.Expect("new_message"))
		if m.Content != "hello" || !strings.Contains(string(m.Metadata), `"client_nonce":"n-1"`) || m.Seq != 2 || m.MessageSeq != 2 || m.Sender.DisplayName != "Ada" {
			t.Fatalf("new_message %+v", m)
		}
	}
	up := read[wire.ConversationUpdated](t, bobUser.Expect("conversation_updated"))
	if up.LastMessage.ReadableText != "hello" || up.NotificationCategory == nil || *up.NotificationCategory != "messages" {
		t.Fatalf("conversation_updated %+v", up)
	}
	deskUser.Expect("conversation_read")
	desk.Heartbeat()
	for _, m := range deskUser.Pending() {
		if m.Event == "conversation_updated" {
			t.Fatal("the author's other device counts an own message")
		}
	}
	again := adaRoom.Push("new_message", text("hello", "n-1"))
	if read[wire.Message](t, again.Response).ID != read[wire.Message](t, reply.Response).ID {
		t.Fatal("the same nonce made a second message")
	}
	if got := bobRoom.Push("mark_conversation_read", nil); got.Status != "ok" {
		t.Fatalf("mark read: %+v", got)
	}
	bobUser.Expect("conversation_read")
}

func TestP8_RefusalsAreCheapAndNamed(t *testing.T) {
	t.Parallel()
	b := open(t)
	ada, eve := b.Person("Ada"), b.Person("Eve")
	conv := b.Room("group", ada, b.Agent(ada, "Nova"))
	c := b.dial(eve)
	for _, topic := range []string{room(conv), room(id.New[id.Conversation]()), user(ada)} {
		if got := c.TryJoin(topic, nil).Reply; got.Status != "error" || got.Reason() != "unauthorized" {
			t.Errorf("%s: %+v", topic, got)
		}
	}
	if got := c.TryJoin(user(eve), map[string]any{"executor_id": id.New[id.Executor]().String()}).Reply; got.Reason() != "unauthorized" {
		t.Errorf("a person with an executor: %+v", got)
	}
	mine := b.dial(ada).Join(room(conv), nil)
	for event, tc := range map[string]struct {
		payload any
		reason  string
	}{
		"add_reaction":    {map[string]any{"message_id": "x", "emoji": "+"}, "not_available"},
		"remove_reaction": {map[string]any{"message_id": "x", "emoji": "+"}, "not_available"},
		"delete_message":  {map[string]any{"message_id": "x"}, "invalid"},
	} {
		if got := mine.Push(event, tc.payload); got.Status != "error" || got.Reason() != tc.reason {
			t.Errorf("%s: %s %s", event, got.Status, got.Response)
		}
	}
	for reason, payload := range map[string]any{
		"content_empty":         map[string]any{"content": ""},
		"unknown_attachment":    map[string]any{"content": "x", "attachments": []any{map[string]any{"storageKey": "k"}}},
		"threads_not_available": map[string]any{"content": "x", "thread_root_id": "y"},
		"bad_request":           map[string]any{"content": 7},
	} {
		if got := mine.Push("new_message", payload); got.Status != "error" || got.Reason() != reason {
			t.Errorf("%s: %s %s", reason, got.Status, got.Response)
		}
	}
}

// TestP6_StreamsOnTheSocket: people see phases, late joiners the current state.
func TestP6_StreamsOnTheSocket(t *testing.T) {
	t.Parallel()
	b := open(t)
	ada := b.Person("Ada")
	nova := b.Agent(ada, "Nova")
	conv := b.Room("direct", ada, nova)
	ch := b.dial(ada).Join(room(conv), nil)
	ch.Expect("recent_messages")
	frame := func(status, phase, content string) {
		t.Helper()
		f := flow.StreamFrame{StreamID: "s1", Status: status, Phase: phase}
		if content != "" {
			f.Content = &content
		}
		if err := b.Chat.Stream(t.Context(), nova, conv, f); err != nil {
			t.Fatal(err)
		}
	}
	frame("started", "thinking", "")
	frame("streaming", "writing", "Hel")
	frame("streaming", "writing", "Hello")
	for _, want := range []string{"thinking", "writing", "writing"} {
		if got := read[wire.MessageStreaming](t, ch.Expect("message_streaming")); got.Phase != want || got.SenderID != nova.ID.String() {
			t.Fatalf("frame %+v", got)
		}
	}
	late := b.dial(ada).Join(room(conv), nil)
	late.Expect("recent_messages")
	if got := read[wire.MessageStreaming](t, late.Expect("message_streaming")); got.Content == nil || *got.Content != "Hello" {
		t.Fatalf("late joiner: %+v", got)
	}
	if n := b.Chat.CancelStreams(t.Context(), conv, id.Participant{}); n != 1 {
		t.Fatalf("%d streams cancelled", n)
	}
	if got := read[wire.MessageStreaming](t, ch.Expect("message_streaming")); got.Status != "cancelled" {
		t.Fatalf("frame %+v", got)
	}
	for name, who := range map[string]access.Actor{"a person": ada, "an agent of elsewhere": b.Agent(ada, "Other")} {
		if err := b.Chat.Stream(t.Context(), who, conv, flow.StreamFrame{StreamID: "x", Status: "started"}); err == nil {
			t.Errorf("%s streamed", name)
		}
	}
}

func TestP8_Typing(t *testing.T) {
	t.Parallel()
	b := open(t)
	ada, bob := b.Person("Ada"), b.Person("Bob")
	conv := b.Room("group", ada, bob)
	adaConn, bobConn := b.dial(ada), b.dial(bob)
	bobUser := bobConn.Join(user(bob), nil)
	adaRoom, bobRoom := adaConn.Join(room(conv), nil), bobConn.Join(room(conv), nil)
	adaRoom.Send("typing", nil)
	for _, ch := range []*phxtest.Channel{bobRoom, bobUser} {
		got := read[wire.TypingIndicator](t, ch.Expect("typing_indicator"))
		if got.ParticipantID != ada.ID.String() || got.ParticipantName != "Ada" || !got.IsTyping || got.ConversationID != conv.String() {
			t.Fatalf("typing_indicator %+v", got)
		}
	}
	adaConn.Heartbeat()
	for _, m := range adaRoom.Pending() {
		if m.Event == "typing_indicator" {
			t.Fatal("the writer hears of its own typing")
		}
	}
}

// TestP8_TypingFollowsTheMembers: who has just come is heard at once, and who is
// out hears nothing more.
func TestP8_TypingFollowsTheMembers(t *testing.T) {
	t.Parallel()
	b := open(t)
	ada, bob, eve := b.Person("Ada"), b.Person("Bob"), b.Person("Eve")
	conv := b.Room("group", ada, bob)
	adaConn, eveConn, bobConn := b.dial(ada), b.dial(eve), b.dial(bob)
	adaRoom, bobUser, eveUser := adaConn.Join(room(conv), nil), bobConn.Join(user(bob), nil), eveConn.Join(user(eve), nil)
	adaRoom.Send("typing", nil)
	bobUser.Expect("typing_indicator")
	if _, err := b.Chat.AddMember(t.Context(), ada, conv, eve.ID); err != nil {
		t.Fatal(err)
	}
	eveConn.Join(room(conv), nil).Send("typing", nil)
	for {
		if got := read[wire.TypingIndicator](t, adaRoom.Expect("typing_indicator")); got.ParticipantID == eve.ID.String() {
			break
		}
	}
	if err := b.Chat.RemoveMember(t.Context(), ada, conv, eve.ID); err != nil {
		t.Fatal(err)
	}
	eveUser.Expect("removed_from_conversation")
	bobUser.Expect("member_removed")
	bobConn.Join(room(conv), nil).Send("typing", nil)
	adaRoom.Expect("typing_indicator")
	eveConn.Heartbeat()
	for _, m := range eveUser.Pending() {
		if m.Event == "typing_indicator" && read[wire.TypingIndicator](t, m.Payload).ParticipantID == bob.ID.String() {
			t.Fatal("who is out hears of typing")
		}
	}
}

// TestP8_PresenceOfPeople: a snapshot after each join, changes to those who share
// a room.
func TestP8_PresenceOfPeople(t *testing.T) {
	t.Parallel()
	b := open(t)
	ada, bob, eve := b.Stranger("Ada"), b.Stranger("Bob"), b.Stranger("Eve")
	nova := b.Agent(ada, "Nova")
	conv := b.Room("group", ada, bob, nova)
	b.router.Agents = func(p id.Participant) channel.AgentState {
		return channel.AgentState{Online: p == nova.ID, DeviceName: "laptop", Activity: "working", Rooms: []id.Conversation{conv}}
	}
	adaUser := b.dial(ada).Join(user(ada), nil)
	snap := read[wire.PresenceSnapshot](t, adaUser.Expect("presence_snapshot"))
	if snap.AgentPresences[nova.ID.String()] != "online_local" || snap.AgentDevices[nova.ID.String()].Name != "laptop" ||
		len(snap.AgentActivities[nova.ID.String()].ConversationIDs) != 1 {
		t.Fatalf("snapshot %+v", snap)
	}
	evesDial := b.dial(eve)
	if s := read[wire.PresenceSnapshot](t, evesDial.Join(user(eve), nil).Expect("presence_snapshot")); len(s.AgentPresences) != 0 || len(s.OnlineParticipantIDs) != 1 {
		t.Fatalf("a stranger sees %+v", s)
	}
	bobConn := b.dial(bob)
	bobUser := bobConn.Join(user(bob), nil)
	if s := read[wire.PresenceSnapshot](t, bobUser.Expect("presence_snapshot")); len(s.OnlineParticipantIDs) != 2 || len(s.AgentDevices) != 0 {
		t.Fatalf("a room mate sees %+v", s)
	}
	if got := read[wire.HumanStatusChanged](t, adaUser.Expect("human_status_changed")); got.ParticipantID != bob.ID.String() || !got.Online {
		t.Fatalf("%+v", got)
	}
	bobUser.Leave()
	if got := read[wire.HumanStatusChanged](t, adaUser.Expect("human_status_changed")); got.ParticipantID != bob.ID.String() || got.Online {
		t.Fatalf("%+v", got)
	}
}

// TestP8_MembersComeAndGo: the newcomer gets the whole room first; who is out
// loses the topic.
func TestP8_MembersComeAndGo(t *testing.T) {
	t.Parallel()
	b := open(t)
	ada, bob, eve := b.Person("Ada"), b.Person("Bob"), b.Stranger("Eve")
	conv := b.Room("group", ada, bob)
	bobUser, eveUser := b.dial(bob).Join(user(bob), nil), b.dial(eve).Join(user(eve), nil)
	bobRoom := b.dial(bob).Join(room(conv), nil)
	if _, err := b.Chat.AddMember(t.Context(), ada, conv, eve.ID); err != nil {
		t.Fatal(err)
	}
	b.Say(ada, conv, "welcome")
	got := read[wire.NewConversation](t, eveUser.Expect("new_conversation"))
	if len(got.Conversation.Members) != 3 || got.Conversation.OrganizationID != nil {
		t.Fatalf("new_conversation of a guest: %+v", got.Conversation)
	}
	eveUser.Expect("conversation_updated")
	bobRoom.Expect("member_added")
	if _, err := b.Chat.ChangeConversation(t.Context(), bob, conv, flow.ConversationChange{Title: new(new("X"))}); fault.KindOf(err) != fault.Forbidden {
		t.Fatalf("a member renamed: %v", err)
	}
	if _, err := b.Chat.ChangeConversation(t.Context(), ada, conv, flow.ConversationChange{Title: new(new("New name"))}); err != nil {
		t.Fatal(err)
	}
	for _, ch := range []*phxtest.Channel{bobRoom, eveUser} {
		if r := read[wire.ConversationTitleChanged](t, ch.Expect("conversation_title_changed")); r.Title == nil || *r.Title != "New name" {
			t.Fatalf("%+v", r)
		}
	}
	if err := b.Chat.RemoveMember(t.Context(), ada, conv, bob.ID); err != nil {
		t.Fatal(err)
	}
	bobUser.Expect("removed_from_conversation")
	bobRoom.Expect("phx_close")
	b.Say(ada, conv, "he is gone")
	if got := bobRoom.Client.TryJoin(room(conv), nil).Reply; got.Reason() != "unauthorized" {
		t.Fatalf("join after removal: %+v", got)
	}
	if err := b.Chat.DeleteConversation(t.Context(), ada, conv); err != nil {
		t.Fatal(err)
	}
	eveUser.Expect("conversation_deleted")
}

// TestP8_LargeWindowsAreCut: a window of long messages stays under 1 MiB and
// contiguous.
func TestP8_LargeWindowsAreCut(t *testing.T) {
	t.Parallel()
	b := open(t)
	ada := b.Person("Ada")
	conv := b.Room("group", ada, b.Person("Bob"))
	for range 30 {
		b.Say(ada, conv, "%s", strings.Repeat("x", 90_000))
	}
	ch := b.dial(ada).Join(room(conv), nil)
	recent := read[wire.RecentMessages](t, ch.Expect("recent_messages"))
	if n := len(recent.Messages); n < 5 || n > 11 || recent.Messages[n-1].MessageSeq != 30 || recent.Messages[0].MessageSeq != int64(31-n) {
		t.Fatalf("%d messages", n)
	}
}

// TestP1_TheLongestMessageFitsHoweverItIsWritten: Python's JSON writes every character
// that is not ASCII as six.
func TestP1_TheLongestMessageFitsHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	b := open(t)
	ada := b.Person("Ada")
	ch := b.dial(ada).Join(room(b.Room("group", ada, b.Person("Bob"))), nil)
	for n, want := range map[int]string{100_000: "ok", 100_001: "error"} {
		payload := json.RawMessage(`{"content":"` + strings.Repeat(`\u4e2d`, n) + `","metadata":{"client_nonce":"n` + strconv.Itoa(n) + `"}}`)
		r := ch.Push("new_message", payload)
		if r.Status != want || want == "error" && !strings.Contains(string(r.Response), "100000") {
			t.Errorf("%d characters: %s %.200s", n, r.Status, r.Response)
		}
	}
}

// TestP6_NoFrameAfterTheMessage: the final message takes the place of its stream.
func TestP6_NoFrameAfterTheMessage(t *testing.T) {
	t.Parallel()
	b := open(t)
	ada := b.Person("Ada")
	nova := b.Agent(ada, "Nova")
	conv := b.Room("direct", ada, nova)
	c := b.dial(ada)
	ch := c.Join(room(conv), nil)
	words := "Hello"
	frame := flow.StreamFrame{StreamID: "s1", Status: "streaming", Phase: "writing", Content: &words}
	if err := b.Chat.Stream(t.Context(), nova, conv, frame); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Chat.Post(t.Context(), nova, flow.Post{ConversationID: conv, Content: words, Metadata: json.RawMessage(`{"stream_id":"s1"}`)}); err != nil {
		t.Fatal(err)
	}
	for _, status := range []string{"streaming", "complete"} {
		frame.Status = status
		if err := b.Chat.Stream(t.Context(), nova, conv, frame); err != nil {
			t.Fatal(err)
		}
	}
	ch.Expect("new_message")
	c.Heartbeat()
	if rest := ch.Pending(); len(rest) != 0 {
		t.Fatalf("after the message: %s", rest[0].Event)
	}
	late := b.dial(ada)
	lateRoom := late.Join(room(conv), nil)
	lateRoom.Expect("recent_messages")
	late.Heartbeat()
	if rest := lateRoom.Pending(); len(rest) != 0 {
		t.Fatalf("a late joiner gets %s", rest[0].Event)
	}
}
