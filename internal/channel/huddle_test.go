package channel_test

import (
	"testing"

	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/wire"
)

// Members of a room look into its huddles over their own sockets, live, until they are
// removed; nobody else does (decision 22, desktop contract 3.2).
func TestH2_LookingInOverTheSocket(t *testing.T) {
	t.Parallel()
	b := open(t)
	ada, bob, eve := b.Person("Ada"), b.Person("Bob"), b.Person("Eve")
	nova, zoe := b.Agent(ada, "Nova"), b.Agent(ada, "Zoe")
	conv := b.Room("group", ada, bob, nova, zoe)
	bobRoom := b.dial(bob).Join(room(conv), nil)
	bobRoom.Expect("recent_messages")
	h, err := b.Chat.OpenHuddle(t.Context(), nova, flow.NewHuddle{Source: conv, Peers: []id.Participant{zoe.ID}, Topic: "sails", Message: "linen?"})
	if err != nil {
		t.Fatal(err)
	}
	if made := read[wire.SubConversation](t, bobRoom.Expect("sub_conversation_created")); made.HuddleID != h.ID.String() || made.ConversationID != conv.String() || made.Seq == 0 {
		t.Errorf("told of the huddle: %+v", made)
	}
	look := b.dial(bob).Join(room(h.ID), nil)
	if got := read[wire.RecentMessages](t, look.Expect("recent_messages")); len(got.Messages) != 1 || got.Messages[0].Content != "linen?" {
		t.Errorf("the huddle: %+v", got)
	}
	b.Say(zoe, h.ID, "hemp")
	if got := read[wire.Message](t, look.Expect("new_message")); got.Content != "hemp" || got.Seq == 0 {
		t.Errorf("live: %+v", got)
	}
	if got := read[wire.SubConversation](t, bobRoom.Expect("huddle_changed")); got.HuddleID != h.ID.String() || got.Seq != 0 {
		t.Errorf("the card: %+v", got)
	}
	if got := look.Push("new_message", map[string]any{"content": "cotton"}); got.Status != "error" || got.Reason() != "observer" {
		t.Errorf("writes without a seat: %+v", got)
	}
	if got := b.dial(eve).TryJoin(room(h.ID), nil).Reply; got.Reason() != "unauthorized" {
		t.Errorf("a stranger: %+v", got)
	}
	if err := b.Chat.RemoveMember(t.Context(), ada, conv, bob.ID); err != nil {
		t.Fatal(err)
	}
	look.Expect("phx_close")
	if got := look.Client.TryJoin(room(h.ID), nil).Reply; got.Reason() != "unauthorized" {
		t.Errorf("after removal: %+v", got)
	}
}
