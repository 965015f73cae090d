package load

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
)

// crowd is all sockets of this process.
type crowd struct {
	mu      sync.Mutex
	socks   map[string][]*sock
	workers []*worker
	total   int // ever opened: spreads them over source addresses

	current atomic.Pointer[flight]
	bridges map[string]*bridge
}

// worker reads the sockets of one epoll instance.
type worker struct {
	crowd *crowd
	ep    int
	mu    sync.Mutex
	byFD  map[int32]*sock
	buf   []byte
}

func newCrowd() (*crowd, error) {
	c := &crowd{socks: map[string][]*sock{}, bridges: map[string]*bridge{}}
	for range runtime.GOMAXPROCS(0) {
		ep, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
		if err != nil {
			return nil, fmt.Errorf("epoll: %w", err)
		}
		w := &worker{crowd: c, ep: ep, byFD: map[int32]*sock{}, buf: make([]byte, 512<<10)}
		c.workers = append(c.workers, w)
		go w.loop()
	}
	return c, nil
}

// add begins to read a socket.
func (c *crowd) add(s *sock) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := append(c.socks[s.set], s)
	c.socks[s.set] = all
	if s.spec.Stall {
		return nil
	}
	if err := syscall.SetNonblock(s.fd, true); err != nil {
		return err
	}
	s.worker = c.workers[len(all)%len(c.workers)]
	s.worker.mu.Lock()
	s.worker.byFD[int32(s.fd)] = s
	s.worker.mu.Unlock()
	return syscall.EpollCtl(s.worker.ep, syscall.EPOLL_CTL_ADD, s.fd, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(s.fd)})
}

// beat sends the heartbeat of each socket that has joined something: who is silent
// for two minutes is closed.
func (c *crowd) beat() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	pulse := frame([]byte(`[null,"0","phoenix","heartbeat",{}]`))
	for _, set := range c.socks {
		for _, s := range set {
			if s.spec.Topic == "" || s.spec.Stall {
				continue
			}
			if err := s.write(pulse); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *crowd) close(set string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.socks[set] {
		if s.worker != nil {
			s.worker.drop(s)
		}
		_ = syscall.Close(s.fd)
	}
	delete(c.socks, set)
}

func (w *worker) drop(s *sock) {
	w.mu.Lock()
	delete(w.byFD, int32(s.fd))
	w.mu.Unlock()
	_ = syscall.EpollCtl(w.ep, syscall.EPOLL_CTL_DEL, s.fd, &syscall.EpollEvent{})
}

func (w *worker) loop() {
	events := make([]syscall.EpollEvent, 512)
	ready := make([]*sock, 0, 512)
	for {
		n, err := syscall.EpollWait(w.ep, events, -1)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return
		}
		ready = ready[:0]
		w.mu.Lock()
		for _, e := range events[:max(n, 0)] {
			if s := w.byFD[e.Fd]; s != nil {
				ready = append(ready, s)
			}
		}
		w.mu.Unlock()
		f := w.crowd.current.Load()
		for _, s := range ready {
			w.read(s, f)
		}
	}
}

func (w *worker) read(s *sock, f *flight) {
	kept := copy(w.buf, s.rest)
	n, err := syscall.Read(s.fd, w.buf[kept:])
	switch {
	case errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR):
		return
	case err != nil || n == 0:
		w.drop(s)
		if f != nil {
			f.fail(fmt.Errorf("a socket of %s was closed by the server", s.set))
		}
		return
	}
	buf := w.buf[:kept+n]
	if s.http {
		s.rest = s.rest[:0]
		if f != nil && bytes.HasPrefix(buf, []byte("HTTP/1.1 ")) && !bytes.HasPrefix(buf, []byte("HTTP/1.1 2")) {
			f.fail(fmt.Errorf("request refused: %.200q", buf))
		}
		return
	}
	for {
		payload, rest, ok := cut(buf)
		if !ok {
			break
		}
		if f != nil {
			f.take(s, payload)
		}
		buf = rest
	}
	s.rest = append(s.rest[:0], buf...)
}
