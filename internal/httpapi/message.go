package httpapi

import (
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

// Bounds of a page of messages (desktop 1.3), and of the body of one: the limits
// of its parts with room for JSON's escapes.
const (
	defaultPage    = 30
	maxPage        = 100
	maxMessageBody = 2 << 20
)

// Message is what is said in rooms (desktop 4.5, bridge 3.3).
type Message struct {
	Chat *flow.Chat
	Log  *slog.Logger
}

// Mount mounts the routes.
func (m Message) Mount(r chi.Router) {
	h := func(f httpx.HandlerFunc) http.HandlerFunc { return httpx.Wrap(m.Log, f) }
	r.Get("/conversations/{conversation}/messages", h(m.list))
	r.Post("/conversations/{conversation}/messages", h(m.post))
	r.Delete("/conversations/{conversation}/messages/{message}", h(m.remove))
}

func (m Message) list(w http.ResponseWriter, r *http.Request) error {
	conv, err := roomID(r)
	if err != nil {
		return err
	}
	before, err := queryTime(r, "before")
	if err != nil {
		return err
	}
	page, err := m.Chat.Timeline(r.Context(), httpx.Actor(r.Context()), conv, before, httpx.Limit(r, defaultPage, maxPage))
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.Messages{Messages: present.Messages(page)})
}

// post answers 201 with the message, 200 when this is a repetition under the same
// Idempotency-Key or client_nonce, 200 {"suppressed":true} for prose after a
// silent end of turn, 409 for a stale draft.
func (m Message) post(w http.ResponseWriter, r *http.Request) error {
	conv, err := roomID(r)
	if err != nil {
		return err
	}
	var in wire.MessagePost
	if err := httpx.DecodeLimit(w, r, &in, maxMessageBody); err != nil {
		return err
	}
	p := flow.Post{
		ConversationID: conv, Content: in.Content, ContentType: in.ContentType, MessageType: in.MessageType, ContentStructured: in.ContentStructured,
		Metadata: in.Metadata, CorrelationID: in.CorrelationID, ClientKey: r.Header.Get("Idempotency-Key"),
	}
	if p.ParentMessageID, err = optionalMessage("parentMessageId", in.ParentMessageID); err != nil {
		return err
	}
	if p.LastSeenMessageID, err = optionalMessage("lastSeenMessageId", in.LastSeenMessageID); err != nil {
		return err
	}
	if p.Files, err = present.Uploads(in.Attachments); err != nil {
		return err
	}
	out, err := m.Chat.Post(r.Context(), httpx.Actor(r.Context()), p)
	if err != nil {
		return withBody(err)
	}
	switch {
	case out.Suppressed:
		return httpx.JSON(w, http.StatusOK, wire.Suppressed{Suppressed: true})
	case out.Duplicate:
		return httpx.JSON(w, http.StatusOK, present.Message(out.Message))
	default:
		return httpx.JSON(w, http.StatusCreated, present.Message(out.Message))
	}
}

func (m Message) remove(w http.ResponseWriter, r *http.Request) error {
	conv, err := roomID(r)
	if err != nil {
		return err
	}
	mid, err := pathID[id.Message](r, "message")
	if err != nil {
		return err
	}
	if err := m.Chat.DeleteMessage(r.Context(), httpx.Actor(r.Context()), conv, mid); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.OK{OK: true})
}

// optionalMessage reads the id of a message; absent and "" are none.
func optionalMessage(field string, s *string) (*id.Message, error) {
	if s == nil || *s == "" {
		return nil, nil
	}
	m, err := id.Parse[id.Message](*s)
	if err != nil {
		return nil, fault.Newf(fault.Invalid, "invalid", "%s is not a message id.", field).With(field, "format", err.Error())
	}
	return &m, nil
}

// staleError gives a refused draft its body: no error key (decision 25).
type staleError struct{ *flow.StaleError }

// Body implements httpx.BodyError.
func (s staleError) Body() (int, any) {
	return http.StatusConflict, wire.Stale{Stale: true, NewMessages: present.Messages(s.NewMessages)}
}

// withBody gives errors of the chat that the contract words differently their own body.
func withBody(err error) error {
	if s, ok := flow.IsStale(err); ok {
		return staleError{s}
	}
	return err
}
