package flow

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/memory"
	"github.com/agntchat/agntchat/internal/realtime/stream"
	"github.com/agntchat/agntchat/internal/speak"
	"github.com/agntchat/agntchat/internal/wire"
)

// The limits of a stream frame.
const (
	maxStreamID    = 200
	maxPhaseDetail = 500 // characters; longer ones are cut
)

// StreamFrame is one frame of a turn in progress. Content is cumulative: nil
// keeps what was sent, "" clears it.
type StreamFrame struct {
	StreamID    string
	Status      string // started | streaming | complete | cancelled
	Phase       string // "" keeps it, and is thinking at first
	PhaseDetail string
	Content     *string
	// Ours name the claim; a lost one is answered with turn.ErrLost.
	QueueID    *id.QueueItem
	Generation *int64
}

var errInvalidFrame = fault.New(fault.Invalid, "invalid", "This stream frame cannot be shown.")

// Stream shows one frame to the room (P6) and is a sign of life of the turn. An
// agent that may write there only. Frames of a stream that was cancelled are
// taken and shown to nobody. Nothing is stored.
func (c *Chat) Stream(ctx context.Context, actor access.Actor, conv id.Conversation, f StreamFrame) error {
	if err := access.RequireAgent(actor); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	// Who streams already was allowed to; a member that is removed loses the stream.
	if !c.Streams.Has(conv.String(), actor.ID.String(), f.StreamID) {
		r, err := chat.Get(ctx, c.DB, conv)
		if err != nil {
			return err
		}
		role, err := chat.Role(ctx, c.DB, conv, actor.ID)
		if err != nil {
			return err
		}
		if err := access.PostInRoom(actor, facts(r, role)); err != nil {
			return err
		}
	}
	if err := c.Turns.Touch(ctx, actor.ID, conv, f.QueueID, f.Generation); err != nil {
		if fault.Is(err, "executor_not_owned") {
			c.Streams.Update(frame(actor, conv, StreamFrame{StreamID: f.StreamID, Status: stream.Cancelled}))
		}
		return err
	}
	if f.Content != nil { // what goes to a huddle is not shown on its way
		f.Content = new(speak.WithoutAsides(*f.Content))
	}
	c.Streams.Update(frame(actor, conv, f))
	return nil
}

func frame(actor access.Actor, conv id.Conversation, f StreamFrame) wire.MessageStreaming {
	return wire.MessageStreaming{
		ConversationID: conv.String(), StreamID: f.StreamID, SenderID: actor.ID.String(), SenderName: actor.DisplayName,
		Status: f.Status, Phase: f.Phase, PhaseDetail: f.PhaseDetail, Content: f.Content,
	}
}

func (f *StreamFrame) check() error {
	switch f.Status {
	case stream.Started, stream.Streaming, stream.Complete, stream.Cancelled:
	case "":
		f.Status = stream.Streaming
	default:
		return errInvalidFrame.With("status", "unknown", "status must be started, streaming, complete or cancelled.")
	}
	switch f.Phase {
	case "", stream.Thinking, stream.ToolCall, stream.Writing, stream.Analyzing, stream.Queued, stream.Waiting:
	default:
		f.Phase = stream.Thinking // a newer bridge's word: shown as the general one
	}
	switch {
	case f.StreamID == "" || len(f.StreamID) > maxStreamID || !clean(f.StreamID):
		return errInvalidFrame.With("stream_id", "required", fmt.Sprintf("stream_id must have 1 to %d bytes.", maxStreamID))
	case f.Content != nil && utf8.RuneCountInString(*f.Content) > chat.MaxContent:
		return fault.Newf(fault.Invalid, "content_too_long", "A message may have at most %d characters.", chat.MaxContent).
			With("content", "too_long", fmt.Sprintf("at most %d characters", chat.MaxContent))
	}
	if f.Content != nil { // what is taken out of the message is not shown before either
		f.Content = new(memory.Shown(*f.Content))
	}
	if utf8.RuneCountInString(f.PhaseDetail) > maxPhaseDetail {
		f.PhaseDetail = string([]rune(f.PhaseDetail)[:maxPhaseDetail-1]) + "…"
	}
	return nil
}

// CancelStreams ends the streams of one agent in a room, or of all when agent is
// zero, and tells the room. It answers how many there were.
func (c *Chat) CancelStreams(_ context.Context, conv id.Conversation, agent id.Participant) int {
	sender := ""
	if !agent.IsZero() {
		sender = agent.String()
	}
	return c.Streams.Cancel(conv.String(), sender)
}
