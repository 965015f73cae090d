package flow

import (
	"context"
	"maps"
	"slices"

	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/realtime"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// Words of the contract (desktop 3.5, 5.25).
const (
	onlineLocal     = "online_local"
	offlinePresence = "offline"
	activityWorking = "working"
)

// AgentPresence is where an agent is and what it does now. Rooms are those in
// which it works; show a viewer only the rooms that the viewer is a member of.
type AgentPresence struct {
	Online     bool
	DeviceName *string
	Rooms      []id.Conversation
}

// Presence reads memory only.
func (g *Gateway) Presence(agent id.Participant) AgentPresence {
	g.reg.mu.Lock()
	defer g.reg.mu.Unlock()
	p := AgentPresence{Online: g.reg.onlineLocked(agent), DeviceName: g.reg.deviceLocked(agent)}
	for c := range g.reg.shown[agent].rooms {
		p.Rooms = append(p.Rooms, c)
	}
	return p
}

// Online reports that one of the agent's executors is reachable.
func (g *Gateway) Online(agent id.Participant) bool { return g.reg.online(agent) }

func (r *executorRegistry) deviceLocked(agent id.Participant) *string {
	var newest *reachable
	for _, x := range r.byAgent[agent] {
		if !x.offline && (newest == nil || x.seen.After(newest.seen)) {
			newest = x
		}
	}
	if newest == nil {
		if host := r.external[agent]; host != "" {
			return &host
		}
		return nil
	}
	return newest.device
}

// tellAgent tells people what changed about an agent since they were told last:
// whether it is online, and in which rooms it works. Both are derived, never
// stored (field.md 6), so that a turn that is gone cannot look busy. It is only
// live: a failure is logged, and the next change tells all.
func (g *Gateway) tellAgent(ctx context.Context, agent id.Participant) {
	var rooms []id.Conversation
	for _, in := range g.busy {
		some, err := in(ctx, g.DB, agent)
		if err != nil {
			g.complain(ctx, "read activity failed", err, agent)
			return
		}
		rooms = append(rooms, some...)
	}
	now := shownState{rooms: make(map[id.Conversation]struct{}, len(rooms))}
	for _, c := range rooms {
		now.rooms[c] = struct{}{}
	}
	g.reg.mu.Lock()
	before := g.reg.shown[agent]
	now.online = g.reg.onlineLocked(agent)
	device := g.reg.deviceLocked(agent)
	g.reg.shown[agent] = now
	g.reg.mu.Unlock()
	if now.online != before.online {
		g.tellStatus(ctx, agent, now.online, device)
	}
	if !maps.Equal(now.rooms, before.rooms) {
		g.tellActivity(ctx, agent, before.rooms, now.rooms)
	}
}

func (g *Gateway) tellStatus(ctx context.Context, agent id.Participant, online bool, device *string) {
	people, err := view.AgentAudience(ctx, g.DB, agent)
	if err != nil {
		g.complain(ctx, "tell status failed", err, agent)
		return
	}
	p := wire.AgentStatusChanged{AgentID: agent.String(), Presence: offlinePresence, Online: online}
	if online {
		p.Presence, p.DeviceName = onlineLocal, device
	}
	topics := make([]string, len(people))
	for n, id := range people {
		topics[n] = event.UserTopic(id.String())
	}
	g.live(ctx, agent, topics, "agent_status_changed", p)
}

// tellActivity tells each person about the rooms that they share with the agent
// and no others.
func (g *Gateway) tellActivity(ctx context.Context, agent id.Participant, before, now map[id.Conversation]struct{}) {
	all := maps.Clone(now)
	maps.Copy(all, before)
	seats, err := view.PeopleIn(ctx, g.DB, slices.Collect(maps.Keys(all)))
	if err != nil {
		g.complain(ctx, "tell activity failed", err, agent)
		return
	}
	shared := map[id.Participant][]string{}
	for _, s := range seats {
		list := shared[s.ParticipantID]
		if _, busy := now[s.ConversationID]; busy {
			list = append(list, s.ConversationID.String())
		}
		shared[s.ParticipantID] = list
	}
	for person, list := range shared {
		p := wire.AgentActivityChanged{AgentID: agent.String(), ConversationIDs: list}
		if len(list) > 0 {
			p.Activity = new(activityWorking)
		}
		g.live(ctx, agent, []string{event.UserTopic(person.String())}, "agent_activity_changed", p)
	}
}

func (g *Gateway) live(ctx context.Context, agent id.Participant, topics []string, name string, payload any) {
	if err := g.Bus.BroadcastAll(topics, realtime.Message{Event: name, Payload: payload}); err != nil {
		g.complain(ctx, "broadcast failed", err, agent)
	}
}

// Reachable counts the executors that are online, from memory.
func (g *Gateway) Reachable() int {
	g.reg.mu.Lock()
	defer g.reg.mu.Unlock()
	n := 0
	for _, x := range g.reg.executors {
		if !x.offline {
			n++
		}
	}
	return n
}
