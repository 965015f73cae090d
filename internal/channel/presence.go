package channel

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/realtime"
	"github.com/agntchat/agntchat/internal/realtime/presence"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// tellTimeout bounds the look-up of who hears of one change of presence.
const tellTimeout = 10 * time.Second

// snapshot is all that a viewer may know of who is online and what agents do. An
// activity names only rooms in which the viewer sits; a device only for one's
// own agents.
func (r *Router) snapshot(ctx context.Context, viewer access.Actor) (wire.PresenceSnapshot, error) {
	out := wire.PresenceSnapshot{
		OnlineParticipantIDs: []string{}, AgentPresences: map[string]string{}, AgentActivities: map[string]wire.AgentActivity{},
		AgentDevices: map[string]wire.AgentDevice{},
	}
	peers, err := view.Peers(ctx, r.DB, viewer.ID)
	if err != nil {
		return out, err
	}
	if viewer.IsPerson() {
		out.OnlineParticipantIDs = append(out.OnlineParticipantIDs, viewer.ID.String())
	}
	states := make(map[id.Participant]AgentState)
	var rooms []id.Conversation
	for _, p := range peers {
		if r.People.Online(p.ID.String()) {
			out.OnlineParticipantIDs = append(out.OnlineParticipantIDs, p.ID.String())
		}
		if p.Kind != "agent" || r.Agents == nil {
			continue
		}
		if s := r.Agents(p.ID); s.Online {
			states[p.ID] = s
			rooms = append(rooms, s.Rooms...)
			out.AgentPresences[p.ID.String()] = present.OnlineLocal
			if s.DeviceName != "" && p.OwnerID == viewer.ID {
				out.AgentDevices[p.ID.String()] = wire.AgentDevice{Name: s.DeviceName}
			}
		}
	}
	mine, err := view.RoomsWith(ctx, r.DB, viewer.ID, rooms)
	if err != nil {
		return out, err
	}
	for agent, s := range states {
		if s.Activity == "" {
			continue
		}
		a := wire.AgentActivity{Activity: s.Activity}
		for _, c := range s.Rooms {
			if mine[c] {
				a.ConversationIDs = append(a.ConversationIDs, c.String())
			}
		}
		if len(a.ConversationIDs) > 0 {
			out.AgentActivities[agent.String()] = a
		}
	}
	return out, nil
}

// Listeners are the topics that somebody hears.
type Listeners interface {
	Count(topic string) int
	BroadcastEach(topic string, messages []realtime.Message) error
}

// PeopleChanged returns the OnChange of the tracker of people: it tells everybody
// who shares a room or a workspace that somebody came or went. What changed in one
// moment goes to a person in one piece, an event for each change.
func PeopleChanged(ctx context.Context, db pg.Querier, bus Listeners, log *slog.Logger) func([]presence.Change) {
	return func(changes []presence.Change) {
		ctx, cancel := context.WithTimeout(ctx, tellTimeout)
		defer cancel()
		if err := tellPeople(ctx, db, bus, changes); err != nil {
			log.WarnContext(ctx, "presence could not be told", slog.Any("error", err))
		}
	}
}

func tellPeople(ctx context.Context, db pg.Querier, bus Listeners, changes []presence.Change) error {
	people := make([]id.Participant, 0, len(changes))
	at := make(map[id.Participant]int, len(changes))
	events := make([]realtime.Message, 0, len(changes))
	for _, c := range changes {
		p, err := id.Parse[id.Participant](c.Participant)
		if err != nil {
			continue // no participant
		}
		raw, err := json.Marshal(wire.HumanStatusChanged{ParticipantID: c.Participant, Online: c.Online})
		if err != nil {
			return fmt.Errorf("encode presence: %w", err)
		}
		at[p] = len(people)
		people = append(people, p)
		events = append(events, realtime.Message{
			Event: "human_status_changed", Payload: json.RawMessage(raw), Droppable: true, Key: "presence:" + c.Participant,
		})
	}
	circles, err := view.Circles(ctx, db, people)
	if err != nil {
		return err
	}
	mine := make([]realtime.Message, 0, len(events))
	for viewer, heard := range hearers(circles, at, bus) {
		mine = mine[:0]
		for i := range events {
			if heard[i/64]>>(i%64)&1 == 1 && people[i] != viewer {
				mine = append(mine, events[i])
			}
		}
		if err := bus.BroadcastEach(event.UserTopic(viewer.String()), mine); err != nil {
			return err
		}
	}
	return nil
}

// hearers are those who are here and share a circle with somebody who changed, each
// with a bit for every change.
func hearers(circles [][]id.Participant, at map[id.Participant]int, bus Listeners) map[id.Participant][]uint64 {
	words := (len(at) + 63) / 64
	out := make(map[id.Participant][]uint64)
	away := make(map[id.Participant]bool)
	for _, circle := range circles {
		changed := make([]uint64, words)
		for _, p := range circle {
			if i, ok := at[p]; ok {
				changed[i/64] |= 1 << (i % 64)
			}
		}
		for _, p := range circle {
			heard := out[p]
			if heard == nil {
				if away[p] {
					continue
				}
				if bus.Count(event.UserTopic(p.String())) == 0 {
					away[p] = true
					continue
				}
				heard = make([]uint64, words)
				out[p] = heard
			}
			for w := range heard {
				heard[w] |= changed[w]
			}
		}
	}
	return out
}
