package httpapi

import (
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/memory"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/wire"
)

// Memory is what agents and families remember (bridge 3.4, desktop 4.2, 4.17).
type Memory struct {
	Memories *flow.Memories
	Log      *slog.Logger
}

// Mount mounts the routes; literal segments come before {agent}.
func (m Memory) Mount(r chi.Router) {
	h := func(f httpx.HandlerFunc) http.HandlerFunc { return httpx.Wrap(m.Log, f) }
	r.Get("/agents/me/memories", h(m.own))
	r.Post("/agents/me/memories", h(m.save))
	r.Get("/agents/{agent}/memories", h(m.ofAgent))
	r.Post("/agents/{agent}/memories", h(m.addToAgent))
	r.Patch("/agents/{agent}/memories/{memory}", h(m.editOfAgent))
	r.Delete("/agents/{agent}/memories/{memory}", h(m.forgetOfAgent))
	r.Get("/family/memories", h(m.family))
	r.Post("/family/memories", h(m.addToFamily))
	r.Delete("/family/memories/{shared}", h(m.forgetFamily))
	r.Get("/me/memories/search", h(m.search))
	r.Post("/me/memories/forget", h(m.forget))
}

// filter reads ?category=&q=&tag=&limit=&offset= and, for shared ones, &organizationId=.
func filter(r *http.Request) (memory.Filter, error) {
	q := r.URL.Query()
	offset, err := queryInt(r, "offset", 0)
	f := memory.Filter{Category: q.Get("category"), Tag: q.Get("tag"), Text: q.Get("q"), Offset: offset, Limit: httpx.Limit(r, flow.MemoryPage, flow.MostMemories)}
	if err == nil && len(f.Text) > 500 {
		err = fault.New(fault.Invalid, "invalid", "Search for at most 500 characters.").With("q", "too_long", "at most 500 characters")
	}
	if s := q.Get("organizationId"); s != "" && err == nil {
		if f.Workspace, err = id.Parse[id.Organization](s); err != nil {
			err = fault.New(fault.Invalid, "invalid", "This workspace is not known.").With("organizationId", "invalid", "not a workspace id")
		}
	}
	return f, err
}

func write(in wire.MemoryInput) (memory.Write, error) {
	w := memory.Write{
		Category: in.Category, Key: in.Key, Content: in.Content, Confidence: in.Confidence, Description: in.Description, Tags: in.Tags, Metadata: in.Metadata,
	}
	if in.SourceConversationID != nil && *in.SourceConversationID != "" {
		var err error
		if w.SourceConversationID, err = id.Parse[id.Conversation](*in.SourceConversationID); err != nil {
			return w, fault.New(fault.Invalid, "invalid", "The source is no conversation.").With("sourceConversationId", "format", err.Error())
		}
	}
	return w, nil
}

func (m Memory) own(w http.ResponseWriter, r *http.Request) error {
	f, err := filter(r)
	if err != nil {
		return err
	}
	list, total, err := m.Memories.Own(r.Context(), httpx.Actor(r.Context()), f)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.Memories(list, total, f.Offset))
}

// save keeps what the agent wants to remember: an upsert. The headers say where it
// works (bridge 3.4).
func (m Memory) save(w http.ResponseWriter, r *http.Request) error {
	var in wire.MemoryInput
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	what, err := write(in)
	if err != nil {
		return err
	}
	actor := httpx.Actor(r.Context())
	saved, err := m.Memories.Save(r.Context(), actor, what, flow.ToolCall{ActiveConversationID: r.Header.Get("X-Active-Conversation"), TaskID: r.Header.Get("X-Task-Id")})
	if err != nil {
		return err
	}
	prompt, err := m.Memories.Prompt(r.Context(), actor.ID)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.MemorySaved{Memory: present.Memory(saved), MemoryPrompt: prompt})
}

func (m Memory) ofAgent(w http.ResponseWriter, r *http.Request) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	f, err := filter(r)
	if err != nil {
		return err
	}
	list, total, err := m.Memories.OfAgent(r.Context(), httpx.Actor(r.Context()), aid, f)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.Memories(list, total, f.Offset))
}

func (m Memory) addToAgent(w http.ResponseWriter, r *http.Request) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	var in wire.MemoryInput
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	in.SourceConversationID = nil // it comes from the owner
	what, err := write(in)
	if err != nil {
		return err
	}
	saved, err := m.Memories.AddToAgent(r.Context(), httpx.Actor(r.Context()), aid, what, in.Force)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusCreated, wire.OneMemory{Memory: present.Memory(saved)})
}

func (m Memory) editOfAgent(w http.ResponseWriter, r *http.Request) error {
	aid, mid, err := agentMemory(r)
	if err != nil {
		return err
	}
	var in wire.MemoryEdit
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	saved, err := m.Memories.EditOfAgent(r.Context(), httpx.Actor(r.Context()), aid, mid, memory.Edit{Content: in.Content, Confidence: in.Confidence, Description: in.Description, Tags: in.Tags})
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.OneMemory{Memory: present.Memory(saved)})
}

func agentMemory(r *http.Request) (id.Participant, id.Memory, error) {
	aid, err := agentID(r)
	if err != nil {
		return aid, id.Memory{}, err
	}
	mid, err := memoryID(r, "memory")
	return aid, mid, err
}

func memoryID(r *http.Request, key string) (id.Memory, error) {
	return pathID[id.Memory](r, key)
}

func (m Memory) forgetOfAgent(w http.ResponseWriter, r *http.Request) error {
	aid, mid, err := agentMemory(r)
	if err != nil {
		return err
	}
	prompt, err := m.Memories.ForgetOfAgent(r.Context(), httpx.Actor(r.Context()), aid, mid)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.MemoryPrompt{MemoryPrompt: prompt})
}

func (m Memory) family(w http.ResponseWriter, r *http.Request) error {
	f, err := filter(r)
	if err != nil {
		return err
	}
	actor := httpx.Actor(r.Context())
	list, total, err := m.Memories.Family(r.Context(), actor, f)
	if err != nil {
		return err
	}
	out := present.Memories(list, total, f.Offset)
	out.FamilyRootID = actor.OwnerID.String()
	return httpx.JSON(w, http.StatusOK, out)
}

func (m Memory) addToFamily(w http.ResponseWriter, r *http.Request) error {
	var in wire.MemoryInput
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	in.SourceConversationID = nil
	what, err := write(in)
	if err != nil {
		return err
	}
	actor := httpx.Actor(r.Context())
	var org id.Organization
	switch in.Scope {
	case "", "family":
	case "workspace":
		org = actor.OrganizationID
		if in.OrganizationID != nil && *in.OrganizationID != "" {
			if org, err = id.Parse[id.Organization](*in.OrganizationID); err != nil {
				return fault.ErrNotFound
			}
		}
	default:
		return fault.New(fault.Invalid, "invalid", "A shared memory holds for the family or for a workspace.").With("scope", "unknown", "family or workspace")
	}
	saved, err := m.Memories.AddFamily(r.Context(), actor, org, what, in.Force)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusCreated, wire.OneMemory{Memory: present.Memory(saved)})
}

func (m Memory) forgetFamily(w http.ResponseWriter, r *http.Request) error {
	mid, err := memoryID(r, "shared")
	if err != nil {
		return err
	}
	if err := m.Memories.ForgetFamily(r.Context(), httpx.Actor(r.Context()), mid); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.Deleted{Deleted: 1})
}

func (m Memory) search(w http.ResponseWriter, r *http.Request) error {
	found, err := m.Memories.Search(r.Context(), httpx.Actor(r.Context()), r.URL.Query().Get("q"))
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.MemorySearch(found))
}

// forget takes memories away; kinds that this server does not have are not counted.
func (m Memory) forget(w http.ResponseWriter, r *http.Request) error {
	var in wire.MemoryForget
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	var own, family []id.Memory
	for _, one := range in.Items {
		mid, err := id.Parse[id.Memory](one.ID)
		switch {
		case err != nil:
			return fault.New(fault.Invalid, "invalid", "This is no memory.").With("items.id", "format", err.Error())
		case one.Type == "memory":
			own = append(own, mid)
		case one.Type == "family_memory":
			family = append(family, mid)
		}
	}
	n, err := m.Memories.ForgetMine(r.Context(), httpx.Actor(r.Context()), own, family)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.Deleted{Deleted: n})
}
