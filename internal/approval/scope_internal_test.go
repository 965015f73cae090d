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
		{"Bash", bash("npm view left-pad"), Scope{ScopeExec, "npm view"}, []json.RawMessage{bash("npm view x")}, []json.RawMessage{bash("npm run x"), bash("npm view --json x"), bash("npm install x")}},
		{"Bash", bash("gh pr view 1"), Scope{ScopeExec, "gh pr view"}, []json.RawMessage{bash("gh pr view 2")}, []json.RawMessage{bash("gh pr merge 1"), bash("gh pr"), bash("gh api x")}},
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
	// What runs other programs, in whatever disguise, has no pattern.
	for _, cmd := range []string{
		"npm install left-pad", "npm i x", "npm run-script x", "npm t", "pip install x", "pip3 install x", "cargo build", "poetry run x", "tox", "gradle build", "flock /tmp/x id", "tmux new x",
		"python3.12 x.py", "perl5.36 x", "node18 x.js", "pkexec id", "git difftool x", "git unknown", "go run x", "go test x", "rg --pre cat x", "sort -o out in", "go build -toolexec time x",
		"go vet -vettool time x", "git push --receive-pack x origin", "cp a b", "gh -R x pr view", "git\u00a0status", "git status\u2003src", "git\u0085status", "ls\u3000-la", "l\u200bs",
	} {
		if got := ScopeOf("Bash", bash(cmd)); got.Kind != ScopeExact {
			t.Errorf("%q has the pattern %v", cmd, got)
		}
	}
	// Another key says where the call goes: the tool may look at that one.
	for tool, ins := range map[string][]string{
		"Bash":     {`{"command":"git status","dangerouslyDisableSandbox":true}`, `{"command":["git","status"]}`, `{"Command":"git status"}`},
		"Write":    {`{"file_path":"../../etc/x","path":"/home/a/src/x"}`, `{"file_path":"/home/a/src/x","notebook_path":"/etc/x"}`, `{"file_path":null,"path":"/home/a/src/x"}`, `{"file_path":"/home/a/src/..\\..\\x"}`, `{"file_path":"/home/a/src/x\u0000"}`},
		"WebFetch": {`{"url":"https://docs.example.com/","host":"evil.org"}`, `{"url":["https://evil.org"],"host":"docs.example.com"}`, `{"url":"https://com/"}`, `{"url":"https://co.uk/"}`, `{"url":"https://github.io/"}`, `{"url":"https://localhost/"}`},
	} {
		for _, in := range ins {
			if got := ScopeOf(tool, json.RawMessage(in)); got.Kind != ScopeExact {
				t.Errorf("%s %s has the pattern %v", tool, in, got)
			}
		}
	}
	domain := Scope{ScopeDomain, "docs.example.com"}
	for _, address := range []string{
		"https://docs.example.com\\@evil.org/", "https://evil.org\\.docs.example.com/", "https://evil.org#.docs.example.com", "https://evil.org?.docs.example.com", "https://evil.org/.docs.example.com",
		"https://docs.example.com%2eevil.org", "https://docs.example.com%00.evil.org", "https://docs.ex\u0430mple.com", "https://docs\uff0eexample.com", "https://user@docs.example.com", "https:docs.example.com",
		"//docs.example.com", "https://docs.example.com..", "https://docs.example.com:@evil.org", "javascript://docs.example.com/", " https://evil.org/https://docs.example.com",
	} {
		if domain.covers("WebFetch", link(address)) {
			t.Errorf("%v covers %q", domain, address)
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
