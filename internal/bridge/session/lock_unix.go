//go:build unix

package session

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// acquire takes the single-writer lock of an agent on this machine. The kernel
// gives it back when the process ends, however it ends.
func acquire(path string) (release func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock agent folder: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, ErrLocked
	}
	_ = f.Truncate(0)
	_, _ = f.WriteString(strconv.Itoa(os.Getpid()) + "\n")
	return func() { _ = f.Close() }, nil
}
