// Command dbpackages prints the packages whose tests use a database, one a line:
// those that `make test-pooler` runs again through a pooler and in exec mode.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os/exec"
	"slices"
)

const helper = "github.com/agntchat/agntchat/internal/pg/pgtest"

func main() {
	out, err := exec.Command("go", "list", "-json=ImportPath,TestImports,XTestImports", "./...").Output()
	if err != nil {
		log.Fatal(err)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p struct {
			ImportPath                string
			TestImports, XTestImports []string
		}
		if err := dec.Decode(&p); err != nil {
			log.Fatal(err)
		}
		if slices.Contains(p.TestImports, helper) || slices.Contains(p.XTestImports, helper) {
			fmt.Println(p.ImportPath)
		}
	}
}
