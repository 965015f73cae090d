package realtime

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agntchat/agntchat/internal/realtime/phx"
)

// MaxFrame is the first size in bytes of an outgoing message that is refused:
// the existing bridge closes its socket at 1 MiB and would do so again at every
// catch-up (bridge contract 2.1).
const MaxFrame = 1 << 20

// ErrFrameTooLarge is returned for a message of MaxFrame bytes or more. Nothing
// was sent; the caller shortens the payload and tries again.
var ErrFrameTooLarge = errors.New("realtime: message is 1 MiB or larger")

// headroom is the longest WebSocket header of an unmasked frame (RFC 6455 5.2).
const headroom = 10

// Frame is one server message, encoded once: WebSocket header and JSON in one
// slice that every receiver writes as it is. A Frame never changes after it was
// made and may be shared freely.
type Frame struct {
	Topic string
	Event string
	// Droppable frames (typing, presence) may be thrown away for a reader that
	// is behind, without telling it.
	Droppable bool
	// Key, when not empty, lets this frame take the place of an older one of
	// the same topic and key that still waits in a reader's queue.
	Key string

	wire []byte
	body int // index of the JSON in wire
}

// NewFrame encodes one message. Payload follows phx.Marshal: json.RawMessage
// passes through. It returns ErrFrameTooLarge, or an error when the payload
// cannot be encoded.
func NewFrame(joinRef, ref phx.Ref, topic, event string, payload any) (*Frame, error) {
	raw, err := phx.Marshal(payload)
	if err != nil {
		return nil, fmt.Errorf("frame %s: %w", event, err)
	}
	return newFrame(phx.Message{JoinRef: joinRef, Ref: ref, Topic: topic, Event: event, Payload: raw})
}

func newFrame(m phx.Message) (*Frame, error) {
	buf := make([]byte, headroom, headroom+phx.Size(m))
	buf = phx.Append(buf, m)
	size := len(buf) - headroom
	if size >= MaxFrame {
		return nil, fmt.Errorf("frame %s of %d bytes: %w", m.Event, size, ErrFrameTooLarge)
	}
	start := putHeader(buf[:headroom], size)
	return &Frame{Topic: m.Topic, Event: m.Event, wire: buf[start:], body: headroom - start}, nil
}

// Wire is the frame as it goes to the socket. It must not be changed.
func (f *Frame) Wire() []byte { return f.wire }

// JSON is the message without the WebSocket header. It must not be changed.
func (f *Frame) JSON() json.RawMessage { return json.RawMessage(f.wire[f.body:]) }

// Len is the number of bytes on the wire.
func (f *Frame) Len() int { return len(f.wire) }

// putHeader writes the header of a final, unmasked text frame of size bytes so
// that it ends where room ends, and returns where it starts.
func putHeader(room []byte, size int) int {
	const finText = 0x81
	switch {
	case size < 126:
		room[headroom-2], room[headroom-1] = finText, byte(size)
		return headroom - 2
	case size <= 0xffff:
		room[headroom-4], room[headroom-3] = finText, 126
		binary.BigEndian.PutUint16(room[headroom-2:], uint16(size))
		return headroom - 4
	default:
		room[0], room[1] = finText, 127
		binary.BigEndian.PutUint64(room[2:], uint64(size))
		return 0
	}
}
