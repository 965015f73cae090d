package agntchat_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/agntchat/agntchat"

// floors puts every package on its floor (ARCHITECTURE.md). A package on none fails.
var floors = map[string]int{
	"internal/id": 0, "internal/fault": 0, "internal/event": 0, "internal/wire": 0, "internal/wire/letter": 0, "migrations": 0, "web": 0, "integrations": 0,
	"internal/access": 1, "internal/config": 1, "internal/obs": 1, "internal/pg": 1, "internal/pg/pgembed": 1, "internal/claim": 1, "internal/jobs": 1,
	"internal/blob": 1, "internal/limit": 1, "internal/outbound": 1, "internal/document": 1, "internal/websearch": 1, "internal/secret": 1, "internal/realtime": 1, "internal/realtime/phx": 1, "internal/realtime/socket": 1, "internal/realtime/presence": 1, "internal/realtime/stream": 1,
	"internal/participant": 2, "internal/account": 2, "internal/workspace": 2, "internal/agent": 2, "internal/executor": 2, "internal/chat": 2, "internal/turn": 2, "internal/task": 2, "internal/ask": 2, "internal/tool": 2, "internal/file": 2, "internal/memory": 2, "internal/connection": 2, "internal/approval": 2, "internal/external": 2, "internal/letter": 2,
	"internal/speak": 3, "internal/view": 3, "internal/directive": 3, "internal/flow": 3,
	"internal/present": 4, "internal/httpx": 4, "internal/httpapi": 4, "internal/channel": 4, "internal/worker": 4, "internal/relay": 4,
	"internal/app": 5, "cmd/agntchat": 6,
}

// sideways lists what may be imported on one's own floor (architecture 3.1).
var sideways = map[string][]string{
	"internal/claim": {"internal/pg"}, "internal/jobs": {"internal/pg"},
	"internal/realtime": {"internal/realtime/phx"}, "internal/realtime/socket": {"internal/realtime", "internal/realtime/phx"},
	"internal/realtime/stream": {"internal/realtime"},
	"internal/websearch":       {"internal/outbound"}, "internal/view": {"internal/speak"}, "internal/directive": {"internal/speak", "internal/view"}, "internal/flow": {"internal/speak", "internal/view", "internal/directive"},
	"internal/httpapi": {"internal/httpx", "internal/present"}, "internal/channel": {"internal/httpx", "internal/present"}, "internal/worker": {"internal/httpx", "internal/present"},
	"internal/httpx": {"internal/present"},
}

// clients are the agent's side: they reach the server only over its public edges.
var clients = []string{"internal/bridge", "internal/letterbox", "cmd/agnt"}

type pkg struct {
	ImportPath string
	Imports    []string
	Doc        string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,Doc", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var list []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p pkg
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

func short(path string) string { return strings.TrimPrefix(strings.TrimPrefix(path, module), "/") }

func isClient(p string) bool {
	return slices.ContainsFunc(clients, func(c string) bool { return p == c || strings.HasPrefix(p, c+"/") })
}

// exempt: test support (the name ends in test), tools, and the module root.
func exempt(p string) bool {
	return p == "" || strings.HasPrefix(p, "tools/") || slices.ContainsFunc(strings.Split(p, "/"), func(s string) bool { return strings.HasSuffix(s, "test") }) || strings.HasPrefix(p, "bench")
}

func TestFloors(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		name := short(p.ImportPath)
		if exempt(name) {
			continue
		}
		floor, known := floors[name]
		client := isClient(name)
		if !known && !client {
			t.Errorf("%s is on no floor: give it one in ARCHITECTURE.md and here", name)
			continue
		}
		for _, imp := range p.Imports {
			dep := short(imp)
			if dep == imp || exempt(dep) {
				continue // not ours
			}
			switch {
			case client:
				if !isClient(dep) && !slices.Contains([]string{"internal/wire", "internal/wire/letter", "internal/id", "internal/fault", "internal/obs", "internal/event", "integrations"}, dep) {
					t.Errorf("%s imports %s: the agent's side knows only the public edges", name, dep)
				}
			case isClient(dep):
				t.Errorf("%s imports %s: the server never contains the agent's side", name, dep)
			case floors[dep] < floor, slices.Contains(sideways[name], dep), dep == "internal/obs" && floor > 0:
			default:
				t.Errorf("%s (floor %d) imports %s (floor %d)", name, floor, dep, floors[dep])
			}
		}
		if floor == 2 {
			for _, imp := range p.Imports {
				if imp == "net/http" || strings.Contains(imp, "/chi") || strings.Contains(imp, "websocket") || short(imp) == "internal/wire" || strings.HasPrefix(short(imp), "internal/realtime") {
					t.Errorf("%s imports %s: domains know no edge", name, imp)
				}
			}
		}
		if p.Doc == "" {
			t.Errorf("%s has no package comment", name)
		}
	}
}

func sources(t *testing.T, visit func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == ".data") {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".go") {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			visit(path, string(b))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFilesAreShort(t *testing.T) {
	t.Parallel()
	sources(t, func(path, text string) {
		if n := strings.Count(text, "\n"); n > 700 && !strings.Contains(path, "_gen") {
			t.Errorf("%s has %d lines: two rooms in one", path, n)
		}
	})
}

func TestOneLockingPattern(t *testing.T) {
	t.Parallel()
	sources(t, func(path, text string) {
		if strings.Contains(text, "SKIP "+"LOCKED") && !strings.HasPrefix(path, "internal/claim/") && !strings.HasPrefix(path, "internal/bridge/") && !strings.HasPrefix(path, "bench") {
			t.Errorf("%s: the words stand in internal/claim only (decision 11)", path)
		}
	})
}

var writes = regexp.MustCompile(`\b(INSERT INTO|UPDATE|DELETE FROM)\s+[a-z]`)

func TestSQLStaysWhereItBelongs(t *testing.T) {
	t.Parallel()
	sources(t, func(path, text string) {
		if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "test/") {
			return
		}
		switch {
		case strings.HasPrefix(path, "internal/view/") && writes.MatchString(text):
			t.Errorf("%s: view reads only", path)
		case strings.HasPrefix(path, "internal/flow/") && regexp.MustCompile("`\\s*(SELECT|WITH|INSERT|UPDATE|DELETE) ").MatchString(text):
			t.Errorf("%s: flow has no SQL", path)
		}
	})
}

// TestTableOwners: the migration names each table's owner, and only that domain writes to it.
func TestTableOwners(t *testing.T) {
	t.Parallel()
	owners := map[string]string{}
	files, err := filepath.Glob("migrations/*.up.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("migrations: %v %v", files, err)
	}
	comment := regexp.MustCompile(`COMMENT ON TABLE (\w+) IS 'owner: (\w+)`)
	created := regexp.MustCompile(`CREATE TABLE (?:IF NOT EXISTS )?(\w+)`)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range comment.FindAllStringSubmatch(string(b), -1) {
			owners[m[1]] = m[2]
		}
		for _, m := range created.FindAllStringSubmatch(string(b), -1) {
			if !strings.Contains(string(b), "COMMENT ON TABLE "+m[1]+" ") || !strings.Contains(string(b), "ALTER TABLE "+m[1]+" ENABLE ROW LEVEL SECURITY") {
				t.Errorf("%s: table %s needs an owner comment and row level security", f, m[1])
			}
		}
	}
	write := regexp.MustCompile(`\b(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)`)
	sources(t, func(path, text string) {
		parts := strings.Split(filepath.ToSlash(path), "/")
		if strings.HasSuffix(path, "_test.go") || len(parts) < 3 || parts[0] != "internal" || floors["internal/"+parts[1]] != 2 {
			return
		}
		for _, m := range write.FindAllStringSubmatch(text, -1) {
			if owner, ours := owners[m[1]]; ours && owner != parts[1] {
				t.Errorf("%s writes to %s, which %s owns", path, m[1], owner)
			}
		}
	})
}

// TestTagsStayInTheWire: names become camelCase in one place (M4).
func TestTagsStayInTheWire(t *testing.T) {
	t.Parallel()
	allowed := []string{"internal/wire/", "internal/config/", "internal/realtime/", "internal/bridge/", "internal/letterbox/", "integrations/", "internal/relay/", "internal/httpx/", "internal/httpapi/", "internal/app/", "cmd/", "tools/", "bench"}
	sources(t, func(path, text string) {
		if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "test/") || strings.HasSuffix(path, "/columns.go") || strings.HasSuffix(path, "/jobs.go") ||
			slices.ContainsFunc(allowed, func(a string) bool { return strings.HasPrefix(path, a) }) {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if fl, ok := n.(*ast.Field); ok && fl.Tag != nil && strings.Contains(fl.Tag.Value, `json:"`) {
				t.Errorf("%s: json tags belong into internal/wire or columns.go", path)
				return false
			}
			return true
		})
	})
}
