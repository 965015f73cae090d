package proc

import (
	"os/exec"
	"syscall"
)

// setGroup puts the child into its own group and ties it to this process, so
// that a killed bridge leaves no model running.
func setGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
