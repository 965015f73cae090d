package main

import (
	"context"
	"fmt"

	"github.com/agntchat/agntchat/bench/load"
)

const taskSection = "task"

// tasks measures from POST …/tasks to gateway_task on the agent's socket, which is
// when the task is claimed, and from there to the answer of accept, which is when it
// has started. The agent is a stock bridge that completes each task at once.
func (h *house) tasks(ctx context.Context) error {
	s, ada, bot, err := h.bridged(ctx, "task")
	if err != nil {
		return err
	}
	defer s.stop()
	room, err := s.room(ada, "direct", bot)
	if err != nil {
		return err
	}
	bodies := []load.Body{{
		Path: "/api/conversations/" + room + "/tasks", Token: ada.Token,
		JSON: fmt.Sprintf(`{"title":"Task #","description":%q,"assignedTo":[%q]}`, "Count the ships in the harbour.", bot.ID),
	}}
	return h.atRates(s, "task", bodies, 20, func(rate float64, a load.Answer) *row {
		r := h.table.at(taskSection, fmt.Sprintf("POST /tasks to gateway_task: claimed, %.0f per s", rate)).add(colP50, a.P50).add(colP99, a.P99)
		r.note = fmt.Sprintf("stock bridge accepts and completes at once; one room, one agent; %d tasks a round", a.Messages)
		h.table.at(taskSection, fmt.Sprintf("gateway_task to accept answered: started, %.0f per s", rate)).add(colP50, a.StartP50).add(colP99, a.StartP99)
		return r
	}, "create + claim + push + accept + complete")
}
