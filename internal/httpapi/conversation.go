package httpapi

import (
	"encoding/json"
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/wire"
)

// Bounds of lists of rooms. Clients that do not page get the newest thousand.
const (
	defaultRooms = 1000
	maxRooms     = 1000
)

// Conversation is rooms, members and read state (desktop 4.4, bridge 3.3).
type Conversation struct {
	Chat   *flow.Chat
	Tools  *flow.Tools // knows for whom an agent acts
	Online present.Online
	Log    *slog.Logger
}

// Mount mounts the routes; literal segments come before {conversation}.
func (c Conversation) Mount(r chi.Router) {
	h := func(f httpx.HandlerFunc) http.HandlerFunc { return httpx.Wrap(c.Log, f) }
	r.Get("/conversations", h(c.list))
	r.Post("/conversations", h(c.create))
	r.Post("/conversations/dm", h(c.direct))
	r.Post("/huddles/complete", h(c.completeHuddle))
	r.Post("/huddles/goal", h(c.huddleGoal))
	r.Post("/threads/complete", h(c.completeHuddle)) // bridges up to 2.11.21
	r.Post("/threads/goal", h(c.huddleGoal))
	r.Get("/unread-counts", h(c.unread))
	r.Get("/conversations/{conversation}", h(c.get))
	r.Patch("/conversations/{conversation}", h(c.patch))
	r.Delete("/conversations/{conversation}", h(c.remove))
	r.Post("/conversations/{conversation}/members", h(c.addMember))
	r.Delete("/conversations/{conversation}/members/{participant}", h(c.removeMember))
	r.Post("/conversations/{conversation}/read", h(c.read))
	r.Post("/conversations/{conversation}/rename-suggestion", h(c.renameSuggestion))
}

// roomID is the room of the path; what is no id is a room that does not exist.
func roomID(r *http.Request) (id.Conversation, error) {
	return pathID[id.Conversation](r, "conversation")
}

func (c Conversation) present(s flow.SeenRoom) wire.Conversation {
	return present.Conversation(s.Conversation, s.Guest, c.Online)
}

func (c Conversation) list(w http.ResponseWriter, r *http.Request) error {
	actor, limit := httpx.Actor(r.Context()), httpx.Limit(r, defaultRooms, maxRooms)
	var rooms []flow.SeenRoom
	var err error
	if r.URL.Query().Get("scope") == "agents" {
		var parent id.Conversation
		if s := r.URL.Query().Get("sourceConversationId"); s != "" {
			if parent, err = id.Parse[id.Conversation](s); err != nil {
				return fault.New(fault.Invalid, "invalid", "sourceConversationId is not a conversation id.").With("sourceConversationId", "format", err.Error())
			}
		}
		rooms, err = c.Chat.SideConversations(r.Context(), actor, parent, limit)
	} else {
		before, cerr := queryTime(r, "before")
		if cerr != nil {
			return cerr
		}
		rooms, err = c.Chat.Conversations(r.Context(), actor, before, limit)
	}
	if err != nil {
		return err
	}
	out := wire.Conversations{Conversations: make([]wire.Conversation, len(rooms))}
	for i, s := range rooms {
		out.Conversations[i] = c.present(s)
	}
	return httpx.JSON(w, http.StatusOK, out)
}

func (c Conversation) get(w http.ResponseWriter, r *http.Request) error {
	conv, err := roomID(r)
	if err != nil {
		return err
	}
	s, err := c.Chat.Conversation(r.Context(), httpx.Actor(r.Context()), conv)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, c.present(s))
}

// create answers 201 for a new room and 200 for the direct room that exists.
func (c Conversation) create(w http.ResponseWriter, r *http.Request) error {
	var in wire.ConversationCreate
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	n := flow.NewConversation{Type: in.Type, Title: in.Title, Metadata: in.Metadata}
	for _, s := range in.MemberIDs {
		p, err := id.Parse[id.Participant](s)
		if err != nil {
			return fault.New(fault.Invalid, "invalid", "A member id is not an id.").With("memberIds", "format", err.Error())
		}
		n.MemberIDs = append(n.MemberIDs, p)
	}
	actor := httpx.Actor(r.Context())
	who, err := c.behalf(r, flow.ToolCall{})
	if err != nil {
		return err
	}
	room, created, err := c.Chat.CreateConversationFor(r.Context(), who, n)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	s, err := c.Chat.Seen(r.Context(), actor, room)
	if err != nil {
		return err
	}
	return httpx.JSON(w, status, c.present(s))
}

func (c Conversation) patch(w http.ResponseWriter, r *http.Request) error {
	conv, err := roomID(r)
	if err != nil {
		return err
	}
	var in struct {
		Title                  json.RawMessage `json:"title"`
		AvatarURL              json.RawMessage `json:"avatarUrl"`
		AgentsAddWithoutAsking *bool           `json:"agentsAddWithoutAsking"`
	}
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	ch := flow.ConversationChange{AgentsAddWithoutAsking: in.AgentsAddWithoutAsking}
	if ch.Title, err = nullable(in.Title, "title"); err != nil {
		return err
	}
	if ch.AvatarURL, err = nullable(in.AvatarURL, "avatarUrl"); err != nil {
		return err
	}
	actor := httpx.Actor(r.Context())
	room, err := c.Chat.ChangeConversation(r.Context(), actor, conv, ch)
	if err != nil {
		return err
	}
	s, err := c.Chat.Seen(r.Context(), actor, room)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, c.present(s))
}

func (c Conversation) remove(w http.ResponseWriter, r *http.Request) error {
	conv, err := roomID(r)
	if err != nil {
		return err
	}
	if err := c.Chat.DeleteConversation(r.Context(), httpx.Actor(r.Context()), conv); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.OK{OK: true})
}

func (c Conversation) addMember(w http.ResponseWriter, r *http.Request) error {
	conv, err := roomID(r)
	if err != nil {
		return err
	}
	var in wire.MemberAdd
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	who, err := id.Parse[id.Participant](in.ParticipantID)
	if err != nil {
		return fault.New(fault.Invalid, "invalid", "participantId is not an id.").With("participantId", "format", err.Error())
	}
	m, err := c.Chat.AddMember(r.Context(), httpx.Actor(r.Context()), conv, who)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusCreated, present.Member(m, c.Online))
}

func (c Conversation) removeMember(w http.ResponseWriter, r *http.Request) error {
	conv, err := roomID(r)
	if err != nil {
		return err
	}
	who, err := pathID[id.Participant](r, "participant")
	if err != nil {
		return err
	}
	if err := c.Chat.RemoveMember(r.Context(), httpx.Actor(r.Context()), conv, who); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.OK{OK: true})
}

func (c Conversation) read(w http.ResponseWriter, r *http.Request) error {
	conv, err := roomID(r)
	if err != nil {
		return err
	}
	if err := c.Chat.MarkRead(r.Context(), httpx.Actor(r.Context()), conv, id.Message{}); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.OK{OK: true})
}

func (c Conversation) unread(w http.ResponseWriter, r *http.Request) error {
	counts, err := c.Chat.UnreadCounts(r.Context(), httpx.Actor(r.Context()))
	if err != nil {
		return err
	}
	out := wire.UnreadCounts{UnreadCounts: make(map[string]int, len(counts))}
	for _, n := range counts {
		out.UnreadCounts[n.ConversationID.String()] = n.Messages
	}
	return httpx.JSON(w, http.StatusOK, out)
}

func (c Conversation) renameSuggestion(w http.ResponseWriter, r *http.Request) error {
	conv, err := roomID(r)
	if err != nil {
		return err
	}
	var in struct {
		Action string  `json:"action"`
		Title  *string `json:"title"`
	}
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	if in.Action != "accept" && in.Action != "skip" {
		return fault.New(fault.Invalid, "invalid", "action must be accept or skip.").With("action", "unknown", "accept or skip")
	}
	if err := c.Chat.SuggestedTitle(r.Context(), httpx.Actor(r.Context()), conv, in.Action == "accept", in.Title); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.OK{OK: true})
}
