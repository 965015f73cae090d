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
	s, _, err := h.serve(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	ada, err := s.signUp("Ada")
	if err != nil {
		return err
	}
	bot, err := s.agent(ada, "Nova", 20)
	if err != nil {
		return err
	}
	room, err := s.room(ada, "direct", bot)
	if err != nil {
		return err
	}
	bodies := []load.Body{{
		Path: "/api/conversations/" + room + "/tasks", Token: ada.Token,
		JSON: fmt.Sprintf(`{"title":"Task #","description":%q,"assignedTo":[%q]}`, "Count the ships in the harbour.", bot.ID),
	}}
	_, err = h.crowd.do(load.Order{Do: "bridge", Set: "task", Addr: s.addr, Call: load.Call{
		Path: socketPath(bot), Topic: "user:" + bot.ID, Params: fmt.Sprintf(`{"executor_id":%q,"bridge_version":"2.11.24"}`, bot.Executor),
		Token: bot.Token, Executor: bot.Executor,
	}})
	if err != nil {
		return err
	}
	once := func(rate, seconds float64) (a load.Answer, err error) {
		return h.crowd.do(load.Order{Do: "posts", Set: "task", Addr: s.addr, Call: load.Call{Bodies: bodies, Rate: rate, Seconds: seconds}})
	}
	if _, err := once(5, 1); err != nil {
		return err
	}
	slow, fast := 8.0, 4.0
	if h.quick {
		slow, fast = 3, 1
	}
	for round := 0; h.again(round); round++ {
		progress("task: round %d", round+1)
		for _, c := range []struct{ rate, seconds float64 }{{1, slow}, {20, fast}} {
			var a load.Answer
			own, postgres, err := s.cpu(func() (err error) { a, err = once(c.rate, c.seconds); return err })
			if err != nil {
				return err
			}
			row := h.table.at(taskSection, fmt.Sprintf("POST /tasks to gateway_task: claimed, %.0f per s", c.rate)).add(colP50, a.P50).add(colP99, a.P99)
			row.note = fmt.Sprintf("stock bridge accepts and completes at once; one room, one agent; %d tasks a round", a.Messages)
			if c.rate >= 10 { // at 1 per s the clock of /proc is too coarse
				row.add(colCPU, micros(own, int64(a.Messages))).add(colPG, micros(postgres, int64(a.Messages)))
				row.note += "; op = create + claim + push + accept + complete"
			}
			started := h.table.at(taskSection, fmt.Sprintf("gateway_task to accept answered: started, %.0f per s", c.rate))
			started.add(colP50, a.StartP50).add(colP99, a.StartP99)
		}
	}
	return nil
}
