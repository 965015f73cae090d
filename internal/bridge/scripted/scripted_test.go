package scripted_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/bridge/backend"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest"
	"github.com/agntchat/agntchat/internal/bridge/scripted"
)

func TestB1_ScriptedScenes(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"hello": "I am a script", "help": "| `code` |", "show me a table": "|:--|", "some code please": "```go", "a long one": "### 8.",
		"mention me": "@[Ann]", "how is the weather": "how is the weather", "帮助": "我的全部本领", "代码": "```sql", "你好": "我是一段脚本", "随便说说": "随便说说",
		"I belong here": "I belong here",
	}
	for question, want := range cases {
		rec := &bridgetest.Record{}
		res, err := (&scripted.Backend{}).Run(t.Context(), bridgetest.Turn(question), rec.Emit)
		if err != nil || !strings.Contains(res.Text, want) || rec.Text() != res.Text {
			t.Errorf("%s: %q, error %v", question, res.Text, err)
		}
		if !rec.Has(backend.Thinking) {
			t.Errorf("%s: no thinking was shown", question)
		}
	}
}

func TestB1_ScriptedFailures(t *testing.T) {
	t.Parallel()
	for question, code := range map[string]string{"fail": backend.CodeModel, "an error": backend.CodeModel, "失败": backend.CodeModel, "rate limit": backend.CodeRate} {
		_, err := (&scripted.Backend{}).Run(t.Context(), bridgetest.Turn(question), func(backend.Event) {})
		if bridgetest.Code(err) != code {
			t.Errorf("%s: error %v", question, err)
		}
	}
	if res, err := (&scripted.Backend{}).Run(t.Context(), bridgetest.Turn("empty"), func(backend.Event) {}); err != nil || res.Text != "" {
		t.Errorf("empty: %q %v", res.Text, err)
	}
}

func TestB1_ScriptedStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := (&scripted.Backend{Pace: time.Millisecond}).Run(ctx, bridgetest.Turn("slow"), func(e backend.Event) {
		if e.Kind == backend.Text {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
}
