//go:build unix

package lockfile

import (
	"errors"
	"os"
	"syscall"
)

// Beside says whether the lock of a file that others read has to be on another file beside it.
const Beside = false

func try(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return ErrBusy
	}
	return err
}

// SyncDir makes the names in a folder durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return d.Sync()
}
