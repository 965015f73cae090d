package judgetest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"
)

// The shape language, used by the golden files and by the clients' decoders.
//
// A shape is JSON. Plain strings, numbers, booleans and null stand for
// themselves. A string that begins with $ names a type; alternatives are
// separated by "|" ("null" needs no $):
//
//	$any $string $text(non-empty) $uuid $int $number $bool $time $date $object $array
//	$enum:a,b   $re:^ak_   $ref:Name   $list:T   $some:T(non-empty list)   $map:T
//	$asc:key $desc:key     a list of objects ordered by that string key
//
// An object names keys: "key" is required, "key?" may be absent or null, "key!"
// must be absent; keys that are not named are free. Directives inside an object:
// "$is": also match that named shape; "$camel": true forbids "_" in keys;
// "$contains"/"$lacks": the value is a list with/without such an element;
// "$once": the list has exactly one such element; "$len": the list has that
// many elements; "$all": several shapes at once; "$one": at least one of several.
// A list of one shape means "every element"; an empty list means an empty list.

//go:embed testdata/shapes.json
var shapesJSON []byte

var namedShapes = sync.OnceValue(func() map[string]any {
	var out map[string]any
	if err := json.Unmarshal(shapesJSON, &out); err != nil {
		panic(fmt.Sprintf("judgetest: testdata/shapes.json: %v", err))
	}
	return out
})

// timeFormat remembers the precision of the first timestamp seen, because all
// of them must have the same one (desktop 1.3, 9.14).
type timeFormat struct {
	mu     sync.Mutex
	digits int
	set    bool
}

var stampForm = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.(\d+))?Z$`)

func (f *timeFormat) accept(s string) error {
	m := stampForm.FindStringSubmatch(s)
	if m == nil {
		return fmt.Errorf("timestamp %q is not ISO-8601 UTC with Z", s)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.set {
		f.set, f.digits = true, len(m[1])
	}
	if len(m[1]) != f.digits {
		return fmt.Errorf("timestamp %q has %d fraction digits, others have %d", s, len(m[1]), f.digits)
	}
	return nil
}

type matcher struct{ clock *timeFormat }

func (m matcher) match(path string, want, got any) []string {
	switch w := want.(type) {
	case string:
		if strings.HasPrefix(w, "$") {
			return m.typed(path, w, got)
		}
		if g, ok := got.(string); !ok || g != w {
			return miss(path, "%q, got %s", w, brief(got))
		}
		return nil
	case map[string]any:
		return m.object(path, w, got)
	case []any:
		return m.list(path, w, got)
	default:
		if !reflect.DeepEqual(want, got) {
			return miss(path, "%s, got %s", brief(want), brief(got))
		}
		return nil
	}
}

func (m matcher) list(path string, w []any, got any) []string {
	g, ok := got.([]any)
	if !ok {
		return miss(path, "a list, got %s", brief(got))
	}
	if len(w) == 0 {
		if len(g) != 0 {
			return miss(path, "an empty list, got %d elements", len(g))
		}
		return nil
	}
	var bad []string
	for i, e := range g {
		bad = append(bad, m.match(path+"["+strconv.Itoa(i)+"]", w[0], e)...)
	}
	return bad
}

func (m matcher) typed(path, spec string, got any) []string {
	if !strings.HasPrefix(spec, "$re:") && strings.Contains(spec, "|") {
		for alt := range strings.SplitSeq(spec, "|") {
			if len(m.match(path, alternative(alt), got)) == 0 {
				return nil
			}
		}
		return miss(path, "%s, got %s", spec, brief(got))
	}
	name, arg, _ := strings.Cut(spec[1:], ":")
	switch name {
	case "any":
		return nil
	case "ref":
		shape, ok := namedShapes()[arg]
		if !ok {
			return miss(path, "shape %q, which is not defined", arg)
		}
		return m.match(path, shape, got)
	case "list", "some":
		bad := m.list(path, []any{alternative(arg)}, got)
		if g, ok := got.([]any); ok && name == "some" && len(g) == 0 {
			bad = miss(path, "a non-empty list")
		}
		return bad
	case "map":
		g, ok := got.(map[string]any)
		if !ok {
			return miss(path, "a map, got %s", brief(got))
		}
		var bad []string
		for k, v := range g {
			bad = append(bad, m.match(path+"."+k, alternative(arg), v)...)
		}
		return bad
	case "asc", "desc":
		return ordered(path, name, arg, got)
	}
	if err := m.scalar(name, arg, got); err != nil {
		return []string{path + ": " + err.Error()}
	}
	return nil
}

func alternative(s string) any {
	if s == "null" {
		return nil
	}
	return s
}

func (m matcher) scalar(name, arg string, got any) error {
	ok := false
	switch v := got.(type) {
	case string:
		switch name {
		case "string":
			ok = true
		case "text":
			ok = v != ""
		case "uuid":
			_, err := uuid.Parse(v)
			ok = err == nil && len(v) == 36
		case "time":
			return m.clock.accept(v)
		case "date":
			ok = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`).MatchString(v)
		case "enum":
			ok = slices.Contains(strings.Split(arg, ","), v)
		case "re":
			ok = regexp.MustCompile(arg).MatchString(v)
		}
	case float64:
		ok = name == "number" || name == "int" && v == math.Trunc(v)
	case bool:
		ok = name == "bool"
	case map[string]any:
		ok = name == "object"
	case []any:
		ok = name == "array"
	}
	if ok {
		return nil
	}
	if arg != "" {
		name += ":" + arg
	}
	return fmt.Errorf("want %s, got %s", name, brief(got))
}

func (m matcher) object(path string, w map[string]any, got any) []string {
	var bad []string
	keys := make([]string, 0, len(w))
	for k := range w {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	plain := false
	for _, k := range keys {
		if !strings.HasPrefix(k, "$") || k == "$camel" || k == "$is" {
			plain = true
			continue
		}
		bad = append(bad, m.directive(path, k, w[k], got)...)
	}
	if !plain && len(w) > 0 {
		return bad
	}
	g, ok := got.(map[string]any)
	if !ok {
		return append(bad, miss(path, "an object, got %s", brief(got))...)
	}
	for _, k := range keys {
		bad = append(bad, m.key(path, k, w[k], g)...)
	}
	return bad
}

func (m matcher) key(path, k string, want any, g map[string]any) []string {
	switch {
	case k == "$is":
		return m.match(path, "$ref:"+want.(string), g)
	case k == "$camel":
		var bad []string
		for name := range g {
			if strings.Contains(name, "_") {
				bad = append(bad, miss(path, "camelCase keys, got %q", name)...)
			}
		}
		return bad
	case strings.HasPrefix(k, "$"):
		return nil
	case strings.HasSuffix(k, "!"):
		if _, there := g[k[:len(k)-1]]; there {
			return miss(path, "no key %q", k[:len(k)-1])
		}
		return nil
	case strings.HasSuffix(k, "?"):
		k = k[:len(k)-1]
		if v, there := g[k]; there && v != nil {
			return m.match(path+"."+k, want, v)
		}
		return nil
	}
	v, there := g[k]
	if !there {
		return miss(path, "key %q, which is absent", k)
	}
	return m.match(path+"."+k, want, v)
}

func (m matcher) directive(path, k string, want, got any) []string {
	if k == "$all" {
		var bad []string
		for _, w := range want.([]any) {
			bad = append(bad, m.match(path, w, got)...)
		}
		return bad
	}
	if k == "$one" {
		var nearest []string
		for _, w := range want.([]any) {
			bad := m.match(path, w, got)
			if len(bad) == 0 {
				return nil
			}
			if nearest == nil || len(bad) < len(nearest) {
				nearest = bad
			}
		}
		return append(miss(path, "one of %d forms", len(want.([]any))), nearest...)
	}
	g, ok := got.([]any)
	if !ok {
		return miss(path, "a list, got %s", brief(got))
	}
	var nearest []string
	hits := 0
	for i, e := range g {
		b := m.match(path+"["+strconv.Itoa(i)+"]", want, e)
		if len(b) == 0 {
			hits++
		} else if nearest == nil || len(b) < len(nearest) {
			nearest = b
		}
	}
	switch {
	case k == "$len" && float64(len(g)) != want:
		return miss(path, "%v elements, got %d", want, len(g))
	case k == "$contains" && hits == 0:
		return append(miss(path, "an element like %s among %d", brief(want), len(g)), nearest...)
	case k == "$once" && hits != 1:
		return append(miss(path, "exactly one element like %s, got %d", brief(want), hits), nearest...)
	case k == "$lacks" && hits > 0:
		return miss(path, "no element like %s", brief(want))
	}
	return nil
}

func ordered(path, dir, key string, got any) []string {
	g, ok := got.([]any)
	if !ok {
		return miss(path, "a list, got %s", brief(got))
	}
	last := ""
	for i, e := range g {
		o, _ := e.(map[string]any)
		s, _ := o[key].(string)
		if i > 0 && (dir == "asc" && s < last || dir == "desc" && s > last) {
			return miss(path, "%s by %s, but [%d] breaks it (%s after %s)", dir, key, i, s, last)
		}
		last = s
	}
	return nil
}

func miss(path, format string, args ...any) []string {
	return []string{path + ": want " + fmt.Sprintf(format, args...)}
}

func brief(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%T", v)
	}
	return clip(string(bytes.TrimSpace(b)), 160)
}
