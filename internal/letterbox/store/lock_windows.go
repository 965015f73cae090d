package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// lockFile takes the exclusive lock of a file's first byte. It asks again and again instead of waiting in the kernel, because
// that wait could not be cancelled; the holder keeps the lock for milliseconds.
func lockFile(ctx context.Context, path string) (release func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock store: %w", err)
	}
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{})
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
			_ = f.Close()
			return nil, fmt.Errorf("lock store: %w", err)
		}
		pause.Reset(lockPause)
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, fmt.Errorf("lock store: %w", context.Cause(ctx))
		case <-pause.C:
		}
	}
}

// syncDir does nothing: Windows keeps names in its journal.
func syncDir(string) error { return nil }
