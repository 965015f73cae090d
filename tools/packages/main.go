// Command packages prints packages of the module for the Makefile, one a line:
//
//	-db    those whose tests use a database
//	-race  those that are tested with the race detector
//	-plain the others: they contain the model providers' SDKs, whose
//	       instrumented build takes longer than all other checks together,
//	       or run WebAssembly themselves, which the detector slows down tenfold
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os/exec"
	"slices"
	"strings"
)

const databases = "github.com/agntchat/agntchat/internal/pg/pgtest"

// webAssembly are packages whose tests run it; those that only call them are not slow.
var webAssembly = []string{"github.com/agntchat/agntchat/internal/document"}

var sdks = []string{"github.com/openai/openai-go", "github.com/anthropics/anthropic-sdk-go"}

type pkg struct {
	ImportPath                      string
	Deps, TestImports, XTestImports []string
	TestGoFiles, XTestGoFiles       []string
}

func main() {
	db := flag.Bool("db", false, "packages whose tests use a database")
	race := flag.Bool("race", false, "packages tested with the race detector")
	plain := flag.Bool("plain", false, "packages tested without it")
	flag.Parse()
	out, err := exec.Command("go", "list", "-json=ImportPath,Deps,TestImports,XTestImports,TestGoFiles,XTestGoFiles", "./...").Output()
	if err != nil {
		log.Fatal(err)
	}
	heavy, usesDB := map[string]bool{}, map[string]bool{databases: true}
	var list []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p pkg
		if err := dec.Decode(&p); err != nil {
			log.Fatal(err)
		}
		list = append(list, p)
		heavy[p.ImportPath] = slices.ContainsFunc(p.Deps, isSDK)
		if slices.Contains(p.Deps, databases) {
			usesDB[p.ImportPath] = true
		}
	}
	for _, p := range list {
		imports := slices.Concat(p.TestImports, p.XTestImports)
		sdk := slices.Contains(webAssembly, p.ImportPath) || heavy[p.ImportPath] || slices.ContainsFunc(imports, func(i string) bool { return heavy[i] || isSDK(i) })
		tested := len(p.TestGoFiles)+len(p.XTestGoFiles) > 0
		if *db && slices.ContainsFunc(imports, func(i string) bool { return usesDB[i] }) || *race && tested && !sdk || *plain && tested && sdk {
			fmt.Println(p.ImportPath)
		}
	}
}

func isSDK(path string) bool {
	return slices.ContainsFunc(sdks, func(s string) bool { return strings.HasPrefix(path, s) })
}
