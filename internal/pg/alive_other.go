//go:build !unix

package pg

import "net"

// isQuiet cannot tell here; idle connections are pinged after a second.
func isQuiet(net.Conn) bool { return true }
