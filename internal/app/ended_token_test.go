package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/app/apptest"
)

// TestW3_AnEndedTokenIsNoObstacleWhereAnybodyMayAsk: a client that still sends a token
// which has ended can read the policy, sign up and log in; elsewhere it is 401.
func TestW3_AnEndedTokenIsNoObstacleWhereAnybodyMayAsk(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"GET", "/api/auth/signup-policy", "", 200},
		{"POST", "/api/auth/login", `{"email":"nobody@example.com","password":"wrong-password-9"}`, 422},
		{"GET", "/api/me", "", 401},
		{"GET", "/api/conversations", "", 401},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, s.URL+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer ended")
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != c.want {
			t.Errorf("%s %s answers %d, want %d", c.method, c.path, res.StatusCode, c.want)
		}
	}
}
