package session

import (
	"fmt"
	"syscall"
)

// acquire takes the single-writer lock of an agent on this machine: a file
// opened without sharing, which the system closes when the process ends.
func acquire(path string) (release func(), err error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, fmt.Errorf("lock agent folder: %w", err)
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, ErrLocked
	}
	return func() { _ = syscall.CloseHandle(h) }, nil
}
