package httpapi

import (
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/account"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/wire"
)

// LLMKey is the store of model provider keys (desktop 4.21, bridge 1.6).
type LLMKey struct {
	Identity *flow.Identity
	Log      *slog.Logger
}

// Mount mounts the routes.
func (k LLMKey) Mount(r chi.Router) {
	h := func(f httpx.HandlerFunc) http.HandlerFunc { return httpx.Wrap(k.Log, f) }
	r.Get("/me/llm-keys", h(k.list))
	r.Post("/me/llm-keys", h(k.add))
	r.Patch("/me/llm-keys/{key}", h(k.edit))
	r.Post("/me/llm-keys/{key}/default", h(k.makeDefault))
	r.Delete("/me/llm-keys/{key}", h(k.remove))
	r.Get("/integrations/{provider}/resolve", h(k.resolve))
}

func keyID(r *http.Request) (id.Credential, error) {
	return pathID[id.Credential](r, "key")
}

func (k LLMKey) list(w http.ResponseWriter, r *http.Request) error {
	list, err := k.Identity.LLMKeys(r.Context(), httpx.Actor(r.Context()))
	if err != nil {
		return err
	}
	out := wire.LLMKeys{Keys: []wire.LLMKey{}}
	for _, v := range list {
		out.Keys = append(out.Keys, present.LLMKey(v))
	}
	return httpx.JSON(w, http.StatusOK, out)
}

func (k LLMKey) answer(w http.ResponseWriter, status int, v account.LLMKey, err error) error {
	if err != nil {
		return err
	}
	return httpx.JSON(w, status, wire.LLMKeyAnswer{Key: present.LLMKey(v)})
}

func (k LLMKey) add(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Provider    string `json:"provider"`
		Token       string `json:"token"`
		Label       string `json:"label"`
		MakeDefault bool   `json:"makeDefault"`
	}
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	v, err := k.Identity.AddLLMKey(r.Context(), httpx.Actor(r.Context()), in.Provider, in.Token, in.Label, in.MakeDefault)
	return k.answer(w, http.StatusCreated, v, err)
}

func (k LLMKey) edit(w http.ResponseWriter, r *http.Request) error {
	kid, err := keyID(r)
	if err != nil {
		return err
	}
	var in struct {
		Label *string `json:"label"`
		Token *string `json:"token"`
	}
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	v, err := k.Identity.EditLLMKey(r.Context(), httpx.Actor(r.Context()), kid, in.Label, in.Token)
	return k.answer(w, http.StatusOK, v, err)
}

func (k LLMKey) makeDefault(w http.ResponseWriter, r *http.Request) error {
	kid, err := keyID(r)
	if err != nil {
		return err
	}
	v, err := k.Identity.DefaultLLMKey(r.Context(), httpx.Actor(r.Context()), kid)
	return k.answer(w, http.StatusOK, v, err)
}

func (k LLMKey) remove(w http.ResponseWriter, r *http.Request) error {
	kid, err := keyID(r)
	if err != nil {
		return err
	}
	if err := k.Identity.DeleteLLMKey(r.Context(), httpx.Actor(r.Context()), kid); err != nil {
		return err
	}
	return httpx.NoContent(w)
}

func (k LLMKey) resolve(w http.ResponseWriter, r *http.Request) error {
	var kid id.Credential
	if s := r.URL.Query().Get("key_id"); s != "" {
		var err error
		if kid, err = id.Parse[id.Credential](s); err != nil {
			return fault.ErrNotFound
		}
	}
	provider := chi.URLParam(r, "provider")
	token, err := k.Identity.ResolveLLMKey(r.Context(), httpx.Actor(r.Context()), provider, kid)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.ResolvedCredential{Provider: provider, Token: token})
}
