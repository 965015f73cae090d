package letter

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Limits of Canonical: what Python refuses too, or what no call needs.
const (
	maxDepth  = 200
	maxDigits = 4300 // of an integer, as in Python
)

// ErrNotCanonical is a value that has no canonical form: NaN or an infinity, a
// string that is not UTF-8, nesting beyond 200, a type JSON does not have.
var ErrNotCanonical = errors.New("letter: no canonical JSON form")

// ArgsHash is the hex SHA-256 of the canonical form of a call's arguments.
func ArgsHash(args any) (string, error) {
	b, err := Canonical(args)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// Canonical writes v as Python's json.dumps does with sorted keys and the
// separators "," and ":" (letters.md 1.2, except that 0x7f is \u007f: Python
// escapes it, and Python is what the other side runs): ASCII only, integers as they
// are, floats in Python's shortest form. It takes nil, bool, string, int, int64,
// float64, json.Number, and maps and slices of these; json.Number is an integer
// unless it has a point or an exponent, as when Python reads it.
func Canonical(v any) ([]byte, error) { return appendValue(nil, v, 0) }

func appendValue(b []byte, v any, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%w: nested too deep", ErrNotCanonical)
	}
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case string:
		return appendString(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case float64:
		return appendFloat(b, v)
	case json.Number:
		return appendNumber(b, string(v))
	case map[string]any:
		return appendObject(b, v, depth)
	case map[string]string:
		return appendObject(b, v, depth)
	case []any:
		return appendArray(b, v, depth)
	case []string:
		return appendArray(b, v, depth)
	}
	return nil, fmt.Errorf("%w: %T", ErrNotCanonical, v)
}

func appendObject[T any](b []byte, m map[string]T, depth int) ([]byte, error) {
	b = append(b, '{')
	// Bytes of UTF-8 sort as code points do, which is Python's order.
	for n, k := range slices.Sorted(maps.Keys(m)) {
		if n > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendString(b, k); err != nil {
			return nil, err
		}
		if b, err = appendValue(append(b, ':'), m[k], depth+1); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func appendArray[T any](b []byte, list []T, depth int) ([]byte, error) {
	b = append(b, '[')
	for n, e := range list {
		if n > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendValue(b, e, depth+1); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

const hexDigits = "0123456789abcdef"

func appendString(b []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, fmt.Errorf("%w: a string is not UTF-8", ErrNotCanonical)
	}
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, '\\', 'n')
		case r == '\r':
			b = append(b, '\\', 'r')
		case r == '\t':
			b = append(b, '\\', 't')
		case r == '\b':
			b = append(b, '\\', 'b')
		case r == '\f':
			b = append(b, '\\', 'f')
		case r >= 0x20 && r < 0x7f:
			b = append(b, byte(r))
		case r > 0xffff:
			r -= 0x10000
			b = appendUnit(appendUnit(b, 0xd800+r>>10), 0xdc00+r&0x3ff)
		default:
			b = appendUnit(b, r)
		}
	}
	return append(b, '"'), nil
}

func appendUnit(b []byte, u rune) []byte {
	return append(b, '\\', 'u', hexDigits[u>>12&15], hexDigits[u>>8&15], hexDigits[u>>4&15], hexDigits[u&15])
}

func appendNumber(b []byte, s string) ([]byte, error) {
	whole := true
	for n := range len(s) {
		switch c := s[n]; {
		case c == '.' || c == 'e' || c == 'E':
			whole = false
		case c == '-' || c == '+' || (c >= '0' && c <= '9'):
		default:
			return nil, fmt.Errorf("%w: a number is none", ErrNotCanonical)
		}
	}
	if !whole {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: a number is out of range", ErrNotCanonical)
		}
		return appendFloat(b, f)
	}
	if s == "" || len(s) > maxDigits {
		return nil, fmt.Errorf("%w: a number has no digits or too many", ErrNotCanonical)
	}
	if s == "-0" {
		s = "0"
	}
	return append(b, s...), nil
}

// appendFloat writes Python's repr: the shortest digits that read back as f, with
// an exponent below 1e-4 and from 1e16 on.
func appendFloat(b []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%w: not a finite number", ErrNotCanonical)
	}
	if a := math.Abs(f); f != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.AppendFloat(b, f, 'e', -1, 64), nil
	}
	start := len(b)
	b = strconv.AppendFloat(b, f, 'f', -1, 64)
	if !slices.Contains(b[start:], '.') {
		b = append(b, '.', '0')
	}
	return b, nil
}
