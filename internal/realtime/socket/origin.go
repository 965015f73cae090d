package socket

import (
	"net/http"
	"net/url"
	"path"
	"strings"
)

// originAllowed checks the Origin header against the patterns. A browser always
// sends it; bridges and other programs send none and are let through, because
// what protects them is the token.
func originAllowed(r *http.Request, patterns []string) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return false
	}
	if strings.EqualFold(u.Host, r.Host) && (u.Scheme == "http" || u.Scheme == "https") {
		return true
	}
	return OriginListed(origin, patterns)
}

// OriginListed reports whether a value of the Origin header is among the patterns, as in
// Config.Origins. REST asks it too, so that an origin is let in by both or by neither.
func OriginListed(origin string, patterns []string) bool {
	origin = strings.ToLower(origin)
	for _, p := range patterns {
		if ok, err := path.Match(strings.ToLower(p), origin); err == nil && ok {
			return true
		}
	}
	return false
}
