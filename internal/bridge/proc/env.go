package proc

import (
	"slices"
	"strings"
)

// known are the variables every CLI may see. Everything else stays out: the
// agent's own key first of all.
var known = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TZ",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	"SYSTEMROOT", "SystemRoot", "COMSPEC", "ComSpec", "PATHEXT", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "PROGRAMDATA", "ProgramData", "TEMP", "TMP",
}

// Environment picks from env (KEY=VALUE) the known variables, those in also
// (a trailing * matches a prefix), and adds the values of set, which win.
func Environment(env []string, also []string, set map[string]string) []string {
	var out []string
	for _, kv := range env {
		k, _, ok := strings.Cut(kv, "=")
		if _, replaced := set[k]; !ok || replaced {
			continue
		}
		if slices.Contains(known, k) || strings.HasPrefix(k, "LC_") || strings.HasPrefix(k, "XDG_") || matches(also, k) {
			out = append(out, kv)
		}
	}
	for k, v := range set {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}

func matches(patterns []string, k string) bool {
	for _, p := range patterns {
		if prefix, ok := strings.CutSuffix(p, "*"); ok && strings.HasPrefix(k, prefix) || p == k {
			return true
		}
	}
	return false
}

// Get is the value of a variable in env, or "".
func Get(env []string, key string) string {
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok && k == key {
			return v
		}
	}
	return ""
}
