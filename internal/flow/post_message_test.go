package flow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/flow/flowtest"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/limit"
	"github.com/agntchat/agntchat/internal/speak"
)

// TestP1_ManyPostersOneOrder races sixteen posters, people and agents, over one
// room: numbers are dense, times strictly increase, events come in order.
func TestP1_ManyPostersOneOrder(t *testing.T) {
	t.Parallel()
	w := flowtest.New(t)
	ada := w.Person("Ada")
	var others []access.Actor
	for n := range 7 {
		others = append(others, w.Person(fmt.Sprintf("Person %d", n)), w.Agent(ada, fmt.Sprintf("Agent %d", n)))
	}
	room := w.Room("group", ada, others...)
	writers := append(others, ada)
	const each = 6
	var wg sync.WaitGroup
	for _, who := range writers {
		wg.Go(func() {
			for n := range each {
				if _, err := w.Chat.Post(t.Context(), who, flow.Post{ConversationID: room, Content: fmt.Sprintf("%d", n)}); err != nil {
					t.Errorf("post: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	total := w.Count(`SELECT message_seq::int FROM conversations WHERE id = $1::uuid`, room)
	if total < len(writers)*each {
		t.Fatalf("%d messages, want at least %d", total, len(writers)*each)
	}
	if n := w.Count(`SELECT count(DISTINCT seq)::int FROM messages WHERE conversation_id = $1::uuid AND seq BETWEEN 1 AND $2::int`, room, total); n != total {
		t.Errorf("numbers are not dense: %d of %d", n, total)
	}
	if n := w.Count(`SELECT count(*)::int FROM (SELECT inserted_at <= lag(inserted_at) OVER (ORDER BY seq) AS bad FROM messages WHERE conversation_id = $1::uuid) x WHERE bad`, room); n != 0 {
		t.Errorf("%d times do not increase", n)
	}
	posted := flowtest.EventsOf[flow.MessagePosted](w)
	if len(posted) != total {
		t.Fatalf("%d events, want %d", len(posted), total)
	}
	for i, e := range posted {
		if e.Message.Seq != int64(i+1) || (i > 0 && e.Seq <= posted[i-1].Seq) {
			t.Fatalf("event %d is of message %d, seq %d", i, e.Message.Seq, e.Seq)
		}
	}
	changes := w.Count(`SELECT count(*)::int FROM conversation_changes WHERE conversation_id = $1::uuid`, room)
	if v := w.Count(`SELECT version::int FROM conversations WHERE id = $1::uuid`, room); v != changes {
		t.Errorf("version %d, %d changes", v, changes)
	}
}

// TestP2_QueueRowAndJobInOneTransaction: a message for an agent has its row and
// its job, or neither exists.
func TestP2_QueueRowAndJobInOneTransaction(t *testing.T) {
	t.Parallel()
	w := flowtest.New(t)
	ada := w.Person("Ada")
	bot := w.Agent(ada, "Nova")
	room := w.Room("direct", ada, bot)
	p := w.Say(ada, room, "hello")
	if !slices.Equal(p.Receivers, []id.Participant{bot.ID}) || !slices.Equal(w.Turns.Woken(), []id.Participant{bot.ID}) {
		t.Fatalf("receivers %v, woken %v", p.Receivers, w.Turns.Woken())
	}
	rows := `SELECT count(*)::int FROM queued_messages q JOIN delivery_jobs j ON j.message_id = q.message_id WHERE q.agent_id = $1::uuid AND q.message_id = $2::uuid`
	if n := w.Count(rows, bot.ID, p.Message.ID); n != 1 {
		t.Fatalf("%d queue rows with a job", n)
	}
	reply := w.Say(bot, room, "hi")
	if len(reply.Receivers) != 0 {
		t.Fatalf("an answer woke %v", reply.Receivers)
	}
	if n := w.Count(`SELECT count(*)::int FROM delivery_jobs`); n != 1 {
		t.Fatalf("%d jobs", n)
	}
}

func TestP1_SameKeyGivesTheFirstResult(t *testing.T) {
	t.Parallel()
	w := flowtest.New(t)
	ada := w.Person("Ada")
	bot := w.Agent(ada, "Nova")
	room, other := w.Room("direct", ada, bot), w.Room("group", ada, bot)
	in := flow.Post{ConversationID: room, Content: "once", Metadata: json.RawMessage(`{"client_nonce":"n-1"}`)}
	var wg sync.WaitGroup
	var mu sync.Mutex
	fresh := 0
	ids := map[id.Message]bool{}
	for range 8 {
		wg.Go(func() {
			p, err := w.Chat.Post(t.Context(), ada, in)
			if err != nil {
				t.Errorf("post: %v", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			ids[p.Message.ID] = true
			if !p.Duplicate {
				fresh++
			}
		})
	}
	wg.Wait()
	if fresh != 1 || len(ids) != 1 {
		t.Fatalf("%d stored, %d ids", fresh, len(ids))
	}
	again, err := w.Chat.Post(t.Context(), ada, flow.Post{ConversationID: room, Content: "other words", ClientKey: "n-1"})
	if err != nil || !again.Duplicate || again.Message.Content != "once" {
		t.Fatalf("Idempotency-Key with the nonce's value: %+v, %v", again, err)
	}
	in.ConversationID = other
	if _, err := w.Chat.Post(t.Context(), ada, in); !fault.Is(err, "key_reused") {
		t.Fatalf("the same key in another room: %v", err)
	}
	if _, err := w.Chat.Post(t.Context(), bot, flow.Post{ConversationID: room, Content: "mine", ClientKey: "n-1"}); err != nil {
		t.Fatalf("the key of somebody else: %v", err)
	}
	if err := w.Chat.DeleteMessage(t.Context(), ada, room, again.Message.ID); err != nil {
		t.Fatal(err)
	}
	in.ConversationID = room
	if p, err := w.Chat.Post(t.Context(), ada, in); !fault.Is(err, "deleted") {
		t.Fatalf("sent again after it was deleted: %+v, %v", p, err)
	}
	in.Metadata = json.RawMessage(`{"client_nonce":"n-2"}`)
	var stored, refused atomic.Int64
	for n := range 8 { // the same key in two rooms at once
		wg.Go(func() {
			in := in
			in.ConversationID = []id.Conversation{room, other}[n%2]
			p, err := w.Chat.Post(t.Context(), ada, in)
			switch {
			case fault.Is(err, "key_reused"):
				refused.Add(1)
			case err != nil:
				t.Errorf("post: %v", err)
			case !p.Duplicate:
				stored.Add(1)
			}
		})
	}
	wg.Wait()
	if stored.Load() != 1 || refused.Load() != 4 {
		t.Fatalf("%d stored, %d refused", stored.Load(), refused.Load())
	}
}

func TestP1_LimitsAreToldAndNothingIsStored(t *testing.T) {
	t.Parallel()
	w := flowtest.New(t)
	ada := w.Person("Ada")
	room := w.Room("direct", ada, w.Agent(ada, "Nova"))
	big := `{"x":"` + strings.Repeat("y", 64<<10) + `"}`
	structured := `{"x":"` + strings.Repeat("y", 128<<10) + `"}`
	for name, tc := range map[string]struct {
		in   flow.Post
		code string
	}{
		"too long":            {flow.Post{Content: strings.Repeat("ü", 100_001)}, "content_too_long"},
		"empty":               {flow.Post{Content: " \n"}, "content_empty"},
		"metadata":            {flow.Post{Content: "x", Metadata: json.RawMessage(big)}, "metadata_too_large"},
		"metadata list":       {flow.Post{Content: "x", Metadata: json.RawMessage(`[1]`)}, "invalid"},
		"structured":          {flow.Post{Content: "x", ContentStructured: json.RawMessage(structured)}, "structured_too_large"},
		"zero in text":        {flow.Post{Content: "a\x00b"}, "invalid"},
		"zero in metadata":    {flow.Post{Content: "x", Metadata: json.RawMessage(`{"a":["\u0000"]}`)}, "invalid"},
		"absurd number":       {flow.Post{Content: "x", Metadata: json.RawMessage(`{"a":1e999999}`)}, "invalid"},
		"agents' type":        {flow.Post{Content: "x", MessageType: new("EndTurn")}, "invalid"},
		"type":                {flow.Post{Content: "x", MessageType: new("no good")}, "invalid"},
		"parent of elsewhere": {flow.Post{Content: "x", ParentMessageID: new(id.New[id.Message]())}, "invalid"},
		"key":                 {flow.Post{Content: "x", ClientKey: strings.Repeat("k", 201)}, "invalid"},
	} {
		tc.in.ConversationID = room
		_, err := w.Chat.Post(t.Context(), ada, tc.in)
		if !fault.Is(err, tc.code) || fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := w.Count(`SELECT count(*)::int FROM messages`); n != 0 {
		t.Fatalf("%d messages stored", n)
	}
	in := flow.Post{ConversationID: room, Content: strings.Repeat("ü", 100_000), Metadata: json.RawMessage(`{"a":"\ud800 <&>","awaiting_agent":{"x":1}}`)}
	p, err := w.Chat.Post(t.Context(), ada, in)
	if err != nil {
		t.Fatalf("at the limit: %v", err)
	}
	if got := string(p.Message.Metadata); got != `{"a":"� <&>"}` {
		t.Fatalf("metadata %s", got)
	}
}

func TestP1_OnlyMembersWriteAndOthersCannotTell(t *testing.T) {
	t.Parallel()
	w := flowtest.New(t)
	ada, eve := w.Person("Ada"), w.Person("Eve")
	bot := w.Agent(ada, "Nova")
	room := w.Room("direct", ada, bot)
	for _, c := range []id.Conversation{room, id.New[id.Conversation]()} {
		if _, err := w.Chat.Post(t.Context(), eve, flow.Post{ConversationID: c, Content: "x"}); fault.KindOf(err) != fault.NotFound {
			t.Errorf("stranger: %v", err)
		}
	}
	if err := w.Chat.DeleteConversation(t.Context(), ada, room); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Chat.Post(t.Context(), ada, flow.Post{ConversationID: room, Content: "x"}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("deleted room: %v", err)
	}
}

// TestP7_StaleDrafts: decision 18.
func TestP7_StaleDrafts(t *testing.T) {
	t.Parallel()
	w := flowtest.New(t)
	ada := w.Person("Ada")
	bot := w.Agent(ada, "Nova")
	room := w.Room("direct", ada, bot)
	first := w.Say(ada, room, "question").Message
	w.Claim(bot, first.ID)
	second := w.Say(ada, room, "wait").Message
	third := w.Say(ada, room, "another thing").Message
	draft := flow.Post{ConversationID: room, Content: "answer", Metadata: json.RawMessage(`{"stream_id":"s1"}`), LastSeenMessageID: &first.ID}
	before := w.Count(`SELECT count(*)::int FROM messages`)

	_, err := w.Chat.Post(t.Context(), bot, draft)
	stale, ok := flow.IsStale(err)
	if !ok || len(stale.NewMessages) != 2 || stale.NewMessages[0].ID != second.ID || stale.NewMessages[1].ID != third.ID {
		t.Fatalf("first draft: %v", err)
	}
	if n := w.Count(`SELECT count(*)::int FROM messages`); n != before {
		t.Fatal("a stale draft was stored")
	}
	if n := w.Count(`SELECT count(*)::int FROM queued_messages WHERE stale_refused`); n != 1 {
		t.Fatal("the refusal is not remembered")
	}
	end := flow.Post{ConversationID: room, Content: `{"reason":"awaiting_input"}`, ContentType: "structured", MessageType: new("EndTurn"), LastSeenMessageID: &first.ID}
	if _, err := w.Chat.Post(t.Context(), bot, end); err != nil {
		t.Fatalf("EndTurn: %v", err)
	}
	if _, err := w.Chat.Post(t.Context(), bot, draft); err != nil {
		t.Fatalf("the next draft of the same claim: %v", err)
	}
	if n := w.Count(`SELECT count(*)::int FROM queued_messages WHERE answered_at IS NOT NULL`); n != 1 {
		t.Fatal("the claim is not answered")
	}
}

// TestP7_OwnLaterReplyMakesStale: a late reply of a lost claim does not answer twice.
func TestP7_OwnLaterReplyMakesStale(t *testing.T) {
	t.Parallel()
	w := flowtest.New(t)
	ada := w.Person("Ada")
	bot := w.Agent(ada, "Nova")
	room := w.Room("direct", ada, bot)
	q := w.Say(ada, room, "question").Message
	post := func(stream string) error {
		_, err := w.Chat.Post(t.Context(), bot, flow.Post{
			ConversationID: room, Content: "answer " + stream, Metadata: json.RawMessage(`{"stream_id":"` + stream + `"}`), LastSeenMessageID: &q.ID,
		})
		return err
	}
	w.Claim(bot, q.ID)
	if err := post("one"); err != nil {
		t.Fatal(err)
	}
	if _, ok := flow.IsStale(post("two")); !ok {
		t.Fatal("the second run under an answered claim was accepted")
	}
}

func TestP1_FinalMessageAnswersTheClaim(t *testing.T) {
	t.Parallel()
	w := flowtest.New(t)
	ada := w.Person("Ada")
	bot := w.Agent(ada, "Nova")
	room := w.Room("direct", ada, bot)
	q := w.Say(ada, room, "question").Message
	w.Claim(bot, q.ID)
	note := w.Say(bot, room, "working on it").Message
	if n := w.Count(`SELECT count(*)::int FROM queued_messages WHERE answered_at IS NOT NULL`); n != 0 {
		t.Fatal("an interim message ended the turn")
	}
	final, err := w.Chat.Post(t.Context(), bot, flow.Post{ConversationID: room, Content: "done", Metadata: json.RawMessage(`{"stream_id":"s"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if n := w.Count(`SELECT count(*)::int FROM queued_messages WHERE answer_id = $1::uuid`, final.Message.ID); n != 1 {
		t.Fatal("the final message did not mark the claim answered")
	}
	if note.TurnGroupID == nil || final.Message.TurnGroupID == nil || *note.TurnGroupID != *final.Message.TurnGroupID {
		t.Fatal("bubbles of one turn have no common group")
	}
}

func TestP1_ProseAfterSilentEndIsSuppressed(t *testing.T) {
	t.Parallel()
	w := flowtest.New(t)
	ada := w.Person("Ada")
	bot := w.Agent(ada, "Nova")
	room := w.Room("direct", ada, bot)
	q := w.Say(ada, room, "question").Message
	w.Claim(bot, q.ID)
	if _, err := w.Chat.Post(t.Context(), bot, flow.Post{ConversationID: room, Content: `{"reason":"no_action_needed"}`, ContentType: "structured", MessageType: new("EndTurn")}); err != nil {
		t.Fatal(err)
	}
	p, err := w.Chat.Post(t.Context(), bot, flow.Post{ConversationID: room, Content: "Nothing to do.", Metadata: json.RawMessage(`{"stream_id":"s"}`)})
	if err != nil || !p.Suppressed {
		t.Fatalf("%+v, %v", p, err)
	}
	page, err := w.Chat.Timeline(t.Context(), ada, room, nil, 30)
	if err != nil || len(page) != 1 {
		t.Fatalf("hidden rows are listed: %v, %v", page, err)
	}
	if n := w.Count(`SELECT message_seq::int FROM conversations WHERE id = $1::uuid`, room); n != 2 {
		t.Fatalf("%d rows stored, want question and EndTurn", n)
	}
}

// TestP8_Mentions: decision 10 over the whole pipeline.
func TestP8_Mentions(t *testing.T) {
	t.Parallel()
	w := flowtest.New(t)
	ada, bob := w.Person("Ada"), w.Person("Bob")
	nova, zoe, out := w.Agent(ada, "Nova"), w.Agent(ada, "Zoë Müller"), w.Agent(ada, "Outsider")
	room := w.Room("group", ada, bob, nova, zoe)

	p := w.Say(ada, room, "@[zoë müller] and @nova, but not `@Bob`")
	if !slices.Equal(p.Receivers, []id.Participant{zoe.ID, nova.ID}) {
		t.Fatalf("receivers %v", p.Receivers)
	}
	var meta struct {
		Mentions []struct {
			DisplayName   string
			ParticipantID string
		}
	}
	if err := json.Unmarshal(p.Message.Metadata, &meta); err != nil || len(meta.Mentions) != 2 || meta.Mentions[0].DisplayName != "Zoë Müller" {
		t.Fatalf("metadata %s: %v", p.Message.Metadata, err)
	}
	if got := w.Say(ada, room, "anybody?").Receivers; !slices.Equal(got, []id.Participant{nova.ID}) {
		t.Fatalf("without a mention the first agent answers, got %v", got)
	}
	byBob := w.Say(bob, room, "hey @Outsider")
	if slices.Contains(byBob.Receivers, out.ID) || !strings.Contains(string(byBob.Message.Metadata), "unresolved_mentions") {
		t.Fatalf("a member who may not add: %v %s", byBob.Receivers, byBob.Message.Metadata)
	}
	notices := flowtest.EventsOf[flow.WriterNotice](w)
	if len(notices) != 1 || notices[0].Participant != bob.ID || notices[0].Code != flow.NoticeMayNotAdd {
		t.Fatalf("notices %+v", notices)
	}
	byAda := w.Say(ada, room, "hey @Outsider")
	if !slices.Equal(byAda.Receivers, []id.Participant{out.ID}) {
		t.Fatalf("an administrator adds by mention: %v", byAda.Receivers)
	}
	var order []string
	for _, e := range w.Events() {
		switch v := e.(type) {
		case flow.ConversationCreated:
			if slices.Contains(v.To, out.ID) {
				order = append(order, "created")
			}
		case flow.ConversationUpdated:
			if v.Message.ID == byAda.Message.ID {
				order = append(order, "updated")
			}
		}
	}
	if !slices.Equal(order, []string{"created", "updated"}) {
		t.Fatalf("order of events for the newcomer: %v", order)
	}
}

// TestG1_FirstGuard: after twelve agent messages in a row the next wakes nobody,
// one notice is shown, and a person's word starts anew.
func TestG1_FirstGuard(t *testing.T) {
	t.Parallel()
	w := flowtest.New(t)
	ada := w.Person("Ada")
	a, b := w.Agent(ada, "Alpha"), w.Agent(ada, "Beta")
	room := w.Room("group", ada, a, b)
	w.Say(ada, room, "@Alpha start")
	for n := range speak.GroupLimit {
		who, to := a, b
		if n%2 == 1 {
			who, to = b, a
		}
		if got := w.Say(who, room, "@%s go on", to.DisplayName).Receivers; len(got) != 1 {
			t.Fatalf("message %d woke %v", n+1, got)
		}
	}
	for range 3 {
		if got := w.Say(a, room, "@Beta still there?").Receivers; len(got) != 0 {
			t.Fatalf("beyond the limit: %v", got)
		}
	}
	if n := w.Count(`SELECT count(*)::int FROM messages WHERE message_type = 'Notice'`); n != 1 {
		t.Fatalf("%d notices", n)
	}
	w.Say(ada, room, "go on")
	if got := w.Say(a, room, "@Beta yes").Receivers; len(got) != 1 {
		t.Fatal("a person's message did not start the count anew")
	}
}

func TestP8_UnreadAndReadState(t *testing.T) {
	t.Parallel()
	w := flowtest.New(t)
	ada, bob := w.Person("Ada"), w.Person("Bob")
	nova := w.Agent(ada, "Nova")
	room := w.Room("group", ada, bob, nova)
	unread := func(who access.Actor) int {
		t.Helper()
		ns, err := w.Chat.UnreadCounts(context.Background(), who)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range ns {
			if n.ConversationID == room {
				return n.Messages
			}
		}
		return 0
	}
	q := w.Say(ada, room, "one @Bob").Message
	if unread(ada) != 0 || unread(bob) != 1 {
		t.Fatalf("ada %d, bob %d", unread(ada), unread(bob))
	}
	w.Claim(nova, q.ID)
	for range 3 { // three bubbles of one turn count once
		w.Say(nova, room, "bubble")
	}
	if unread(ada) != 1 || unread(bob) != 2 {
		t.Fatalf("grouped by turn: ada %d, bob %d", unread(ada), unread(bob))
	}
	seen, err := w.Chat.Conversation(t.Context(), bob, room)
	if err != nil || seen.Unread != 2 || seen.MentionCount != 1 {
		t.Fatalf("conversation: %d unread, %d mentions, %v", seen.Unread, seen.MentionCount, err)
	}
	if err := w.Chat.MarkRead(t.Context(), bob, room, id.Message{}); err != nil {
		t.Fatal(err)
	}
	w.Say(ada, room, "x")
	if unread(ada) != 0 {
		t.Fatal("an own message did not clear the sender's unread")
	}
	reads := flowtest.EventsOf[flow.ConversationRead](w)
	if last := reads[len(reads)-1]; last.Participant != ada.ID {
		t.Fatalf("reads %+v", reads)
	}
	for _, u := range flowtest.EventsOf[flow.ConversationUpdated](w) {
		for _, to := range u.To {
			if slices.Contains(to.IDs, u.Message.SenderID) {
				t.Fatal("the author got conversation_updated")
			}
		}
	}
}

func TestP8_DeleteMessage(t *testing.T) {
	t.Parallel()
	w := flowtest.New(t)
	ada, bob := w.Person("Ada"), w.Person("Bob")
	nova := w.Agent(ada, "Nova")
	room := w.Room("group", ada, bob, nova)
	mine, its := w.Say(bob, room, "secret").Message, w.Say(nova, room, "noise").Message
	if err := w.Chat.DeleteMessage(t.Context(), bob, room, its.ID); fault.KindOf(err) != fault.Forbidden {
		t.Fatalf("somebody else's: %v", err)
	}
	if err := w.Chat.DeleteMessage(t.Context(), ada, room, its.ID); err != nil {
		t.Fatalf("the agent's owner: %v", err)
	}
	if err := w.Chat.DeleteMessage(t.Context(), bob, room, mine.ID); err != nil {
		t.Fatal(err)
	}
	if err := w.Chat.DeleteMessage(t.Context(), bob, room, mine.ID); fault.KindOf(err) != fault.NotFound {
		t.Fatalf("twice: %v", err)
	}
	if n := w.Count(`SELECT count(*)::int FROM messages WHERE content LIKE '%secret%'`); n != 0 {
		t.Fatal("the text is still there")
	}
	got, err := w.Chat.Changes(t.Context(), ada, room, 0, 100)
	if err != nil || got.Reset || got.Changes[len(got.Changes)-1].Event != "message_deleted" {
		t.Fatalf("changes %+v, %v", got, err)
	}
}

// TestG1_GuardOfTwoAgents: eight in a row in a direct room; their talk needs no
// mentions.
func TestG1_GuardOfTwoAgents(t *testing.T) {
	t.Parallel()
	w := flowtest.New(t)
	ada := w.Person("Ada")
	a, b := w.Agent(ada, "Alpha"), w.Agent(ada, "Beta")
	room := w.Room("direct", a, b)
	for n := range speak.DirectLimit + 2 {
		who := a
		if n%2 == 1 {
			who = b
		}
		got := w.Say(who, room, "go on").Receivers
		if want := n < speak.DirectLimit; (len(got) == 1) != want {
			t.Fatalf("message %d woke %v", n+1, got)
		}
	}
	if n := w.Count(`SELECT count(*)::int FROM messages WHERE message_type = 'Notice' AND sender_id IS NULL AND metadata ->> 'code' = 'agent_streak_limit'`); n != 1 {
		t.Fatalf("%d notices", n)
	}
}

// TestG1_NoGuardWhereNobodyIsHeldBack: an agent alone with a person may report often.
func TestG1_NoGuardWhereNobodyIsHeldBack(t *testing.T) {
	t.Parallel()
	w := flowtest.New(t)
	ada := w.Person("Ada")
	bot := w.Agent(ada, "Nova")
	room := w.Room("direct", ada, bot)
	for range 15 {
		w.Say(bot, room, "step")
	}
	if n := w.Count(`SELECT count(*)::int FROM messages`); n != 15 {
		t.Fatalf("%d messages", n)
	}
}

func TestP1_PostingTooFastIsTold(t *testing.T) {
	t.Parallel()
	w := flowtest.New(t)
	w.Chat.Posting = limit.New(0.001, 2, 10)
	ada, bob := w.Person("Ada"), w.Person("Bob")
	room := w.Room("group", ada, bob)
	w.Say(ada, room, "1")
	w.Say(ada, room, "2")
	_, err := w.Chat.Post(t.Context(), ada, flow.Post{ConversationID: room, Content: "3"})
	if f := fault.From(err); f.Kind != fault.Exhausted || f.RetryAfter <= 0 {
		t.Fatalf("%v", err)
	}
	w.Say(bob, room, "others are not held back")
}

// TestP1_NamesOfTheServer: nobody else writes its lines or its metadata.
func TestP1_NamesOfTheServer(t *testing.T) {
	t.Parallel()
	w := flowtest.New(t)
	ada := w.Person("Ada")
	bot := w.Agent(ada, "Nova")
	room := w.Room("direct", ada, bot)
	for _, kind := range []string{"Notice", "notice", "System"} {
		for _, who := range []access.Actor{ada, bot} {
			if _, err := w.Chat.Post(t.Context(), who, flow.Post{ConversationID: room, Content: "x", MessageType: &kind}); fault.KindOf(err) != fault.Invalid {
				t.Errorf("%s as %s: %v", kind, who.DisplayName, err)
			}
		}
	}
	p, err := w.Chat.Post(t.Context(), bot, flow.Post{ConversationID: room, Content: "x", Metadata: json.RawMessage(
		`{"awaiting_agent":1,"not_answered":1,"notice":true,"unresolved_mentions":1,"mentions":[{"participantId":"x"}],"kept":1}`)})
	if err != nil || string(p.Message.Metadata) != `{"kept":1}` {
		t.Fatalf("%s, %v", p.Message.Metadata, err)
	}
}

// TestP8_FirstAgentIsTheFirstNamed: members made in one request keep their order.
func TestP8_FirstAgentIsTheFirstNamed(t *testing.T) {
	t.Parallel()
	w := flowtest.New(t)
	ada := w.Person("Ada")
	for range 5 {
		agents := []access.Actor{w.Agent(ada, "One"), w.Agent(ada, "Two"), w.Agent(ada, "Three")}
		room := w.Room("group", ada, agents...)
		if got := w.Say(ada, room, "hello").Receivers; len(got) != 1 || got[0] != agents[0].ID {
			t.Fatalf("woke %v", got)
		}
	}
}
