package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/agntchat/agntchat/internal/httpapi"
)

// TestP1_OriginsAreLetInByRESTAsByTheSocket: the same list, read the same way
// (decision 26); what it does not name gets no header and no answer to a preflight.
func TestP1_OriginsAreLetInByRESTAsByTheSocket(t *testing.T) {
	t.Parallel()
	h := httpapi.WithCORS([]string{"tauri://localhost", "https://Chat.example.com", "https://*.example.org"})(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
	}))
	for origin, want := range map[string]bool{
		"tauri://localhost": true, "https://chat.example.com": true, "https://a.example.org": true,
		"": false, "null": false, "https://example.org": false, "http://a.example.org": false, "https://a.example.org.evil.com": false,
		"https://chat.example.com:8443": false, "https://chat.example.com.evil.com": false, "https://evil.com/https://chat.example.com": false,
	} {
		for _, method := range []string{http.MethodGet, http.MethodOptions} {
			r := httptest.NewRequestWithContext(t.Context(), method, "/api/me", http.NoBody)
			r.Header.Set("Access-Control-Request-Method", "PUT")
			if origin != "" {
				r.Header.Set("Origin", origin)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if got := w.Header().Get("Access-Control-Allow-Origin"); (got != "") != want || want && got != origin {
				t.Errorf("%s %q is let in as %q", method, origin, got)
			}
			if answered := w.Code == http.StatusNoContent; answered != (want && method == http.MethodOptions) {
				t.Errorf("%s %q: %d", method, origin, w.Code)
			}
		}
	}
}
