package main

import (
	"context"
	"fmt"

	"github.com/agntchat/agntchat/bench/load"
)

const postSection = "post to socket"

// posts measures from POST …/messages to the agent's socket. The agent is a stock
// bridge that acknowledges at once; its rooms are ten, so that at 100 posts a
// second a room is free again when its next message comes (one turn of a room is in
// flight at a time).
func (h *house) posts(ctx context.Context) error {
	s, ada, bot, err := h.bridged(ctx, "post")
	if err != nil {
		return err
	}
	defer s.stop()
	var bodies []load.Body
	for range 10 {
		room, err := s.room(ada, "group", bot)
		if err != nil {
			return err
		}
		bodies = append(bodies, load.Body{
			Path: "/api/conversations/" + room + "/messages", Token: ada.Token, JSON: fmt.Sprintf(`{"content":%q,"contentType":"text"}`, body),
		})
	}
	return h.atRates(s, "post", bodies, 100, func(rate float64, a load.Answer) *row {
		r := h.table.at(postSection, fmt.Sprintf("POST /messages to gateway_message, %.0f per s", rate)).add(colP50, a.P50).add(colP99, a.P99)
		r.note = fmt.Sprintf("stock bridge acks at once; ten rooms, one agent; %d posts a round", a.Messages)
		return r
	}, "post + claim + push + ack")
}

// bridged starts a server with Ada and her agent, whose stock bridge is on it.
func (h *house) bridged(ctx context.Context, set string) (s *server, ada, bot who, err error) {
	if s, _, err = h.serve(ctx); err != nil {
		return nil, who{}, who{}, err
	}
	if ada, err = s.signUp("Ada"); err == nil {
		bot, err = s.agent(ada, "Nova", 20)
	}
	if err == nil {
		_, err = h.crowd.do(load.Order{Do: "bridge", Set: set, Addr: s.addr, Call: load.Call{
			Path: socketPath(bot), Topic: "user:" + bot.ID, Params: fmt.Sprintf(`{"executor_id":%q,"bridge_version":"2.11.24"}`, bot.Executor),
			Token: bot.Token, Executor: bot.Executor,
		}})
	}
	if err != nil {
		s.stop()
	}
	return s, ada, bot, err
}

// atRates sends bodies at one a second and at fast a second, in every round; enter
// gives the row of a rate, op says what one costs the processors for.
func (h *house) atRates(s *server, set string, bodies []load.Body, fast float64, enter func(rate float64, a load.Answer) *row, op string) error {
	once := func(rate, seconds float64) (a load.Answer, err error) {
		return h.crowd.do(load.Order{Do: "posts", Set: set, Addr: s.addr, Call: load.Call{Bodies: bodies, Rate: rate, Seconds: seconds}})
	}
	if _, err := once(fast/5, 1); err != nil {
		return err
	}
	long, short := 8.0, 4.0
	if h.quick {
		long, short = 3, 1
	}
	for round := 0; h.again(round); round++ {
		progress("%s: round %d", set, round+1)
		for _, c := range []struct{ rate, seconds float64 }{{1, long}, {fast, short}} {
			var a load.Answer
			own, postgres, err := s.cpu(func() (err error) { a, err = once(c.rate, c.seconds); return err })
			if err != nil {
				return err
			}
			r := enter(c.rate, a)
			if c.rate > 1 { // at 1 per s the clock of /proc is too coarse
				r.add(colCPU, micros(own, int64(a.Messages))).add(colPG, micros(postgres, int64(a.Messages)))
				r.note += "; op = " + op
			}
		}
	}
	return nil
}

// tokens measures the exchange of an agent's key, which a CLI does on every turn.
func (h *house) tokens(ctx context.Context) error {
	s, _, err := h.serve(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	ada, err := s.signUp("Ada")
	if err != nil {
		return err
	}
	bot, err := s.agent(ada, "Nova", 1)
	if err != nil {
		return err
	}
	seconds := 2.0
	if h.quick {
		seconds = .5
	}
	for round := 0; h.again(round); round++ {
		for _, conns := range []int{1, 8} {
			var a load.Answer
			own, postgres, err := s.cpu(func() (err error) {
				a, err = h.crowd.do(load.Order{Do: "exchange", Addr: s.addr, Call: load.Call{
					Path: "/api/auth/agent-token", Body: fmt.Sprintf(`{"agent_id":%q,"api_key":%q}`, bot.ID, bot.Key), Conns: conns, Seconds: seconds,
				}})
				return err
			})
			if err != nil {
				return err
			}
			row := h.table.at("agent token", fmt.Sprintf("exchanges, %d at a time", conns)).add(colRate, float64(a.Messages)/a.Seconds).add(colP50, a.P50).add(colP99, a.P99)
			row.add(colCPU, micros(own, int64(a.Messages))).add(colPG, micros(postgres, int64(a.Messages)))
		}
	}
	return nil
}
