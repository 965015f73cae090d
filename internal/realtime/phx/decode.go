package phx

import (
	"encoding/json"
	"unicode/utf8"
)

// Decode reads one text frame. The frame must be one JSON array of exactly five
// entries; refs are null, a string or a number; topic and event are non-empty
// strings; the payload is any JSON value and is not copied.
func Decode(frame []byte) (Message, error) {
	if !json.Valid(frame) {
		return Message{}, ErrNotJSON
	}
	parts, n := split(frame)
	if n != 5 {
		return Message{}, ErrShape
	}
	var m Message
	var err error
	if m.JoinRef, err = ref(parts[0]); err != nil {
		return Message{}, err
	}
	if m.Ref, err = ref(parts[1]); err != nil {
		return Message{}, err
	}
	if m.Topic, err = name(parts[2], MaxTopic); err != nil {
		return Message{}, err
	}
	if m.Event, err = name(parts[3], MaxEvent); err != nil {
		return Message{}, err
	}
	m.Payload = json.RawMessage(parts[4])
	return m, nil
}

// PeekEvent returns the event of a frame of which only the first bytes are
// known, so that a reader can decide whether the rest may be long. It answers
// "" when the prefix does not reach the event or is not a V2 frame.
func PeekEvent(prefix []byte) string {
	i := skipSpace(prefix, 0)
	if i >= len(prefix) || prefix[i] != '[' {
		return ""
	}
	i++
	for field := range 4 {
		i = skipSpace(prefix, i)
		end := skipValue(prefix, i)
		if end < 0 {
			return ""
		}
		if field == 3 {
			event, err := name(prefix[i:end], MaxEvent)
			if err != nil {
				return ""
			}
			return event
		}
		i = skipSpace(prefix, end)
		if i >= len(prefix) || prefix[i] != ',' {
			return ""
		}
		i++
	}
	return ""
}

// split cuts valid JSON at the commas of its outermost array. It returns the
// number of entries, or 0 when the value is no array; six stands for "more".
func split(valid []byte) (parts [5][]byte, n int) {
	i := skipSpace(valid, 0)
	if i >= len(valid) || valid[i] != '[' {
		return parts, 0
	}
	i = skipSpace(valid, i+1)
	if valid[i] == ']' {
		return parts, 0
	}
	for {
		end := skipValue(valid, i)
		if end < 0 || n == len(parts) {
			return parts, len(parts) + 1
		}
		parts[n] = valid[i:end]
		n++
		i = skipSpace(valid, end)
		if i >= len(valid) || valid[i] != ',' {
			return parts, n
		}
		i = skipSpace(valid, i+1)
	}
}

// skipValue returns the index after the JSON value that starts at i, or -1 when
// the data ends first. It only counts brackets: the caller has checked the
// syntax, or needs no more than a guess.
func skipValue(data []byte, i int) int {
	depth := 0
	for ; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = skipString(data, i)
			if i < 0 {
				return -1
			}
			if depth == 0 {
				return i
			}
			i-- // the loop steps on
		case '[', '{':
			depth++
		case ']', '}':
			if depth == 0 {
				return i // the end of the array around a bare literal
			}
			depth--
			if depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	return -1
}

func skipString(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\r' || data[i] == '\n') {
		i++
	}
	return i
}

func ref(raw []byte) (Ref, error) {
	if len(raw) > MaxRef {
		return "", ErrTooLong
	}
	switch c := raw[0]; {
	case c == 'n':
		return "", nil
	case c == '"', c == '-', c >= '0' && c <= '9':
		return Ref(raw), nil
	default:
		return "", ErrShape
	}
}

func name(raw []byte, limit int) (string, error) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", ErrBadNames
	}
	if len(raw) > 6*limit+2 { // every byte may be written \u00XX
		return "", ErrTooLong
	}
	s, plain := raw[1:len(raw)-1], true
	for _, c := range s {
		if c == '\\' || c >= utf8.RuneSelf {
			plain = false
			break
		}
	}
	var text string
	if plain {
		text = string(s)
	} else if err := json.Unmarshal(raw, &text); err != nil {
		return "", ErrBadNames
	}
	if text == "" {
		return "", ErrBadNames
	}
	if len(text) > limit {
		return "", ErrTooLong
	}
	return text, nil
}
