package judgetest

import (
	"context"
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

//go:embed testdata/golden/*.json testdata/gateway/*.json
var goldenFiles embed.FS

// golden is one exchange of a golden file. Exactly one of Method and Socket is
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
	Raw     *string           `json:"raw"`     // a body that is not encoded from Body
	Status  []int             `json:"status"`  // the accepted set
	Header  map[string]string `json:"header"`  // "=v" equal, "~v" comma list has v, "!v" not equal
	Forbid  []string          `json:"forbid"`  // substrings that must not appear in the answer
	Within  []string          `json:"within"`  // substrings of which one must appear
	Later   string            `json:"later"`   // the call stays open under this name
	Await   string            `json:"await"`   // instead of Method: judge the answer of that call
	Verdict string            `json:"verdict"` // how the bridge reads it: success, failure (bridge 5.5), rpc_success, rpc_failure (bridge 2.8.1)

	// Socket: connect, push, expect, silence, close
	Socket  string `json:"socket"`
	On      string `json:"on"`
	Topic   string `json:"topic"` // "a|b" in expect and silence: either
	Event   string `json:"event"` // likewise
	Payload any    `json:"payload"`
	Reply   string `json:"reply"`   // "ok", "error", "none"
	Refused bool   `json:"refused"` // connect: the upgrade has to fail

	Shape   any               `json:"shape"`   // of the answer, the reply's response or the event's payload
	Capture map[string]string `json:"capture"` // variable → dotted path in the same value; "a|b.c": the first that is there
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
		kinds := 0
		for _, kind := range []string{e.Method, e.Socket, e.Await} {
			if kind != "" {
				kinds++
			}
		}
		if e.Name == "" || e.Section == "" || kinds != 1 {
			return nil, fmt.Errorf("%s entry %d: needs name, section and one of method, socket and await", name, i+1)
		}
		if e.Socket == "" && e.Later == "" && len(e.Status) == 0 {
			return nil, fmt.Errorf("%s entry %d (%s): needs the accepted statuses", name, i+1, e.Name)
		}
	}
	return list, nil
}

// goldenRun is the environment that the exchanges share.
type goldenRun struct {
	g    Target
	ctx  context.Context // ends with the whole run
	led  *Ledger
	rest transport
	vars map[string]string
	subs map[string]*goldenSocket
	open map[string]chan openCall
}

// openCall is the end of a call that was sent with "later".
type openCall struct {
	what string
	a    Answer
	err  error
}

func newGoldenRun(t *testing.T, g Target) *goldenRun {
	led := &Ledger{}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	r := &goldenRun{
		g: g, ctx: ctx, led: led, rest: newTransport(g.base(), led, "golden", "bridge 3.1", g.patience()),
		vars: map[string]string{"password": goodPassword}, subs: map[string]*goldenSocket{}, open: map[string]chan openCall{},
	}
	t.Cleanup(func() {
		cancel()
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
	switch {
	case e.Socket != "":
		r.playSocket(t, e)
	case e.Await != "":
		r.await(t, e)
	default:
		r.playHTTP(t, e)
	}
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

// dig reads a string (or the text of a number) at the first dotted path that
// leads to one.
func dig(v any, where string) (string, bool) {
	for one := range strings.SplitSeq(where, "|") {
		if s, ok := digOne(v, one); ok {
			return s, true
		}
	}
	return "", false
}

func digOne(v any, where string) (string, bool) {
	for step := range strings.SplitSeq(where, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[step]
		case []any:
			if key, want, ok := strings.Cut(step, "="); ok { // the element whose key has that value
				v = nil
				for _, e := range x {
					if m, _ := e.(map[string]any); str(m, key) == want {
						v = e
					}
				}
				continue
			}
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
