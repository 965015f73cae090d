package flow_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/flow/flowtest"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/turn"
	"github.com/agntchat/agntchat/internal/view"
)

// crew is a person with three agents in a group, two of them connected.
type crew struct {
	*bench
	ada, nova, zoe, max access.Actor
	room                id.Conversation
	ns, zs              *socket
}

func newCrew(t *testing.T) *crew {
	t.Helper()
	c := &crew{bench: newBench(t, quick)}
	c.ada = c.Person("Ada")
	c.nova, c.zoe, c.max = c.Agent(c.ada, "Nova"), c.Agent(c.ada, "Zoe"), c.Agent(c.ada, "Max")
	c.room = c.Room("group", c.ada, c.nova, c.zoe)
	c.ns = c.join(c.nova, c.register(c.nova, "n", "i-1", 4, true))
	c.zs = c.join(c.zoe, c.register(c.zoe, "z", "i-1", 4, true))
	return c
}

func (c *crew) complete(who access.Actor, d flow.Delivery, text string) flow.Completed {
	c.t.Helper()
	out, err := c.g.Complete(c.t.Context(), who, flow.Completion{
		HeldClaim: fenced(d), Outcome: turn.Answered, Reply: &flow.Post{Content: text, Metadata: json.RawMessage(`{"stream_id":"s"}`)},
	})
	if err != nil {
		c.t.Fatalf("complete: %v", err)
	}
	return out
}

func (c *crew) open(who access.Actor, n flow.NewHuddle) view.Conversation {
	c.t.Helper()
	if n.Source.IsZero() {
		n.Source = c.room
	}
	out, err := c.Chat.OpenHuddle(c.t.Context(), who, n)
	if err != nil {
		c.t.Fatalf("open huddle: %v", err)
	}
	return out
}

// below are the huddles of the room as a person sees them.
func (c *crew) below(who access.Actor) []flow.SeenRoom {
	c.t.Helper()
	out, err := c.Chat.SideConversations(c.t.Context(), who, c.room, 50)
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

func (c *crew) texts(room id.Conversation) []string {
	c.t.Helper()
	page, err := view.Timeline(c.t.Context(), c.DB, room, nil, 50)
	if err != nil {
		c.t.Fatal(err)
	}
	out := []string{}
	for _, m := range slices.Backward(page) {
		out = append(out, m.Content)
	}
	return out
}

func code(err error) string {
	if err == nil {
		return ""
	}
	return fault.From(err).Code
}

// An agent takes another aside in its answer: the room reads the rest, the other is
// woken in the huddle, which belongs to that very message (H1).
func TestH1_AnAgentTakesAnotherAside(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	c.Say(c.ada, c.room, "@Nova which cloth?")
	done := c.complete(c.nova, c.ns.next(), "I ask Zoe.\n\n<dm target=\"zoe\" topic=\"sails\" goal=\"choose the cloth\">Linen or hemp?</dm>")
	if done.Message == nil || done.Message.Content != "I ask Zoe." {
		t.Fatalf("the room reads %+v", done.Message)
	}
	list := c.below(c.ada)
	if len(list) != 1 {
		t.Fatalf("%d huddles", len(list))
	}
	h, ok := list[0].Huddle()
	if !ok || h.Topic != "sails" || h.Goal != "choose the cloth" || h.Status != chat.HuddleOpen || *h.SourceMessageID != done.Message.ID || list[0].MessageCount != 1 {
		t.Errorf("huddle %+v with %d messages", h, list[0].MessageCount)
	}
	if links := c.meta(*done.Message, "huddles"); !strings.Contains(links, list[0].ID.String()) {
		t.Errorf("the message names no huddle: %s", links)
	}
	asked := c.zs.next()
	if asked.Message.Content != "Linen or hemp?" || asked.Message.ConversationID != list[0].ID || asked.Message.SenderID != c.nova.ID {
		t.Fatalf("Zoe is asked %+v", asked.Message)
	}
	if told := strings.Join(asked.Directives.Volatile, ""); !strings.Contains(told, "complete_huddle") || !strings.Contains(told, "choose the cloth") {
		t.Errorf("Zoe is told %s", told)
	}
	// The answer goes back to who opened it, without a mention.
	c.complete(c.zoe, asked, "Linen.")
	back := c.ns.next()
	if back.Message.Content != "Linen." || back.Message.ConversationID != list[0].ID {
		t.Errorf("Nova is told %+v", back.Message)
	}
	// The same two again, without another topic named: the open huddle of the topic stays one.
	c.complete(c.nova, back, "Thanks.")
	c.Say(c.ada, c.room, "@Nova and?")
	c.complete(c.nova, c.ns.next(), "<dm target=\"Zoe\" topic=\"Sails\">How much?</dm>")
	if list := c.below(c.ada); len(list) != 1 || list[0].MessageCount != 4 {
		t.Errorf("%d huddles", len(list))
	}
}

// With nothing left for the room, the row that ends the turn is hidden, and the card
// hangs at the message that was answered.
func TestH1_NothingLeftForTheRoom(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	asked := c.Say(c.ada, c.room, "@Nova which cloth?").Message
	done := c.complete(c.nova, c.ns.next(), "<dm target=\"Zoe\">Linen or hemp?</dm>")
	if done.Outcome != turn.Passed || c.state(c.nova, asked) != "passed" {
		t.Errorf("outcome %s, receipt %s", done.Outcome, c.state(c.nova, asked))
	}
	if got := c.texts(c.room); len(got) != 1 {
		t.Errorf("the room reads %q", got)
	}
	h, _ := c.below(c.ada)[0].Huddle()
	if h.SourceMessageID == nil || *h.SourceMessageID != asked.ID {
		t.Errorf("the huddle belongs to %v", h.SourceMessageID)
	}
	// Without a topic exactly these two go on in the same one.
	c.Say(c.ada, c.room, "@Nova still?")
	c.complete(c.nova, c.ns.next(), "<dm target=\"Zoe\">And rope?</dm>")
	if list := c.below(c.ada); len(list) != 1 || list[0].MessageCount != 2 {
		t.Errorf("%d huddles", len(list))
	}
}

// Several targets make one huddle; somebody who is not known makes none, and what was
// said stays readable; a member of the family outside the room may be called.
func TestH1_TargetsOfABlock(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	c.Say(c.ada, c.room, "@Nova go")
	done := c.complete(c.nova, c.ns.next(), strings.Join([]string{
		"Three things.", "<dm target=\"Zoe, Max\" topic=\"crew\">both of you</dm>", "<dm target=\"Zoe, Nobody\">lost?\nnot lost</dm>",
		"<dm target=\"Ada\">you alone</dm>", "<dm target=\"Nova\">me</dm>", "`<dm target=\"Zoe\">x</dm>`",
	}, "\n\n"))
	want := "Three things.\n\n`<dm target=\"Zoe\">x</dm>`\n\n> → Zoe, Nobody\n> \n> lost?\n> not lost\n\n> → Nova\n> \n> me"
	if done.Message.Content != want {
		t.Errorf("the room reads\n%s\nwant\n%s", done.Message.Content, want)
	}
	if lost := c.meta(*done.Message, "unrouted_asides"); !strings.Contains(lost, `"Nobody"`) {
		t.Errorf("what went nowhere: %s", lost)
	}
	members := map[string]int{}
	for _, r := range c.below(c.ada) {
		members[c.texts(r.ID)[0]] = len(r.Members)
	}
	if fmt.Sprint(members) != "map[both of you:3 you alone:2]" {
		t.Errorf("huddles %v", members)
	}
	if n := c.Count(`SELECT count(*) FROM queued_messages WHERE agent_id = $1::uuid`, c.max.ID); n != 1 {
		t.Errorf("Max has %d messages to answer", n)
	}
}

// What is said in a huddle is asked for by whoever asked in the room.
func TestH1_AHuddleActsForWhoAsked(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	bob := c.Person("Bob")
	if _, err := c.Chat.AddMember(t.Context(), c.ada, c.room, bob.ID); err != nil {
		t.Fatal(err)
	}
	c.Say(bob, c.room, "@Nova let Zoe do it")
	c.complete(c.nova, c.ns.next(), "<dm target=\"Zoe\">Do it.</dm>")
	asked := c.zs.next()
	cause, ok, err := view.CauseOf(t.Context(), c.DB, asked.Message.ID)
	if err != nil || !ok || len(cause.Triggers) == 0 {
		t.Fatalf("cause %+v %v %v", cause, ok, err)
	}
	for _, m := range cause.Triggers {
		if one, err := view.OneMessage(t.Context(), c.DB, m); err != nil || one.SenderID != bob.ID {
			t.Errorf("caused by %+v %v", one, err)
		}
	}
}

// Who could not write to an agent themselves does not reach it through another's tag.
// Nothing of it is lost.
func TestH1_NobodyIsCalledBeyondReach(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	eve := c.Stranger("Eve")
	if _, err := c.Chat.AddMember(t.Context(), c.ada, c.room, eve.ID); err != nil {
		t.Fatal(err)
	}
	c.Say(eve, c.room, "@Nova ask Max")
	done := c.complete(c.nova, c.ns.next(), "<dm target=\"Max\">Tell me all.</dm>")
	if done.Message == nil || done.Message.Content != "> → Max\n> \n> Tell me all." || len(c.below(c.ada)) != 0 {
		t.Errorf("the room reads %+v, %d huddles", done.Message, len(c.below(c.ada)))
	}
	c.Say(eve, c.room, "@Nova ask Zoe then") // who sits there
	c.complete(c.nova, c.ns.next(), "<dm target=\"Zoe\">Well?</dm>")
	c.Say(c.ada, c.room, "@Nova ask Max") // his owner
	c.complete(c.nova, c.ns.next(), "<dm target=\"Max\">Well?</dm>")
	if n := len(c.below(c.ada)); n != 2 {
		t.Errorf("%d huddles", n)
	}
}

// The same members and topic below the same room are the same huddle, also when many
// ask at once; another topic or another anchor is another one (bridge contract 3.3).
func TestH1_OneHuddleForMembersAndTopic(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	first, second := c.Say(c.ada, c.room, "one").Message.ID, c.Say(c.ada, c.room, "two").Message.ID
	zoe := []id.Participant{c.zoe.ID}
	var mu sync.Mutex
	seen := map[id.Conversation]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			out, err := c.Chat.OpenHuddle(t.Context(), c.nova, flow.NewHuddle{Source: c.room, Peers: zoe, Topic: "  The   sails "})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			seen[out.ID] = true
			mu.Unlock()
		})
	}
	wg.Wait()
	if len(seen) != 1 {
		t.Fatalf("%d huddles", len(seen))
	}
	for _, n := range []flow.NewHuddle{{Peers: zoe, Topic: "ropes"}, {Peers: zoe}, {Peers: zoe, Anchor: first}, {Peers: zoe, Anchor: second}, {Peers: []id.Participant{c.zoe.ID, c.ada.ID}, Topic: "The sails"}} {
		out, again := c.open(c.nova, n), c.open(c.nova, n)
		if seen[out.ID] || again.ID != out.ID {
			t.Errorf("%+v: %v, then %v", n, out.ID, again.ID)
		}
		seen[out.ID] = true
	}
	if back := c.open(c.zoe, flow.NewHuddle{Peers: []id.Participant{c.nova.ID}, Topic: "the SAILS"}); !seen[back.ID] {
		t.Error("the other of the two got another one")
	}
	// Bad input is told, and opens nothing.
	stranger := c.Agent(c.Stranger("Eve"), "Hidden")
	for want, n := range map[string]flow.NewHuddle{
		"invalid": {Peers: []id.Participant{c.nova.ID}}, "unknown_member": {Peers: []id.Participant{stranger.ID}},
	} {
		n.Source = c.room
		if _, err := c.Chat.OpenHuddle(t.Context(), c.nova, n); code(err) != want {
			t.Errorf("%+v: %v, want %s", n, err, want)
		}
	}
	for name, n := range map[string]flow.NewHuddle{
		"a message of elsewhere": {Peers: zoe, Anchor: id.New[id.Message]()}, "too long a topic": {Peers: zoe, Topic: strings.Repeat("x", 201)},
	} {
		n.Source = c.room
		if _, err := c.Chat.OpenHuddle(t.Context(), c.nova, n); code(err) != "invalid" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.Chat.OpenHuddle(t.Context(), c.max, flow.NewHuddle{Source: c.room, Peers: zoe}); code(err) != "not_found" {
		t.Errorf("somebody who is not in the room: %v", err)
	}
	// A task that is not the caller's is not remembered, and loses no word.
	if h, ok := c.open(c.nova, flow.NewHuddle{Peers: zoe, Topic: "task", OpenedByTask: id.New[id.Task]()}).Huddle(); !ok || h.OpenedByTaskID != nil {
		t.Errorf("huddle %+v", h)
	}
	if _, err := c.DB.Exec(t.Context(), `INSERT INTO conversations (id, type, created_by, organization_id, parent_conversation_id, huddle_key)
		SELECT gen_random_uuid(), 'group', created_by, organization_id, id, g::text FROM conversations, generate_series(1, 100) g WHERE id = $1::uuid`, c.room); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Chat.OpenHuddle(t.Context(), c.nova, flow.NewHuddle{Source: c.room, Peers: zoe, Topic: "one more"}); code(err) != "too_many_huddles" {
		t.Errorf("without end: %v", err)
	}
	if _, err := c.DB.Exec(t.Context(), `DELETE FROM conversations WHERE parent_conversation_id = $1::uuid AND length(huddle_key) < 64`, c.room); err != nil {
		t.Fatal(err)
	}
	// A huddle in a huddle, to a depth.
	at := c.room
	for n := range 4 {
		out, err := c.Chat.OpenHuddle(t.Context(), c.nova, flow.NewHuddle{Source: at, Peers: []id.Participant{c.max.ID}, Topic: fmt.Sprint("deep ", n)})
		if n < 3 && err != nil || n == 3 && code(err) != "huddle_too_deep" {
			t.Fatalf("depth %d: %v", n, err)
		}
		at = out.ID
	}
	// Two who are alone already stay where they are.
	direct := c.Room("direct", c.ada, c.nova)
	if out := c.open(c.nova, flow.NewHuddle{Source: direct, Peers: []id.Participant{c.ada.ID}, Topic: "x", Message: "here"}); out.ID != direct {
		t.Errorf("another room for the two: %v", out.ID)
	}
}

// Members of the room look into its huddles, and may take a seat; others see nothing.
// A huddle floods nobody: it is in no list, and moves none (H2).
func TestH2_TheRoomLooksIn(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	bob, eve := c.Person("Bob"), c.Person("Eve")
	if _, err := c.Chat.AddMember(t.Context(), c.ada, c.room, bob.ID); err != nil {
		t.Fatal(err)
	}
	h := c.open(c.nova, flow.NewHuddle{Peers: []id.Participant{c.zoe.ID}, Topic: "sails", Message: "linen?"})
	before := len(c.Events())
	c.Say(c.zoe, h.ID, "hemp")
	for _, ev := range c.Events()[before:] {
		if up, ok := ev.(flow.ConversationUpdated); ok {
			for _, to := range up.To {
				if slices.Contains(to.IDs, c.ada.ID) || slices.Contains(to.IDs, bob.ID) {
					t.Error("a person who is not in it is told of every message")
				}
			}
		}
	}
	if list := flowtest.EventsOf[flow.HuddleChanged](c.World); len(list) == 0 || list[len(list)-1].ConversationID != c.room {
		t.Errorf("the card is not told: %+v", list)
	}
	if made := flowtest.EventsOf[flow.SubConversationCreated](c.World); len(made) != 1 || made[0].HuddleID != h.ID || made[0].Seq == 0 {
		t.Errorf("the room is not told: %+v", made)
	}
	for _, who := range []access.Actor{c.ada, bob} {
		if page, err := c.Chat.Timeline(t.Context(), who, h.ID, nil, 10); err != nil || len(page) != 2 {
			t.Errorf("%s reads %d, %v", who.DisplayName, len(page), err)
		}
		if len(c.below(who)) != 1 {
			t.Errorf("%s sees no card", who.DisplayName)
		}
		if _, err := c.Chat.Post(t.Context(), who, flow.Post{ConversationID: h.ID, Content: "x"}); code(err) != "observer" {
			t.Errorf("%s writes without a seat: %v", who.DisplayName, err)
		}
	}
	for _, who := range []access.Actor{eve, c.max} {
		if _, err := c.Chat.Timeline(t.Context(), who, h.ID, nil, 10); code(err) != "not_found" {
			t.Errorf("%s: %v", who.DisplayName, err)
		}
		if _, err := c.Chat.AddMember(t.Context(), who, h.ID, who.ID); code(err) != "not_found" {
			t.Errorf("%s takes a seat: %v", who.DisplayName, err)
		}
		if _, err := c.Chat.Post(t.Context(), who, flow.Post{ConversationID: h.ID, Content: "x"}); code(err) != "not_found" {
			t.Errorf("%s writes: %v", who.DisplayName, err)
		}
	}
	if rooms, err := c.Chat.Conversations(t.Context(), c.ada, nil, 50); err != nil || slices.ContainsFunc(rooms, func(r flow.SeenRoom) bool { return r.ID == h.ID }) {
		t.Errorf("the huddle is in the list of rooms: %v", err)
	}
	if _, err := c.Chat.AddMember(t.Context(), bob, h.ID, bob.ID); err != nil {
		t.Fatalf("Bob takes a seat: %v", err)
	}
	c.Say(bob, h.ID, "cotton!")
	// Who is removed from the room looks in no longer; a seat of one's own stays.
	for _, who := range []access.Actor{bob} {
		if err := c.Chat.RemoveMember(t.Context(), c.ada, c.room, who.ID); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Chat.Timeline(t.Context(), bob, h.ID, nil, 10); err != nil {
		t.Errorf("Bob has a seat: %v", err)
	}
	if err := c.Chat.RemoveMember(t.Context(), bob, h.ID, bob.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Chat.Timeline(t.Context(), bob, h.ID, nil, 10); code(err) != "not_found" {
		t.Errorf("Bob has left both: %v", err)
	}
	// With the room its huddles are gone.
	if err := c.Chat.DeleteConversation(t.Context(), c.ada, c.room); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Chat.Timeline(t.Context(), c.nova, h.ID, nil, 10); code(err) != "not_found" {
		t.Errorf("the huddle outlives its room: %v", err)
	}
}

// Who is removed from a room loses the huddles that they look into.
func TestH2_RemovedMembersLookInNoLonger(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	bob := c.Person("Bob")
	if _, err := c.Chat.AddMember(t.Context(), c.ada, c.room, bob.ID); err != nil {
		t.Fatal(err)
	}
	h := c.open(c.nova, flow.NewHuddle{Peers: []id.Participant{c.zoe.ID}, Topic: "sails"})
	deep := c.open(c.nova, flow.NewHuddle{Source: h.ID, Peers: []id.Participant{c.max.ID}, Topic: "ropes"})
	if err := c.Chat.RemoveMember(t.Context(), c.ada, c.room, bob.ID); err != nil {
		t.Fatal(err)
	}
	gone := flowtest.EventsOf[flow.MemberRemoved](c.World)
	if below := gone[len(gone)-1].Below; len(below) != 2 || !slices.Contains(below, h.ID) || !slices.Contains(below, deep.ID) {
		t.Errorf("topics that are closed: %v", below)
	}
}

// Any participant closes a huddle, once: one message tells the room, the card says how
// it ended, and nobody writes there any more (H3).
func TestH3_ClosingTellsTheRoomOnce(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	h := c.open(c.nova, flow.NewHuddle{Peers: []id.Participant{c.zoe.ID}, Topic: "sails", Message: "linen?"})
	running := c.zs.next()
	waiting := c.Say(c.nova, h.ID, "quickly").Message
	end := flow.HuddleEnd{HuddleID: h.ID, Outcome: "agreed", Summary: "Linen.", Content: "We take linen, @Nova orders it."}
	for want, bad := range map[string]flow.HuddleEnd{"outcome": {HuddleID: h.ID, Outcome: "sunk", Summary: "x"}, "summary": {HuddleID: h.ID, Outcome: "agreed", Summary: " "}} {
		if _, err := c.Chat.CloseHuddle(t.Context(), c.zoe, bad); code(err) != "invalid" || fault.From(err).Fields[0].Field != want {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := c.Chat.CloseHuddle(t.Context(), c.ada, end); code(err) != "observer" {
		t.Errorf("who only looks in: %v", err)
	}
	if _, err := c.Chat.CloseHuddle(t.Context(), c.max, end); code(err) != "not_found" {
		t.Errorf("who is not there: %v", err)
	}
	if _, err := c.Chat.CloseHuddle(t.Context(), c.zoe, flow.HuddleEnd{HuddleID: c.room, Outcome: "agreed", Summary: "x"}); code(err) != "not_a_huddle" {
		t.Errorf("a room that is none: %v", err)
	}
	done, err := c.Chat.CloseHuddle(t.Context(), c.zoe, end)
	if err != nil || done.SourceID != c.room || done.Huddle.Status != chat.HuddleResolved {
		t.Fatalf("closed %+v: %v", done, err)
	}
	again, err := c.Chat.CloseHuddle(t.Context(), c.zoe, end)
	if err != nil || again.MessageID != done.MessageID {
		t.Errorf("the same again: %+v %v", again, err)
	}
	if _, err := c.Chat.CloseHuddle(t.Context(), c.nova, end); code(err) != "huddle_closed" {
		t.Errorf("by another: %v", err)
	}
	if got := c.texts(c.room); len(got) != 1 || got[0] != end.Content {
		t.Errorf("the room reads %q", got)
	}
	report, err := view.OneMessage(t.Context(), c.DB, done.MessageID)
	if err != nil || report.SenderID != c.zoe.ID || !slices.Contains(report.Mentions, c.nova.ID) {
		t.Errorf("report %+v %v", report, err)
	}
	if d := c.ns.next(); d.Message.ID != report.ID { // it is mentioned
		t.Errorf("Nova is asked about %q", d.Message.Content)
	}
	hud, _ := c.below(c.ada)[0].Huddle()
	if hud.Outcome != "agreed" || hud.Summary != "Linen." || *hud.ClosedBy != c.zoe.ID || *hud.ReportMessageID != done.MessageID {
		t.Errorf("card %+v", hud)
	}
	var meta map[string]any
	_ = json.Unmarshal(c.below(c.ada)[0].Metadata, &meta)
	if meta["thread_status"] != "resolved" || meta["huddle_status"] != "resolved" || meta["thread_topic"] != "sails" {
		t.Errorf("both spellings: %v", meta)
	}
	// Closed is read-only. The turn that ran may end, and what it still says is dropped.
	for what, err := range map[string]error{
		"a post": func() error {
			_, err := c.Chat.Post(t.Context(), c.nova, flow.Post{ConversationID: h.ID, Content: "x"})
			return err
		}(),
		"a seat": func() error { _, err := c.Chat.AddMember(t.Context(), c.ada, h.ID, c.ada.ID); return err }(),
	} {
		if code(err) != "room_closed" {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := c.Chat.SetHuddleGoal(t.Context(), c.nova, h.ID, "x"); code(err) != "huddle_closed" {
		t.Errorf("a goal: %v", err)
	}
	if out := c.complete(c.zoe, running, "I think linen"); out.Outcome != turn.Passed || out.Message != nil {
		t.Errorf("the turn that ran: %+v", out)
	}
	if c.state(c.zoe, waiting) != "stopped" {
		t.Errorf("what waited: %s", c.state(c.zoe, waiting))
	}
	c.zs.idle()
	if got := c.texts(h.ID); len(got) != 2 {
		t.Errorf("the huddle reads %q", got)
	}
	// The same topic anew is another huddle.
	if next := c.open(c.nova, flow.NewHuddle{Peers: []id.Participant{c.zoe.ID}, Topic: "sails"}); next.ID == h.ID {
		t.Error("a closed huddle was reopened")
	}
}

// Nobody closes a huddle but its participants: it stays open when it goes quiet. Who
// closes it and is not in the room is quoted by the server.
func TestH3_WhoIsNotInTheRoomIsQuoted(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	h := c.open(c.nova, flow.NewHuddle{Peers: []id.Participant{c.max.ID}, Topic: "ropes"})
	if _, err := c.Chat.CloseHuddle(t.Context(), c.max, flow.HuddleEnd{HuddleID: h.ID, Outcome: "abandoned", Summary: "No rope."}); err != nil {
		t.Fatal(err)
	}
	page, err := view.Timeline(t.Context(), c.DB, c.room, nil, 5)
	if err != nil || len(page) != 1 || page[0].Type() != "Notice" || page[0].Content != "Max closed the huddle: No rope." || !page[0].SenderID.IsZero() {
		t.Errorf("the room reads %+v %v", page, err)
	}
	if hud, _ := c.below(c.ada)[0].Huddle(); hud.Status != chat.HuddleAbandoned {
		t.Errorf("card %+v", hud)
	}
	// A person's report wakes nobody by itself.
	h = c.open(c.nova, flow.NewHuddle{Peers: []id.Participant{c.ada.ID}, Topic: "crew"})
	if _, err := c.Chat.CloseHuddle(t.Context(), c.ada, flow.HuddleEnd{HuddleID: h.ID, Outcome: "resolved", Summary: "Done."}); err != nil {
		t.Fatal(err)
	}
	c.ns.idle()
}

// Closing and posting at once end in one order: what is in the huddle was said before.
func TestH3_ClosingWhileOthersWrite(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	for round := range 6 {
		h := c.open(c.nova, flow.NewHuddle{Peers: []id.Participant{c.zoe.ID}, Topic: fmt.Sprint("t", round)})
		var wg sync.WaitGroup
		for _, who := range []access.Actor{c.nova, c.zoe} {
			wg.Go(func() {
				for n := range 3 {
					_, err := c.Chat.Post(t.Context(), who, flow.Post{ConversationID: h.ID, Content: fmt.Sprint(n)})
					if err != nil && code(err) != "room_closed" {
						t.Error(err)
					}
				}
			})
			wg.Go(func() {
				_, err := c.Chat.CloseHuddle(t.Context(), who, flow.HuddleEnd{HuddleID: h.ID, Outcome: "resolved", Summary: who.DisplayName})
				if err != nil && code(err) != "huddle_closed" {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := c.Count(`SELECT count(*) FROM messages WHERE conversation_id = $1::uuid AND metadata->>'huddle_report' = $2::text`, c.room, h.ID.String()); n != 1 {
			t.Errorf("%d reports", n)
		}
		c.until(0, `SELECT count(*) FROM queued_messages q WHERE q.conversation_id = $1::uuid AND q.lease_until IS NULL`, h.ID)
		var at time.Time
		if err := c.DB.QueryRow(t.Context(), `SELECT (metadata->>'huddle_closed_at')::timestamptz FROM conversations WHERE id = $1::uuid`, h.ID).Scan(&at); err != nil || at.IsZero() {
			t.Errorf("closed at %v: %v", at, err)
		}
	}
}

// The tools do what the wire does (bridge contract 5.3).
func TestH3_Tools(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	tools := c.toolbox()
	c.Say(c.ada, c.room, "@Nova go")
	asked := c.ns.next()
	out := c.must(tools, c.nova, c.room, "find_or_create_dm", fmt.Sprintf(`{"peer_id":[%q],"topic":"sails","message":"linen?"}`, c.zoe.ID))
	h, err := id.Parse[id.Conversation](out["id"].(string))
	if err != nil || out["huddle"] != true {
		t.Fatalf("opened %v", out)
	}
	hud, _ := c.below(c.ada)[0].Huddle()
	if hud.SourceMessageID == nil || *hud.SourceMessageID != asked.Message.ID {
		t.Errorf("it belongs to %v", hud.SourceMessageID)
	}
	c.zs.next()
	c.must(tools, c.zoe, h, "complete_huddle", `{"huddle_id":"current","outcome":"agreed","summary":"Linen."}`)
	if got := c.texts(c.room); got[len(got)-1] != "Linen." {
		t.Errorf("the room reads %q", got)
	}
	c.refused(tools, c.zoe, h, "complete_huddle", `{"outcome":"resolved","summary":"Linen."}`, "huddle_closed")
	c.refused(tools, c.zoe, h, "complete_huddle", `{"outcome":"sunk","summary":"x"}`, "invalid_arguments")
}
