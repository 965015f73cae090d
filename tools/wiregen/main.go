// Command wiregen writes web/src/api/wire.gen.ts from the structs of
// internal/wire: one TypeScript interface per exported struct, doc comments
// carried over, names taken from the json tags. It reads source, not types, so
// it needs no build. Its output depends on the source alone.
//
//	go run ./tools/wiregen          writes the file
//	go run ./tools/wiregen -check   exits 1 when the file is not what would be written
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
)

func main() {
	src := flag.String("src", "internal/wire", "folder of the Go package")
	out := flag.String("out", "web/src/api/wire.gen.ts", "file to write")
	check := flag.Bool("check", false, "compare instead of write; exit 1 on drift")
	flag.Parse()
	if err := run(*src, *out, *check); err != nil {
		fmt.Fprintln(os.Stderr, "wiregen:", err)
		os.Exit(1)
	}
}

func run(src, out string, check bool) error {
	text, err := generate(src)
	if err != nil {
		return err
	}
	if !check {
		return os.WriteFile(out, text, 0o644)
	}
	have, err := os.ReadFile(out)
	if err != nil {
		return fmt.Errorf("read generated file: %w", err)
	}
	if !bytes.Equal(have, text) {
		return fmt.Errorf("%s is not what %s says; run: go run ./tools/wiregen", out, src)
	}
	return nil
}
