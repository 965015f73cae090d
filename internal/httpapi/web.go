package httpapi

import (
	"io/fs"
	"net/http"
	"path"
	"strings"
)

// csp lets the client run its own code only. Pictures may come from anywhere over
// https; styles may be inline, which component libraries need.
const csp = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' https: data: blob:; font-src 'self' data:; " +
	"connect-src 'self' ws: wss:; object-src 'none'; base-uri 'self'; frame-ancestors 'none'; form-action 'self'"

// Web serves the embedded client: hashed assets for ever, everything else anew,
// and index.html for the client's own routes.
type Web struct{ Files fs.FS }

// ServeHTTP serves a file or index.html.
func (s Web) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	if st, err := fs.Stat(s.Files, name); name != "" && name != "index.html" && err == nil && !st.IsDir() {
		if strings.HasPrefix(name, "assets/") {
			h.Set("Cache-Control", "public, max-age=31536000, immutable")
		} else {
			h.Set("Cache-Control", "no-cache")
		}
		http.ServeFileFS(w, r, s.Files, name)
		return
	}
	if strings.HasPrefix(name, "assets/") {
		http.NotFound(w, r) // an old page asks for a file of another version: not index.html
		return
	}
	page, err := fs.ReadFile(s.Files, "index.html")
	if err != nil {
		http.Error(w, "The web client is not built into this program. Build it with: make build", http.StatusNotFound)
		return
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Security-Policy", csp)
	h.Set("X-Frame-Options", "DENY")
	_, _ = w.Write(page)
}
