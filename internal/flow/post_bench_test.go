package flow_test

import (
	"fmt"
	"testing"

	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/flow/flowtest"
)

// BenchmarkPost is one writer in rooms of different sizes, without sockets.
func BenchmarkPost(b *testing.B) {
	for _, size := range []int{2, 100, 1000} {
		b.Run(fmt.Sprintf("members=%d", size), func(b *testing.B) {
			w := flowtest.New(b)
			ada := w.Person("Ada")
			room := w.Room("group", ada, w.Agent(ada, "Nova"))
			if _, err := w.DB.Exec(b.Context(), `WITH p AS (INSERT INTO participants (kind, display_name) SELECT 'human', 'Member ' || n FROM generate_series(3, $2::int) n RETURNING id)
				INSERT INTO conversation_members (conversation_id, participant_id) SELECT $1::uuid, id FROM p`, room, size); err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			for b.Loop() {
				if _, err := w.Chat.Post(b.Context(), ada, flow.Post{ConversationID: room, Content: "hello"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
