package pg

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"sync"

	"github.com/agntchat/agntchat/internal/fault"
)

// Bounds of the numbers in a JSON value.
const (
	maxExponent = 324      // the smallest number of 64 bits is 5e-324
	maxGrown    = 16 << 10 // bytes that the numbers of one value may grow by
)

// errNumber is for JSON whose numbers Postgres would write out at a length that nobody
// has sent.
var errNumber = fault.New(fault.Invalid, "invalid", "This holds a number that is too large or too small to be kept.")

var jsonParam = regexp.MustCompile(`\$([0-9]+)::jsonb\b`)

// jsonParams are the places of the arguments that a statement takes as jsonb, by its
// text. Statements are constants.
var jsonParams sync.Map // string → []int

func paramsOf(sql string) []int {
	if known, ok := jsonParams.Load(sql); ok {
		return known.([]int)
	}
	var out []int
	for _, m := range jsonParam.FindAllStringSubmatch(sql, -1) {
		if n, err := strconv.Atoi(m[1]); err == nil {
			out = append(out, n-1)
		}
	}
	jsonParams.Store(sql, out)
	return out
}

// checkJSON bounds the numbers of what a statement takes as jsonb. Postgres keeps
// 1e131071 in a few bytes and gives it back as 131072 digits: a small body would become
// gigabytes for whoever reads it. The size of a value is checked where it comes in;
// here is the one way that all of them take.
func checkJSON(sql string, args []any) error {
	for _, n := range paramsOf(sql) {
		if n >= len(args) {
			continue
		}
		fits := true
		switch v := args[n].(type) {
		case nil:
		case string:
			fits = numbersFit(v)
		case *string:
			fits = v == nil || numbersFit(*v)
		case []byte:
			fits = numbersFit(v)
		case json.RawMessage:
			fits = numbersFit(v)
		default:
			raw, err := json.Marshal(v)
			if err != nil {
				return fmt.Errorf("encode argument %d: %w", n+1, err)
			}
			fits = numbersFit(raw)
		}
		if !fits {
			return errNumber
		}
	}
	return nil
}

// numbersFit reports that Postgres gives back the numbers of a JSON text at about the
// length that they have in it. What is no JSON is for Postgres to refuse.
func numbersFit[T string | []byte | json.RawMessage](raw T) bool {
	grown := 0
	for at := 0; at < len(raw); at++ {
		switch raw[at] {
		case '"':
			for at++; at < len(raw) && raw[at] != '"'; at++ {
				if raw[at] == '\\' {
					at++
				}
			}
		case 'e', 'E':
			if at == 0 || raw[at-1] < '0' || raw[at-1] > '9' { // of true and false
				continue
			}
			if at+1 < len(raw) && (raw[at+1] == '+' || raw[at+1] == '-') {
				at++
			}
			exponent := 0
			for at+1 < len(raw) && raw[at+1] >= '0' && raw[at+1] <= '9' {
				at++
				if exponent = exponent*10 + int(raw[at]-'0'); exponent > maxExponent {
					return false
				}
			}
			if grown += exponent; grown > maxGrown {
				return false
			}
		}
	}
	return true
}
