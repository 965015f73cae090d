package session

import (
	"context"
	"strings"

	"github.com/agntchat/agntchat/internal/bridge/backend"
)

// taskLane names what a task is run in: a place in the order of work, and a session of
// the CLI, of its own. So people can talk with the agent in the room meanwhile.
func taskLane(taskID string) string { return "task:" + taskID }

// runOf is the run of a task that goes on now, and what it does; nil when there is none.
func (a *Agent) runOf(taskID string) (*work, string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.work {
		switch {
		case w.delivering || w.ctx.Err() != nil:
		case w.kind == kindTask && w.task.TaskID == taskID, w.kind == kindApproval && w.approval.TaskID == taskID:
			return w, w.step
		}
	}
	return nil, ""
}

// talkBeside prepares a turn about a message that arrived in the room of a task at which
// this bridge works: the run hears the message where its backend can, and who answers
// it knows that the work goes on elsewhere.
func (a *Agent) talkBeside(w *work, t *backend.Turn) {
	if w.item.ActiveTaskID == "" {
		return
	}
	run, step := a.runOf(w.item.ActiveTaskID)
	if run == nil {
		return
	}
	words := "You are at work on the task of this room at this moment, in another session of yours"
	if step != "" {
		words += " (" + step + ")"
	}
	words += ". Answer here what people say; do not do the work of the task here."
	b, err := a.backend(w.ctx, a.currentProfile())
	if l, ok := b.(backend.Listener); err == nil && ok {
		words += " That session is told their message too."
		var said []string
		for _, m := range t.Input {
			said = append(said, strings.TrimSpace(m.Speaker+" "+m.Text))
		}
		text := "(Said in the room of this task while you work. Another session of yours answers it. Take it into account in the work, and do not answer it here.)\n\n" +
			strings.Join(said, "\n\n")
		a.wg.Go(func() {
			ctx, cancel := context.WithCancel(run.ctx)
			defer cancel()
			heard := l.Tell(ctx, taskLane(w.item.ActiveTaskID), text)
			a.log.Info("run of a task told of a message", "task_id", w.item.ActiveTaskID, "message_id", w.item.MessageID, "heard", heard)
		})
	}
	t.Volatile = strings.TrimSpace(t.Volatile + "\n\n" + words)
}

// endSession has the backend forget what it keeps for a task that is done.
func (a *Agent) endSession(taskID string) {
	b, err := a.backend(a.life, a.currentProfile())
	if e, ok := b.(backend.Ender); err == nil && ok {
		e.End(taskLane(taskID))
	}
}
