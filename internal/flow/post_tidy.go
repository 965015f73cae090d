package flow

import (
	"context"
	"strings"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/memory"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/tool"
	"github.com/agntchat/agntchat/internal/turn"
	"github.com/agntchat/agntchat/internal/view"
)

// Learned is where an agent worked when it wanted something remembered. Message is
// what its turn answers; Task and Person are known where a task ends.
type Learned struct {
	Room    id.Conversation
	Message id.Message
	Task    id.Task
	Person  id.Participant
}

// tidy takes out of an agent's text what is meant for the server (bridge contract 3.3):
// what is to be remembered, and the marks of bubbles, which become paragraphs.
func (c *Chat) tidy(ctx context.Context, tx *pg.Tx, actor access.Actor, room *locked, d *draft, claim *turn.Claim) (err error) {
	if !actor.IsAgent() || d.plain || d.Quiet || d.kind != "" || d.ContentType != "text" || d.ContentStructured != nil || d.failed || !strings.Contains(d.Content, "</") {
		return nil
	}
	at := Learned{Room: room.ID}
	if claim != nil {
		at.Message = claim.MessageID
	}
	d.Content, err = c.keepTx(ctx, tx, actor, at, d.Content)
	return err
}

// keepTx keeps what a text wants remembered and gives the text without it. A tag that
// cannot be kept stays where it is. What has nothing else to say says what it keeps.
func (c *Chat) keepTx(ctx context.Context, tx *pg.Tx, agent access.Actor, at Learned, text string) (string, error) {
	if tags := memory.Tags(text); len(tags) > 0 && c.Remember != nil {
		kept, err := c.Remember(ctx, tx, agent, at, tags)
		if err != nil {
			return "", err
		}
		if text = memory.Without(text, kept); text == "" {
			text = saying(kept)
		}
	}
	if tidy := memory.Bubbles(text); tidy != "" {
		text = tidy
	}
	return text, nil
}

func saying(kept []memory.Tagged) string {
	said := make([]string, len(kept))
	for n, t := range kept {
		said[n] = t.Write.Content
	}
	return strings.Join(said, "\n")
}

// RememberTx implements Chat.Remember. What is to be shared with the agents of the
// owner is only shared in a turn of the owner; in others the agent keeps it itself.
func (m *Memories) RememberTx(ctx context.Context, tx *pg.Tx, agent access.Actor, at Learned, tags []memory.Tagged) (kept []memory.Tagged, err error) {
	c, err := worksFor(ctx, tx, agent, at)
	if err != nil {
		return nil, err
	}
	for _, t := range tags {
		w := t.Write
		if err := m.learned(ctx, tx, c, &w); err != nil {
			return nil, err
		}
		if t.Family && c.Person.ID == agent.OwnerID {
			w.WriterID = agent.ID
			_, err = m.saveFamilyTx(ctx, tx, agent, id.Organization{}, w, true)
		} else {
			_, err = m.saveTx(ctx, tx, c, w)
		}
		if fault.KindOf(err) == fault.Conflict && err != nil {
			continue // no room for it, or the key is somebody else's
		}
		if err != nil {
			return nil, err
		}
		kept = append(kept, t)
	}
	return kept, nil
}

// worksFor finds on whose behalf an agent speaks, by our own rows: the message that it
// answers, or the task that it works at. Who speaks outside of both speaks for its owner
// where nobody else listens, and elsewhere for nobody.
func worksFor(ctx context.Context, q pg.Querier, agent access.Actor, at Learned) (ToolCaller, error) {
	c := ToolCaller{Agent: agent, Room: at.Room}
	if !at.Message.IsZero() {
		return c, answering(ctx, q, &c, at.Message, nil)
	}
	if at.Task.IsZero() {
		work, ok, err := view.WorkIn(ctx, q, at.Room, agent.ID)
		if err != nil {
			return c, err
		}
		if !ok {
			alone, err := view.OnlyFamily(ctx, q, at.Room, agent.OwnerID)
			if alone {
				c.Person = personFor(agent, agent.OwnerID)
			}
			if err == nil {
				c.Marked, err = tool.MarkedLately(ctx, q, agent.ID, at.Room)
			}
			return c, err
		}
		at.Task, at.Person = work.TaskID, work.RequesterID
	}
	c.Task, c.Person = at.Task, personFor(agent, at.Person)
	var err error
	c.Marked, err = view.TaskTainted(ctx, q, agent.OwnerID, c.Task)
	return c, err
}
