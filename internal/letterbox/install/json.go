package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// edit is one member of a JSON file that is ours.
type edit struct {
	path  []string
	value any
	keep  bool // removed, it leaves the object that it was in
	once  bool // one that is there already stays, whatever its value: its program changes it
	// ours says whether a value that is there is one that we put there, of this version or another; nil where nobody else has the name. One of
	// somebody else is never replaced or removed.
	ours func(value any) bool
}

var errTaken = errors.New("somebody else's entry has this name: rename or remove it yourself")

// foreign says whether the value that is there is somebody else's.
func (e edit) foreign(found *hujson.Value) bool {
	if e.ours == nil || found == nil {
		return false
	}
	raw, err := hujson.Standardize(found.Pack())
	var v any
	return err != nil || json.Unmarshal(raw, &v) != nil || !e.ours(v)
}

// editJSON plans to set our members in a JSON file, or to take them out. Comments, order and layout of the rest stay. Objects on the way that are empty afterwards, and the
// file when nothing else is in it, go again.
func editJSON(name string, edits []edit, remove bool) (Change, error) {
	c := Change{File: name, mode: 0o600}
	var err error
	if c.Before, err = read(name); err != nil {
		return c, err
	}
	text := c.Before
	if len(bytes.TrimSpace(text)) == 0 {
		if remove {
			c.After = c.Before
			return c, nil
		}
		text = []byte("{}\n")
	}
	left := func(err error) (Change, error) {
		return c, fmt.Errorf("%s: %w; it was left as it is", name, err)
	}
	doc, err := hujson.Parse(text)
	if err != nil {
		return left(err)
	}
	if _, ok := doc.Value.(*hujson.Object); !ok {
		return left(errors.New("it is no JSON object"))
	}
	changed := false
	for _, e := range edits {
		did, err := e.apply(&doc, remove)
		if err != nil {
			return left(err)
		}
		changed = changed || did
	}
	if !changed {
		c.After = c.Before
		return c, nil
	}
	c.After = relayout(c.Before, doc.Pack())
	if o, ok := doc.Value.(*hujson.Object); remove && ok && len(o.Members) == 0 && len(bytes.Join(bytes.Fields(c.After), nil)) == len("{}") {
		c.After = nil // there was nothing else in it
	}
	return c, nil
}

// relayout gives text the layout of a text that is laid out regularly. Other texts, and those with comments, stay as they are but for what was set.
func relayout(like, text []byte) []byte {
	for _, indent := range []string{"  ", "    ", "\t"} {
		var b bytes.Buffer
		if len(bytes.TrimSpace(like)) == 0 || json.Indent(&b, bytes.TrimSpace(like), "", indent) == nil && bytes.Equal(b.Bytes(), bytes.TrimSpace(like)) {
			b.Reset()
			if json.Indent(&b, bytes.TrimSpace(text), "", indent) != nil {
				return text
			}
			if len(like) == 0 || bytes.HasSuffix(like, []byte("\n")) {
				b.WriteByte('\n')
			}
			return b.Bytes()
		}
	}
	return text
}

// pointer is a path as RFC 6901 writes it.
func pointer(path []string) string {
	var b strings.Builder
	for _, p := range path {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(p))
	}
	return b.String()
}

func (e edit) apply(doc *hujson.Value, remove bool) (changed bool, err error) {
	found := doc.Find(pointer(e.path))
	if remove {
		if found == nil || e.foreign(found) {
			return false, nil
		}
		for n := len(e.path); n > 0; n-- {
			at := doc.Find(pointer(e.path[:n]))
			if o, ok := at.Value.(*hujson.Object); n < len(e.path) && (!ok || len(o.Members) > 0 || bytes.Contains(at.Pack(), []byte("/"))) {
				break // somebody else's, or a comment in it
			}
			if err := patch(doc, "remove", e.path[:n], nil); err != nil {
				return false, err
			}
			if e.keep {
				break
			}
		}
		return true, nil
	}
	if e.foreign(found) {
		return false, fmt.Errorf("%s: %w", strings.Join(e.path, "."), errTaken)
	}
	want, err := json.Marshal(e.value)
	if err != nil {
		return false, err
	}
	if found != nil && (e.once || sameJSON(found.Pack(), want)) {
		return false, nil
	}
	for n := 1; n < len(e.path); n++ {
		at := doc.Find(pointer(e.path[:n]))
		if at == nil {
			if err := patch(doc, "add", e.path[:n], []byte("{}")); err != nil {
				return false, err
			}
			continue
		}
		if _, ok := at.Value.(*hujson.Object); !ok {
			return false, fmt.Errorf("%s in it is no object", strings.Join(e.path[:n], "."))
		}
	}
	return true, patch(doc, "add", e.path, want)
}

func patch(doc *hujson.Value, op string, path []string, value []byte) error {
	step := map[string]any{"op": op, "path": pointer(path)}
	if value != nil {
		step["value"] = json.RawMessage(value)
	}
	raw, err := json.Marshal([]any{step})
	if err != nil {
		return err
	}
	return doc.Patch(raw)
}

func sameJSON(a, b []byte) bool {
	a, err := hujson.Standardize(bytes.Clone(a))
	if err != nil {
		return false
	}
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	p, err1 := json.Marshal(x)
	q, err2 := json.Marshal(y)
	return err1 == nil && err2 == nil && bytes.Equal(p, q)
}
