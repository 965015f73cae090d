//go:build unix

package lockfile

import (
	"errors"
	"os"
	"syscall"
)

// Beside says whether the lock of a file that others read has to be on another file beside it.
const Beside = false

// NoFollow is a flag of [os.OpenFile] for files that we write: a link of that name, which came into the folder with somebody
// else's files, leads to none of the person's own.
const NoFollow = syscall.O_NOFOLLOW

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
