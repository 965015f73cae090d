package flow

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/speak"
	"github.com/agntchat/agntchat/internal/view"
)

// maxAdded bounds how many one message may bring into a room.
const maxAdded = 10

// resolved is whom a message mentions.
type resolved struct {
	members []speak.Candidate // in the room, those just added too
	refused []speak.Candidate // known to the writer, who may not add them
}

func (r resolved) ids() []id.Participant {
	out := make([]id.Participant, len(r.members))
	for i, c := range r.members {
		out[i] = c.ID
	}
	return out
}

// mentionEntry is one entry of metadata.mentions and metadata.unresolved_mentions.
func mentionEntry(c speak.Candidate) map[string]any {
	return map[string]any{"displayName": c.Name, "participantId": c.ID.String()}
}

// resolve finds whom the text mentions (decision 10), brings in non-members where
// the writer may add, and writes the server's keys of metadata.
func (c *Chat) resolve(ctx context.Context, tx *pg.Tx, actor access.Actor, room *locked, d *draft) (resolved, error) {
	var r resolved
	if actor.Kind == access.Job || d.Quiet || speak.Hidden(d.kind) || d.ContentType != "text" || !speak.Mentionable(d.Content) {
		return r, nil
	}
	found, err := c.mentioned(ctx, tx, actor, room, *d)
	if err != nil {
		return r, err
	}
	may := mayAdd(actor, room)
	added := 0
	for _, f := range found {
		switch {
		case f.Member:
			r.members = append(r.members, f)
		case may && added < maxAdded:
			if _, err := c.addTx(ctx, tx, room, f.ID, chat.Member); err != nil {
				return r, err
			}
			added++
			r.members = append(r.members, f)
		default:
			r.refused = append(r.refused, f)
		}
	}
	if err := note(d, "mentions", r.members); err != nil {
		return r, err
	}
	return r, note(d, "unresolved_mentions", r.refused)
}

func note(d *draft, key string, who []speak.Candidate) error {
	if len(who) == 0 {
		return nil
	}
	list := make([]map[string]any, len(who))
	for i, c := range who {
		list[i] = mentionEntry(c)
	}
	b, err := json.Marshal(list)
	d.meta[key] = b
	return err
}

func (c *Chat) mentioned(ctx context.Context, tx *pg.Tx, actor access.Actor, room *locked, d draft) ([]speak.Candidate, error) {
	members, err := view.MembersOf(ctx, tx, room.ID)
	if err != nil {
		return nil, err
	}
	in := make(map[id.Participant]bool, len(members))
	among := make([]speak.Candidate, 0, len(members))
	for _, m := range members {
		if m.Status == "deleted" {
			continue
		}
		in[m.ParticipantID] = true
		among = append(among, speak.Candidate{ID: m.ParticipantID, Name: m.DisplayName, Member: true, Hint: d.hints[m.ParticipantID]})
	}
	contacts, err := view.Contacts(ctx, tx, actor.ID, actor.OwnerID, room.OrganizationID)
	if err != nil {
		return nil, err
	}
	for _, p := range contacts {
		if !in[p.ID] {
			among = append(among, speak.Candidate{ID: p.ID, Name: p.DisplayName, Hint: d.hints[p.ID]})
		}
	}
	return speak.Mentions(d.Content, among), nil
}

// mayAdd: administrators of a group, and agents where the room says so.
func mayAdd(actor access.Actor, room *locked) bool {
	if room.Type != chat.Group && room.Type != chat.Channel {
		return false
	}
	if actor.IsAgent() {
		return room.AgentsAddWithoutAsking
	}
	return access.AdminRoom(actor, facts(room.Room, room.role)) == nil
}

// announceNotice tells the writer alone that somebody was not brought in.
func (c *Chat) announceNotice(tx *pg.Tx, room *locked, m view.Message, r resolved) {
	if len(r.refused) == 0 || m.SenderID.IsZero() {
		return
	}
	names := make([]string, len(r.refused))
	for i, x := range r.refused {
		names[i] = x.Name
	}
	n := Notice{Code: NoticeMayNotAdd, Params: map[string]any{"names": strings.Join(names, ", ")}}
	text, err := noticeText(n)
	if err != nil {
		return // the code is ours
	}
	tx.Publish(lane(room.ID), WriterNotice{
		inRoom: inRoom{room.ID}, Participant: m.SenderID, MessageID: m.ID, Code: n.Code, Params: n.Params, Text: text,
	})
}

var _ event.Event = WriterNotice{}

// speakFacts is what speak decides about.
func speakFacts(actor access.Actor, room *locked, d draft, r resolved) speak.Facts {
	f := speak.Facts{
		Direct: room.Type == chat.Direct, Huddle: room.IsHuddle(), Opener: room.CreatedBy, Report: d.Report, Type: d.kind, Quiet: d.quiet, Mentioned: r.ids(), Streak: room.AgentStreak, Noticed: room.StreakNotice,
	}
	switch actor.Kind {
	case access.Person:
		f.Writer = speak.Person
	case access.Agent:
		f.Writer = speak.Agent
	default:
		f.Writer = speak.System
	}
	for _, s := range room.seats { // people are never woken
		if s.Kind == view.SeatAgent || s.Kind == view.SeatExternal || s.Kind == view.SeatAsleep {
			f.Members = append(f.Members, speak.Member{ID: s.ID, Agent: true, Awake: s.Kind != view.SeatAsleep, Writer: s.ID == actor.ID})
		}
	}
	return f
}
