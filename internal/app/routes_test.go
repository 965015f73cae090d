package app_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/app/apptest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestM4_RoutesGolden: a route that comes, goes or moves is seen in review.
// `go test ./internal/app -run RoutesGolden -update` writes the file.
func TestM4_RoutesGolden(t *testing.T) {
	t.Parallel()
	const golden = "testdata/routes.golden"
	routes, err := apptest.New(t).App.Routes()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(routes, "\n") + "\n"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	had := map[string]bool{}
	for line := range strings.Lines(string(want)) {
		had[strings.TrimSpace(line)] = true
	}
	for _, r := range routes {
		if !had[r] {
			t.Errorf("new route: %s", r)
		}
		delete(had, r)
	}
	for r := range had {
		t.Errorf("route is gone: %s", r)
	}
	t.Errorf("write %s with -update when this is meant", golden)
}
