package socket

import "slices"

func (s *Server) reserve() (ticket, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining || len(s.conns)+len(s.opening) >= s.cfg.Limits.Conns {
		return 0, false
	}
	s.last++
	s.opening[s.last] = struct{}{}
	return s.last, true
}

// admit counts one more connection of a participant.
func (s *Server) admit(participant string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.each[participant] >= s.cfg.Limits.Each {
		return false
	}
	s.each[participant]++
	return true
}

func (s *Server) dismiss(participant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dismissLocked(participant)
}

func (s *Server) dismissLocked(participant string) {
	if s.each[participant]--; s.each[participant] <= 0 {
		delete(s.each, participant)
	}
}

func (s *Server) unreserve(t ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened(t)
	s.signalEmpty()
}

// opened ends an upgrade, and forgets the orders that no upgrade predates.
func (s *Server) opened(t ticket) {
	delete(s.opening, t)
	oldest := s.last + 1
	for o := range s.opening {
		oldest = min(oldest, o)
	}
	s.orders = slices.DeleteFunc(s.orders, func(o order) bool { return o.until < oldest })
}

func (s *Server) start(c *Conn, t ticket) {
	s.mu.Lock()
	orders := slices.Clone(s.orders)
	s.opened(t)
	if s.cut {
		s.dismissLocked(c.session.Participant)
		s.mu.Unlock()
		_ = c.ws.CloseNow()
		return
	}
	s.conns[c] = struct{}{}
	s.metrics.conns.Inc()
	late := s.draining
	s.running.Go(c.read)
	s.mu.Unlock()
	if late {
		c.Close(CodeRestart, "service restart")
	}
	for _, o := range orders {
		if t <= o.until && o.match(c) {
			c.Close(o.code, o.reason)
		}
	}
}

func (s *Server) forget(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.dismissLocked(c.session.Participant)
	s.metrics.conns.Dec()
	s.signalEmpty()
}

func (s *Server) signalEmpty() {
	if s.draining && len(s.conns)+len(s.opening) == 0 {
		select {
		case <-s.empty:
		default:
			close(s.empty)
		}
	}
}

// Conns returns the open connections at this moment.
func (s *Server) Conns() []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*Conn, 0, len(s.conns))
	for c := range s.conns {
		all = append(all, c)
	}
	return all
}

// Len is the number of open connections.
func (s *Server) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// ticket numbers upgrades in the order in which they began.
type ticket uint64

// order is a CloseSession that upgrades which began before it still obey.
type order struct {
	until  ticket
	match  func(*Conn) bool
	code   Code
	reason string
}

// CloseSession closes every connection that match accepts and returns how many.
// It does not wait for them to end. An upgrade that has been authenticated but is
// not open yet is closed as soon as it is, so what was revoked before the call
// stays closed. match must not block, and may be called after CloseSession has
// returned.
func (s *Server) CloseSession(match func(*Conn) bool, code Code, reason string) int {
	s.mu.Lock()
	if len(s.opening) > 0 {
		s.orders = append(s.orders, order{until: s.last, match: match, code: code, reason: reason})
	}
	s.mu.Unlock()
	n := 0
	for _, c := range s.Conns() {
		if match(c) {
			c.Close(code, reason)
			n++
		}
	}
	return n
}
