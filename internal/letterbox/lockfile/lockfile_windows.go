package lockfile

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Beside says whether the lock of a file that others read has to be on another file beside it: an open file cannot be renamed here,
// and a rotation renames what it has locked.
const Beside = true

// NoFollow is nothing here: who may not make links, as persons may not by default, can put none into a folder.
const NoFollow = 0

// far is the upper half of the offset of the locked byte.
const far = 0x40000000

func try(f *os.File) error {
	at := &windows.Overlapped{OffsetHigh: far}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrBusy
	}
	return err
}

// SyncDir does nothing: the file system keeps names in its journal.
func SyncDir(string) error { return nil }
