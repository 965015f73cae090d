package speak_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/speak"
)

// A text of nothing but openings is read with memory that grows as it does: it is read
// while its room is locked, and again for every part of it that is streamed.
func TestH1_DeepBlocksAreReadCheaply(t *testing.T) {
	opening := `<dm target="Nova">`
	for name, text := range map[string]string{
		"never closed": strings.Repeat(opening, 5000),
		"closed":       strings.Repeat(opening, 4000) + "hello" + strings.Repeat("</dm>", 4000),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		rest, found := speak.Asides(text)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 200*uint64(len(text)) {
			t.Errorf("%s: %d bytes for a text of %d", name, used, len(text))
		}
		if closed := name == "closed"; closed && (len(found) == 0 || !strings.Contains(found[len(found)-1].Body, "hello")) || !closed && rest != text {
			t.Errorf("%s: %d blocks, %d of %d bytes are left", name, len(found), len(rest), len(text))
		}
	}
}
