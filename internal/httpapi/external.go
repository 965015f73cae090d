package httpapi

import (
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/external"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// External is sessions that people drive in their own tools: events, inbox and rooms
// (bridge 8, desktop 4.4).
type External struct {
	External *flow.External
	Chat     *flow.Chat
	Online   present.Online
	Log      *slog.Logger
}

// Mount mounts the routes; literal segments come before {agent} and {conversation}.
func (x External) Mount(r chi.Router) {
	h := func(f httpx.HandlerFunc) http.HandlerFunc { return httpx.Wrap(x.Log, f) }
	r.Post("/agents/me/sessions/events", h(x.event))
	r.Get("/agents/me/inbox", h(x.inbox))
	r.Post("/agents/me/inbox/ack", h(x.ack))
	r.Post("/conversations/session", h(x.create))
	r.Post("/conversations/{conversation}/session/link", h(x.link))
	r.Delete("/conversations/{conversation}/session/link", h(x.unlink))
}

func (x External) event(w http.ResponseWriter, r *http.Request) error {
	var in wire.SessionEvent
	if err := httpx.DecodeLimit(w, r, &in, 256<<10); err != nil {
		return err
	}
	err := x.External.Report(r.Context(), httpx.Actor(r.Context()), flow.SessionReport{
		SessionKey: in.SessionID, EventID: in.EventID, Text: in.Text, Event: external.Event{
			Kind: in.Event, Tool: in.Tool, Hostname: in.Hostname, Cwd: in.Cwd, Branch: in.Branch, Repo: in.Repo, ToolName: in.ToolName,
			Model: in.Model, Effort: in.Effort, BlockedOn: in.NotificationType, Channel: in.Channel,
		},
	})
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.SessionStored{OK: true})
}

func (x External) inbox(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	out, err := x.External.Inbox(r.Context(), httpx.Actor(r.Context()), flow.InboxAsk{
		Claim: q.Get("claim") == "true", SessionKey: q.Get("sessionId"), Direct: q.Get("direct") == "true", Limit: httpx.Limit(r, 0, 50),
	})
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.Inbox(out))
}

func (x External) ack(w http.ResponseWriter, r *http.Request) error {
	var in wire.InboxAck
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	ids := make([]id.Message, 0, len(in.MessageIDs))
	for _, s := range in.MessageIDs {
		m, err := id.Parse[id.Message](s)
		if err != nil {
			return fault.New(fault.Invalid, "invalid", "A message id is not an id.").With("messageIds", "format", err.Error())
		}
		ids = append(ids, m)
	}
	n, err := x.External.AckInbox(r.Context(), httpx.Actor(r.Context()), ids)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.InboxAcked{Acked: n})
}

func (x External) answer(w http.ResponseWriter, r *http.Request, status int, room view.Conversation) error {
	s, err := x.Chat.Seen(r.Context(), httpx.Actor(r.Context()), room)
	if err != nil {
		return err
	}
	return httpx.JSON(w, status, present.Conversation(s.Conversation, s.Guest, x.Online))
}

// namedAgent reads an agent's id in a body; what is no id is an agent that does not exist.
func namedAgent(s string) (id.Participant, error) {
	p, err := id.Parse[id.Participant](s)
	if err != nil {
		return id.Participant{}, fault.New(fault.Invalid, "invalid", "Name the agent.").With("agentId", "format", err.Error())
	}
	return p, nil
}

// create answers 201 for a new room and 200 for the one that shows the session already.
func (x External) create(w http.ResponseWriter, r *http.Request) error {
	var in wire.SessionRoomCreate
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	agent, err := namedAgent(in.AgentID)
	if err != nil {
		return err
	}
	room, created, err := x.External.CreateRoom(r.Context(), httpx.Actor(r.Context()), flow.NewSessionRoom{
		AgentID: agent, SessionKey: in.SessionKey, Title: in.Title, Event: external.Event{Tool: in.Tool, Hostname: in.Hostname, Cwd: in.Cwd, Branch: in.Branch, Repo: in.Repo},
	})
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return x.answer(w, r, status, room)
}

func (x External) link(w http.ResponseWriter, r *http.Request) error {
	conv, err := roomID(r)
	if err != nil {
		return err
	}
	var in wire.SessionLink
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	agent, err := namedAgent(in.AgentID)
	if err != nil {
		return err
	}
	room, err := x.External.Link(r.Context(), httpx.Actor(r.Context()), conv, agent, in.SessionKey, in.Cwd)
	if err != nil {
		return err
	}
	return x.answer(w, r, http.StatusOK, room)
}

func (x External) unlink(w http.ResponseWriter, r *http.Request) error {
	conv, err := roomID(r)
	if err != nil {
		return err
	}
	n, err := x.External.Unlink(r.Context(), httpx.Actor(r.Context()), conv)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.SessionUnlinked{Unlinked: n})
}
