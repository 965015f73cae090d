package socket

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
)

// Sizes of the buffers that stay with a connection for its life. A frame of a
// chat client mostly fits into the first; longer ones are read past it.
const (
	readBuffer  = 256
	writeBuffer = 256 // control frames only, which are at most 129 bytes
)

// hijacker hands the connection over with small buffers, in place of the two of
// 4 KiB that net/http uses, and lets the connection's outbox stand between the
// WebSocket library and the network.
type hijacker struct {
	http.ResponseWriter
	conn *Conn
}

func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	nc, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, fmt.Errorf("hijack: %w", err)
	}
	// net/http may already have read the first bytes of a fast client. They
	// must be *buffered* in the new reader: the library keeps only those.
	early, err := rw.Peek(rw.Reader.Buffered())
	if err != nil {
		_ = nc.Close()
		return nil, nil, fmt.Errorf("hijack: %w", err)
	}
	conn := h.conn.attach(nc)
	br := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(bytes.Clone(early)), conn), max(readBuffer, len(early)))
	if _, err := br.Peek(len(early)); err != nil {
		_ = nc.Close()
		return nil, nil, fmt.Errorf("hijack: %w", err)
	}
	h.conn.br = br
	return conn, bufio.NewReadWriter(br, bufio.NewWriterSize(conn, writeBuffer)), nil
}
