package socket

import (
	"encoding/binary"
	"unicode/utf8"
)

// Code is a WebSocket close code (RFC 6455 7.4).
type Code uint16

// The codes the server sends, see the package comment.
const (
	CodeGoingAway     Code = 1001
	CodeUnsupported   Code = 1003
	CodeInvalid       Code = 1007
	CodePolicy        Code = 1008
	CodeTooBig        Code = 1009
	CodeRestart       Code = 1012
	CodeTryAgainLater Code = 1013

	codeNormal Code = 1000 // never sent: it would stop a client's reconnects
)

// maxReason is what a control frame can carry beside the code.
const maxReason = 123

// closeFrame builds a whole unmasked close frame.
func closeFrame(code Code, reason string) []byte {
	for len(reason) > maxReason {
		_, size := utf8.DecodeLastRuneInString(reason)
		reason = reason[:len(reason)-size]
	}
	const finClose = 0x88
	out := make([]byte, 4, 4+len(reason))
	out[0], out[1] = finClose, byte(2+len(reason))
	binary.BigEndian.PutUint16(out[2:], uint16(code))
	return append(out, reason...)
}
