package httpapi

import (
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/wire"
)

// Auth is sign-up, sign-in and the agents' key exchange (desktop 2 and 4.1, bridge 1.2). Open routes.
type Auth struct {
	Identity *flow.Identity
	// NoExternal takes the feature of external agents away.
	NoExternal bool
	Log        *slog.Logger
}

// MountOpen mounts what needs no session.
func (a Auth) MountOpen(r chi.Router) {
	h := func(f httpx.HandlerFunc) http.HandlerFunc { return httpx.Wrap(a.Log, f) }
	r.Get("/auth/signup-policy", h(a.policy))
	r.Get("/auth/invite-code/{code}", h(a.inviteCode))
	r.Post("/auth/login", h(a.login))
	r.Post("/auth/signup", h(a.signup))
	r.Post("/auth/one-time", h(a.oneTime))
	r.Post("/auth/agent-token", h(a.agentToken))
}

// Mount mounts what needs one.
func (a Auth) Mount(r chi.Router) {
	r.Post("/auth/logout", httpx.Wrap(a.Log, a.logout))
}

func (a Auth) policy(w http.ResponseWriter, _ *http.Request) error {
	return httpx.JSON(w, http.StatusOK, wire.SignupPolicy{InviteRequired: a.Identity.Signup != flow.SignupOpen})
}

// inviteCode: sign-up codes are not issued by this server, so none is valid. Always 200.
func (a Auth) inviteCode(w http.ResponseWriter, _ *http.Request) error {
	return httpx.JSON(w, http.StatusOK, wire.InviteCodeCheck{Valid: false, Reason: "invalid"})
}

func (a Auth) login(w http.ResponseWriter, r *http.Request) error {
	var in wire.LoginRequest
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	s, err := a.Identity.SignIn(r.Context(), in.Email, in.Password, r.UserAgent(), Address(r))
	return a.signedIn(w, s, err)
}

func (a Auth) signup(w http.ResponseWriter, r *http.Request) error {
	var in wire.SignupRequest
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	s, err := a.Identity.SignUp(r.Context(), flow.SignUp{
		Email: in.Email, Password: in.Password, FirstName: in.FirstName, LastName: in.LastName, DisplayName: in.DisplayName, AcceptedTerms: in.AcceptedTerms,
		BirthDate: in.BirthDate, MarketingOptIn: in.MarketingOptIn, AnalyticsOptIn: in.AnalyticsOptIn, Timezone: in.Timezone, Locale: in.Locale,
		UserAgent: r.UserAgent(), Address: Address(r),
	})
	return a.signedIn(w, s, err)
}

func (a Auth) oneTime(w http.ResponseWriter, r *http.Request) error {
	var in wire.OneTimeRequest
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	s, err := a.Identity.SpendOneTimeCode(r.Context(), in.Code, r.UserAgent(), Address(r))
	return a.signedIn(w, s, err)
}

func (a Auth) signedIn(w http.ResponseWriter, s flow.SignedIn, err error) error {
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.SignedIn{Token: s.Token, Participant: present.Self(s.Self, a.NoExternal)})
}

// agentToken answers 200 exactly; a wrong key is 401 (bridge 1.2).
func (a Auth) agentToken(w http.ResponseWriter, r *http.Request) error {
	var in wire.AgentTokenRequest
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	if in.AgentID == "" || in.APIKey == "" {
		return fault.New(fault.Invalid, "invalid", "agent_id and api_key are needed.").With("agent_id", "required", "required").With("api_key", "required", "required")
	}
	token, err := a.Identity.ExchangeAgentKey(r.Context(), in.AgentID, in.APIKey, Address(r))
	if fault.KindOf(err) == fault.Unauthenticated && err != nil {
		return fault.New(fault.Unauthenticated, "bad_key", "This key is wrong, or the agent is deactivated.")
	}
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.AgentToken{Token: token, ExpiresIn: int(flow.AgentTokenLife.Seconds())})
}

func (a Auth) logout(w http.ResponseWriter, r *http.Request) error {
	actor := httpx.Actor(r.Context())
	if err := a.Identity.RevokeSession(r.Context(), actor, actor.SessionID); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.OK{OK: true})
}
