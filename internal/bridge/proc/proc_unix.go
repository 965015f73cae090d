//go:build unix

package proc

import (
	"os/exec"
	"syscall"
)

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

func signalled(e *exec.ExitError) bool {
	st, ok := e.Sys().(syscall.WaitStatus)
	return ok && st.Signaled()
}
