package spool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/lockfile"
)

// Rotation. The file becomes <file>.1, as the programs of agent-talk have it, and older generations .2, .3, … as long as a reader is
// known that has not passed them. Readers of agent-talk look at no other file than the current one, so a rotation waits for them:
const (
	patient   = 2               // times the size, below which it waits until nothing was written for a while: readers that keep no cursor look once a second
	forgiving = 8               // times the size, below which it waits for every known cursor
	quiet     = 2 * time.Second // that while
	most      = 9               // generations; when all are needed the file grows
)

// generation is the file's name n rotations ago.
func generation(path string, n int) string {
	if n == 0 {
		return path
	}
	return path + "." + strconv.Itoa(n)
}

// due says whether to rotate now.
func (w *Writer) due(h *held, size int64) bool {
	limit := w.options.MaxBytes
	if limit < 0 || size < limit {
		return false
	}
	if size >= forgiving*limit {
		return true
	}
	st, err := h.Stat()
	if err != nil || size < patient*limit && w.options.Now().Sub(st.ModTime()) < quiet {
		return false
	}
	c, ok, err := w.user.cursors().get(h.path)
	if err != nil || !ok {
		return err == nil
	}
	files := openAll(h.path)
	defer files.close()
	at := files.locate(c)
	return at.file == len(files)-1 && at.offset >= size
}

// rotate gives h another, empty file. It reports false when no generation can be spared.
func (w *Writer) rotate(ctx context.Context, h *held) (bool, error) {
	needed, err := w.needed(h.path)
	if err != nil {
		return false, err
	}
	free := 1
	for ; free <= most; free++ {
		if _, err := os.Stat(generation(h.path, free)); errors.Is(err, os.ErrNotExist) || !needed[free] {
			break
		}
	}
	if free > most {
		return false, nil
	}
	for n := free; n > 1; n-- {
		if err := os.Rename(generation(h.path, n-1), generation(h.path, n)); err != nil {
			return false, fmt.Errorf("rotate spool: %w", err)
		}
	}
	if beside { // an open file cannot be renamed on Windows
		if err := h.File.Close(); err != nil {
			return false, fmt.Errorf("rotate spool: %w", err)
		}
	}
	renamed := os.Rename(h.path, generation(h.path, 1))
	if renamed != nil && !beside {
		return false, fmt.Errorf("rotate spool: %w", renamed)
	}
	// A reader that has the file open keeps it from being renamed there: then we go on in it.
	next, err := os.OpenFile(h.path, os.O_CREATE|os.O_RDWR|os.O_APPEND|lockfile.NoFollow, fileMode)
	if err == nil && !beside {
		err = lockfile.Wait(ctx, next)
	}
	if err != nil {
		if next != nil {
			_ = next.Close()
		}
		return false, fmt.Errorf("rotate spool: %w", err)
	}
	if !beside {
		_ = h.File.Close() // whoever waits for this file's lock sees that it is not the spool any more
	}
	h.File = next
	if renamed != nil {
		return false, nil //nolint:nilerr // see above
	}
	if err := lockfile.SyncDir(filepath.Dir(h.path)); err != nil {
		return true, fmt.Errorf("rotate spool: %w", err)
	}
	for n := 2; n <= most; n++ {
		if n <= free && !needed[n-1] || n > free && !needed[n] {
			_ = os.Remove(generation(h.path, n))
		}
	}
	return true, nil
}

// needed says which generations the known cursor of a spool has not passed, by their numbers before the rotation.
func (w *Writer) needed(path string) (map[int]bool, error) {
	need := map[int]bool{}
	c, ok, err := w.user.cursors().get(path)
	if err != nil || !ok {
		return need, err
	}
	files := openAll(path)
	defer files.close()
	at := files.locate(c)
	for i := at.file; i < len(files); i++ {
		if f := files[i]; i > at.file || at.offset < f.size {
			need[f.gen] = true
		}
	}
	return need, nil
}
