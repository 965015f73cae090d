package spool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/agntchat/agntchat/internal/letterbox/lockfile"
)

// beside is where the lock of a spool is; tests have it both ways.
var beside = lockfile.Beside

// held is a spool that is open for appending and locked.
type held struct {
	*os.File
	path string
	lock *os.File // beside the file, nil when the file itself is locked
}

// Close gives the lock back.
func (h *held) Close() error {
	err := h.File.Close()
	if h.lock != nil {
		err = errors.Join(err, h.lock.Close())
	}
	return err
}

// hold opens, makes and locks the spool at path, which must be a file and no link. It is the file that the path names, also when it was rotated meanwhile.
func hold(ctx context.Context, path string) (*held, error) {
	h := &held{path: path}
	if beside {
		l, err := lockfile.Open(ctx, path+".lock", true)
		if err != nil {
			return nil, fmt.Errorf("lock spool: %w", err)
		}
		h.lock = l
	}
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND|lockfile.NoFollow, fileMode)
		if err == nil && h.lock == nil {
			err = lockfile.Wait(ctx, f)
		}
		if err != nil {
			if f != nil {
				_ = f.Close()
			}
			if h.lock != nil {
				_ = h.lock.Close()
			}
			return nil, fmt.Errorf("open spool: %w", err)
		}
		h.File = f
		if !h.is(path) {
			_ = f.Close()
			continue
		}
		if err := h.settle(); err != nil {
			return nil, errors.Join(fmt.Errorf("open spool: %w", err), h.Close())
		}
		return h, nil
	}
}

// is says whether the open file is what path names.
func (h *held) is(path string) bool {
	a, err1 := h.Stat()
	b, err2 := os.Stat(path)
	return err1 == nil && err2 == nil && os.SameFile(a, b)
}

// settle protects the file, and makes the name of a new one durable.
func (h *held) settle() error {
	st, err := h.Stat()
	if err != nil {
		return err
	}
	if st.Mode().Perm()&0o077 != 0 && !lockfile.Beside {
		if err := h.Chmod(fileMode); err != nil {
			return err
		}
	}
	if st.Size() == 0 {
		return lockfile.SyncDir(filepath.Dir(h.path))
	}
	return nil
}

// size is the length of the file in bytes.
func (h *held) size() (int64, error) {
	st, err := h.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

// tail is what follows the last end of line: nothing, or half a line of a process that was killed while it wrote it.
func (h *held) tail(size int64) ([]byte, error) {
	const step = 64 << 10
	var tail []byte
	last := []byte{'\n'}
	if size > 0 {
		if _, err := h.ReadAt(last, size-1); err != nil {
			return nil, err
		}
	}
	for end := size; end > 0 && last[0] != '\n'; {
		n := min(end, step)
		b := make([]byte, n)
		if _, err := h.ReadAt(b, end-n); err != nil {
			return nil, err
		}
		if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
			return append(b[i+1:], tail...), nil
		}
		tail = append(b, tail...)
		end -= n
		if len(tail) > 2*MaxLine {
			break // no line of ours; whatever it is, it gets an end
		}
	}
	return tail, nil
}

// write appends one line, whole and durable or not at all.
func (h *held) write(line []byte, size int64) error {
	n, err := h.Write(line)
	if err == nil {
		err = h.Sync()
	}
	if err == nil {
		return nil
	}
	// Nobody else writes while we hold the lock. What was written of the line goes away again; should that fail too, the next writer
	// ends the half line.
	if n > 0 {
		err = errors.Join(err, h.Truncate(size))
	}
	return fmt.Errorf("append to spool: %w", err)
}

// lines gives each whole line after offset to fn, without its end and with the offset behind it, until fn says false. It gives the
// offset behind the last line that fn took. A longer line than MaxLine is passed over.
func lines(r io.ReaderAt, offset, size int64, fn func(line []byte, end int64) (more bool)) (int64, error) {
	const step = 256 << 10
	var carry []byte
	at, long := offset, false
	buf := make([]byte, step)
	for pos := offset; pos < size; {
		n, err := r.ReadAt(buf[:min(step, size-pos)], pos)
		if n == 0 && err != nil {
			if errors.Is(err, io.EOF) {
				return at, nil
			}
			return at, err
		}
		b := buf[:n]
		pos += int64(n)
		for {
			i := bytes.IndexByte(b, '\n')
			if i < 0 {
				break
			}
			line := b[:i]
			if len(carry) > 0 {
				line = append(carry, line...)
				carry = nil
			}
			end := pos - int64(len(b)) + int64(i) + 1
			b = b[i+1:]
			if !long && !fn(line, end) {
				return at, nil
			}
			at, long = end, false
		}
		if long = long || len(carry)+len(b) > MaxLine; long {
			carry = nil
		} else {
			carry = append(carry, b...)
		}
	}
	return at, nil
}
