package flow

import (
	"context"
	"strings"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/executor"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/turn"
)

// Beat is a heartbeat of an executor.
type Beat struct {
	executor.Beat
	Activity string      // idle | processing_message:<id> | processing_task:<id>
	Claims   []NamedTurn // ours: every claim it holds
}

// NamedTurn is a claim as the bridge knows it.
type NamedTurn struct {
	QueueID    string
	Generation int64
}

// BeatAnswer tells commands that no socket took, and claims that are lost.
type BeatAnswer struct {
	Commands []Command
	Lost     []string
}

// Heartbeat notes that an executor lives and extends what it names. An executor
// that was offline is revived; an id that the agent does not have is
// executor.ErrUnknown.
func (g *Gateway) Heartbeat(ctx context.Context, actor access.Actor, ex id.Executor, b Beat) (BeatAnswer, error) {
	if err := access.RequireAgent(actor); err != nil {
		return BeatAnswer{}, err
	}
	var out BeatAnswer
	var e executor.Executor
	err := g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) (err error) {
		out = BeatAnswer{}
		if e, err = executor.BeatTx(ctx, tx, actor.ID, ex, b.Beat); err != nil {
			return err
		}
		if len(b.Claims) == 0 && !strings.HasPrefix(b.Activity, "processing_") {
			return nil
		}
		var held []NamedTurn
		for _, s := range g.sources {
			own, err := s.beatTx(ctx, tx, actor.ID, ex, b)
			if err != nil {
				return err
			}
			held = append(held, own...)
		}
		out.Lost = lost(held, b.Claims)
		return nil
	})
	if err != nil {
		return BeatAnswer{}, err
	}
	g.reg.put(e, time.Now())
	out.Commands = g.reg.takeCommands(ex)
	g.noteActive(ctx, actor.ID)
	g.tell.wake(actor.ID)
	return out, nil
}

// beatTx extends the turns that a heartbeat names.
func (m messageWork) beatTx(ctx context.Context, tx *pg.Tx, agent id.Participant, ex id.Executor, b Beat) ([]NamedTurn, error) {
	message, _ := strings.CutPrefix(b.Activity, "processing_message:")
	held, err := turn.HeldByTx(ctx, tx, agent, ex)
	if err != nil {
		return nil, err
	}
	for _, group := range turnsByRoom(held) {
		if alive(group, b.Claims, message) {
			if err := m.extendTx(ctx, tx, group); err != nil {
				return nil, err
			}
		}
	}
	named := make([]NamedTurn, len(held))
	for n, c := range held {
		named[n] = NamedTurn{c.QueueID.String(), c.Generation}
	}
	return named, nil
}

// turnsByRoom splits what one executor holds into turns: one per room.
func turnsByRoom(held []turn.Claim) map[id.Conversation][]turn.Claim {
	out := map[id.Conversation][]turn.Claim{}
	for _, c := range held {
		out[c.ConversationID] = append(out[c.ConversationID], c)
	}
	return out
}

// alive reports that the bridge named this turn, by its row and generation or, in
// its activity, by the row or the message.
func alive(group []turn.Claim, named []NamedTurn, message string) bool {
	for _, c := range group {
		if message != "" && (message == c.QueueID.String() || message == c.MessageID.String()) {
			return true
		}
		for _, n := range named {
			if n.QueueID == c.QueueID.String() && n.Generation == c.Generation {
				return true
			}
		}
	}
	return false
}

func lost(held, named []NamedTurn) []string {
	have := make(map[NamedTurn]bool, len(held))
	for _, c := range held {
		have[c] = true
	}
	var out []string
	for _, n := range named {
		if !have[n] {
			out = append(out, n.QueueID)
		}
	}
	return out
}
