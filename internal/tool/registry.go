package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/agntchat/agntchat/internal/fault"
)

// Registry is the one table of tools. It does not change after New.
type Registry struct {
	byName map[string]*entry
	order  []*entry
}

type entry struct {
	spec   Spec
	schema *jsonschema.Schema
	has    map[string]bool // properties of the schema
}

// Key is the form in which a name is compared: kebab and snake case name the same tool.
func Key(name string) string { return strings.ReplaceAll(name, "-", "_") }

// NewRegistry checks and compiles the specs. Their order is the order of every
// catalogue: a changed byte of it is billed again by a model's provider (bridge
// contract 6.1).
func NewRegistry(specs ...Spec) (*Registry, error) {
	r := &Registry{byName: map[string]*entry{}}
	for _, s := range specs {
		s.Limits = s.Limits.withDefaults()
		e := &entry{spec: s}
		if err := e.compile(); err != nil {
			return nil, fmt.Errorf("tool %q: %w", s.Name, err)
		}
		if _, twice := r.byName[Key(s.Name)]; twice {
			return nil, fmt.Errorf("tool %q is there twice", s.Name)
		}
		r.byName[Key(s.Name)] = e
		r.order = append(r.order, e)
	}
	return r, nil
}

func (e *entry) compile() error {
	if e.spec.Name == "" || e.spec.Description == "" || e.spec.Category == "" || e.spec.Category == "server_tool" {
		return errors.New("needs a name, a description and a category of its own")
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(e.spec.InputSchema))
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	object, _ := doc.(map[string]any)
	if object["type"] != "object" {
		return errors.New("the schema is not one of an object")
	}
	e.has = map[string]bool{}
	props, _ := object["properties"].(map[string]any)
	for name := range props {
		e.has[name] = true
	}
	required, _ := object["required"].([]any)
	for _, name := range required {
		if s, _ := name.(string); !e.has[s] {
			return fmt.Errorf("requires %v, which it does not describe", name)
		}
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:tool", doc); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	if e.schema, err = c.Compile("mem:tool"); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	return nil
}

// Lookup finds a tool by its name in kebab or snake case.
func (r *Registry) Lookup(name string) (Spec, bool) {
	e, ok := r.byName[Key(name)]
	if !ok {
		return Spec{}, false
	}
	return e.spec, true
}

// All lists every tool in the order of catalogues.
func (r *Registry) All() []Spec {
	out := make([]Spec, len(r.order))
	for n, e := range r.order {
		out[n] = e.spec
	}
	return out
}

// Resolve is the catalogue of one agent: the same facts give the same bytes.
func (r *Registry) Resolve(f Facts) []Definition {
	out := make([]Definition, 0, len(r.order))
	for _, e := range r.order {
		if e.spec.Seen(f) {
			out = append(out, e.spec.Definition)
		}
	}
	return out
}

// Takes reports that the tool's schema has this property.
func (r *Registry) Takes(name, property string) bool {
	e, ok := r.byName[Key(name)]
	return ok && e.has[property]
}

// maxDepth bounds how deep arguments may be nested.
const maxDepth = 32

var errArguments = fault.New(fault.Invalid, "invalid_arguments", "The arguments do not fit the tool's schema.")

// Check validates arguments. The fault has one field per complaint, with the path
// of the value, and the same in its sentence: a model reads only that.
func (r *Registry) Check(name string, args json.RawMessage) error {
	e, ok := r.byName[Key(name)]
	if !ok {
		return fault.Newf(fault.NotFound, "tool_not_found", "There is no tool %q.", name)
	}
	if err := withinDepth(args); err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		return errArguments.Because(err)
	}
	err = e.schema.Validate(v)
	bad, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return err
	}
	out, told := errArguments, []string{}
	for _, leaf := range leaves(bad) {
		path := strings.Join(leaf.InstanceLocation, ".")
		if path == "" {
			path = "(arguments)"
		}
		says := leaf.ErrorKind.LocalizedString(english)
		if line := path + ": " + says; !slices.Contains(told, line) && len(told) < 10 {
			out, told = out.With(path, "invalid", says), append(told, line)
		}
	}
	out.Message = "The arguments do not fit the tool's schema: " + strings.Join(told, "; ") + "."
	return out
}

var english = message.NewPrinter(language.English)

func leaves(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	var out []*jsonschema.ValidationError
	for _, c := range e.Causes {
		out = append(out, leaves(c)...)
	}
	return out
}

func withinDepth(raw json.RawMessage) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	depth := 0
	for {
		t, err := dec.Token()
		if err != nil {
			return nil //nolint:nilerr // the end, or what the parser complains about better
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth > maxDepth {
			return fault.Newf(fault.Invalid, "invalid_arguments", "The arguments are nested deeper than %d.", maxDepth)
		}
	}
}
