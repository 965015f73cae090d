package alarmcli

import (
	"os/exec"
	"syscall"
)

const detachedProcess = 0x00000008

// detach makes a process outlive the hook and its console.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess}
}
