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
