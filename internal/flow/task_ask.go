package flow

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/ask"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/task"
	"github.com/agntchat/agntchat/internal/view"
)

// parkTx parks the run of a locked task on an open question (field.md 26): the one
// that is there, the one given, or one made of the summary or the last words of the run.
func (s *Tasks) parkTx(ctx context.Context, tx *pg.Tx, t *task.Task, actor access.Actor, to task.Status, summary string, q *ask.Ask) error {
	if t.Status.Parked() {
		open, err := ask.OpenOf(ctx, tx, t.ID)
		barrier := t.JoinMode != nil && t.JoinFiredAt == nil
		if err != nil || open != nil || t.Status == to || !barrier {
			return err // without a barrier its question was just closed, which wakes it
		}
		return task.MoveTx(ctx, tx, t, task.ParkAgain, task.Change{Actor: actor.ID, To: to, WakeNote: t.WakeNote})
	}
	row, err := s.withdrawTx(ctx, tx, *t, "")
	if err != nil {
		return err
	}
	open, err := ask.OpenOf(ctx, tx, t.ID)
	if err != nil {
		return err
	}
	c := task.Change{Actor: actor.ID, To: to}
	if summary = cutText(strings.TrimSpace(summary), task.MaxSummary); summary != "" {
		c.Summary = &summary
	}
	if row != nil {
		c.Attempt = new(max(row.Attempt-1, 0)) // a run that waits has not failed
	}
	if err := task.MoveTx(ctx, tx, t, task.Park, c); err != nil || open != nil {
		return err
	}
	if q == nil {
		q = &ask.Ask{Question: summary}
		if q.Question == "" {
			if q.Question, err = s.lastWords(ctx, tx, *t, row); err != nil {
				return err
			}
		}
		q.Question = cutText(q.Question, ask.MaxQuestion)
	}
	return s.askTx(ctx, tx, t, actor, *q)
}

// lastWords is what the agent wrote last in the room of its work, as a question.
func (s *Tasks) lastWords(ctx context.Context, tx *pg.Tx, t task.Task, row *task.Claim) (string, error) {
	recent, err := view.Timeline(ctx, tx, t.WorkConversationID, nil, 20)
	if err != nil {
		return "", err
	}
	for _, m := range recent {
		if t.Assigned(m.SenderID) && m.MessageType == nil && strings.TrimSpace(m.Content) != "" &&
			(row == nil || row.ClaimedAt == nil || m.InsertedAt.After(*row.ClaimedAt)) {
			return m.Content, nil
		}
	}
	return fmt.Sprintf("I cannot go on with %q alone. What should I do?", t.Title), nil
}

// askTx stores a question of a parked task and shows it: in the room of the work, and
// on the card where the task was asked for.
func (s *Tasks) askTx(ctx context.Context, tx *pg.Tx, t *task.Task, actor access.Actor, q ask.Ask) error {
	q.ID, q.TaskID, q.AgentID, q.ConversationID = id.New[id.Ask](), t.ID, actor.ID, t.WorkConversationID
	if len(q.Asked) == 0 {
		q.Asked = []id.Participant{t.RequesterID}
	}
	if q.ExpiresAt.IsZero() {
		q.ExpiresAt = time.Now().Add(ask.DefaultLife)
	}
	if err := q.Check(time.Now()); err != nil {
		return err
	}
	if t.HasWorkRoom() {
		for _, p := range q.Asked {
			if err := s.Chat.seatTx(ctx, tx, t.WorkConversationID, p); err != nil {
				return err
			}
		}
	}
	m, err := s.sayTx(ctx, tx, *t, t.WorkConversationID, askText(q), map[string]any{metaReport: t.ID, "ask_id": q.ID}, q.Asked...)
	if err != nil {
		return err
	}
	q.MessageID = m.ID
	if err := ask.InsertTx(ctx, tx, q); err != nil {
		return err
	}
	if err := task.NoteTx(ctx, tx, task.Note{TaskID: t.ID, Version: t.Version, Kind: "asked", Actor: actor.ID, Text: cutText(q.Question, 500)}); err != nil {
		return err
	}
	if !t.HasWorkRoom() {
		return nil
	}
	_, err = s.statusTx(ctx, tx, *t, "task_in_progress", map[string]any{"summary": q.Question, "ask_id": q.ID}, q.Asked...)
	return err
}

// askText is the question as a message.
func askText(q ask.Ask) string {
	var b strings.Builder
	b.WriteString(q.Question)
	for _, o := range q.Options {
		b.WriteString("\n- " + o)
	}
	if q.DefaultValue != nil {
		b.WriteString("\n\nWithout an answer I go on with: " + *q.DefaultValue)
	}
	return b.String()
}

// Ask is the question of a running task to people; its run is parked until the answer.
func (s *Tasks) Ask(ctx context.Context, actor access.Actor, tid id.Task, q ask.Ask) error {
	return s.change(ctx, tid, func(ctx context.Context, tx *pg.Tx, t *task.Task) error {
		if err := s.worksTx(ctx, tx, actor, *t); err != nil {
			return err
		}
		open, err := ask.OpenOf(ctx, tx, t.ID)
		if err != nil {
			return err
		}
		if open != nil {
			return fault.New(fault.Conflict, "open_ask", "Your last question is not answered yet. Ask one question at a time.")
		}
		if len(q.Asked) > 0 {
			if q.Asked, err = s.askable(ctx, tx, *t, q.Asked); err != nil {
				return err
			}
		}
		if t.Status == task.Pending { // its accept is on the way
			return fault.New(fault.Conflict, "not_running", "This task does not run.")
		}
		if t.Status.Parked() {
			return s.askTx(ctx, tx, t, actor, q)
		}
		return s.parkTx(ctx, tx, t, actor, task.Waiting, "", &q)
	})
}

// askable keeps questions with people who already have to do with the task: members
// of its rooms.
func (s *Tasks) askable(ctx context.Context, tx *pg.Tx, t task.Task, who []id.Participant) ([]id.Participant, error) {
	var members []view.Member
	for _, c := range []id.Conversation{t.ConversationID, t.WorkConversationID} {
		some, err := view.MembersOf(ctx, tx, c)
		if err != nil {
			return nil, err
		}
		members = append(members, some...)
	}
	for _, p := range who {
		if !slices.ContainsFunc(members, func(m view.Member) bool { return m.ParticipantID == p && !m.IsAgent() }) {
			return nil, fault.New(fault.Invalid, "invalid", "Only people in the rooms of the task can be asked.").With("asked", "unknown", p.String())
		}
	}
	return who, nil
}

// Answer is a person's answer to a question of a task. It wakes exactly that run,
// once: a question that is closed is ask.ErrClosed.
func (s *Tasks) Answer(ctx context.Context, actor access.Actor, tid id.Task, aid id.Ask, answer string) (TaskView, error) {
	if err := access.RequirePerson(actor); err != nil {
		return TaskView{}, err
	}
	q, err := ask.Get(ctx, s.DB, aid)
	if err != nil {
		return TaskView{}, err
	}
	if q.TaskID != tid {
		return TaskView{}, fault.ErrNotFound
	}
	if _, err := s.may(ctx, s.DB, actor, tid, access.ReadTask); err != nil && !slices.Contains(q.Asked, actor.ID) {
		return TaskView{}, err
	}
	if !slices.Contains(q.Asked, actor.ID) {
		return TaskView{}, fault.New(fault.Forbidden, "not_asked", "This question was put to somebody else.")
	}
	if !q.ApprovalID.IsZero() {
		return TaskView{}, ask.ErrApproval
	}
	if err := q.Fits(answer); err != nil {
		return TaskView{}, err
	}
	answer = strings.TrimSpace(answer)
	err = s.change(ctx, tid, func(ctx context.Context, tx *pg.Tx, t *task.Task) error {
		closed, err := ask.CloseTx(ctx, tx, aid, ask.Answered, &answer, actor.ID)
		if err != nil {
			return err
		}
		if !closed {
			return ask.ErrClosed
		}
		if err := s.markAnsweredTx(ctx, tx, q, answer); err != nil {
			return err
		}
		return s.wakeAnsweredTx(ctx, tx, t)
	})
	if err != nil {
		return TaskView{}, err
	}
	return s.view(ctx, tid)
}

// markAnsweredTx shows on the message of the question that it is answered.
func (s *Tasks) markAnsweredTx(ctx context.Context, tx *pg.Tx, q ask.Ask, answer string) error {
	if q.MessageID.IsZero() {
		return nil
	}
	return s.Chat.PatchMetadataTx(ctx, tx, q.ConversationID, q.MessageID, map[string]any{"ask_answer": cutText(answer, 500)})
}

// AnsweredByTx takes a person's message as the answer to the question that waits for
// them in the room: in a room of the work any message, elsewhere one that quotes the
// question. It says whether it was one; the run is woken after the commit. The room
// is locked.
func (s *Tasks) AnsweredByTx(ctx context.Context, tx *pg.Tx, room id.Conversation, work bool, who id.Participant, quoted *id.Message, text string) (bool, error) {
	open, err := ask.OpenIn(ctx, tx, room, who)
	if err != nil {
		return false, err
	}
	for _, q := range open {
		quotes := quoted != nil && *quoted == q.MessageID
		if !quotes && (!work || len(open) > 1 || quoted != nil) {
			continue
		}
		if q.Fits(text) != nil {
			return false, nil //nolint:nilerr // it answers something else
		}
		text = strings.TrimSpace(text)
		closed, err := ask.CloseTx(ctx, tx, q.ID, ask.Answered, &text, who)
		if err != nil || !closed {
			return false, err
		}
		if err := s.markAnsweredTx(ctx, tx, q, text); err != nil {
			return false, err
		}
		tx.AfterCommit(func() { s.later(func(ctx context.Context) { s.wakeParked(ctx, q.TaskID) }) })
		return true, nil
	}
	return false, nil
}

// wakeParked wakes a task whose question is closed.
func (s *Tasks) wakeParked(ctx context.Context, tid id.Task) {
	err := s.change(ctx, tid, s.wakeAnsweredTx)
	s.complain(ctx, "wake task failed", err, tid)
}

// wakeAnsweredTx offers a locked, parked task again with the answer to its last
// question. It does nothing for a task that is not parked, or whose question is open.
func (s *Tasks) wakeAnsweredTx(ctx context.Context, tx *pg.Tx, t *task.Task) error {
	if !t.Status.Parked() {
		return nil
	}
	list, err := ask.OfTask(ctx, tx, t.ID)
	if err != nil || len(list) == 0 {
		return err
	}
	last := list[len(list)-1]
	if !last.ApprovalID.IsZero() {
		return s.alignTx(ctx, tx, t, &last)
	}
	var note string
	switch last.Status {
	case ask.Open, ask.Withdrawn:
		return nil
	case ask.Answered:
		people, err := view.TaskPeople(ctx, tx, []id.Participant{last.AnsweredBy})
		if err != nil {
			return err
		}
		note = fmt.Sprintf("You asked: %q\n%s answered: %s", last.Question, people[last.AnsweredBy].DisplayName, *last.Answer)
	case ask.Expired:
		if last.DefaultValue == nil {
			return s.failTx(ctx, tx, t, ending{code: task.CodeAskExpired, message: "Nobody answered in time: " + cutText(last.Question, 500)})
		}
		note = fmt.Sprintf("You asked: %q\nNobody answered in time. Go on with the default: %s", last.Question, *last.DefaultValue)
	}
	if err := task.NoteTx(ctx, tx, task.Note{TaskID: t.ID, Version: t.Version, Kind: "answered", Actor: last.AnsweredBy, Text: cutText(note, 1000)}); err != nil {
		return err
	}
	if t.WakeNote != nil { // results that came while it waited
		note = *t.WakeNote + "\n" + note
	}
	return s.wakeTx(ctx, tx, t, task.ReasonAnswered, last.AnsweredBy, note)
}

// wakeTx offers a parked task again with a note for its next run. One that a person
// does goes on at once.
func (s *Tasks) wakeTx(ctx context.Context, tx *pg.Tx, t *task.Task, why task.Reason, actor id.Participant, note string) error {
	event := task.Wake
	if _, agent, err := s.runner(ctx, tx, *t); err != nil {
		return err
	} else if !agent {
		event = task.Resume
	}
	if err := task.MoveTx(ctx, tx, t, event, task.Change{Actor: actor, WakeNote: &note}); err != nil {
		return err
	}
	return s.offerTx(ctx, tx, *t, why, id.Executor{})
}

// expireAsks ends questions whose time is over: the default goes on, or the task fails.
func (s *Tasks) expireAsks(ctx context.Context) error {
	due, err := ask.Due(ctx, s.DB)
	if err != nil {
		return err
	}
	for _, q := range due {
		err := s.change(ctx, q.TaskID, func(ctx context.Context, tx *pg.Tx, t *task.Task) error {
			closed, err := ask.CloseTx(ctx, tx, q.ID, ask.Expired, nil, id.Participant{})
			if err != nil || !closed {
				return err
			}
			return s.wakeAnsweredTx(ctx, tx, t)
		})
		s.complain(ctx, "expire question failed", err, q.TaskID)
	}
	return nil
}
