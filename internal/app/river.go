package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"riverqueue.com/riverui"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
)

const riverPrefix = "/admin/river"

// riverUI is River's own web interface, for administrators. A browser cannot send
// a bearer token with a page, so a signed-in administrator opens it through a
// cookie that is set for this path only (POST /api/admin/river-session).
type riverUI struct {
	handler *riverui.Handler
}

func newRiverUI(client *river.Client[pgx.Tx], log *slog.Logger) (*riverUI, error) {
	h, err := riverui.NewHandler(&riverui.HandlerOpts{Endpoints: riverui.NewEndpoints(client, nil), Logger: log, Prefix: riverPrefix})
	if err != nil {
		return nil, fmt.Errorf("job interface: %w", err)
	}
	return &riverUI{handler: h}, nil
}

func (u *riverUI) start(ctx context.Context) error {
	if err := u.handler.Start(ctx); err != nil {
		return fmt.Errorf("job interface: %w", err)
	}
	return nil
}

const riverCookie = "agntchat_river"

// serve lets administrators in by the cookie of openSession; for everybody else
// there is nothing here.
func (u *riverUI) serve(identity *flow.Identity) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := ""
		if c, err := r.Cookie(riverCookie); err == nil {
			token = c.Value
		}
		actor, err := identity.Authenticate(r.Context(), token)
		if err != nil || !administers(actor) {
			http.NotFound(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Header.Get("Sec-Fetch-Site") != "same-origin" {
			http.Error(w, "forbidden", http.StatusForbidden) // a page of another site may not press buttons here
			return
		}
		u.handler.ServeHTTP(w, r)
	})
}

func administers(a access.Actor) bool { return a.IsPerson() && a.PlatformAdmin }

// openSession sets the cookie for a signed-in administrator and says where to go.
func (u *riverUI) openSession(w http.ResponseWriter, r *http.Request, secure bool) error {
	if !administers(httpx.Actor(r.Context())) {
		return fault.ErrNotFound
	}
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	http.SetCookie(w, &http.Cookie{
		Name: riverCookie, Value: token, Path: riverPrefix, HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode, MaxAge: 8 * 3600,
	})
	return httpx.JSON(w, http.StatusOK, map[string]string{"url": riverPrefix + "/"})
}
