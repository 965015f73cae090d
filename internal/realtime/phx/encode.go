package phx

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// emptyObject is what Phoenix sends where there is nothing to say.
const emptyObject = "{}"

// Append appends the frame of m to dst. An empty payload becomes {}. The
// payload is written as it is and must be valid JSON.
func Append(dst []byte, m Message) []byte {
	dst = append(dst, '[')
	dst = appendRef(dst, m.JoinRef)
	dst = append(dst, ',')
	dst = appendRef(dst, m.Ref)
	dst = append(dst, ',')
	dst = appendString(dst, m.Topic)
	dst = append(dst, ',')
	dst = appendString(dst, m.Event)
	dst = append(dst, ',')
	if len(m.Payload) == 0 {
		dst = append(dst, emptyObject...)
	} else {
		dst = append(dst, m.Payload...)
	}
	return append(dst, ']')
}

// Size is an upper bound of what Append adds for m when topic and event need no
// escapes, for allocating once.
func Size(m Message) int {
	return len(m.JoinRef) + len(m.Ref) + len(m.Topic) + len(m.Event) + len(m.Payload) + 20
}

// Reply builds {"status": status, "response": response}; an empty
// response becomes {}.
func Reply(status string, response json.RawMessage) json.RawMessage {
	if len(response) == 0 {
		response = json.RawMessage(emptyObject)
	}
	out := make([]byte, 0, len(response)+len(status)+26)
	out = append(out, `{"status":`...)
	out = appendString(out, status)
	out = append(out, `,"response":`...)
	out = append(out, response...)
	return append(out, '}')
}

// Marshal encodes a payload. Raw JSON (json.RawMessage) is checked and passed
// through; nil becomes {}; anything else is marshalled without HTML escapes,
// because the frame is never part of a page.
func Marshal(payload any) (json.RawMessage, error) {
	switch p := payload.(type) {
	case nil:
		return json.RawMessage(emptyObject), nil
	case json.RawMessage:
		if len(p) == 0 {
			return json.RawMessage(emptyObject), nil
		}
		if !json.Valid(p) {
			return nil, fmt.Errorf("encode payload: %w", ErrNotJSON)
		}
		return p, nil
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(payload); err != nil {
		return nil, fmt.Errorf("encode payload: %w", err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte{'\n'}), nil
}

func appendRef(dst []byte, r Ref) []byte {
	if r == "" {
		return append(dst, "null"...)
	}
	return append(dst, r...)
}

func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			quoted, err := json.Marshal(s)
			if err != nil { // a string always marshals
				return append(dst, `""`...)
			}
			return append(dst, quoted...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}
