package flow

import (
	"sync"

	"github.com/agntchat/agntchat/internal/id"
)

// dispatcher runs at most one claim per agent at a time. A wake during a run makes
// it run once more: no wake is lost, and a hundred cost one.
type dispatcher struct {
	mu      sync.Mutex
	running *sync.WaitGroup
	run     func(id.Participant)
	agents  map[id.Participant]*bool // present while running; true = woken meanwhile
	closed  bool
}

func newDispatcher(running *sync.WaitGroup, run func(id.Participant)) *dispatcher {
	return &dispatcher{running: running, run: run, agents: map[id.Participant]*bool{}}
}

func (d *dispatcher) wake(agent id.Participant) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	if dirty, ok := d.agents[agent]; ok {
		*dirty = true
		return
	}
	d.agents[agent] = new(bool)
	d.running.Go(func() { d.loop(agent) })
}

func (d *dispatcher) loop(agent id.Participant) {
	for {
		d.run(agent)
		d.mu.Lock()
		dirty := d.agents[agent]
		if d.closed || !*dirty {
			delete(d.agents, agent)
			d.mu.Unlock()
			return
		}
		*dirty = false
		d.mu.Unlock()
	}
}

func (d *dispatcher) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
}
