//go:build unix

package follow

import "syscall"

// detached makes a process that no terminal's end reaches.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
