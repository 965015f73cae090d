package flow

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/agntchat/agntchat/internal/id"
)

// askAside wakes an agent for questions that take no slot (bridge contract 2.6).
func (g *Gateway) askAside(agent id.Participant) {
	g.asides.add(agent)
	g.disp.wake(agent)
}

// pushAsides hands out what waits beside the queues. It is asked for when something
// was put there, and after every join, for what a restart left behind.
func (g *Gateway) pushAsides(ctx context.Context, agent id.Participant, claimers []claimer) {
	if g.aside == nil || !g.asides.take(agent) {
		return
	}
	best := claimers[0]
	for _, c := range claimers {
		if c.answersQueries {
			best = c
		}
	}
	g.aside(ctx, agent, best)
}

// answersQueries reports that a joined executor of the agent knows agent queries.
func (g *Gateway) answersQueries(agent id.Participant) bool {
	for _, c := range g.reg.claimers(agent) {
		if c.answersQueries {
			return true
		}
	}
	return false
}

// knowsQueries: a stock bridge knows the event from 2.10.0 on.
func knowsQueries(version string, ours bool) bool {
	if ours {
		return true
	}
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	x, err := strconv.Atoi(major)
	y, err2 := strconv.Atoi(minor)
	return err == nil && err2 == nil && (x > 2 || (x == 2 && y >= 10))
}

// waiters are callers that wait for an answer which another request brings.
type waiters struct {
	mu sync.Mutex
	m  map[string][]chan string
}

// wait returns the channel on which the answer arrives.
func (w *waiters) wait(key string) <-chan string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.m == nil {
		w.m = map[string][]chan string{}
	}
	c := make(chan string, 1)
	w.m[key] = append(w.m[key], c)
	return c
}

// give answers all who wait; nobody may.
func (w *waiters) give(key, answer string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.m[key] {
		select {
		case c <- answer:
		default:
		}
	}
}

// forget drops those who waited.
func (w *waiters) forget(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.m, key)
}
