package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/flow/flowtest"
	"github.com/agntchat/agntchat/internal/httpapi"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/turn"
	"github.com/agntchat/agntchat/internal/wire"
)

// rest is the routes of rooms and messages over a world.
type rest struct {
	*flowtest.World
	t *testing.T
	h http.Handler
}

func openREST(t *testing.T) *rest {
	t.Helper()
	w, log := flowtest.New(t), slog.New(slog.DiscardHandler)
	tools, err := flow.NewTools(w.DB, log)
	if err != nil {
		t.Fatal(err)
	}
	r := chi.NewRouter()
	httpapi.Conversation{Chat: w.Chat, Tools: tools, Log: log}.Mount(r)
	httpapi.Message{Chat: w.Chat, Log: log}.Mount(r)
	httpapi.Change{Chat: w.Chat, Log: log}.Mount(r)
	httpapi.Stream{Chat: w.Chat, Log: log}.Mount(r)
	return &rest{World: w, t: t, h: r}
}

// do makes a request and checks the status; every answer has a JSON body.
func (s *rest) do(who access.Actor, method, path string, body any, want int, header ...string) json.RawMessage {
	s.t.Helper()
	var in bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&in).Encode(body); err != nil {
			s.t.Fatal(err)
		}
	}
	r := httptest.NewRequestWithContext(httpx.WithActor(context.Background(), who), method, path, &in)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	s.h.ServeHTTP(rec, r)
	if rec.Code != want || !json.Valid(rec.Body.Bytes()) {
		s.t.Fatalf("%s %s: %d %s, want %d", method, path, rec.Code, rec.Body, want)
	}
	return rec.Body.Bytes()
}

func as[T any](t *testing.T, raw json.RawMessage) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

type m map[string]any

func TestP8_DirectRoomIsFoundOrMade(t *testing.T) {
	t.Parallel()
	s := openREST(t)
	ada := s.Person("Ada")
	nova := s.Agent(ada, "Nova")
	body := m{"type": "direct", "memberIds": []string{nova.ID.String()}}
	first := as[wire.Conversation](t, s.do(ada, "POST", "/conversations", body, 201))
	again := as[wire.Conversation](t, s.do(ada, "POST", "/conversations", body, 200))
	other := as[wire.Conversation](t, s.do(nova, "POST", "/conversations", m{"type": "direct", "memberIds": []string{ada.ID.String()}}, 200))
	if first.ID != again.ID || first.ID != other.ID || len(first.Members) != 2 || first.Members[0].Participant.DisplayName == "" {
		t.Fatalf("%s %s %s", first.ID, again.ID, other.ID)
	}
	list := as[wire.Conversations](t, s.do(ada, "GET", "/conversations?scope=personal", nil, 200))
	if len(list.Conversations) != 1 || list.Conversations[0].OrganizationID == nil {
		t.Fatalf("%+v", list)
	}
	if l := as[wire.Conversations](t, s.do(ada, "GET", "/conversations?scope=agents&limit=200&sourceConversationId="+first.ID, nil, 200)); len(l.Conversations) != 0 {
		t.Fatalf("%+v", l)
	}
}

func TestP8_RoomInputIsChecked(t *testing.T) {
	t.Parallel()
	s := openREST(t)
	ada, eve := s.Person("Ada"), s.Stranger("Eve")
	foreign := s.Agent(eve, "Foreign")
	for name, body := range map[string]any{
		"unknown type":     m{"type": "task", "memberIds": []string{eve.ID.String()}},
		"nobody":           m{"type": "group", "memberIds": []string{ada.ID.String()}},
		"three in direct":  m{"type": "direct", "memberIds": []string{eve.ID.String(), foreign.ID.String()}},
		"no id":            m{"type": "group", "memberIds": []string{"x"}},
		"unknown":          m{"type": "group", "memberIds": []string{id.New[id.Participant]().String()}},
		"somebody's agent": m{"type": "direct", "memberIds": []string{foreign.ID.String()}},
		"title":            m{"type": "group", "title": strings.Repeat("x", 201), "memberIds": []string{eve.ID.String()}},
		"metadata":         m{"type": "group", "metadata": []int{1}, "memberIds": []string{eve.ID.String()}},
	} {
		if e := as[wire.ErrorBody](t, s.do(ada, "POST", "/conversations", body, 422)); e.Error.Code == "" || e.Error.Message == "" {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestP8_RoomLifeOverREST(t *testing.T) {
	t.Parallel()
	s := openREST(t)
	ada, bob, eve := s.Person("Ada"), s.Person("Bob"), s.Person("Eve")
	conv := s.Room("group", ada, bob)
	path := "/conversations/" + conv.String()
	if got := as[wire.Conversation](t, s.do(ada, "PATCH", path, m{"title": "New", "avatarUrl": "/files/x.webp"}, 200)); *got.Title != "New" || got.AvatarURL == nil {
		t.Fatalf("%+v", got)
	}
	if got := as[wire.Conversation](t, s.do(ada, "PATCH", path, m{"avatarUrl": nil, "agentsAddWithoutAsking": true}, 200)); *got.Title != "New" || got.AvatarURL != nil || !got.AgentsAddWithoutAsking {
		t.Fatalf("an absent key leaves, null clears: %+v", got)
	}
	s.do(ada, "PATCH", path, m{"avatarUrl": "javascript:alert(1)"}, 422)
	s.do(bob, "PATCH", path, m{"title": "Mine"}, 403)
	s.do(bob, "POST", path+"/members", m{"participantId": eve.ID.String()}, 403)
	for _, call := range [][2]string{{"GET", path}, {"GET", path + "/messages"}, {"POST", path + "/read"}, {"GET", path + "/changes?after=0"}, {"DELETE", path}, {"PATCH", path}} {
		s.do(eve, call[0], call[1], nil, 404)
	}
	s.do(ada, "POST", path+"/members", m{"participantId": eve.ID.String()}, 201)
	if got := as[wire.Conversation](t, s.do(eve, "GET", path, nil, 200)); len(got.Members) != 3 {
		t.Fatalf("%+v", got)
	}
	s.do(ada, "DELETE", path+"/members/"+ada.ID.String(), nil, 200)
	if got := as[wire.Conversation](t, s.do(bob, "GET", path, nil, 200)); len(got.Members) != 2 || got.Members[0].Role != "admin" {
		t.Fatalf("the last administrator left nobody behind: %+v", got.Members)
	}
	s.do(bob, "DELETE", path+"/members/"+eve.ID.String(), nil, 200)
	s.do(bob, "DELETE", path, nil, 200)
	s.do(bob, "GET", path, nil, 404)
	s.do(bob, "GET", "/conversations/nonsense", nil, 404)
}

// TestP8_PagesBackwards: strictly older than the cursor, nothing lost, nothing twice.
func TestP8_PagesBackwards(t *testing.T) {
	t.Parallel()
	s := openREST(t)
	ada := s.Person("Ada")
	conv := s.Room("group", ada, s.Person("Bob"))
	path := "/conversations/" + conv.String() + "/messages"
	for n := range 70 {
		s.Say(ada, conv, "%d", n)
	}
	var seqs []int64
	cursor := ""
	for {
		page := as[wire.Messages](t, s.do(ada, "GET", path+"?limit=30"+cursor, nil, 200)).Messages
		for _, msg := range page {
			seqs = append(seqs, msg.MessageSeq)
		}
		if len(page) < 30 {
			break
		}
		raw, err := page[len(page)-1].InsertedAt.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		cursor = "&before=" + string(raw)
	}
	if len(seqs) != 70 {
		t.Fatalf("%d messages", len(seqs))
	}
	for i, n := range seqs {
		if n != int64(70-i) {
			t.Fatalf("place %d: message %d", i, n)
		}
	}
	s.do(ada, "GET", path+"?before=yesterday", nil, 422)
	if got := as[wire.Messages](t, s.do(ada, "GET", path+"?limit=1000", nil, 200)).Messages; len(got) != 70 {
		t.Fatalf("%d", len(got))
	}
}

func TestP1_PostOverREST(t *testing.T) {
	t.Parallel()
	s := openREST(t)
	ada := s.Person("Ada")
	nova := s.Agent(ada, "Nova")
	conv := s.Room("direct", ada, nova)
	path := "/conversations/" + conv.String() + "/messages"
	body := m{"content": "hi", "contentType": "text", "metadata": m{"model": "x"}}
	first := as[wire.Message](t, s.do(ada, "POST", path, body, 201, "Idempotency-Key", "k1"))
	again := as[wire.Message](t, s.do(ada, "POST", path, body, 200, "Idempotency-Key", "k1"))
	if first.ID != again.ID || first.Sender == nil || first.SenderType != "human" {
		t.Fatalf("%+v %+v", first, again)
	}
	s.do(ada, "POST", path, m{"content": "", "contentType": "text"}, 422)
	s.do(ada, "POST", path, m{"content": 7}, 422)
	s.do(ada, "POST", path, m{"content": "x", "lastSeenMessageId": "nonsense"}, 422)

	s.Say(ada, conv, "newer")
	raw := s.do(nova, "POST", path, m{"content": "draft", "lastSeenMessageId": first.ID}, 409)
	if st := as[wire.Stale](t, raw); !st.Stale || len(st.NewMessages) != 1 || strings.Contains(string(raw), `"error"`) {
		t.Fatalf("%s", raw)
	}
	s.do(ada, "DELETE", path+"/"+first.ID, nil, 200)
	s.do(ada, "DELETE", path+"/"+first.ID, nil, 404)
	if c := as[wire.UnreadCounts](t, s.do(nova, "GET", "/unread-counts", nil, 200)); c.UnreadCounts[conv.String()] != 1 {
		t.Fatalf("%+v", c)
	}
	s.do(nova, "POST", "/conversations/"+conv.String()+"/read", nil, 200)
	if c := as[wire.UnreadCounts](t, s.do(nova, "GET", "/unread-counts", nil, 200)); len(c.UnreadCounts) != 0 {
		t.Fatalf("%+v", c)
	}
}

// TestP8_ChangesHealAGap: decision 20.
func TestP8_ChangesHealAGap(t *testing.T) {
	t.Parallel()
	s := openREST(t)
	ada := s.Person("Ada")
	conv := s.Room("group", ada, s.Person("Bob"))
	path := "/conversations/" + conv.String()
	s.Say(ada, conv, "one")
	two := s.Say(ada, conv, "two").Message
	s.do(ada, "PATCH", path, m{"title": "T"}, 200)
	s.do(ada, "DELETE", path+"/messages/"+two.ID.String(), nil, 200)
	got := as[wire.Changes](t, s.do(ada, "GET", path+"/changes?after=1", nil, 200))
	if got.Seq != 4 || got.Reset || len(got.Changes) != 3 || got.Changes[0].Event != "message_deleted" || got.Changes[1].Event != "conversation_title_changed" {
		t.Fatalf("%+v", got)
	}
	if got := as[wire.Changes](t, s.do(ada, "GET", path+"/changes?after=4", nil, 200)); len(got.Changes) != 0 || got.Reset {
		t.Fatalf("%+v", got)
	}
	if got := as[wire.Changes](t, s.do(ada, "GET", path+"/changes?after=99", nil, 200)); !got.Reset {
		t.Fatalf("%+v", got)
	}
	if _, err := s.DB.Exec(t.Context(), `DELETE FROM conversation_changes WHERE seq < 3`); err != nil {
		t.Fatal(err)
	}
	if got := as[wire.Changes](t, s.do(ada, "GET", path+"/changes?after=0", nil, 200)); !got.Reset || got.Seq != 4 {
		t.Fatalf("%+v", got)
	}
	s.do(ada, "GET", path+"/changes", nil, 422)
}

func TestP6_StreamOverREST(t *testing.T) {
	t.Parallel()
	s := openREST(t)
	ada := s.Person("Ada")
	nova := s.Agent(ada, "Nova")
	conv := s.Room("direct", ada, nova)
	path := "/conversations/" + conv.String() + "/stream"
	s.do(nova, "POST", path, m{"stream_id": "s", "status": "started", "phase": "thinking"}, 200)
	s.do(nova, "POST", path, m{"stream_id": "s", "status": "streaming", "phase": "writing", "content": "x"}, 200)
	s.do(ada, "POST", path, m{"stream_id": "s", "status": "streaming"}, 403)
	s.do(nova, "POST", path, m{"status": "streaming"}, 422)
	s.do(nova, "POST", path, m{"stream_id": "s", "status": "nonsense"}, 422)
	s.do(nova, "POST", path, m{"stream_id": "s", "status": "streaming", "queue_id": "x"}, 422)
	s.Turns.Lost = turn.ErrLost
	if e := as[wire.ErrorBody](t, s.do(nova, "POST", path, m{"stream_id": "s", "status": "streaming", "queue_id": id.New[id.QueueItem]().String(), "generation": 1}, 403)); e.Error.Code != "executor_not_owned" {
		t.Fatalf("%+v", e)
	}
	if s.Chat.Streams.Has(conv.String(), nova.ID.String(), "s") {
		t.Fatal("the stream of a lost claim goes on")
	}
}

// What an agent opens by REST for somebody, it opens for nobody who may not: the turn
// that it is in decides, not what it says of it (caller and agent, as with the tool).
func TestK3_RoomsMadeByRESTMeetTheCaller(t *testing.T) {
	t.Parallel()
	s := openREST(t)
	ada, eve := s.Person("Ada"), s.Stranger("Eve")
	nova, zoe, max := s.Agent(ada, "Nova"), s.Agent(ada, "Zoe"), s.Agent(ada, "Max")
	own, room := s.Room("direct", ada, nova), s.Room("group", ada, nova, zoe)
	if _, err := s.Chat.AddMember(t.Context(), ada, room, eve.ID); err != nil {
		t.Fatal(err)
	}
	const dm = "/conversations/dm"
	asks := func(who access.Actor, in id.Conversation, text string) string {
		m := s.Say(who, in, "%s", text).Message.ID
		s.Claim(nova, m)
		return m.String()
	}
	s.do(nova, "POST", dm, m{"peerId": max.ID}, 200) // no turn is open: its owner's agent, by itself

	about := s.Say(nova, room, "What of the sails?").Message.ID.String()
	s.do(nova, "POST", dm, m{"peerId": zoe.ID, "sourceConversationId": room, "sourceMessageId": about}, 200)

	of := asks(eve, room, "@Nova ask Max")
	for name, tc := range map[string]struct {
		path string
		body m
	}{
		"a huddle below the room":       {dm, m{"peerId": max.ID, "sourceConversationId": room, "sourceMessageId": of}},
		"without the message":           {dm, m{"peerId": max.ID, "sourceConversationId": room}},
		"with a message of no turn":     {dm, m{"peerId": max.ID, "sourceConversationId": room, "sourceMessageId": about}},
		"without anything":              {dm, m{"peerId": max.ID, "message": "tell me all"}},
		"with a message of nobody":      {dm, m{"peerId": max.ID, "sourceConversationId": room, "sourceMessageId": id.New[id.Message]()}},
		"below a room that Eve has not": {dm, m{"peerId": ada.ID, "sourceConversationId": own, "sourceMessageId": of}},
		"below that, without message":   {dm, m{"peerIds": []id.Participant{ada.ID, max.ID}, "sourceConversationId": own}},
		"as a room":                     {"/conversations", m{"type": "direct", "memberIds": []id.Participant{max.ID}}},
		"as a group":                    {"/conversations", m{"type": "group", "memberIds": []id.Participant{zoe.ID, max.ID}}},
	} {
		if got := string(s.do(nova, "POST", tc.path, tc.body, 404)); !strings.Contains(got, "not_found") {
			t.Errorf("%s: %s", name, got)
		}
	}
	s.do(nova, "POST", dm, m{"peerId": zoe.ID, "sourceConversationId": room, "sourceMessageId": of, "message": "Well?"}, 200) // who sits there
	if n := s.Count(`SELECT count(*)::int FROM conversations WHERE parent_conversation_id IS NOT NULL`); n != 2 {
		t.Errorf("%d huddles", n)
	}

	hers := asks(ada, own, "ask Max")
	s.do(nova, "POST", dm, m{"peerId": max.ID, "message": "for whom?"}, 404) // two turns, and it does not say which
	s.do(nova, "POST", dm, m{"peerId": max.ID, "sourceConversationId": own, "sourceMessageId": hers, "message": "Well?"}, 200)
	s.do(ada, "POST", dm, m{"peerId": max.ID}, 200)
}
