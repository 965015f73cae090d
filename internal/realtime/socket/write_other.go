//go:build !unix

package socket

import "net"

// rawWriter does not exist here: every write goes through the drain goroutine.
type rawWriter struct{}

var noWriter rawWriter

func newRawWriter(net.Conn) rawWriter { return noWriter }

func (rawWriter) try([]byte) (int, error) { return 0, nil }
