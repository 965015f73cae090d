//go:build unix

package socket

import (
	"errors"
	"net"
	"syscall"
)

// rawWriter writes to a socket without waiting, by its descriptor. It is guarded by
// the outbox's mutex, under which alone the connection is closed: the descriptor is
// the connection's own as long as the outbox is not dead. Going through
// syscall.RawConn instead costs 150 bytes for every idle connection.
type rawWriter uintptr

const noWriter = ^rawWriter(0)

// newRawWriter answers noWriter for a connection without a descriptor (TLS, a
// pipe): then every write goes through the drain goroutine.
func newRawWriter(nc net.Conn) rawWriter {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return noWriter
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return noWriter
	}
	w := noWriter
	if raw.Control(func(fd uintptr) { w = rawWriter(fd) }) != nil {
		return noWriter
	}
	return w
}

// try writes as much of p as the kernel takes at once.
func (w rawWriter) try(p []byte) (done int, err error) {
	for done < len(p) {
		n, err := writeNow(uintptr(w), p[done:])
		if n > 0 {
			done += n
		}
		switch {
		case err == nil, errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return done, nil
		default:
			return done, err
		}
	}
	return done, nil
}
