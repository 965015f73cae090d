package approval

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/fault"
)

// Bounds of an action.
const (
	MaxAction = 128 << 10 // bytes of the canonical form
	maxDepth  = 100
)

// Action is what is approved: the canonical text and its hash.
type Action struct {
	Text string
	Hash string // hex SHA-256 of Text
}

// NewAction makes the canonical form of a call: RFC 8785 (JCS) of
// {"input":<input>,"tool":<name>}, with one difference: a whole number is kept
// digit for digit, however large, because two ids that differ only behind 2^53
// must not look the same. Input that has no one meaning is refused: doubled keys,
// numbers beyond what a float64 holds, half surrogate pairs, bytes that are no UTF-8, depth over 100. An empty input
// reads as {}; one that is no object is refused (fault.Invalid).
func NewAction(tool string, input json.RawMessage) (Action, error) {
	if len(bytes.TrimSpace(input)) == 0 || string(bytes.TrimSpace(input)) == "null" {
		input = json.RawMessage("{}")
	}
	bad := fault.New(fault.Invalid, "invalid", "The input of the tool cannot be shown exactly, so nobody can approve it.")
	canonical, err := Canonical(input)
	if err != nil {
		return Action{}, bad.With("toolInput", "not_exact", err.Error())
	}
	if canonical[0] != '{' {
		return Action{}, bad.With("toolInput", "type", "must be an object")
	}
	var b strings.Builder
	b.WriteString(`{"input":`)
	b.Write(canonical)
	b.WriteString(`,"tool":`)
	writeString(&b, tool)
	b.WriteByte('}')
	if b.Len() > MaxAction {
		return Action{}, fault.Newf(fault.Invalid, "too_large", "An action that is to be approved may have at most %d bytes.", MaxAction)
	}
	sum := sha256.Sum256([]byte(b.String()))
	return Action{Text: b.String(), Hash: hex.EncodeToString(sum[:])}, nil
}

// Input is the canonical input of an action.
func Input(action string) json.RawMessage {
	var a struct{ Input json.RawMessage }
	if err := json.Unmarshal([]byte(action), &a); err != nil || a.Input == nil {
		return json.RawMessage("{}") // never of a text that NewAction made
	}
	return a.Input
}

// Canonical is the canonical form of one JSON value; see NewAction.
func Canonical(raw []byte) ([]byte, error) {
	if !utf8.Valid(raw) {
		return nil, errors.New("it is not UTF-8")
	}
	if err := wholeSurrogates(raw); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var b strings.Builder
	if err := writeValue(&b, dec, 0); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return []byte(b.String()), nil
}

func writeValue(b *strings.Builder, dec *json.Decoder, depth int) error {
	t, err := dec.Token()
	if err != nil {
		return errors.New("it is not JSON")
	}
	return writeToken(b, dec, t, depth)
}

func writeToken(b *strings.Builder, dec *json.Decoder, t json.Token, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("it is nested deeper than %d", maxDepth)
	}
	switch v := t.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case string:
		writeString(b, v)
	case json.Number:
		return writeNumber(b, string(v))
	case json.Delim:
		if v == '{' {
			return writeObject(b, dec, depth)
		}
		return writeArray(b, dec, depth)
	}
	return nil
}

func writeArray(b *strings.Builder, dec *json.Decoder, depth int) error {
	b.WriteByte('[')
	for n := 0; dec.More(); n++ {
		if n > 0 {
			b.WriteByte(',')
		}
		if err := writeValue(b, dec, depth+1); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return closing(dec)
}

func writeObject(b *strings.Builder, dec *json.Decoder, depth int) error {
	type member struct {
		key  string
		sort []uint16 // RFC 8785 3.2.3: by UTF-16 code units
		text string
	}
	var members []member
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return errors.New("it is not JSON")
		}
		key, _ := t.(string)
		if seen[key] {
			return errors.New("a key stands twice in one object")
		}
		seen[key] = true
		var value strings.Builder
		if err := writeValue(&value, dec, depth+1); err != nil {
			return err
		}
		members = append(members, member{key, utf16.Encode([]rune(key)), value.String()})
	}
	slices.SortFunc(members, func(x, y member) int { return slices.CompareFunc(x.sort, y.sort, cmp.Compare[uint16]) })
	b.WriteByte('{')
	for n, m := range members {
		if n > 0 {
			b.WriteByte(',')
		}
		writeString(b, m.key)
		b.WriteByte(':')
		b.WriteString(m.text)
	}
	b.WriteByte('}')
	return closing(dec)
}

func closing(dec *json.Decoder) error {
	if _, err := dec.Token(); err != nil {
		return errors.New("it is not JSON")
	}
	return nil
}

// writeString escapes as little as RFC 8785 3.2.2.2 says.
func writeString(b *strings.Builder, s string) {
	const hexDigits = "0123456789abcdef"
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c >= 0x20:
			b.WriteByte(c)
		case c == '\b':
			b.WriteString(`\b`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\f':
			b.WriteString(`\f`)
		case c == '\r':
			b.WriteString(`\r`)
		default:
			b.WriteString(`\u00`)
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
	b.WriteByte('"')
}

// writeNumber keeps whole numbers as they are and writes others as ECMAScript
// does (RFC 8785 3.2.2.3).
func writeNumber(b *strings.Builder, s string) error {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) { // some programs read it as infinite, others digit for digit
		return errors.New("a number is too large")
	}
	if !strings.ContainsAny(s, ".eE") {
		if s == "-0" {
			s = "0"
		}
		b.WriteString(s)
		return nil
	}
	if f == 0 {
		b.WriteByte('0')
		return nil
	}
	if a := math.Abs(f); a >= 1e-6 && a < 1e21 {
		b.WriteString(strconv.FormatFloat(f, 'f', -1, 64))
		return nil
	}
	e := strconv.FormatFloat(f, 'e', -1, 64)
	mantissa, exp, _ := strings.Cut(e, "e")
	sign := exp[:1]
	b.WriteString(mantissa + "e" + sign + strings.TrimLeft(exp[1:], "0"))
	return nil
}

// wholeSurrogates refuses \ud800 without its half: decoders replace it, each by
// something else.
func wholeSurrogates(raw []byte) error {
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if raw[i+1] != 'u' {
			i++ // whatever is escaped is no backslash of its own
			continue
		}
		r, ok := unit(raw, i)
		if !ok {
			return errors.New("it is not JSON")
		}
		i += 5
		if !utf16.IsSurrogate(r) {
			continue
		}
		low, ok := unit(raw, i+1)
		if !ok || utf16.DecodeRune(r, low) == utf8.RuneError {
			return errors.New("a surrogate stands alone")
		}
		i += 6
	}
	return nil
}

func unit(raw []byte, at int) (rune, bool) {
	if at+6 > len(raw) || raw[at] != '\\' || raw[at+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(raw[at+2:at+6]), 16, 16)
	return rune(n), err == nil
}
