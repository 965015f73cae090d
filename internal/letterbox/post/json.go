package post

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/wire/letter"
)

// Object writes JSON as Python's json.dumps does by default: members in the order they were added, ", " and ": " between them,
// ASCII only. It is the form of every line that other programs read.
// The zero value has no members.
type Object struct{ members []byte }

// Add gives o with one more member: a string, number, bool, nil, a slice of these, or a struct with json tags.
func (o Object) Add(name string, v any) Object {
	b := slices.Clip(o.members)
	if len(b) > 0 {
		b = append(b, ", "...)
	}
	return Object{appendPython(append(appendPython(b, name), ": "...), v)}
}

// Bytes is the object's text, without an end of line.
func (o Object) Bytes() []byte {
	return append(append([]byte{'{'}, o.members...), '}')
}

// appendPython writes v through encoding/json and then gives it Python's separators and escapes.
func appendPython(b []byte, v any) []byte {
	if f, ok := v.(float64); ok {
		if text, err := letter.Canonical(f); err == nil { // a whole float keeps its .0
			return append(b, text...)
		}
	}
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("post: " + err.Error()) // only for a type of our own that JSON does not know
	}
	inString := false
	for src := bytes.TrimRight(raw.Bytes(), "\n"); len(src) > 0; {
		c := src[0]
		switch {
		case inString && c == '\\':
			b, src = append(b, src[:2]...), src[2:]
		case c == '"':
			inString = !inString
			b, src = append(b, c), src[1:]
		case !inString && (c == ',' || c == ':'):
			b, src = append(b, c, ' '), src[1:]
		case c < utf8.RuneSelf && c != 0x7f:
			b, src = append(b, c), src[1:]
		default:
			r, n := utf8.DecodeRune(src)
			if r > 0xffff {
				r -= 0x10000
				b = fmt.Appendf(b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
			} else {
				b = fmt.Appendf(b, `\u%04x`, r)
			}
			src = src[n:]
		}
	}
	return b
}
