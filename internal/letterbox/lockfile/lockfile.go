// Package lockfile locks files between processes. The system gives a lock back when its process ends, however it ends: there is no
// stale lock, unlike a file that holds a process id. On Unix it is flock, which the programs of retalk and agent-talk take too; on
// Windows a byte range far beyond any content, because locks there also keep others from reading.
package lockfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrBusy is a lock that somebody else holds.
var ErrBusy = errors.New("another process holds the lock")

// pause is how often a held lock is asked for. The kernel could wait, but that wait could not be cancelled.
const pause = 2 * time.Millisecond

// Wait locks an open file exclusively, once nobody else holds the lock or ctx ends. Closing the file gives the lock back.
func Wait(ctx context.Context, f *os.File) error {
	err := try(f)
	if !errors.Is(err, ErrBusy) {
		return err
	}
	again := time.NewTicker(pause)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for a lock: %w", context.Cause(ctx))
		case <-again.C:
			if err := try(f); !errors.Is(err, ErrBusy) {
				return err
			}
		}
	}
}

// Open opens or makes a file that exists for its lock and takes it. Nobody but its owner may read it.
// Errors: [ErrBusy] when wait is false.
func Open(ctx context.Context, path string, wait bool) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|NoFollow, 0o600)
	if err != nil {
		return nil, err
	}
	if wait {
		err = Wait(ctx, f)
	} else {
		err = try(f)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// Replace writes a file that only its owner reads, whole or not at all. The callers of one path lock something against each other, or write the
// same.
func Replace(path string, raw []byte) error {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC|NoFollow, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// Held says whether somebody holds the lock of a file that exists for it. It takes the lock for a moment.
func Held(path string) (bool, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	err = try(f)
	if errors.Is(err, ErrBusy) {
		return true, nil
	}
	return false, err
}
