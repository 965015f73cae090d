package httpapi

import (
	"cmp"
	"encoding"
	"net/http"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/wire"
)

// direct finds or makes the direct room with one peer, or with a source conversation
// the huddle below it, and posts a first text there (bridge 3.3).
func (c Conversation) direct(w http.ResponseWriter, r *http.Request) error {
	var in wire.HuddleOpen
	if err := httpx.DecodeLimit(w, r, &in, maxMessageBody); err != nil {
		return err
	}
	asked := in.PeerIDs
	if in.PeerID != "" {
		asked = append([]string{in.PeerID}, asked...)
	}
	if len(asked) == 0 {
		return fault.New(fault.Invalid, "unknown_member", "Name the person or agent to write to.").With("peerId", "required", "peerId or peerIds")
	}
	peers := make([]id.Participant, len(asked))
	for n, s := range asked {
		p, err := id.Parse[id.Participant](s)
		if err != nil {
			return fault.New(fault.Invalid, "unknown_member", "Name the person or agent to write to.").With("peerId", "unknown", "not a known id")
		}
		peers[n] = p
	}
	n := flow.NewHuddle{
		Peers: peers, Topic: cmp.Or(in.HuddleTopic, in.ThreadTopic), Goal: cmp.Or(in.HuddleGoal, in.ThreadGoal), Message: in.Message, ClientKey: r.Header.Get("Idempotency-Key"),
	}
	var err error
	if n.Source, err = namedIn[id.Conversation]("sourceConversationId", in.SourceConversationID); err != nil {
		return err
	}
	if n.Anchor, err = namedIn[id.Message]("sourceMessageId", in.SourceMessageID); err != nil {
		return err
	}
	if n.OpenedByTask, err = namedIn[id.Task]("openedByTaskId", in.OpenedByTaskID); err != nil {
		return err
	}
	actor := httpx.Actor(r.Context())
	who, err := c.behalf(r, flow.ToolCall{ConversationID: in.SourceConversationID, SourceMessageID: in.SourceMessageID, TaskID: in.OpenedByTaskID})
	if err != nil {
		return err
	}
	room, err := c.Chat.TalkApart(r.Context(), who, n)
	if err != nil {
		return withBody(err)
	}
	s, err := c.Chat.Seen(r.Context(), actor, room)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, c.present(s))
}

// behalf is who acts, and for whom: the headers of existing bridges say where an agent
// works, when the body does not.
func (c Conversation) behalf(r *http.Request, at flow.ToolCall) (flow.ToolCaller, error) {
	at.ActiveConversationID = r.Header.Get("X-Active-Conversation")
	at.TaskID = cmp.Or(at.TaskID, r.Header.Get("X-Task-Id"))
	return c.Tools.Behalf(r.Context(), httpx.Actor(r.Context()), at)
}

// namedIn reads an optional id of a body; "" is the zero id.
func namedIn[T any, P interface {
	*T
	encoding.TextUnmarshaler
}](field, s string) (out T, err error) {
	if s == "" || P(&out).UnmarshalText([]byte(s)) == nil {
		return out, nil
	}
	return out, fault.Newf(fault.Invalid, "invalid", "%s is not an id.", field).With(field, "format", "not an id")
}

func (c Conversation) completeHuddle(w http.ResponseWriter, r *http.Request) error {
	var in wire.HuddleComplete
	if err := httpx.DecodeLimit(w, r, &in, maxMessageBody); err != nil {
		return err
	}
	huddle, err := huddleID(cmp.Or(in.HuddleID, in.ThreadID))
	if err != nil {
		return err
	}
	done, err := c.Chat.CloseHuddle(r.Context(), httpx.Actor(r.Context()), flow.HuddleEnd{HuddleID: huddle, Outcome: in.Outcome, Summary: in.Summary, Content: in.Content})
	if err != nil {
		return err
	}
	out := wire.HuddleCompleted{HuddleID: done.HuddleID.String(), ConversationID: done.SourceID.String(), Status: done.Huddle.Status, Outcome: done.Huddle.Outcome}
	if !done.MessageID.IsZero() {
		out.MessageID = new(done.MessageID.String())
	}
	return httpx.JSON(w, http.StatusOK, out)
}

func (c Conversation) huddleGoal(w http.ResponseWriter, r *http.Request) error {
	var in wire.HuddleGoal
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	huddle, err := huddleID(cmp.Or(in.HuddleID, in.ThreadID))
	if err != nil {
		return err
	}
	h, err := c.Chat.SetHuddleGoal(r.Context(), httpx.Actor(r.Context()), huddle, in.Goal)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.HuddleGoalSet{HuddleID: huddle.String(), Goal: h.Goal})
}

func huddleID(s string) (id.Conversation, error) {
	if s == "" { // not 404: the route is there (bridge 5.3)
		return id.Conversation{}, fault.New(fault.Invalid, "invalid", "Name the huddle.").With("huddleId", "required", "the id of the huddle")
	}
	c, err := id.Parse[id.Conversation](s)
	if err != nil {
		return c, fault.ErrNotFound
	}
	return c, nil
}
