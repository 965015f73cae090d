package socket_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/realtime"
	"github.com/agntchat/agntchat/internal/realtime/phxtest"
	"github.com/agntchat/agntchat/internal/realtime/socket"
)

// rawClient writes and reads frames without a library between.
type rawClient struct {
	t  testing.TB
	nc net.Conn
	br *bufio.Reader
}

// dialRaw sends the handshake, with more bytes right behind it in the same write.
func (h *house) dialRaw(who string, readBuffer int, more ...[]byte) *rawClient {
	h.t.Helper()
	nc, err := net.DialTimeout("tcp", strings.TrimPrefix(h.base, "http://"), phxtest.Timeout)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = nc.Close() })
	if readBuffer > 0 {
		if err := nc.(*net.TCPConn).SetReadBuffer(readBuffer); err != nil {
			h.t.Fatal(err)
		}
	}
	return h.upgradeRaw(nc, who, more...)
}

// upgradeRaw does the handshake on a connection.
func (h *house) upgradeRaw(nc net.Conn, who string, more ...[]byte) *rawClient {
	h.t.Helper()
	_ = nc.SetDeadline(time.Now().Add(3 * phxtest.Timeout))
	request := "GET /socket/websocket?vsn=2.0.0&token=" + who + " HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n" +
		"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
	r := &rawClient{t: h.t, nc: nc, br: bufio.NewReader(nc)}
	out := []byte(request)
	for _, b := range more {
		out = append(out, b...)
	}
	r.send(out)
	resp, err := http.ReadResponse(r.br, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		h.t.Fatalf("upgrade: %v %v", resp, err)
	}
	return r
}

func (r *rawClient) send(p []byte) {
	r.t.Helper()
	if _, err := r.nc.Write(p); err != nil {
		r.t.Fatalf("write: %v", err)
	}
}

// next reads one unmasked frame.
func (r *rawClient) next() (opcode byte, data []byte) {
	r.t.Helper()
	var head [2]byte
	r.read(head[:])
	size := uint64(head[1])
	switch size {
	case 126:
		var ext [2]byte
		r.read(ext[:])
		size = uint64(binary.BigEndian.Uint16(ext[:]))
	case 127:
		var ext [8]byte
		r.read(ext[:])
		size = binary.BigEndian.Uint64(ext[:])
	}
	data = make([]byte, size)
	r.read(data)
	if head[0]&0xf0 != 0x80 {
		r.t.Fatalf("frame head %x: the stream is broken", head)
	}
	return head[0] & 0x0f, data
}

func (r *rawClient) read(p []byte) {
	r.t.Helper()
	if _, err := io.ReadFull(r.br, p); err != nil {
		r.t.Fatalf("read: %v", err)
	}
}

// maskedFrame is a final client frame with a zero mask.
func maskedFrame(opcode byte, payload []byte) []byte {
	out := []byte{0x80 | opcode}
	switch n := len(payload); {
	case n < 126:
		out = append(out, 0x80|byte(n))
	default:
		out = append(out, 0x80|126)
		out = binary.BigEndian.AppendUint16(out, uint16(n))
	}
	out = append(out, 0, 0, 0, 0)
	return append(out, payload...)
}

// TestWithoutFileDescriptor: over TLS there is nothing to write to without
// waiting; order and shared frames are the same.
func TestWithoutFileDescriptor(t *testing.T) {
	t.Parallel()
	h := build(t, &script{}, nil)
	secure := httptest.NewTLSServer(h.http.Config.Handler)
	defer secure.Close()
	pool := x509.NewCertPool()
	pool.AddCert(secure.Certificate())
	nc, err := tls.Dial("tcp", secure.Listener.Addr().String(), &tls.Config{RootCAs: pool})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	raw := h.upgradeRaw(nc, "ann", maskedFrame(1, []byte(`["1","1","r","phx_join",{}]`)))
	raw.next()
	raw.send(maskedFrame(1, []byte(`["1","2","r","echo",{}]`)))
	if _, data := raw.next(); string(data) != `["1","2","r","phx_reply",{"status":"ok","response":{}}]` {
		t.Fatalf("got %s", data)
	}
	for i := range 100 {
		h.broadcast(realtime.Message{Topic: "r", Event: "e", Payload: i})
	}
	for i := range 100 {
		if _, data := raw.next(); string(data) != fmt.Sprintf(`[null,null,"r","e",%d]`, i) {
			t.Fatalf("%d: got %s", i, data)
		}
	}
	h.server.Conns()[0].Close(socket.CodeRestart, "restart")
	if opcode, data := raw.next(); opcode != 8 || string(data) != "\x03\xf4restart" {
		t.Fatalf("opcode %d, %q", opcode, data)
	}
}
