package flow

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/directive"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/turn"
	"github.com/agntchat/agntchat/internal/view"
)

const (
	defaultHistory = view.DefaultHistory
	mostHistory    = 100
)

// Delivery is one claimed turn with everything a bridge needs to answer it.
type Delivery struct {
	Claim      turn.Claim // the head
	Message    view.Message
	Merged     []MergedItem // older messages that this turn answers too, oldest first; ours only
	Room       view.Conversation
	Memory     json.RawMessage // of the room; nil is none
	Directives directive.Directives
	Recent     []view.Message // oldest first
	LatestSeen id.Message     // newest message of the room: what the draft is measured against
	Ours       bool
	Lease      time.Duration
	ActiveTask id.Task // in whose work room the message arrived, or for which the agent opened this huddle; zero for none
}

// MergedItem is a further message of the same turn.
type MergedItem struct {
	QueueID id.QueueItem
	Message view.Message
}

// prepare reads what the turn needs. Nil without an error means that nothing is
// left to answer: the messages or the room are gone, or the agent has left.
func (g *Gateway) prepare(ctx context.Context, c claimer, group []turn.Claim) (*Delivery, error) {
	head := group[len(group)-1]
	ground, err := view.TurnGroundOf(ctx, g.DB, head.ConversationID, head.AgentID, messagesOf(group), id.Participant{})
	if err != nil || ground.Room == nil || ground.Agent == nil {
		return nil, err
	}
	if _, member := ground.Room.Member(head.AgentID); !member {
		return nil, nil
	}
	var items []MergedItem
	for _, r := range group {
		if at := slices.IndexFunc(ground.Messages, func(m view.Message) bool { return m.ID == r.MessageID }); at >= 0 {
			items = append(items, MergedItem{r.QueueID, ground.Messages[at]})
		}
	}
	if len(items) == 0 {
		return nil, nil
	}
	last := len(items) - 1
	d := &Delivery{Claim: head, Message: items[last].Message, Merged: items[:last], Room: *ground.Room, ActiveTask: ground.Task, Ours: c.ours, Lease: g.cfg.MessageLease}
	if h, ok := d.Room.Huddle(); ok && h.OpenedByTaskID != nil && d.Room.CreatedBy == head.AgentID {
		d.ActiveTask = *h.OpenedByTaskID
	}
	if err := g.addHistory(ctx, d, ground); err != nil {
		return nil, err
	}
	return d, g.addDirectives(ctx, d, ground)
}

func goneIsNil(err error) error {
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	return err
}

func (g *Gateway) addDirectives(ctx context.Context, d *Delivery, ground view.TurnGround) error {
	d.Memory = roomMemory(ground.Notes)
	facts := g.directiveFacts(ground, d.Room)
	facts.Trigger = directive.Speaker{Name: d.Message.SenderName, Kind: d.Message.SenderKind, Foreign: foreign(ground, d.Message)}
	facts.Merged = len(d.Merged)
	d.Directives = directive.Compute(facts)
	for _, m := range d.Merged {
		d.Directives.HumanExpectsReply = d.Directives.HumanExpectsReply || directive.ExpectsReply(m.Message.SenderKind)
	}
	return g.keepDirective(ctx, d.Claim.AgentID, d.Directives)
}

// directiveFacts is what the directives of an agent in a room are made of, without
// what is asked of it.
func (g *Gateway) directiveFacts(ground view.TurnGround, room view.Conversation) directive.Facts {
	a, owner := ground.Agent, ground.Owner
	facts := directive.Facts{
		Agent: directive.Agent{
			Name: a.DisplayName, Role: a.Description, Type: a.AgentType, Soul: a.SoulMD, OwnerName: owner.Name,
			SystemPrompt: stringKey(a.Metadata, "system_prompt"), SkipPrompts: boolKey(a.ModelConfig, "dangerously_skip_permissions"),
		},
		Room: directive.Room{Type: room.Type}, Family: make([]directive.Kin, len(ground.Family)), Now: time.Now(),
	}
	facts.Memory = remembered(ground.Notes)
	for n, k := range ground.Family {
		facts.Family[n] = directive.Kin{ID: k.ID, Name: k.Name}
	}
	if owner.Timezone != nil {
		facts.Agent.Timezone = *owner.Timezone
	}
	if room.Title != nil {
		facts.Room.Title = *room.Title
	}
	if h, ok := room.Huddle(); ok {
		facts.Room.Huddle = &directive.Huddle{Goal: h.Goal, Closed: room.Closed()}
	}
	for _, m := range room.Members {
		if m.ParticipantID != a.ID {
			facts.Room.Members = append(facts.Room.Members, directive.Member{Name: m.DisplayName, Kind: m.Kind, Online: m.IsAgent() && g.reg.online(m.ParticipantID)})
		}
	}
	return facts
}

// roomMemory is the memory of the room among what is remembered; nil is none.
func roomMemory(notes []view.Note) json.RawMessage {
	for _, n := range notes {
		if n.Kind == "room" {
			return json.RawMessage(n.Content)
		}
	}
	return nil
}

// remembered sorts notes by whose they are.
func remembered(notes []view.Note) (m directive.Memory) {
	for _, n := range notes {
		one := directive.Note{Category: n.Category, Key: n.Key, Text: n.Content, From: n.From}
		switch n.Kind {
		case "room":
			m.Room = n.Content
		case "family":
			m.Family = append(m.Family, one)
		default:
			m.Own = append(m.Own, one)
		}
	}
	return m
}

// foreign reports a message of an agent that is not of the same owner, as far as
// the room tells: one that has left counts as foreign.
func foreign(ground view.TurnGround, m view.Message) bool {
	if m.SenderKind != chat.Agent {
		return false
	}
	sender, here := ground.Room.Member(m.SenderID)
	return !here || sender.OwnerID != ground.Agent.OwnerID
}

// keepDirective stores the stable part once per content (row K7).
func (g *Gateway) keepDirective(ctx context.Context, agent id.Participant, d directive.Directives) error {
	if g.hashes.known(agent, d.Hash) {
		return nil
	}
	err := g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		return turn.SaveDirectiveTx(ctx, tx, agent, d.Hash, d.Prompt)
	})
	if err == nil {
		g.hashes.put(agent, d.Hash)
	}
	return err
}

// addHistory adds the newest messages without those that wait for a turn of
// their own: each is answered in its turn. The draft is measured against
// everything that is in the room now, so that only what comes later makes it stale.
func (g *Gateway) addHistory(ctx context.Context, d *Delivery, ground view.TurnGround) (err error) {
	d.Recent = ground.Recent
	if limit := historyLimit(ground.Agent.Settings); limit > view.DefaultHistory {
		if d.Recent, err = view.TurnHistory(ctx, g.DB, d.Claim.ConversationID, d.Claim.AgentID, limit); err != nil {
			return err
		}
	} else {
		d.Recent = d.Recent[:min(limit, len(d.Recent))]
	}
	slices.Reverse(d.Recent)
	d.LatestSeen = ground.Newest
	if d.LatestSeen.IsZero() {
		d.LatestSeen = d.Message.ID
	}
	return nil
}

func historyLimit(settings json.RawMessage) int {
	var n float64
	if json.Unmarshal(keyOf(settings, "history_limit"), &n) != nil || n < 1 {
		return defaultHistory
	}
	return int(min(n, mostHistory))
}

func stringKey(object json.RawMessage, key string) string {
	var s string
	_ = json.Unmarshal(keyOf(object, key), &s) // anything else counts as absent
	return s
}

func boolKey(object json.RawMessage, key string) bool {
	var b bool
	_ = json.Unmarshal(keyOf(object, key), &b) // anything else counts as false
	return b
}

func keyOf(object json.RawMessage, key string) json.RawMessage {
	var m map[string]json.RawMessage
	_ = json.Unmarshal(object, &m) // a value that is no object has no keys
	if v, ok := m[key]; ok {
		return v
	}
	return json.RawMessage("null")
}
