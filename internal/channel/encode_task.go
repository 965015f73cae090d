package channel

import (
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/present"
)

// TaskEvents encodes what becomes of tasks (desktop contract 3.5): flat tasks on the
// topics of who is involved.
func TaskEvents() Encode {
	return func(ev event.Event) ([]Out, bool) {
		e, ok := ev.(flow.TaskChanged)
		if !ok {
			return nil, false
		}
		return []Out{{Topics: userTopics(e.To), Event: e.Name, Payload: present.Task(e.Task)}}, true
	}
}
