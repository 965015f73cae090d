package httpapi

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/realtime/socket"
)

// Authenticator turns a bearer token into an Actor.
type Authenticator interface {
	Authenticate(ctx context.Context, token string) (access.Actor, error)
}

type addressKey struct{}

// Address is the client's address as the configured trusted proxy header or the connection tells it.
func Address(r *http.Request) string {
	s, _ := r.Context().Value(addressKey{}).(string)
	return s
}

// WithAddress stores the client address. trusted names a header that the proxy in
// front of us sets itself (for example Fly-Client-IP); empty means none is believed.
func WithAddress(trusted string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			host, _, err := net.SplitHostPort(r.RemoteAddr)
			if err != nil {
				host = r.RemoteAddr
			}
			if trusted != "" {
				last := r.Header.Get(trusted)
				if n := strings.LastIndexByte(last, ','); n >= 0 { // the last entry is the one our own proxy added
					last = last[n+1:]
				}
				if a, err := netip.ParseAddr(strings.TrimSpace(last)); err == nil {
					host = a.String()
				}
			}
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), addressKey{}, host)))
		})
	}
}

// WithRequestID gives each request an id, in the answer's X-Request-Id and in the log.
func WithRequestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rid := uuid.NewString()
		w.Header().Set("X-Request-Id", rid)
		next.ServeHTTP(w, r.WithContext(httpx.WithRequestID(r.Context(), rid)))
	})
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (s *statusWriter) WriteHeader(code int) {
	if s.status == 0 {
		s.status = code
	}
	s.ResponseWriter.WriteHeader(code)
}

func (s *statusWriter) Write(b []byte) (int, error) {
	if s.status == 0 {
		s.status = http.StatusOK
	}
	return s.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController and the socket upgrade reach the connection.
func (s *statusWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Observe is told of every finished request.
type Observe func(r *http.Request, status int, took time.Duration)

// WithRecovery turns a panic into a 500 with a request id, and reports every request.
func WithRecovery(log *slog.Logger, observe Observe) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			start := time.Now()
			sw := &statusWriter{ResponseWriter: w}
			defer func() {
				if v := recover(); v != nil {
					if v == http.ErrAbortHandler { //nolint:errorlint // a sentinel panic value
						panic(v)
					}
					log.ErrorContext(r.Context(), "handler panicked", slog.Any("panic", v), slog.String("stack", string(debug.Stack())), slog.String("request_id", httpx.RequestID(r.Context())))
					if sw.status == 0 {
						httpx.Error(log, sw, r, fault.From(errPanicked))
					}
				}
				observe(r, sw.status, time.Since(start))
			}()
			next.ServeHTTP(sw, r)
		})
	}
}

var errPanicked = fault.New(fault.Internal, "internal", "Something went wrong on our side.")

// WithCORS answers preflights and names the allowed origin (desktop 0.3, decision 26).
func WithCORS(origins []string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			origin := r.Header.Get("Origin")
			if origin != "" && socket.OriginListed(origin, origins) {
				h := w.Header()
				h.Set("Access-Control-Allow-Origin", origin)
				h.Add("Vary", "Origin")
				h.Set("Access-Control-Expose-Headers", "X-Request-Id, Retry-After")
				if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
					h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE, OPTIONS")
					h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key, X-Active-Conversation, X-Task-Id, X-Bridge-Version")
					h.Set("Access-Control-Max-Age", "7200")
					w.WriteHeader(http.StatusNoContent)
					return
				}
			}
			next.ServeHTTP(w, r)
		})
	}
}

// WithActor authenticates the bearer token. Without one, or with a bad one, the
// request goes on as nobody: where anybody may ask, such as at the login, a token
// that has ended is no obstacle. Everywhere else RequireActor answers for it, which
// is the only thing that answers 401.
func WithActor(log *slog.Logger, auth Authenticator) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			token, ok := bearer(r)
			if !ok {
				next.ServeHTTP(w, r)
				return
			}
			actor, err := auth.Authenticate(r.Context(), token)
			switch {
			case fault.KindOf(err) == fault.Unauthenticated:
				next.ServeHTTP(w, r)
			case err != nil:
				httpx.Error(log, w, r, err)
			default:
				next.ServeHTTP(w, r.WithContext(httpx.WithActor(r.Context(), actor)))
			}
		})
	}
}

func bearer(r *http.Request) (string, bool) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(token), ok && strings.EqualFold(scheme, "Bearer")
}

// RequireActor refuses requests of nobody.
func RequireActor(log *slog.Logger) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			actor := httpx.Actor(r.Context())
			if actor.Kind == access.None {
				httpx.Error(log, w, r, fault.ErrUnauthenticated)
				return
			}
			if actor.RawKey && !rawKeyRoute(r) {
				httpx.Error(log, w, r, fault.New(fault.Forbidden, "token_required", "Exchange the API key for a token first."))
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// rawKeyRoute lists where an agent's raw API key is accepted as bearer (bridge 1.3).
func rawKeyRoute(r *http.Request) bool {
	p := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	at := func(n int) string {
		if n < len(p) {
			return p[n]
		}
		return ""
	}
	get, post := r.Method == http.MethodGet, r.Method == http.MethodPost
	switch {
	case at(1) == "conversations" && at(2) == "dm":
		return post && len(p) == 3
	case at(1) == "conversations" && len(p) == 4:
		return (at(3) == "messages" && (get || post)) || (at(3) == "tasks" && post) || (at(3) == "memory" && get)
	case at(1) == "agents" && at(2) == "me" && at(3) == "memories":
		return len(p) == 4 && (get || post)
	case at(1) == "huddles" || at(1) == "threads":
		return post && len(p) == 3 && (at(2) == "complete" || at(2) == "goal")
	case at(1) == "tasks":
		return r.Method == http.MethodPatch && len(p) == 3
	case at(1) == "owner":
		return get && at(2) == "location"
	}
	return false
}
