package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const sample = "package wire\n\n" +
	"// Map is people's own JSON.\ntype Map = json.RawMessage\n\n" +
	"// Row is one thing.\n// It has two lines.\ntype Row struct {\n" +
	"\tID string `json:\"id\"` // uuid\n" +
	"\tState string `json:\"state\"` // open | done\n" +
	"\tKind *string `json:\"kind\"` // a | b\n" +
	"\tPins []string `json:\"pins\"` // null = everywhere\n" +
	"\tParent *Row `json:\"parent,omitempty\"`\n" +
	"\tAt *Time `json:\"at\"`\n" +
	"\tData Map `json:\"data\"`\n" +
	"\tBy map[string]int64 `json:\"by\"`\n" +
	"\tMaybe []*Row `json:\"maybe\"`\n" +
	"\tHidden string `json:\"-\"`\n}\n"

func TestGenerate(t *testing.T) {
	t.Parallel()
	got, err := generate(write(t, map[string]string{"row.go": sample, "row_test.go": "package wire\ntype Nope struct{}"}))
	if err != nil {
		t.Fatal(err)
	}
	want := header + `
// --- row.go

/** Map is people's own JSON. */
export type Map = Record<string, unknown>;

/**
 * Row is one thing.
 * It has two lines.
 */
export interface Row {
  /** uuid */
  id: string;
  state: 'open' | 'done';
  kind: 'a' | 'b' | null;
  /** null = everywhere */
  pins: string[] | null;
  parent?: Row;
  at: Time | null;
  data: Map;
  by: Record<string, number>;
  maybe: (Row | null)[];
}
`
	if string(got) != want {
		t.Fatalf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestGenerateRefusesWhatItCannotSay(t *testing.T) {
	t.Parallel()
	for name, field := range map[string]string{
		"no tag":    "\tID string\n",
		"channel":   "\tC chan int `json:\"c\"`\n",
		"foreign":   "\tU uuid.UUID `json:\"u\"`\n",
		"unexposed": "\tX inner `json:\"x\"`\n",
	} {
		if _, err := generate(write(t, map[string]string{"a.go": "package wire\n\ntype A struct {\n" + field + "}\n"})); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestCheckFindsDrift(t *testing.T) {
	t.Parallel()
	src := write(t, map[string]string{"row.go": sample})
	out := filepath.Join(t.TempDir(), "wire.gen.ts")
	if err := run(src, out, true); err == nil {
		t.Fatal("a missing file passes the check")
	}
	if err := run(src, out, false); err != nil {
		t.Fatal(err)
	}
	if err := run(src, out, true); err != nil {
		t.Fatalf("fresh file: %v", err)
	}
	grown := strings.Replace(sample, "\tHidden", "\tNew bool `json:\"new\"`\n\tHidden", 1)
	if err := os.WriteFile(filepath.Join(src, "row.go"), []byte(grown), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(src, out, true); err == nil {
		t.Fatal("drift passes the check")
	}
}

// The committed file is what internal/wire says: a change of a shape that forgets the generator fails here.
func TestCommittedFileIsCurrent(t *testing.T) {
	t.Parallel()
	if err := run("../../internal/wire", "../../web/src/api/wire.gen.ts", true); err != nil {
		t.Fatal(err)
	}
}
