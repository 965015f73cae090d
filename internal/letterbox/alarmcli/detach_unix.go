//go:build unix

package alarmcli

import (
	"os/exec"
	"syscall"
)

// detach makes a process outlive the hook and its terminal.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
