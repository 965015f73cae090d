package flow

import (
	"context"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/task"
	"github.com/agntchat/agntchat/internal/view"
)

// Clear ends every task that an agent has, visibly, as cleared by its owner. At most
// clearMost in one call.
func (s *Tasks) Clear(ctx context.Context, actor access.Actor, aid id.Participant) (Repair, error) {
	if _, err := s.Gateway.managed(ctx, actor, aid); err != nil {
		return Repair{}, err
	}
	return s.endAll(ctx, aid, task.CodeCleared, "The agent's owner cleared its tasks.")
}

// retire is for an agent that was deleted or switched off: nobody will do what it
// still had, and people see that.
func (s *Tasks) retire(ctx context.Context, aid id.Participant) error {
	for {
		out, err := s.endAll(ctx, aid, task.CodeAgentOff, "The agent was switched off.")
		if err != nil || out.Closed == 0 {
			return err
		}
	}
}

func (s *Tasks) endAll(ctx context.Context, aid id.Participant, code, message string) (Repair, error) {
	var out Repair
	list, err := task.OpenOf(ctx, s.DB, aid, clearMost)
	if err != nil {
		return out, err
	}
	for _, tid := range list {
		ended, held := false, false
		err := s.change(ctx, tid, func(ctx context.Context, tx *pg.Tx, t *task.Task) error {
			ended, held = false, false
			if t.Status.Ended() || t.FanOut {
				return nil
			}
			row, err := task.LockRowTx(ctx, tx, tid)
			if err != nil {
				return err
			}
			held = row != nil && row.Held()
			ended = true
			return s.failTx(ctx, tx, t, ending{code: code, message: message, stop: code})
		})
		if err != nil && fault.KindOf(err) != fault.NotFound {
			return out, err
		}
		if ended {
			out.Closed++
		}
		if held {
			out.Released++
		}
	}
	return out, nil
}

// Unstick gives every running task of an agent back and tells its bridges to stop.
func (s *Tasks) Unstick(ctx context.Context, actor access.Actor, aid id.Participant) (int, error) {
	if _, err := s.Gateway.managed(ctx, actor, aid); err != nil {
		return 0, err
	}
	held, err := view.TaskClaims(ctx, s.DB, aid)
	if err != nil {
		return 0, err
	}
	for _, c := range held {
		row, err := task.RowOf(ctx, s.DB, c.TaskID)
		if err != nil {
			return 0, err
		}
		if row == nil || !row.Held() {
			continue
		}
		if err := s.takeBack(ctx, *row, lapse{stop: "unstuck_by_owner", actor: actor.ID}); err != nil {
			return 0, err
		}
	}
	return len(held), nil
}
