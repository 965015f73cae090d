package channel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/channel"
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/flow/flowtest"
	"github.com/agntchat/agntchat/internal/realtime"
	"github.com/agntchat/agntchat/internal/realtime/presence"
)

// hearing writes down what a topic's subscriber gets, a line for each delivery.
type hearing struct {
	mu    sync.Mutex
	names map[string]string
	lines []string
}

// Deliver implements realtime.Subscriber.
func (h *hearing) Deliver(b realtime.Batch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	size := 0
	for _, f := range b.Frames {
		size += f.Len()
		var tuple []json.RawMessage
		var p struct {
			ParticipantID string
			Online        bool
		}
		if json.Unmarshal(f.JSON(), &tuple) != nil || json.Unmarshal(tuple[4], &p) != nil {
			all = append(all, "unreadable")
			continue
		}
		all = append(all, fmt.Sprintf("%s %s %v", f.Event, h.names[p.ParticipantID], p.Online))
	}
	if size != len(b.Wire) {
		all = append(all, "bytes are missing")
	}
	h.lines = append(h.lines, strings.Join(all, ", "))
}

// TestP8_PresenceOfAMomentTogether: each hears of those with whom a room or a
// workspace is shared, not of itself, each change once, all in one piece.
func TestP8_PresenceOfAMomentTogether(t *testing.T) {
	t.Parallel()
	w := flowtest.New(t)
	ada, bob := w.Person("Ada"), w.Person("Bob")
	cyd, eve := w.Stranger("Cyd"), w.Stranger("Eve")
	w.Room("group", ada, bob, cyd)
	w.Room("group", ada, cyd) // twice in one circle is still one event
	names := map[string]string{}
	ears := map[string]*hearing{}
	for _, a := range []access.Actor{ada, bob, cyd, eve} {
		names[a.ID.String()] = a.DisplayName
	}
	for _, a := range []access.Actor{ada, cyd, eve} { // Bob is not here
		h := &hearing{names: names}
		ears[a.DisplayName] = h
		w.Bus.Subscribe(event.UserTopic(a.ID.String()), h, realtime.Tags{})
	}
	changed := channel.PeopleChanged(context.Background(), w.DB, w.Bus, slog.New(slog.DiscardHandler))
	changed([]presence.Change{
		{Participant: bob.ID.String(), Online: false}, {Participant: "nobody"}, {Participant: cyd.ID.String(), Online: true},
		{Participant: eve.ID.String(), Online: true}, {Participant: ada.ID.String(), Online: true},
	})
	const told = "human_status_changed "
	for who, want := range map[string]string{
		"Ada": told + "Bob false, " + told + "Cyd true", "Cyd": told + "Bob false, " + told + "Ada true", "Eve": "",
	} {
		if got := strings.Join(ears[who].lines, "\n"); got != want {
			t.Errorf("%s heard %q, want %q", who, got, want)
		}
	}
}

// TestP8_PresenceOfACrowd: more than fits into one write, and more than one word of bits.
func TestP8_PresenceOfACrowd(t *testing.T) {
	t.Parallel()
	w := flowtest.New(t)
	ada := w.Person("Ada")
	h := &hearing{names: map[string]string{}}
	w.Bus.Subscribe(event.UserTopic(ada.ID.String()), h, realtime.Tags{})
	var changes []presence.Change
	var want []string
	for n := range 150 {
		p := w.Person(fmt.Sprint("P", n))
		h.names[p.ID.String()] = p.DisplayName
		changes = append(changes, presence.Change{Participant: p.ID.String(), Online: true})
		want = append(want, fmt.Sprintf("human_status_changed P%d true", n))
	}
	channel.PeopleChanged(context.Background(), w.DB, w.Bus, slog.New(slog.DiscardHandler))(changes)
	if got := strings.Join(h.lines, ", "); got != strings.Join(want, ", ") || len(h.lines) != 1 {
		t.Errorf("in %d pieces: %s", len(h.lines), got)
	}
}
