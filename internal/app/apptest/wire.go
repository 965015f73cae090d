package apptest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// relay is a TCP proxy on loopback whose connections are handled by serve.
type relay struct {
	listener net.Listener
	network  string
	target   string
	serve    func(near, far net.Conn)

	mu    sync.Mutex
	conns map[net.Conn]bool
	shut  bool
	wg    sync.WaitGroup
}

func newRelay(t testing.TB, network, target string, serve func(near, far net.Conn)) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("relay: %v", err)
	}
	r := &relay{listener: l, network: network, target: target, serve: serve, conns: map[net.Conn]bool{}}
	r.wg.Go(r.accept)
	t.Cleanup(r.close)
	return r
}

func (r *relay) addr() string { return r.listener.Addr().String() }

func (r *relay) accept() {
	for {
		near, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.wg.Go(func() {
			defer near.Close()
			far, err := net.Dial(r.network, r.target)
			if err != nil {
				return // as if nobody listened
			}
			defer far.Close()
			if r.keep(near, far) {
				r.serve(near, far)
			}
			r.forget(near, far)
		})
	}
}

func (r *relay) keep(conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range conns {
		r.conns[c] = true
	}
	return !r.shut
}

func (r *relay) forget(conns ...net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range conns {
		delete(r.conns, c)
	}
}

func (r *relay) close() {
	_ = r.listener.Close()
	r.mu.Lock()
	r.shut = true
	for c := range r.conns {
		_ = c.Close()
	}
	r.mu.Unlock()
	r.wg.Wait()
}

// pump copies chunks; see passes each before it is written. Both ends are closed
// when one has ended.
func pump(from, to net.Conn, see func([]byte)) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			see(buf[:n])
			if _, err := to.Write(buf[:n]); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	_ = from.Close()
	_ = to.Close()
}

// httpTaps watches the traffic of bridges. Points: push (a gateway_message on its
// way to the bridge), reply, replied (its answer on the way back), ack, acked.
func httpTaps(trap *Trap) func(near, far net.Conn) {
	return func(near, far net.Conn) {
		var mu sync.Mutex
		asked := ""
		var wg sync.WaitGroup
		wg.Go(func() {
			pump(near, far, func(b []byte) {
				point := ""
				switch line, _, _ := bytes.Cut(b, []byte("\r\n")); {
				case !bytes.HasPrefix(line, []byte("POST ")):
				case bytes.Contains(line, []byte("/complete HTTP")), bytes.Contains(line, []byte("/messages HTTP")):
					point = "reply"
				case bytes.Contains(line, []byte("ack HTTP")):
					point = "ack"
				}
				mu.Lock()
				asked = point
				mu.Unlock()
				if point != "" {
					trap.Pass(point)
				}
			})
		})
		pump(far, near, func(b []byte) {
			mu.Lock()
			point := asked
			asked = ""
			mu.Unlock()
			switch {
			case point == "reply":
				trap.Pass("replied")
			case point == "ack":
				trap.Pass("acked")
			case bytes.Contains(b, []byte(`"gateway_message"`)):
				trap.Pass("push")
			}
		})
		wg.Wait()
	}
}

// pgTaps watches the statements of the server. Points, each of one transaction:
// claim (the claiming statement is about to run), then X commit (COMMIT is about to
// be sent) and X committed (Postgres has answered, the server does not know yet)
// with X one of claim, post, reply (a message and what it answers), ack.
func pgTaps(trap *Trap) func(near, far net.Conn) {
	return func(near, far net.Conn) {
		s := &pgSession{trap: trap, statements: map[string]string{}}
		var wg sync.WaitGroup
		wg.Go(func() {
			s.forward(near, far)
			_ = near.Close()
			_ = far.Close()
		})
		pump(far, near, func([]byte) {
			if point := s.take(); point != "" {
				trap.Pass(point + " committed")
			}
		})
		wg.Wait()
	}
}

type pgSession struct {
	trap       *Trap
	statements map[string]string // by name, of Parse
	claim      bool              // the claiming statement ran
	claimed    bool              // and found something: more statements followed
	post       bool
	answer     bool
	finish     bool

	mu        sync.Mutex
	committed string // a COMMIT was sent and not answered
}

func (s *pgSession) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.committed
	s.committed = ""
	return out
}

// forward reads the frontend's messages one by one.
func (s *pgSession) forward(near net.Conn, far io.Writer) {
	r := bufio.NewReaderSize(near, 64<<10)
	head := make([]byte, 5)
	for first := true; ; first = false {
		h := head[:5]
		if first {
			h = head[:4] // the start-up message has no type
		}
		if _, err := io.ReadFull(r, h); err != nil {
			return
		}
		size := int(binary.BigEndian.Uint32(h[len(h)-4:])) - 4
		if size < 0 || size > 64<<20 {
			return
		}
		msg := make([]byte, len(h)+size)
		copy(msg, h)
		if _, err := io.ReadFull(r, msg[len(h):]); err != nil {
			return
		}
		if !first {
			s.see(h[0], msg[5:])
		}
		if _, err := far.Write(msg); err != nil {
			return
		}
	}
}

func (s *pgSession) see(kind byte, body []byte) {
	switch kind {
	case 'P':
		name, rest := cstring(body)
		sql, _ := cstring(rest)
		s.statements[name] = sql
	case 'B':
		_, rest := cstring(body)
		name, _ := cstring(rest)
		s.statement(s.statements[name])
	case 'Q':
		sql, _ := cstring(body)
		s.statement(sql)
	}
}

func (s *pgSession) statement(sql string) {
	word, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(sql)), " ")
	switch {
	case word == "begin", word == "rollback":
		s.claim, s.claimed, s.post, s.answer, s.finish = false, false, false, false, false
	case word == "commit":
		if point := s.kind(); point != "" {
			s.trap.Pass(point + " commit")
			s.mu.Lock()
			s.committed = point
			s.mu.Unlock()
		}
		s.claim, s.claimed, s.post, s.answer, s.finish = false, false, false, false, false
	case strings.Contains(sql, "queued_messages") && strings.Contains(sql, "attempt = q.attempt + 1"): // internal/claim
		s.claim = true
		s.trap.Pass("claim")
		return
	case strings.Contains(sql, "INSERT INTO messages"):
		s.post = true
	case strings.Contains(sql, "INSERT INTO turns"):
		s.finish = true
	case strings.Contains(sql, "UPDATE queued_messages SET answered_at"):
		s.answer = true
	}
	s.claimed = s.claim
}

func (s *pgSession) kind() string {
	switch {
	case s.post && (s.answer || s.finish):
		return "reply"
	case s.post:
		return "post"
	case s.finish:
		return "ack"
	case s.claimed:
		return "claim"
	}
	return ""
}

func cstring(b []byte) (string, []byte) {
	n := bytes.IndexByte(b, 0)
	if n < 0 {
		return "", nil
	}
	return string(b[:n]), b[n+1:]
}
