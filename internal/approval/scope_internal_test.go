package approval

import (
	"encoding/json"
	"testing"
)

// TestS1_ScopeIsNeverWiderThanWhatWasSeen: what a standing yes to the left covers.
func TestS1_ScopeIsNeverWiderThanWhatWasSeen(t *testing.T) {
	t.Parallel()
	bash := func(s string) json.RawMessage { b, _ := json.Marshal(map[string]string{"command": s}); return b }
	file := func(s string) json.RawMessage { b, _ := json.Marshal(map[string]string{"file_path": s}); return b }
	link := func(s string) json.RawMessage { b, _ := json.Marshal(map[string]string{"url": s}); return b }
	for _, row := range []struct {
		tool      string
		in        json.RawMessage
		want      Scope
		covers    []json.RawMessage
		coversNot []json.RawMessage
	}{
		{"Bash", bash("git status"), Scope{ScopeExec, "git status"}, []json.RawMessage{bash("git  status"), bash("git status src")},
			[]json.RawMessage{bash("git push"), bash("git status; rm -rf x"), bash("git status && x"), bash("git status\nrm x"), bash("git -c core.pager=x status"), bash("git status $(x)"), bash("git status --porcelain"), bash("GIT_DIR=x git status"), bash(""), bash("gitstatus")}},
		{"Bash", bash("git fetch --prune origin"), Scope{ScopeExec, "git fetch --prune"}, []json.RawMessage{bash("git fetch --prune upstream")}, []json.RawMessage{bash("git fetch --upload-pack=x origin"), bash("git fetch origin")}},
		{"Bash", bash("ls -la"), Scope{ScopeExec, "ls -la"}, []json.RawMessage{bash("ls -la /tmp")}, []json.RawMessage{bash("ls -la > x"), bash("ls -la | sh"), bash("/tmp/ls -la"), bash("ls `x`")}},
		{"Bash", bash("python x.py"), Scope{Kind: ScopeExact}, nil, []json.RawMessage{bash("python x.py")}},
		{"Bash", bash("sudo ls"), Scope{Kind: ScopeExact}, nil, nil},
		{"Bash", bash("rm x"), Scope{Kind: ScopeExact}, nil, nil},
		{"Bash", bash("npm run build"), Scope{Kind: ScopeExact}, nil, nil},
		{"Bash", bash("npm install left-pad"), Scope{ScopeExec, "npm install"}, []json.RawMessage{bash("npm install x")}, []json.RawMessage{bash("npm run x"), bash("npm install --global x")}},
		{"Bash", bash("./x"), Scope{Kind: ScopeExact}, nil, nil},
		{"Bash", bash("echo \"x\""), Scope{Kind: ScopeExact}, nil, nil},
		{"Write", file("/home/a/src/x.go"), Scope{ScopeDir, "/home/a/src"}, []json.RawMessage{file("/home/a/src/y.go"), file("/home/a/src/sub/z")},
			[]json.RawMessage{file("/home/a/srcs/x"), file("/home/a/src/../../b/x"), file("/home/a/x"), file("src/x"), file("/home/a/src/./x"), file("")}},
		{"Write", file("/x"), Scope{Kind: ScopeExact}, nil, nil},
		{"Write", file("x"), Scope{Kind: ScopeExact}, nil, nil},
		{"WebFetch", link("https://docs.example.com/a"), Scope{ScopeDomain, "docs.example.com"}, []json.RawMessage{link("http://docs.example.com/b?c"), link("https://x.docs.example.com"), link("https://DOCS.example.com./")},
			[]json.RawMessage{link("https://example.com"), link("https://evildocs.example.com"), link("https://docs.example.com.evil.org"), link("https://docs.example.com@evil.org/"), link("https://docs.example.com:8443/"), link("file:///docs.example.com"), link("")}},
		{"query", json.RawMessage(`{"host":"db.internal:5432"}`), Scope{ScopeHost, "db.internal:5432"}, []json.RawMessage{json.RawMessage(`{"host":"DB.internal:5432","q":1}`)}, []json.RawMessage{json.RawMessage(`{"host":"x.db.internal:5432"}`), json.RawMessage(`{"host":"db.internal"}`)}},
		{"other", json.RawMessage(`{"x":1}`), Scope{Kind: ScopeExact}, nil, []json.RawMessage{json.RawMessage(`{"x":1}`)}},
	} {
		got := ScopeOf(row.tool, row.in)
		if got != row.want {
			t.Errorf("%s %s: %v, want %v", row.tool, row.in, got, row.want)
		}
		for _, in := range row.covers {
			if !got.covers(row.tool, in) {
				t.Errorf("%v does not cover %s", got, in)
			}
		}
		for _, in := range row.coversNot {
			if got.covers(row.tool, in) {
				t.Errorf("%v covers %s", got, in)
			}
		}
	}
	if !(Scope{Kind: ScopeAny}).covers("x", json.RawMessage(`{}`)) {
		t.Error("any does not cover its tool")
	}
	if got := RiskOf("Bash", bash("rm x")); got != High {
		t.Errorf("rm is %s", got)
	}
	if got := RiskOf("Read", file("/x")); got != Low {
		t.Errorf("reading is %s", got)
	}
}
