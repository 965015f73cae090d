//go:build unix

package pg

import (
	"crypto/tls"
	"net"
	"syscall"
)

// isQuiet reports that nothing has come in on an idle connection, not even its end.
// It costs one system call and no round trip.
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
	quiet := true
	err = raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		quiet = err == syscall.EAGAIN || err == syscall.EINTR //nolint:errorlint // a plain errno
		return true
	})
	return err == nil && quiet
}
