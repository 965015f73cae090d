package flow

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/task"
	"github.com/agntchat/agntchat/internal/view"
)

// cardTx posts the card of a task where it was asked for (desktop contract 5.3a).
// Clients make one card of all rows with the same task id. Sub-tasks that several
// assignees made have none: the one of the whole stands for them.
func (s *Tasks) cardTx(ctx context.Context, tx *pg.Tx, actor access.Actor, room *locked, t *task.Task) error {
	kind := "task_delegated"
	if actor.IsAgent() && len(t.AssignedTo) == 1 && t.AssignedTo[0] == actor.ID {
		kind = "task_self_assigned"
	}
	m, err := s.statusTx(ctx, tx, *t, kind, nil)
	if err != nil {
		return err
	}
	if err := task.SetCardTx(ctx, tx, t, m.ID); err != nil || !actor.IsPerson() {
		return err
	}
	// What somebody asks for themselves is no news to them, whoever's voice the card has.
	read, err := chat.ReadNextTx(ctx, tx, m.ConversationID, actor.ID, m.Seq)
	if read {
		tx.Publish(lane(m.ConversationID), ConversationRead{inRoom: inRoom{m.ConversationID}, Participant: actor.ID})
	}
	return err
}

// callsOf is why people are told of a row of a task: it ended, for who asked for it; it
// was given to them; or it asks them something, which is told like a mention.
// Who asks for it themselves is not told that they did.
func callsOf(t task.Task, asked []id.Participant) map[id.Participant]string {
	calls := make(map[id.Participant]string, 4)
	if t.CardMessageID.IsZero() {
		for _, p := range t.AssignedTo {
			calls[p] = categoryAssigned
		}
		if t.CreatedBy == t.RequesterID {
			calls[t.CreatedBy] = ""
		}
	}
	if t.Status.Ended() {
		calls[t.RequesterID] = categoryEnded
	}
	for _, p := range asked {
		calls[p] = categoryMentions
	}
	return calls
}

// statusTx posts a lifecycle row of a task into the room where it was asked for.
// Nobody is woken by it; asked are those whose answer it waits for.
func (s *Tasks) statusTx(ctx context.Context, tx *pg.Tx, t task.Task, kind string, extra map[string]any, asked ...id.Participant) (view.Message, error) {
	people, err := view.TaskPeople(ctx, tx, append([]id.Participant{t.CreatedBy}, t.AssignedTo...))
	if err != nil {
		return view.Message{}, err
	}
	body := map[string]any{"type": kind, "lifecycle_type": kind, "status": string(t.Status), "task_id": t.ID, "title": t.Title}
	if t.HasWorkRoom() {
		body["work_conversation_id"] = t.WorkConversationID
	}
	if len(t.AssignedTo) > 0 {
		p := people[t.AssignedTo[0]]
		body["assignee_name"], body["agent_name"] = p.DisplayName, p.DisplayName
		if p.AvatarURL != nil {
			body["assignee_avatar_url"], body["agent_avatar_url"] = *p.AvatarURL, *p.AvatarURL
		}
	}
	if t.StartedAt != nil && t.EndedAt != nil {
		body["duration_seconds"] = int(t.EndedAt.Sub(*t.StartedAt).Seconds())
	}
	marks := map[string]any{"task_id": t.ID, "task_status": t.Status, "task_title": t.Title, "lifecycle_type": kind}
	if !t.CardMessageID.IsZero() {
		marks[metaReport] = t.ID
	}
	for k, v := range extra {
		body[k] = v
	}
	content, err := encode(body)
	if err != nil {
		return view.Message{}, err
	}
	meta, err := json.Marshal(marks)
	if err != nil {
		return view.Message{}, err
	}
	author, err := s.voiceTx(ctx, tx, t, t.ConversationID, people)
	if err != nil {
		return view.Message{}, err
	}
	p, err := s.Chat.PostTx(ctx, tx, author, Post{
		ConversationID: t.ConversationID, Content: string(content), ContentType: "status_update", MessageType: new("StatusUpdate"), Metadata: meta,
		Calls: callsOf(t, asked),
	})
	return p.Message, err
}

// voiceTx is who speaks for a task in a room: the agent that does it, else the one
// that asked for it, if it may write there; else the server.
func (s *Tasks) voiceTx(ctx context.Context, tx *pg.Tx, t task.Task, conv id.Conversation, people map[id.Participant]view.TaskPerson) (access.Actor, error) {
	for _, p := range append(slices.Clone(t.AssignedTo), t.CreatedBy) {
		one := people[p]
		if one.Kind != chat.Agent {
			continue
		}
		role, err := chat.Role(ctx, tx, conv, p)
		if err != nil {
			return access.Actor{}, err
		}
		if role == chat.Member || role == chat.Admin {
			return access.Actor{Kind: access.Agent, ID: p, OwnerID: one.OwnerID, OrganizationID: t.OrganizationID, DisplayName: one.DisplayName}, nil
		}
	}
	return access.System(), nil
}

// metaReport marks what a task tells beside its card: a result, a question, a
// failure. It names the task, and is no answer of a turn that runs in the room. A
// result is an ordinary message: no client may take it for a row of the card.
const metaReport = "task_report"

// sayTx posts an ordinary text of a task's run. It wakes whom it mentions, like any
// other. A room that is gone or closed to the agent hears nothing: the task has it.
func (s *Tasks) sayTx(ctx context.Context, tx *pg.Tx, t task.Task, conv id.Conversation, text string, meta map[string]any, asked ...id.Participant) (view.Message, error) {
	people, err := view.TaskPeople(ctx, tx, append([]id.Participant{t.CreatedBy}, t.AssignedTo...))
	if err != nil {
		return view.Message{}, err
	}
	author, err := s.voiceTx(ctx, tx, t, conv, people)
	if err != nil {
		return view.Message{}, err
	}
	raw, err := json.Marshal(meta)
	if err != nil {
		return view.Message{}, err
	}
	p, err := s.Chat.PostTx(ctx, tx, author, Post{ConversationID: conv, Content: text, ContentType: "text", Metadata: raw, Calls: callsOf(t, asked), marked: true})
	if k := fault.KindOf(err); err != nil && (k == fault.NotFound || k == fault.Forbidden) {
		return view.Message{}, nil
	}
	return p.Message, err
}
