package follow

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// started identifies a process among all that ever had its id: when it began, and in which run of the machine. It is an error when
// there is no such process, or only what is left of one that nobody has waited for.
func started(pid int) (string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", fmt.Errorf("no such process: %w", err)
	}
	// The name may contain anything but its last parenthesis.
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 20 || f[0] == "Z" || f[0] == "X" {
		return "", fmt.Errorf("process %d has ended", pid)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("run of the machine: %w", err)
	}
	return f[19] + "@" + strings.TrimSpace(string(boot)), nil
}
