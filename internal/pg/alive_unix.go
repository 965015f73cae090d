//go:build unix

package pg

import (
	"crypto/tls"
	"net"
	"syscall"
)

// isQuiet reports that nothing has come in on an idle connection, not even its end.
// It costs one system call and no round trip. It never waits: pgx may have left a
// reader on the connection after a slow write, which holds the lock of raw.Read
// until something comes in, so Control looks past it.
func isQuiet(c net.Conn) bool {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	s, ok := c.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	// Control and not Read: pgx may have left a read of its own pending in the
	// background, and Read would wait behind it for ever.
	quiet := true
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		quiet = err == syscall.EAGAIN || err == syscall.EINTR
	})
	return err == nil && quiet
}
