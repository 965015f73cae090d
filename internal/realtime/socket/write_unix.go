//go:build unix

package socket

import (
	"errors"
	"net"
	"syscall"
)

// rawWriter writes to the socket without waiting. Its function value is made
// once, so that a write allocates nothing. It is guarded by the outbox's mutex.
type rawWriter struct {
	raw  syscall.RawConn
	call func(fd uintptr) bool
	data []byte
	n    int
	err  error
}

// newRawWriter answers nil for a connection without a file descriptor (TLS, a
// pipe): then every write goes through the drain goroutine.
func newRawWriter(nc net.Conn) *rawWriter {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	w := &rawWriter{raw: raw}
	w.call = w.write
	return w
}

// try writes as much of p as the kernel takes at once.
func (w *rawWriter) try(p []byte) (int, error) {
	w.data, w.n, w.err = p, 0, nil
	err := w.raw.Write(w.call)
	w.data = nil
	if err == nil {
		err = w.err
	}
	return w.n, err
}

func (w *rawWriter) write(fd uintptr) bool {
	for w.n < len(w.data) {
		n, err := writeNow(fd, w.data[w.n:])
		if n > 0 {
			w.n += n
		}
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return true
		case err != nil:
			w.err = err
			return true
		}
	}
	return true
}
