package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/bridge/anthropic"
	"github.com/agntchat/agntchat/internal/bridge/backend"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest/fakemodel"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest/toolbox"
)

func open(url string) backend.Backend {
	return anthropic.New(anthropic.Options{Key: "sk-made-up", BaseURL: url})
}

func TestB2_Anthropic(t *testing.T) {
	t.Parallel()
	bridgetest.API(t, "/v1/messages", open)
}

// The cached prefix (tools, system, history) is the same bytes in the next
// turn; what changes stands in the last message, behind the last breakpoint.
func TestB2_AnthropicCacheBoundary(t *testing.T) {
	t.Parallel()
	m := fakemodel.New(t)
	b := open(m.URL)
	for _, volatile := range []string{"It is noon.", "It is one o'clock."} {
		turn := bridgetest.Turn("what now")
		turn.Volatile, turn.Toolbox = volatile, &toolbox.Box{}
		if _, err := b.Run(t.Context(), turn, func(backend.Event) {}); err != nil {
			t.Fatal(err)
		}
	}
	var prefixes []string
	for _, r := range m.Requests("/v1/messages") {
		msgs := r.Body["messages"].([]any)
		raw, err := json.Marshal([]any{r.Body["tools"], r.Body["system"], msgs[:len(msgs)-1]})
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(r.Raw, "cache_control"); n != 3 {
			t.Fatalf("%d breakpoints", n)
		}
		prefixes = append(prefixes, string(raw))
	}
	if len(prefixes) != 2 || prefixes[0] != prefixes[1] || strings.Contains(prefixes[0], "noon") {
		t.Fatalf("prefixes differ:\n%s\n%s", prefixes[0], prefixes[1])
	}
}

func TestB2_AnthropicWithoutKey(t *testing.T) {
	t.Parallel()
	if err := anthropic.New(anthropic.Options{}).Check(t.Context()); bridgetest.Code(err) != backend.CodeAuth {
		t.Fatalf("error %v", err)
	}
}
