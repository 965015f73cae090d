package app

import (
	"os/exec"
	"runtime"
	"syscall"
)

// runTied runs a child in its own process group, so that a terminal's ^C reaches
// us first, and ties it to our life: when we die, however, it gets SIGTERM. The
// tie follows the starting thread, which therefore stays locked until the child ends.
func runTied(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		done <- cmd.Run()
	}()
	return <-done
}

func interrupt(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
