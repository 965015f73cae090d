package httpapi

import (
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// CredentialRequest is how a person answers an agent's question for a secret
// (desktop 4.9). No answer holds the secret.
type CredentialRequest struct {
	Approvals *flow.Approvals
	Log       *slog.Logger
}

// Mount mounts the routes.
func (c CredentialRequest) Mount(r chi.Router) {
	h := func(f httpx.HandlerFunc) http.HandlerFunc { return httpx.Wrap(c.Log, f) }
	r.Get("/credential-requests", h(c.list))
	r.Post("/credential-requests/{credential}/fulfill", h(c.fulfil))
	r.Delete("/credential-requests/{credential}", h(c.decline))
	r.Delete("/credential-requests/{given}/secret", h(c.forget))
}

func credentialRequestID(r *http.Request, param string) (id.CredentialRequest, error) {
	return pathID[id.CredentialRequest](r, param)
}

// list is what waits for the caller, or with ?state=given the secrets that they
// gave and did not take away.
func (c CredentialRequest) list(w http.ResponseWriter, r *http.Request) error {
	from := c.Approvals.PendingCredentials
	if r.URL.Query().Get("state") == "given" {
		from = c.Approvals.GivenCredentials
	}
	list, err := from(r.Context(), httpx.Actor(r.Context()))
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.CredentialRequests(list))
}

func (c CredentialRequest) answer(w http.ResponseWriter, out view.Credential, err error) error {
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.CredentialRequest(out))
}

func (c CredentialRequest) fulfil(w http.ResponseWriter, r *http.Request) error {
	cid, err := credentialRequestID(r, "credential")
	if err != nil {
		return err
	}
	var in wire.CredentialFulfil
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	out, err := c.Approvals.Fulfil(r.Context(), httpx.Actor(r.Context()), cid, in.Value)
	return c.answer(w, out, err)
}

func (c CredentialRequest) decline(w http.ResponseWriter, r *http.Request) error {
	cid, err := credentialRequestID(r, "credential")
	if err != nil {
		return err
	}
	out, err := c.Approvals.Decline(r.Context(), httpx.Actor(r.Context()), cid)
	return c.answer(w, out, err)
}

func (c CredentialRequest) forget(w http.ResponseWriter, r *http.Request) error {
	cid, err := credentialRequestID(r, "given")
	if err != nil {
		return err
	}
	if err := c.Approvals.ForgetCredential(r.Context(), httpx.Actor(r.Context()), cid); err != nil {
		return err
	}
	return httpx.NoContent(w)
}
