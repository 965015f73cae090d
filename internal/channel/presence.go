package channel

import (
	"context"
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

// PeopleChanged returns the OnChange of the tracker of people: it tells everybody
// who shares a room or a workspace that somebody came or went.
func PeopleChanged(ctx context.Context, db pg.Querier, bus Bus, log *slog.Logger) func(presence.Change) {
	return func(c presence.Change) {
		p, err := id.Parse[id.Participant](c.Participant)
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, tellTimeout)
		defer cancel()
		peers, err := view.Peers(ctx, db, p)
		if err != nil {
			log.WarnContext(ctx, "presence could not be told", slog.Any("error", err))
			return
		}
		topics := make([]string, 0, len(peers))
		for _, o := range peers {
			topics = append(topics, event.UserTopic(o.ID.String()))
		}
		err = bus.BroadcastAll(topics, realtime.Message{
			Event: "human_status_changed", Payload: wire.HumanStatusChanged{ParticipantID: c.Participant, Online: c.Online},
			Droppable: true, Key: "presence:" + c.Participant,
		})
		if err != nil {
			log.WarnContext(ctx, "presence could not be told", slog.Any("error", err))
		}
	}
}
