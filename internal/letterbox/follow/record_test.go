package follow_test

import (
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/letterbox/follow"
	"github.com/agntchat/agntchat/internal/letterbox/olm"
	"github.com/agntchat/agntchat/internal/letterbox/post"
	"github.com/agntchat/agntchat/internal/letterbox/spool"
)

// Whatever a peer can send that is opened has room in a spool and is read there: a letter that has not would never be
// acknowledged, and the follower would stop at it at each look.
func TestL3_TheLargestLetterIsSpooled(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	user, err := spool.At(home)
	if err != nil {
		t.Fatal(err)
	}
	w := spool.NewWriter(user, spool.OpenRegistry(home), spool.WriterOptions{})
	text := strings.Repeat("\x7f", olm.MaxBody/4*3) // one byte each there, six here
	address := strings.Repeat("a", 32)
	l := post.Letter{ID: strings.Repeat("b", 128), Kind: post.Chat, From: address, Name: "~" + strings.Repeat("n", 80), Text: text, GroupID: strings.Repeat("g", 128), Group: strings.Repeat("\u2603", 80)}
	if _, err := w.Append(t.Context(), spool.Messages, follow.Record(l)); err != nil {
		t.Fatal(err)
	}
	b, err := user.Unread(t.Context(), spool.OpenRegistry(home), "", spool.Messages, spool.Limit{})
	if err != nil || len(b.Lines) != 1 || b.Lines[0].From != address {
		t.Fatalf("%d lines, %v", len(b.Lines), err)
	}
}
