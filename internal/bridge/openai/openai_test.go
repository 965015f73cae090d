package openai_test

import (
	"testing"

	"github.com/agntchat/agntchat/internal/bridge/backend"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest"
	"github.com/agntchat/agntchat/internal/bridge/openai"
)

func TestB2_OpenAI(t *testing.T) {
	t.Parallel()
	bridgetest.API(t, "/v1/chat/completions", func(url string) backend.Backend {
		return openai.New(openai.Options{BaseURL: url + "/v1", Model: "local-model"})
	})
}

func TestB2_OpenAIWithoutKey(t *testing.T) {
	t.Parallel()
	if err := openai.New(openai.Options{}).Check(t.Context()); bridgetest.Code(err) != backend.CodeAuth {
		t.Fatalf("error %v", err)
	}
}
