package flow

import (
	"sync"
	"time"

	"github.com/agntchat/agntchat/internal/id"
)

// agentSet is a set that many goroutines use.
type agentSet struct {
	mu sync.Mutex
	m  map[id.Participant]struct{}
}

func newAgentSet() *agentSet { return &agentSet{m: map[id.Participant]struct{}{}} }

func (s *agentSet) add(agents ...id.Participant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range agents {
		s.m[a] = struct{}{}
	}
}

// has says whether an agent is there.
func (s *agentSet) has(a id.Participant) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.m[a]
	return ok
}

// take removes an agent and says whether it was there.
func (s *agentSet) take(a id.Participant) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.m[a]
	delete(s.m, a)
	return ok
}

func (s *agentSet) list() []id.Participant {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]id.Participant, 0, len(s.m))
	for a := range s.m {
		out = append(out, a)
	}
	return out
}

// signEvery is how often a turn that streams writes its sign of life.
const signEvery = 5 * time.Second

// signCache spares the database the sign of life of every stream frame. An entry
// is dropped by whoever ends or gives back the turn.
type signCache struct {
	mu sync.Mutex
	m  map[signKey]sign
}

type signKey struct {
	agent id.Participant
	conv  id.Conversation
}

type sign struct {
	queue      id.QueueItem
	generation int64
	at         time.Time
}

func newSignCache() *signCache { return &signCache{m: map[signKey]sign{}} }

// fresh reports that this very claim gave a sign a moment ago.
func (c *signCache) fresh(k signKey, q *id.QueueItem, generation *int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.m[k]
	return ok && time.Since(s.at) < signEvery && (q == nil || *q == s.queue) && (generation == nil || *generation == s.generation)
}

func (c *signCache) put(k signKey, q id.QueueItem, generation int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.m[k] = sign{q, generation, time.Now()}
}

func (c *signCache) drop(k signKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.m, k)
}

// agentParts remembers which stable directives are stored already.
type agentParts struct {
	mu sync.Mutex
	m  map[id.Participant]string
}

func newAgentParts() *agentParts { return &agentParts{m: map[id.Participant]string{}} }

func (p *agentParts) known(agent id.Participant, hash string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.m[agent] == hash
}

func (p *agentParts) put(agent id.Participant, hash string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.m[agent] = hash
}
