package flow

import (
	"context"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/speak"
	"github.com/agntchat/agntchat/internal/turn"
	"github.com/agntchat/agntchat/internal/view"
)

// maxNewer bounds what a stale answer carries: the newest of what was missed.
const maxNewer = 50

// staleness compares a draft with the room (P7, decision 18): since the message
// that the agent saw last, a person wrote, or the agent itself replied under
// another claim. A claim is refused at most once. EndTurn and failures are
// exempt. A message that is not in this room says nothing about what was seen.
func staleness(ctx context.Context, tx *pg.Tx, actor access.Actor, room *locked, d draft, g grounds) (*StaleError, error) {
	claim := g.claim
	if d.LastSeenMessageID == nil || d.kind == "EndTurn" || d.kind == "ErrorReport" || d.failed {
		return nil, nil
	}
	if claim != nil && claim.StaleRefused {
		return nil, nil
	}
	if !g.seenKnown || g.seen >= room.MessageSeq { // nothing came since
		return nil, nil
	}
	newer, err := view.Timeline(ctx, tx, d.ConversationID, nil, maxNewer)
	if err != nil {
		return nil, err
	}
	var missed []view.Message // oldest first
	outdated := false
	for i := len(newer) - 1; i >= 0; i-- {
		m := newer[i]
		if m.Seq <= g.seen {
			continue
		}
		missed = append(missed, m)
		outdated = outdated || outdates(m, actor, d, claim)
	}
	if !outdated {
		return nil, nil
	}
	return &StaleError{NewMessages: missed}, nil
}

// outdates says whether one newer message makes a draft stale.
func outdates(m view.Message, actor access.Actor, d draft, claim *turn.Claim) bool {
	if m.SenderKind == chat.Human {
		return !speak.Silent(m.Type())
	}
	if m.SenderID != actor.ID || speak.Silent(m.Type()) {
		return false
	}
	stream := streamOf(m)
	if claim == nil { // a late reply of a lost claim that was answered since
		return stream != "" && stream != d.streamID
	}
	if claim.ClaimedAt != nil && !m.InsertedAt.After(*claim.ClaimedAt) {
		return true
	}
	// The claim has its answer already, and not from this run.
	return claim.AnsweredAt != nil && claim.AnswerID == m.ID && stream != "" && stream != d.streamID
}

func streamOf(m view.Message) string {
	meta, err := object(m.Metadata)
	if err != nil {
		return ""
	}
	return word(meta["stream_id"])
}
