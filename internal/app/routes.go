package app

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/httpapi"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/obs"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/wire"
	"github.com/agntchat/agntchat/web"
)

// mounter is a feature of the REST edge.
type mounter interface{ Mount(r chi.Router) }

// routes is everything the public listener serves. The list of routes is a golden
// file (testdata/routes.golden).
func (a *App) routes() chi.Router {
	cfg := a.opts.Config
	metrics := obs.NewHTTPMetrics(a.registry)
	r := chi.NewRouter()
	r.Use(httpapi.WithRequestID, httpapi.WithRecovery(a.log, metrics.Observe), httpapi.WithAddress(cfg.TrustedProxyHeader), httpapi.WithCORS(cfg.AllowedOrigins()))
	r.Get("/healthz", a.health.Alive)
	r.Get("/readyz", a.health.Ready)
	r.Method(http.MethodGet, "/socket/websocket", a.sockets)
	r.Handle(riverPrefix, http.RedirectHandler(riverPrefix+"/", http.StatusMovedPermanently))
	r.Handle(riverPrefix+"/*", a.river.serve(a.Identity))
	if a.relay != nil {
		r.Handle(relayPrefix, a.relay)
		r.Handle(relayPrefix+"/*", a.relay)
	}
	r.Route("/api", a.api)
	r.NotFound(httpapi.Web{Files: web.Dist()}.ServeHTTP)
	return r
}

func (a *App) api(r chi.Router) {
	log := a.log
	r.Use(httpapi.WithActor(log, a.Identity))
	notFound := httpx.Wrap(log, func(http.ResponseWriter, *http.Request) error { return fault.ErrNotFound })
	r.NotFound(notFound)
	r.MethodNotAllowed(notFound)

	auth := httpapi.Auth{Identity: a.Identity, NoExternal: a.noExternal(), Log: log}
	auth.MountOpen(r)
	invites := httpapi.Invite{External: a.External, PublicURL: a.opts.Config.PublicURL, Log: log}
	invites.MountOpen(r)
	files := httpapi.File{Files: a.Files, Keys: a.fileKeys, PublicURL: a.opts.Config.PublicURL, Log: log}
	files.MountOpen(r)
	agents := httpapi.Agent{Identity: a.Identity, Online: a.Gateway.Online, NoExternal: a.noExternal(), Log: log}
	secure := strings.HasPrefix(a.opts.Config.PublicURL, "https://")
	setup := httpapi.Setup{Log: log}
	if a.local != nil {
		a.local.Identity = a.Identity
		setup.Local = a.local
	}
	r.Group(func(r chi.Router) {
		r.Use(httpapi.RequireActor(log))
		for _, m := range []mounter{
			auth, httpapi.Static{Log: log}, httpapi.LLMKey{Identity: a.Identity, Log: log}, setup,
			httpapi.Me{Identity: a.Identity, AgentSelf: a.agentSelf(agents), NoExternal: a.noExternal(), Log: log},
			httpapi.External{External: a.External, Chat: a.Chat, Online: a.online, Log: log}, invites,
			httpapi.Conversation{Chat: a.Chat, Tools: a.Tools, Online: a.online, Log: log}, httpapi.Message{Chat: a.Chat, Log: log},
			httpapi.Change{Chat: a.Chat, Online: a.online, Log: log}, httpapi.Stream{Chat: a.Chat, Log: log},
			httpapi.Gateway{Gateway: a.Gateway, Log: log}, httpapi.AgentTelemetry{Gateway: a.Gateway, Log: log}, files, httpapi.Tool{Tools: a.Tools, Log: log}, httpapi.Connection{Connections: a.connections, Log: log}, httpapi.Usage{Gateway: a.Gateway, Log: log}, httpapi.MCP{Tools: a.Tools, Version: a.opts.Version, Log: log},
			httpapi.LetterAddress{Identity: a.Identity, Log: log},
			httpapi.Approval{Approvals: a.Approvals, ToolTitle: a.toolTitle, Log: log}, httpapi.Budget{Gateway: a.Gateway, Approvals: a.Approvals, Log: log}, httpapi.CredentialRequest{Approvals: a.Approvals, Log: log},
			httpapi.GatewayTask{Tasks: a.Tasks, Log: log}, httpapi.Task{Tasks: a.Tasks, Log: log}, httpapi.Question{Tasks: a.Tasks, Log: log},
			httpapi.Health{Gateway: a.Gateway, Tasks: a.Tasks, Log: log}, httpapi.Turn{Gateway: a.Gateway, Log: log}, httpapi.Stop{Gateway: a.Gateway, Log: log},
			httpapi.RoomMemory{Memories: a.Memories, Log: log}, httpapi.Memory{Memories: a.Memories, Log: log}, httpapi.Location{Identity: a.Identity, Log: log},
			agents, httpapi.People{Identity: a.Identity, Online: a.online, Log: log},
		} {
			m.Mount(r)
		}
		r.Post("/admin/river-session", httpx.Wrap(log, func(w http.ResponseWriter, r *http.Request) error { return a.river.openSession(w, r, secure) }))
	})
}

// agentSelf is the agent's own /api/me with its tools (bridge 4.4).
func (a *App) agentSelf(agents httpapi.Agent) httpapi.AgentSelf {
	return func(r *http.Request) (wire.Agent, error) {
		out, err := agents.OwnView(r)
		if err != nil {
			return wire.Agent{}, err
		}
		list, err := a.Tools.Catalogue(r.Context(), httpx.Actor(r.Context()).ID)
		if err != nil {
			return wire.Agent{}, err
		}
		out.ResolvedTools = present.Tools(list)
		return out, nil
	}
}

// online reports a person or an agent.
func (a *App) online(p id.Participant) bool {
	return a.people.Online(p.String()) || a.Gateway.Online(p)
}

// Routes lists what the public listener serves, as "METHOD /path", sorted.
func (a *App) Routes() ([]string, error) {
	seen := map[string]bool{}
	err := chi.Walk(a.router, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		seen[method+" "+route] = true
		return nil
	})
	return slices.Sorted(maps.Keys(seen)), err
}
