package flow

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestObjectBoundsDepth(t *testing.T) {
	t.Parallel()
	nest := func(n int) json.RawMessage {
		return json.RawMessage(strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n))
	}
	if _, err := object(nest(maxDepth)); err != nil {
		t.Errorf("as deep as allowed: %v", err)
	}
	if _, err := object(nest(maxDepth + 1)); err == nil {
		t.Error("deeper than allowed is taken")
	}
	if _, err := object(json.RawMessage(`{"lists":` + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth) + `}`)); err == nil {
		t.Error("lists count too")
	}
	text, _ := json.Marshal(map[string]string{"a": strings.Repeat(`[{"\\`, 500)})
	if m, err := object(text); err != nil || len(m) != 1 {
		t.Errorf("brackets in text are text: %v", err)
	}
}

func TestTitlesDoNotTurnTheLineAround(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"\u202etxt.exe", "a\u2066b", "a\x00b"} {
		if got, err := cleanTitle(&in); err == nil {
			t.Errorf("%q is taken as %q", in, *got)
		}
	}
	for _, in := range []string{"Launch  2", "发布", "گروه"} {
		if _, err := cleanTitle(&in); err != nil {
			t.Errorf("%q: %v", in, err)
		}
	}
}
