package obs

import (
	"net/http"
	"net/http/pprof"
)

// Profiles serves /debug/pprof/ of the running program. It belongs on the address
// of the metrics, never on the public one.
func Profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}
