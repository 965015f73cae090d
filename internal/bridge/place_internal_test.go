package bridge

import (
	"log/slog"
	"os"
	"testing"
)

// TestB3_APlaceKeepsItsName: two folders are two places of an agent, one folder is the
// same one after every start, and one from before places had names stays what it was.
func TestB3_APlaceKeepsItsName(t *testing.T) {
	t.Parallel()
	at := func(home string) string { return Config{Home: home, Log: slog.New(slog.DiscardHandler)}.placeKey("a") }
	here, there, old := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.MkdirAll(AgentDir(old, "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	first := at(here)
	if again := at(here); again != first || len(first) < len("agnt-12345678") {
		t.Errorf("one place is %q and then %q", first, again)
	}
	if at(there) == first {
		t.Error("two places have one name")
	}
	if got := at(old); got != "agnt" || at(old) != got {
		t.Errorf("a place from before is %q", got)
	}
	if got := (Config{Home: here, Log: slog.New(slog.DiscardHandler)}).options(Agent{ID: "a", ExecutorKey: "mine"}).ExecutorKey; got != "mine" {
		t.Errorf("a chosen name became %q", got)
	}
}
