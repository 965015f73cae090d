//go:build unix

package hook

import (
	"os/exec"
	"syscall"
)

// detach makes a process outlive the hook and its terminal.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func running(pid int) bool {
	return pid > 0 && syscall.Kill(pid, 0) == nil
}
