package flow

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/speak"
	"github.com/agntchat/agntchat/internal/turn"
	"github.com/agntchat/agntchat/internal/view"
)

// maxAsides bounds the huddles that one message may speak in.
const maxAsides = 5

// aside is one block of an agent's text that goes to a huddle.
type aside struct {
	huddle id.Conversation
	body   string
}

// takeAside takes the <dm> blocks out of an agent's text (row H1): it opens or finds
// the huddle of each, and leaves in the draft what the room reads, with links to the
// huddles in its metadata. With nothing left to read the draft becomes the hidden end
// of turn that existing bridges post then (bridge contract 5.6). A block that cannot
// be routed, because somebody is not known or may not be called, stays readable as a
// quotation: nothing is lost. The room is locked, and the agent may write there.
func (c *Chat) takeAside(ctx context.Context, tx *pg.Tx, actor access.Actor, room *locked, d *draft, claim *turn.Claim) ([]aside, error) {
	if !actor.IsAgent() || d.plain || d.Quiet || d.kind != "" || d.ContentType != "text" {
		return nil, nil
	}
	rest, found := speak.Asides(d.Content)
	if len(found) == 0 {
		return nil, nil
	}
	names, err := c.asideNames(ctx, tx, actor, room)
	if err != nil {
		return nil, err
	}
	d.id = id.New[id.Message]()
	anchor := d.id
	if rest == "" && claim != nil {
		anchor = claim.MessageID
	}
	var out []aside
	var links, lost []map[string]any
	parts := []string{rest}
	for n, a := range found {
		peers, unknown := names.of(a.Targets)
		reason := "unknown"
		if len(unknown) == 0 {
			if unknown, err = c.beyondReach(ctx, tx, actor, room, claim, peers, a.Targets); err != nil {
				return nil, err
			}
		}
		if len(unknown) == 0 {
			huddle, why, err := c.openAside(ctx, tx, actor, room, NewHuddle{Source: room.ID, Anchor: anchor, Peers: peers, Topic: a.Topic, Goal: a.Goal}, n)
			if err != nil {
				return nil, err
			}
			if huddle == room.ID { // the two are alone already: it is simply said
				parts = append(parts, a.Body)
				continue
			}
			if why == "" {
				out = append(out, aside{huddle, a.Body})
				links = append(links, map[string]any{"huddle_id": huddle, "names": a.Targets, "topic": a.Topic})
				continue
			}
			reason = why
		}
		parts = append(parts, quoted(a))
		lost = append(lost, map[string]any{"names": a.Targets, "unknown": unknown, "reason": reason})
	}
	d.Content = strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n\n")
	for key, list := range map[string][]map[string]any{"huddles": links, "unrouted_asides": lost} {
		if len(list) > 0 {
			raw, err := encode(list)
			if err != nil {
				return nil, err
			}
			d.meta[key] = raw
		}
	}
	if d.Content == "" {
		d.redirect()
	}
	return out, nil
}

// beyondReach are the targets who do not sit in the room and whom the person for whom
// the agent speaks could not write to themselves: a call may do
// what the agent and that person both may. To the person they are not known.
func (c *Chat) beyondReach(ctx context.Context, tx *pg.Tx, actor access.Actor, room *locked, claim *turn.Claim, peers []id.Participant, called []string) (out []string, err error) {
	var person *access.Actor
	for n, p := range peers {
		if slices.ContainsFunc(room.seats, func(s view.Seat) bool { return s.ID == p }) {
			continue
		}
		if person == nil { // looked for only where somebody from outside is called
			at := Learned{Room: room.ID}
			if claim != nil {
				at.Message = claim.MessageID
			}
			who, err := worksFor(ctx, tx, actor, at)
			if err != nil {
				return nil, err
			}
			person = &who.Person
		}
		if err := mayReach(ctx, tx, *person, p); fault.KindOf(err) == fault.NotFound && err != nil {
			out = append(out, called[n])
		} else if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// openAside is openHuddleTx; why says in a word why the huddle may not be.
func (c *Chat) openAside(ctx context.Context, tx *pg.Tx, actor access.Actor, room *locked, n NewHuddle, nth int) (huddle id.Conversation, why string, err error) {
	if nth >= maxAsides {
		return huddle, "too_many", nil
	}
	huddle, err = c.openHuddleTx(ctx, tx, actor, room, n, false)
	if err == nil {
		return huddle, "", nil
	}
	if f := fault.From(err); f.Kind != fault.Internal && f.Kind != fault.Unavailable {
		return huddle, f.Code, nil
	}
	return huddle, "", err
}

// redirect makes the draft the hidden row that says that all went to huddles.
func (d *draft) redirect() {
	d.kind, d.MessageType, d.ContentType = "EndTurn", new("EndTurn"), "structured"
	d.Content = `{"reason":"huddle_redirect","message":""}`
	for _, k := range []string{"huddle_redirect_ack_hidden", "thread_redirect_ack_hidden"} {
		d.meta[k] = json.RawMessage("true")
	}
}

// quoted is a block that went nowhere, as the room reads it.
func quoted(a speak.Aside) string {
	text := "→ " + strings.Join(a.Targets, ", ") + "\n\n" + a.Body
	return "> " + strings.ReplaceAll(text, "\n", "\n> ")
}

// sayAside posts what goes to huddles, as the agent and as part of its turn.
func (c *Chat) sayAside(ctx context.Context, tx *pg.Tx, actor access.Actor, list []aside, claim *turn.Claim) error {
	var group *string
	if claim != nil {
		group = new(claim.QueueID.String())
	}
	for _, a := range list {
		if _, err := c.PostTx(ctx, tx, actor, Post{ConversationID: a.huddle, Content: a.body, TurnGroupID: group, plain: true}); err != nil {
			return err
		}
	}
	return nil
}

// names finds participants by what they are called.
type names map[string]id.Participant

// asideNames are the members of the room, and the other agents of the agent's owner
// (bridge contract 5.7). A member goes before an agent of the same name; of two
// members, who came first.
func (c *Chat) asideNames(ctx context.Context, tx *pg.Tx, actor access.Actor, room *locked) (names, error) {
	out := names{}
	add := func(name string, p id.Participant) {
		if key := nameKey(name); out[key].IsZero() && p != actor.ID {
			out[key] = p
		}
	}
	members, err := view.MembersOf(ctx, tx, room.ID)
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		if m.Status != "deleted" {
			add(m.DisplayName, m.ParticipantID)
		}
	}
	family, err := view.FamilyOf(ctx, tx, actor.ID)
	if err != nil {
		return nil, err
	}
	for _, k := range family {
		add(k.Name, k.ID)
	}
	return out, nil
}

func nameKey(name string) string { return strings.ToLower(strings.Join(strings.Fields(name), " ")) }

func (n names) of(targets []string) (found []id.Participant, unknown []string) {
	for _, t := range targets {
		if p, ok := n[nameKey(t)]; ok {
			found = append(found, p)
		} else {
			unknown = append(unknown, t)
		}
	}
	return found, unknown
}
