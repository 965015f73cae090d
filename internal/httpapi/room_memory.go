package httpapi

import (
	"log/slog"
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/memory"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/wire"
)

// RoomMemory is what a conversation remembers and its context (bridge 3.4, desktop 4.4).
type RoomMemory struct {
	Memories *flow.Memories
	Log      *slog.Logger
}

// Mount mounts the routes.
func (m RoomMemory) Mount(r chi.Router) {
	h := func(f httpx.HandlerFunc) http.HandlerFunc { return httpx.Wrap(m.Log, f) }
	r.Get("/conversations/{conversation}/memory", h(m.get))
	r.Patch("/conversations/{conversation}/memory", h(m.patch))
	r.Put("/conversations/{conversation}/memory", h(m.replace))
	r.Get("/conversations/{conversation}/memory/history", h(m.history))
	r.Get("/conversations/{conversation}/context", h(m.context))
	r.Get("/conversations/{conversation}/brief", h(m.brief))
}

func (m RoomMemory) get(w http.ResponseWriter, r *http.Request) error {
	conv, err := roomID(r)
	if err != nil {
		return err
	}
	room, err := m.Memories.OfRoom(r.Context(), httpx.Actor(r.Context()), conv)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.RoomMemory(conv, room, nil))
}

func (m RoomMemory) patch(w http.ResponseWriter, r *http.Request) error {
	return m.write(w, r, false)
}

func (m RoomMemory) replace(w http.ResponseWriter, r *http.Request) error {
	return m.write(w, r, true)
}

func (m RoomMemory) write(w http.ResponseWriter, r *http.Request, replace bool) error {
	conv, err := roomID(r)
	if err != nil {
		return err
	}
	var in wire.ConversationMemoryWrite
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	change := memory.RoomWrite{Changes: in.Changes, Replace: replace, Reason: in.Reason, Base: in.Version}
	if replace {
		change.Changes = in.Memory
	}
	room, diff, err := m.Memories.WriteRoom(r.Context(), httpx.Actor(r.Context()), conv, change)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.RoomMemory(conv, room, diff))
}

func (m RoomMemory) history(w http.ResponseWriter, r *http.Request) error {
	conv, err := roomID(r)
	if err != nil {
		return err
	}
	before, err := queryInt(r, "before", 0)
	if err != nil {
		return err
	}
	list, more, err := m.Memories.RoomHistory(r.Context(), httpx.Actor(r.Context()), conv, before, httpx.Limit(r, 20, 100))
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.RoomMemoryHistory(conv, list, more))
}

func (m RoomMemory) context(w http.ResponseWriter, r *http.Request) error {
	conv, err := roomID(r)
	if err != nil {
		return err
	}
	tier, err := queryInt(r, "tier", flow.TierRecent)
	if err != nil {
		return err
	}
	before, err := queryTime(r, "before")
	if err != nil {
		return err
	}
	known, err := m.Memories.Context(r.Context(), httpx.Actor(r.Context()), conv, tier, before, httpx.Limit(r, defaultPage, maxPage))
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.ConversationContext{
		ConversationID: conv.String(), Memory: known.Memory.Memory, MemoryVersion: known.Memory.Version, Messages: present.Messages(known.Messages), Tier: tier, HasMore: known.More,
	})
}

func (m RoomMemory) brief(w http.ResponseWriter, r *http.Request) error {
	conv, err := roomID(r)
	if err != nil {
		return err
	}
	b, err := m.Memories.Brief(r.Context(), httpx.Actor(r.Context()), conv)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.ConversationBrief{Brief: present.Brief(b)})
}

// queryInt reads a whole number of the query that is not negative.
func queryInt(r *http.Request, key string, def int) (int, error) {
	s := r.URL.Query().Get(key)
	if s == "" {
		return def, nil
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 {
		return 0, fault.Newf(fault.Invalid, "invalid", "%s must be a whole number.", key).With(key, "format", "0 or more")
	}
	return int(n), nil
}
