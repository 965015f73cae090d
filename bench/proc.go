package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc (USER_HZ, which Linux fixes at 100).
const tick = 10 * time.Millisecond

// stat gives the parent of a process and its CPU time; with children, also that
// of those that it has outlived.
func stat(pid int) (parent int, own, children time.Duration, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, 0, err
	}
	_, rest, _ := strings.Cut(string(b), ") ") // the name may contain anything but this
	f := strings.Fields(rest)
	if len(f) < 15 {
		return 0, 0, 0, fmt.Errorf("unexpected /proc/%d/stat", pid)
	}
	n := make([]int64, 15)
	for i := 1; i < 15; i++ {
		n[i], _ = strconv.ParseInt(f[i], 10, 64)
	}
	return int(n[1]), time.Duration(n[11]+n[12]) * tick, time.Duration(n[13]+n[14]) * tick, nil
}

// cpuOf is what one process has used.
func cpuOf(pid int) time.Duration {
	_, own, _, _ := stat(pid)
	return own
}

// cpuOfFamily is what a process and its children have used: Postgres.
func cpuOfFamily(pid int) time.Duration {
	_, sum, gone, err := stat(pid)
	if err != nil {
		return 0
	}
	sum += gone
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		child, _ := strconv.Atoi(filepath.Base(dir))
		if parent, own, _, err := stat(child); err == nil && parent == pid {
			sum += own
		}
	}
	return sum
}

// rss is resident memory in bytes.
func rss(pid int) int64 {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if v, ok := strings.CutPrefix(lines.Text(), "VmRSS:"); ok {
			kb, _ := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
			return kb << 10
		}
	}
	return 0
}

func load1() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "?"
	}
	return strings.Fields(string(b))[0]
}

func machine(postgres string) string {
	return fmt.Sprintf("%d cores, %s/%s, %s, %s, load %s at start; load generator and Postgres on the same cores",
		runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), postgres, load1())
}
