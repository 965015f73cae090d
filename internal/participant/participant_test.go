package participant_test

import (
	"testing"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/participant"
)

func TestCleanName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"  Ada   Byron\n": "Ada Byron", "林晓": "林晓", "O'Neil-Š": "O'Neil-Š",
		"می\u200cخواهم": "می\u200cخواهم", "👩\u200d🚀": "👩\u200d🚀",
	} {
		if got, err := participant.CleanName("name", in); err != nil || got != want {
			t.Errorf("%q: %q %v", in, got, err)
		}
	}
	for _, in := range []string{"", " \t", "Al\u200bice", "Ali\u00adce", "Ali\u2060ce", "\ufeffAlice", "\u202eecilA", "a\x00b", "[Ada]", "a\xffb"} {
		if got, err := participant.CleanName("name", in); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q is taken as %q: %v", in, got, err)
		}
	}
}
