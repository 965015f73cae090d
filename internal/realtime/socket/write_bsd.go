//go:build unix && !linux

package socket

import "syscall"

func writeNow(fd uintptr, p []byte) (int, error) { return syscall.Write(int(fd), p) }
