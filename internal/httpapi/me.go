package httpapi

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/account"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/wire"
)

// AgentSelf builds the agent's own /api/me (bridge 4.4).
type AgentSelf func(r *http.Request) (wire.Agent, error)

// Me is the signed-in person's own record (desktop 4.2), or the agent's.
type Me struct {
	Identity  *flow.Identity
	AgentSelf AgentSelf
	// NoExternal takes the feature of external agents away.
	NoExternal bool
	Log        *slog.Logger
}

var (
	tours      = []string{"agentConfigTour", "conversationTour", "profileTour"}
	categories = []string{"messages", "task_assigned", "task_completed", "task_reminders", "reminders", "agent_activity", "mentions", "invites", "pulse"}
	switches   = []string{"agentsAddWithoutAskingDirect", "agentsAddWithoutAskingGroup", "agentsAddWithoutAskingChannel", "agentsAddWithoutAskingThread", "autoAcceptRoomNames"}
)

// Mount mounts the routes.
func (m Me) Mount(r chi.Router) {
	h := func(f httpx.HandlerFunc) http.HandlerFunc { return httpx.Wrap(m.Log, f) }
	r.Get("/me", h(m.get))
	r.Patch("/me", h(m.patch))
	r.Delete("/me", h(m.remove))
	r.Patch("/me/consent", h(m.consent))
	r.Put("/me/timezone", h(m.timezone))
	r.Put("/me/locale", h(m.locale))
	r.Put("/me/password", h(m.password))
	r.Post("/me/tours/{tour}", h(m.tour))
	r.Get("/me/notification-preferences", h(m.preferences))
	r.Patch("/me/notification-preferences", h(m.setPreferences))
	r.Get("/me/settings", h(m.settings))
	r.Patch("/me/settings", h(m.setSettings))
	r.Patch("/me/active-organization", h(m.activeOrganization))
	r.Get("/me/sessions", h(m.sessions))
	r.Delete("/me/sessions/{session}", h(m.revoke))
	r.Get("/me/pending-invites", h(m.noInvites))
	r.Get("/me/devices", h(m.noDevices))
}

func (m Me) get(w http.ResponseWriter, r *http.Request) error {
	if httpx.Actor(r.Context()).IsAgent() {
		a, err := m.AgentSelf(r)
		if err != nil {
			return err
		}
		return httpx.JSON(w, http.StatusOK, a)
	}
	s, err := m.Identity.Self(r.Context(), httpx.Actor(r.Context()))
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.Self(s, m.NoExternal))
}

func (m Me) edit(w http.ResponseWriter, r *http.Request, p flow.ProfilePatch) error {
	s, err := m.Identity.EditProfile(r.Context(), httpx.Actor(r.Context()), p)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.Self(s, m.NoExternal))
}

func (m Me) patch(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		DisplayName *string         `json:"displayName"`
		FirstName   *string         `json:"firstName"`
		LastName    *string         `json:"lastName"`
		Description *string         `json:"description"`
		Tagline     *string         `json:"tagline"`
		AvatarURL   json.RawMessage `json:"avatarUrl"`
	}
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	p := flow.ProfilePatch{DisplayName: in.DisplayName, Patch: account.Patch{FirstName: in.FirstName, LastName: in.LastName, Description: in.Description, Tagline: in.Tagline}}
	var err error
	if p.AvatarURL, err = nullable(in.AvatarURL, "avatarUrl"); err != nil {
		return err
	}
	return m.edit(w, r, p)
}

// nullable tells an absent key (nil) from null (pointer to nil) and a text.
func nullable(raw json.RawMessage, field string) (**string, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var s *string
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fault.New(fault.Invalid, "invalid", "A field has the wrong type.").With(field, "type", "must be a text or null")
	}
	return &s, nil
}

func (m Me) remove(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Confirm string `json:"confirm"`
	}
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	if err := m.Identity.DeleteAccount(r.Context(), httpx.Actor(r.Context()), in.Confirm); err != nil {
		return err
	}
	return httpx.NoContent(w)
}

func (m Me) consent(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		MarketingOptIn *bool `json:"marketingOptIn"`
		AnalyticsOptIn *bool `json:"analyticsOptIn"`
		Reaccept       bool  `json:"reaccept"`
	}
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	return m.edit(w, r, flow.ProfilePatch{Patch: account.Patch{MarketingOptIn: in.MarketingOptIn, AnalyticsOptIn: in.AnalyticsOptIn, AcceptPolicy: in.Reaccept}})
}

func (m Me) timezone(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Timezone string `json:"timezone"`
	}
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	if _, err := m.Identity.EditProfile(r.Context(), httpx.Actor(r.Context()), flow.ProfilePatch{Patch: account.Patch{Timezone: &in.Timezone}}); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, in)
}

func (m Me) locale(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Locale *string `json:"locale"`
	}
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	if _, err := m.Identity.EditProfile(r.Context(), httpx.Actor(r.Context()), flow.ProfilePatch{Patch: account.Patch{Locale: &in.Locale}}); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, in)
}

func (m Me) password(w http.ResponseWriter, r *http.Request) error {
	var in wire.PasswordChange
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	if err := m.Identity.ChangePassword(r.Context(), httpx.Actor(r.Context()), in.CurrentPassword, in.NewPassword); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.OK{OK: true})
}

func (m Me) tour(w http.ResponseWriter, r *http.Request) error {
	tour := chi.URLParam(r, "tour")
	if !slices.Contains(tours, tour) {
		return fault.ErrNotFound
	}
	return m.edit(w, r, flow.ProfilePatch{Patch: account.Patch{TourSeen: &tour}})
}

func (m Me) preferences(w http.ResponseWriter, r *http.Request) error {
	s, err := m.Identity.Self(r.Context(), httpx.Actor(r.Context()))
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, map[string]any{"notificationPreferences": filled(s.Account.NotificationPreferences, categories, true)})
}

func (m Me) setPreferences(w http.ResponseWriter, r *http.Request) error {
	in, err := booleans(w, r, categories)
	if err != nil {
		return err
	}
	s, err := m.Identity.EditProfile(r.Context(), httpx.Actor(r.Context()), flow.ProfilePatch{Patch: account.Patch{Preferences: in}})
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, map[string]any{"notificationPreferences": filled(s.Account.NotificationPreferences, categories, true)})
}

func (m Me) settings(w http.ResponseWriter, r *http.Request) error {
	s, err := m.Identity.Self(r.Context(), httpx.Actor(r.Context()))
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, map[string]any{"settings": filled(s.Account.Settings, switches, false)})
}

func (m Me) setSettings(w http.ResponseWriter, r *http.Request) error {
	in, err := booleans(w, r, switches)
	if err != nil {
		return err
	}
	s, err := m.Identity.EditProfile(r.Context(), httpx.Actor(r.Context()), flow.ProfilePatch{Patch: account.Patch{Settings: in}})
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, map[string]any{"settings": filled(s.Account.Settings, switches, false)})
}

func booleans(w http.ResponseWriter, r *http.Request, known []string) (map[string]bool, error) {
	in := map[string]bool{}
	if err := httpx.Decode(w, r, &in); err != nil {
		return nil, err
	}
	for k := range in {
		if !slices.Contains(known, k) {
			return nil, fault.New(fault.Invalid, "invalid", "This setting is not known.").With(k, "unknown", "This setting is not known.")
		}
	}
	return in, nil
}

func filled(raw json.RawMessage, known []string, def bool) map[string]bool {
	out := map[string]bool{}
	for _, k := range known {
		out[k] = def
	}
	var have map[string]bool
	if json.Unmarshal(raw, &have) == nil {
		for k, v := range have {
			out[k] = v
		}
	}
	return out
}

func (m Me) activeOrganization(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		OrganizationID id.Organization `json:"organizationId"`
	}
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	return m.edit(w, r, flow.ProfilePatch{Patch: account.Patch{Organization: &in.OrganizationID}})
}

func (m Me) sessions(w http.ResponseWriter, r *http.Request) error {
	actor := httpx.Actor(r.Context())
	list, err := m.Identity.Sessions(r.Context(), actor)
	if err != nil {
		return err
	}
	out := wire.Sessions{Sessions: []wire.Session{}}
	for _, s := range list {
		out.Sessions = append(out.Sessions, present.Session(s, actor.SessionID))
	}
	return httpx.JSON(w, http.StatusOK, out)
}

func (m Me) revoke(w http.ResponseWriter, r *http.Request) error {
	sid, err := pathID[id.Session](r, "session")
	if err != nil {
		return err
	}
	if err := m.Identity.RevokeSession(r.Context(), httpx.Actor(r.Context()), sid); err != nil {
		return err
	}
	return httpx.NoContent(w)
}

func (m Me) noInvites(w http.ResponseWriter, _ *http.Request) error {
	return httpx.JSON(w, http.StatusOK, map[string]any{"invites": []any{}})
}

func (m Me) noDevices(w http.ResponseWriter, _ *http.Request) error {
	return httpx.JSON(w, http.StatusOK, map[string]any{"devices": []any{}})
}
