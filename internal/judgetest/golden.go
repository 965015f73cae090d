package judgetest

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

//go:embed testdata/golden/*.json
var goldenFiles embed.FS

// golden is one exchange of testdata/golden. Exactly one of Method and Socket is
// set. Strings may hold {{placeholders}}: captured values, {{uuid:name}} (one
// per name), {{email:name}}, {{password}}, {{long:N}} (N letters).
type golden struct {
	Name    string `json:"name"`
	Section string `json:"section"` // where the contract fixes it

	// HTTP
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Auth    string            `json:"auth"` // bearer token; "" sends none
	Headers map[string]string `json:"headers"`
	Body    any               `json:"body"`
	Raw     *string           `json:"raw"`    // a body that is not encoded from Body
	Status  []int             `json:"status"` // the accepted set
	Header  map[string]string `json:"header"` // "=v" equal, "~v" comma list has v, "!v" not equal
	Forbid  []string          `json:"forbid"` // substrings that must not appear in the answer
	Within  []string          `json:"within"` // substrings of which one must appear
	Verdict string            `json:"verdict"`

	// Socket: connect, push, expect, silence, close
	Socket  string `json:"socket"`
	On      string `json:"on"`
	Topic   string `json:"topic"`
	Event   string `json:"event"`
	Payload any    `json:"payload"`
	Reply   string `json:"reply"`   // "ok", "error", "none"
	Refused bool   `json:"refused"` // connect: the upgrade has to fail

	Shape   any               `json:"shape"`   // of the answer, the reply's response or the event's payload
	Capture map[string]string `json:"capture"` // variable → dotted path in the same value
}

// RunGolden plays every golden exchange in file order against the server. The
// variables captured from earlier answers fill the later ones.
func RunGolden(t *testing.T, g Target) {
	t.Helper()
	names, err := fs.Glob(goldenFiles, "testdata/golden/*.json")
	if err != nil {
		t.Fatalf("list golden files: %v", err)
	}
	slices.Sort(names)
	r := newGoldenRun(t, g)
	for _, name := range names {
		list, err := loadGolden(name)
		if err != nil {
			t.Fatalf("%v", err)
		}
		t.Run(strings.TrimSuffix(path.Base(name), ".json"), func(t *testing.T) {
			for i, e := range list {
				t.Run(fmt.Sprintf("%02d_%s", i+1, e.Name), func(t *testing.T) { r.play(t, e) })
			}
		})
	}
	r.led.Report(t)
}

func loadGolden(name string) ([]golden, error) {
	data, err := goldenFiles.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read golden: %w", err)
	}
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	var list []golden
	if err := dec.Decode(&list); err != nil {
		return nil, fmt.Errorf("decode %s: %w", name, err)
	}
	for i, e := range list {
		if e.Name == "" || e.Section == "" || (e.Method == "") == (e.Socket == "") {
			return nil, fmt.Errorf("%s entry %d: needs name, section and one of method and socket", name, i+1)
		}
		if e.Method != "" && len(e.Status) == 0 {
			return nil, fmt.Errorf("%s entry %d (%s): needs the accepted statuses", name, i+1, e.Name)
		}
	}
	return list, nil
}

// goldenRun is the environment that the exchanges share.
type goldenRun struct {
	g    Target
	led  *Ledger
	rest transport
	vars map[string]string
	subs map[string]*goldenSocket
}

func newGoldenRun(t *testing.T, g Target) *goldenRun {
	led := &Ledger{}
	r := &goldenRun{
		g: g, led: led, rest: newTransport(g.base(), led, "golden", "bridge 3.1", g.patience()),
		vars: map[string]string{"password": goodPassword}, subs: map[string]*goldenSocket{},
	}
	t.Cleanup(func() {
		for _, s := range r.subs {
			s.sock.kill()
		}
		r.rest.close()
	})
	return r
}

var placeholder = regexp.MustCompile(`\{\{([a-zA-Z0-9_]+)(?::([a-zA-Z0-9_]+))?\}\}`)

// fill replaces the placeholders of a string; a missing variable fails the entry.
func (r *goldenRun) fill(t *testing.T, s string) string {
	t.Helper()
	return placeholder.ReplaceAllStringFunc(s, func(hit string) string {
		m := placeholder.FindStringSubmatch(hit)
		kind, arg := m[1], m[2]
		key := strings.TrimSuffix(kind+":"+arg, ":")
		if v, ok := r.vars[key]; ok {
			return v
		}
		v := ""
		switch {
		case kind == "uuid" && arg != "":
			v = uuid.NewString()
		case kind == "email" && arg != "":
			v = freshEmail()
		case kind == "long" && arg != "":
			n := 0
			if _, err := fmt.Sscanf(arg, "%d", &n); err != nil {
				t.Fatalf("placeholder %s: %v", hit, err)
			}
			return strings.Repeat("a", n)
		default:
			t.Fatalf("needs %s, which an earlier exchange did not deliver", hit)
		}
		r.vars[key] = v
		return v
	})
}

func (r *goldenRun) fillAny(t *testing.T, v any) any {
	t.Helper()
	switch x := v.(type) {
	case string:
		return r.fill(t, x)
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			out[r.fill(t, k)] = r.fillAny(t, e)
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = r.fillAny(t, e)
		}
		return out
	}
	return v
}

func (r *goldenRun) play(t *testing.T, e golden) {
	t.Helper()
	if e.Socket != "" {
		r.playSocket(t, e)
		return
	}
	r.playHTTP(t, e)
}

// judge matches a value against the entry's shape and captures from it.
func (r *goldenRun) judge(t *testing.T, e golden, what string, value any) {
	t.Helper()
	if e.Shape != nil {
		m := matcher{clock: &r.led.clock}
		for _, bad := range m.match(what, r.fillAny(t, e.Shape), value) {
			t.Errorf("[%s] %s", e.Section, bad)
		}
	}
	for name, where := range e.Capture {
		v, ok := dig(value, where)
		if !ok {
			t.Errorf("[%s] %s: nothing to capture at %s", e.Section, what, where)
			continue
		}
		r.vars[name] = v
	}
}

// dig reads a string (or the text of a number) at a dotted path.
func dig(v any, where string) (string, bool) {
	for step := range strings.SplitSeq(where, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[step]
		case []any:
			i := 0
			if _, err := fmt.Sscanf(step, "%d", &i); err != nil || i < 0 || i >= len(x) {
				return "", false
			}
			v = x[i]
		default:
			return "", false
		}
	}
	switch x := v.(type) {
	case string:
		return x, x != ""
	case float64:
		return fmt.Sprint(x), true
	}
	return "", false
}
