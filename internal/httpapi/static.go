package httpapi

import (
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/agent"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/participant"
	"github.com/agntchat/agntchat/internal/wire"
)

// Static is configuration that clients read (desktop 4.3), and the lists that are
// empty because nothing of their kind can exist here yet.
type Static struct{ Log *slog.Logger }

// Mount mounts the routes.
func (s Static) Mount(r chi.Router) {
	fixed := func(body any) http.HandlerFunc {
		return httpx.Wrap(s.Log, func(w http.ResponseWriter, _ *http.Request) error { return httpx.JSON(w, http.StatusOK, body) })
	}
	r.Get("/field-limits", fixed(wire.FieldLimits{
		Agent:   wire.AgentFieldLimits{DisplayName: participant.MaxName, Description: agent.MaxDescription, CreationBrief: 1000},
		Profile: wire.ProfileFieldLimits{DisplayName: participant.MaxName, Description: flow.MaxProfileDescription},
	}))
	r.Get("/agent-types", fixed(wire.AgentTypes{Types: []wire.AgentType{
		{ID: "worker", Label: "Worker", Description: "Does the work itself."},
		{ID: "orchestrator", Label: "Orchestrator", Description: "Splits work and hands it to others."},
		{ID: "reviewer", Label: "Reviewer", Description: "Checks what others made."},
		{ID: "observer", Label: "Observer", Description: "Reads along and speaks when asked."},
	}}))
	r.Get("/models/providers", fixed(catalog()))
}

// catalog lists the backends and the models to choose from; any other model id can be typed.
func catalog() wire.ModelCatalog {
	modes := []string{"single_shot", "tool_use"}
	claude := []wire.CatalogModel{
		{ID: "claude-opus-4-8", Label: "Claude Opus 4.8"},
		{ID: "claude-sonnet-4-5-20250929", Label: "Claude Sonnet 4.5"},
		{ID: "claude-haiku-4-5-20251001", Label: "Claude Haiku 4.5"},
	}
	gpt := []wire.CatalogModel{{ID: "gpt-6", Label: "GPT-6"}, {ID: "gpt-5.1", Label: "GPT-5.1"}, {ID: "gpt-4o-mini", Label: "GPT-4o mini"}}
	return wire.ModelCatalog{
		Providers: []wire.CatalogProvider{
			{ID: "claude_cli", Label: "Claude Code", SupportedModes: modes, Models: claude, CLIConnections: []string{"subscription", "anthropic", "bedrock", "vertex"}},
			{ID: "codex_cli", Label: "Codex", SupportedModes: modes, Models: gpt, CLIConnections: []string{"subscription", "openai"}},
			{ID: "anthropic", Label: "Anthropic API", RequiresLLMKey: true, SupportedModes: modes, Models: claude},
			{ID: "openai", Label: "OpenAI API", RequiresLLMKey: true, SupportedModes: modes, Models: gpt},
		},
		LLMKeyProviders: []wire.LLMKeyProvider{{ID: "anthropic", Label: "Anthropic"}, {ID: "openai", Label: "OpenAI"}, {ID: "openrouter", Label: "OpenRouter"}},
	}
}
