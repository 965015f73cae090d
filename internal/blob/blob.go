// Package blob keeps bytes in a folder, by name. A blob is there whole or not at
// all, and survives a crash once Put has returned. It knows no feature.
package blob

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Store is a folder of blobs. The folder is made when it is first written to.
type Store struct{ Dir string }

// ErrTooLong is the answer to more bytes than were announced, ErrTooShort to fewer.
var (
	ErrTooLong  = errors.New("blob: more bytes than announced")
	ErrTooShort = errors.New("blob: fewer bytes than announced")
)

// path spreads blobs over 256 folders. Names are ids of ours: letters, digits, dashes.
func (s Store) path(name string) (string, error) {
	if len(name) < 3 {
		return "", fmt.Errorf("blob: bad name of %d letters", len(name))
	}
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' {
			return "", errors.New("blob: bad name")
		}
	}
	return filepath.Join(s.Dir, name[:2], name), nil
}

// Put stores exactly size bytes of r and gives their SHA-256. A blob of this name is replaced.
func (s Store) Put(name string, r io.Reader, size int64) (sum []byte, err error) {
	st, err := s.Stage(name, r, size)
	if err != nil {
		return nil, err
	}
	return st.Sum, st.Keep()
}

// Staged is bytes that are on disk and have no name yet: Keep or Drop them.
type Staged struct {
	Sum        []byte // SHA-256
	from, path string
}

// Keep gives the bytes their name. A blob of this name is replaced.
func (s Staged) Keep() error {
	if err := os.Rename(s.from, s.path); err != nil {
		return errors.Join(fmt.Errorf("write blob: %w", err), os.Remove(s.from))
	}
	return nil
}

// Drop forgets the bytes; after Keep it does nothing.
func (s Staged) Drop() { _ = os.Remove(s.from) }

// Stage writes exactly size bytes of r beside the blob of this name, which stays as
// it is. ErrTooLong and ErrTooShort tell of another size.
func (s Store) Stage(name string, r io.Reader, size int64) (st Staged, err error) {
	path, err := s.path(name)
	if err != nil {
		return st, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return st, fmt.Errorf("make folder of blobs: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return st, fmt.Errorf("make blob: %w", err)
	}
	defer func() {
		if err != nil {
			_ = f.Close() // the first failure is told
			_ = os.Remove(f.Name())
		}
	}()
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, h), io.LimitReader(r, size+1))
	switch {
	case err != nil:
		return st, fmt.Errorf("write blob: %w", err)
	case n > size:
		return st, ErrTooLong
	case n < size:
		return st, ErrTooShort
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return st, fmt.Errorf("write blob: %w", err)
	}
	return Staged{Sum: h.Sum(nil), from: f.Name(), path: path}, nil
}

// Open reads a blob; fs.ErrNotExist when there is none.
func (s Store) Open(name string) (*os.File, error) {
	path, err := s.path(name)
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// Delete forgets a blob; one that is not there is no failure.
func (s Store) Delete(name string) error {
	path, err := s.path(name)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete blob: %w", err)
	}
	return nil
}
