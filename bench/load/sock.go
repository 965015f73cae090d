package load

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// perSource is how many connections one source address opens: the range of
// ephemeral ports holds more, but others use it too.
const perSource = 8000

// sock is one raw connection.
type sock struct {
	fd     int
	set    string
	spec   *Spec
	worker *worker
	rest   []byte // the beginning of a frame that is not complete
	http   bool
}

// dial connects from one of several loopback addresses.
func dial(addr string, number int, stall bool) (int, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return -1, err
	}
	p, err := strconv.Atoi(port)
	if err != nil {
		return -1, err
	}
	to := syscall.SockaddrInet4{Port: p}
	copy(to.Addr[:], net.ParseIP(host).To4())
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("socket: %w", err)
	}
	fail := func(what string, err error) (int, error) {
		_ = syscall.Close(fd)
		return -1, fmt.Errorf("%s: %w", what, err)
	}
	_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
	if stall { // small segments keep the sender's kernel from buffering megabytes
		_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, 536)
		_ = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
	}
	if n := number / perSource; n > 0 {
		from := syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, byte(1 + n)}}
		if err := syscall.Bind(fd, &from); err != nil {
			return fail("bind", err)
		}
	}
	limit := syscall.Timeval{Sec: 20}
	_ = syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &limit)
	for {
		switch err := syscall.Connect(fd, &to); {
		case err == nil || errors.Is(err, syscall.EISCONN):
			return fd, nil
		case errors.Is(err, syscall.EINTR) || errors.Is(err, syscall.EALREADY):
		default:
			return fail("connect", err)
		}
	}
}

// upgrade shakes hands and joins; what arrived behind the answers is returned.
func (s *sock) upgrade(addr string) ([]byte, error) {
	err := s.write([]byte("GET " + s.spec.Path + " HTTP/1.1\r\nHost: " + addr + "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"))
	if err != nil {
		return nil, err
	}
	buf := make([]byte, 0, 4096)
	end := []byte("\r\n\r\n")
	for !bytes.Contains(buf, end) {
		if buf, err = s.more(buf); err != nil {
			return nil, fmt.Errorf("handshake: %w", err)
		}
	}
	if !bytes.HasPrefix(buf, []byte("HTTP/1.1 101")) {
		return nil, fmt.Errorf("handshake refused: %.120q", buf)
	}
	buf = buf[bytes.Index(buf, end)+len(end):]
	if s.spec.Topic == "" {
		return buf, nil
	}
	params := s.spec.Params
	if params == "" {
		params = "{}"
	}
	if err := s.write(frame([]byte(`["1","1",` + strconv.Quote(s.spec.Topic) + `,"phx_join",` + params + `]`))); err != nil {
		return nil, err
	}
	for {
		payload, rest, ok := cut(buf)
		switch {
		case !ok:
			if buf, err = s.more(buf); err != nil {
				return nil, fmt.Errorf("join: %w", err)
			}
		case bytes.Contains(payload, []byte(`"phx_reply"`)):
			if !bytes.Contains(payload, []byte(`"status":"ok"`)) {
				return nil, fmt.Errorf("join refused: %s", payload)
			}
			return rest, nil
		default:
			buf = rest
		}
	}
}

func (s *sock) more(buf []byte) ([]byte, error) {
	part := make([]byte, 16<<10)
	for {
		n, err := syscall.Read(s.fd, part)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return nil, err
		case n == 0:
			return nil, errors.New("closed by the server")
		default:
			return append(buf, part[:n]...), nil
		}
	}
}

// write sends all of p; a full kernel buffer is waited for.
func (s *sock) write(p []byte) error {
	for len(p) > 0 {
		n, err := syscall.Write(s.fd, p)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			time.Sleep(time.Millisecond)
		case err != nil:
			return fmt.Errorf("write: %w", err)
		default:
			p = p[n:]
		}
	}
	return nil
}

// frame is a masked text frame; the mask is zero, so the bytes stay readable.
func frame(p []byte) []byte {
	h := []byte{0x81, 0x80}
	switch {
	case len(p) < 126:
		h[1] |= byte(len(p))
	default:
		h[1] |= 126
		h = binary.BigEndian.AppendUint16(h, uint16(len(p)))
	}
	return append(append(h, 0, 0, 0, 0), p...)
}

// cut takes one unmasked frame off buf.
func cut(buf []byte) (payload, rest []byte, ok bool) {
	if len(buf) < 2 {
		return nil, buf, false
	}
	n, at := int(buf[1]&0x7f), 2
	switch n {
	case 126:
		if len(buf) < 4 {
			return nil, buf, false
		}
		n, at = int(binary.BigEndian.Uint16(buf[2:])), 4
	case 127:
		if len(buf) < 10 {
			return nil, buf, false
		}
		n, at = int(binary.BigEndian.Uint64(buf[2:])), 10
	}
	if len(buf) < at+n {
		return nil, buf, false
	}
	return buf[at : at+n], buf[at+n:], true
}

// open opens the sockets of all specs, some at a time.
func (c *crowd) open(o Order) (int, error) {
	type job struct {
		spec   *Spec
		number int
	}
	jobs := make(chan job)
	errs := make(chan error, 1)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for j := range jobs {
				if err := c.openOne(o, j.spec, j.number); err != nil {
					select {
					case errs <- err:
					default:
					}
				}
			}
		})
	}
	n := 0
	for i := range o.Specs {
		for range o.Specs[i].N {
			jobs <- job{&o.Specs[i], c.total + n}
			n++
		}
	}
	close(jobs)
	wg.Wait()
	c.total += n
	select {
	case err := <-errs:
		return n, err
	default:
		return n, nil
	}
}

func (c *crowd) openOne(o Order, spec *Spec, number int) error {
	fd, err := dial(o.Addr, number, spec.Stall)
	if err != nil {
		return err
	}
	s := &sock{fd: fd, set: o.Set, spec: spec}
	rest, err := s.upgrade(o.Addr)
	if err != nil {
		_ = syscall.Close(fd)
		return err
	}
	s.rest = rest
	return c.add(s)
}

func marked(template string, index int) []byte {
	return []byte(strings.Replace(template, "#", fmt.Sprintf("#%08d", index), 1))
}
