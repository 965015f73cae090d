package session_test

import (
	"context"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/bridge/backend"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest/fakeserver"
)

// hearing is a puppet whose runs hear what is said meanwhile.
type hearing struct {
	*puppet
	told chan [2]string
}

func (h hearing) Tell(_ context.Context, conversation, text string) bool {
	h.told <- [2]string{conversation, text}
	return true
}

// TestT3_PeopleTalkToAWorkingAgent: while a task runs, a message in its room is answered
// at once, by a session that knows that the work goes on; the run hears it too.
func TestT3_PeopleTalkToAWorkingAgent(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	began, goOn := make(chan struct{}), make(chan struct{})
	h := hearing{&puppet{}, make(chan [2]string, 1)}
	h.do = func(_ context.Context, turn backend.Turn, emit func(backend.Event)) (backend.Result, error) {
		if strings.HasPrefix(turn.ConversationID, "task:") {
			emit(backend.Event{Kind: backend.ToolCall, Tool: "Bash", Detail: "Running the tests"})
			close(began)
			<-goOn
			return backend.Result{Text: "Counted."}, nil
		}
		return backend.Result{Text: "Halfway."}, nil
	}
	start(t, options(t, s, h))
	task := s.PostTask("room", "Count")
	<-began
	talk := s.WaitDone(s.Post("room", "How far are you?", map[string]any{"activeTaskId": task.MessageID}))
	if talk.Reply() != "Halfway." {
		t.Fatalf("reply %q", talk.Reply())
	}
	if got := <-h.told; got[0] != "task:"+task.MessageID || !strings.Contains(got[1], "How far are you?") {
		t.Errorf("the run was told %q", got)
	}
	turns := h.turns()
	if v := turns[1].Volatile; turns[1].ConversationID != "room" || !strings.Contains(v, "Running the tests") || !strings.Contains(v, "told their message too") {
		t.Errorf("the answering session knows %q", v)
	}
	close(goOn)
	if row := s.WaitDone(task); row.Outcome != "done" || row.Body["response"] != "Counted." {
		t.Errorf("the task ended %q", row.Outcome)
	}
}
