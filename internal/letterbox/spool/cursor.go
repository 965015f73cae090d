package spool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/agntchat/agntchat/internal/letterbox/lockfile"
)

// stateFile holds the cursors of all spools of a user. Its name and form are those of agent-talk's Codex hook (contract letters 5.2),
// so that a session that has both sees no letter twice.
const stateFile = ".codex-hook-state.json"

// headLen is how much of a file's beginning tells it from another one.
const headLen = 256

const (
	keptIDs   = 500    // of letters that were read lately
	inboxIDs  = 10_000 // of letters behind the inbox's cursor that some session has read
	keptHeads = 16     // of files that were read to their end
)

// cursor is how far a spool was read.
type cursor struct {
	Offset int64    `json:"offset"`         // behind the last line that was read
	IDs    []string `json:"ids"`            // of the letters that were read lately, oldest first
	SHA    string   `json:"sha"`            // hexadecimal SHA-256 of the file's first SHALen bytes; empty when nothing was read
	SHALen int64    `json:"sha_len"`        // at most headLen
	Done   []string `json:"done,omitempty"` // heads of older generations that were read to their end (ours; others drop it)
}

// cursors is the state file of a user.
type cursors struct{ dir string }

func (u User) cursors() cursors { return cursors{u.Sessions()} }

func (c cursors) path() string { return filepath.Join(c.dir, stateFile) }

// load reads the file. One that is damaged or not there is an empty one: letters come again rather than never.
func (c cursors) load() (map[string]json.RawMessage, error) {
	b, err := os.ReadFile(c.path())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("spool cursors: %w", err)
	}
	all := map[string]json.RawMessage{}
	if json.Unmarshal(b, &all) != nil || all == nil {
		return map[string]json.RawMessage{}, nil //nolint:nilerr // see above
	}
	return all, nil
}

// find gives the cursor of a spool and the name it has in the file, which may lead through symbolic links.
func find(all map[string]json.RawMessage, path string) (name string, c cursor, ok bool) {
	if raw, there := all[path]; there {
		return path, c, json.Unmarshal(raw, &c) == nil && c.Offset >= 0
	}
	for name, raw := range all {
		if filepath.Base(name) == filepath.Base(path) && filepath.Join(real(filepath.Dir(name)), filepath.Base(name)) == path {
			return name, c, json.Unmarshal(raw, &c) == nil && c.Offset >= 0
		}
	}
	return path, c, false
}

func (c cursors) get(path string) (cursor, bool, error) {
	all, err := c.load()
	if err != nil {
		return cursor{}, false, err
	}
	_, cur, ok := find(all, path)
	return cur, ok, nil
}

// change runs fn with the cursors while no other process reads or writes them. What fn changed is saved when it returned nil.
func (c cursors) change(ctx context.Context, fn func(t *table) error) error {
	if err := os.MkdirAll(c.dir, dirMode); err != nil {
		return fmt.Errorf("spool cursors: %w", err)
	}
	lock, err := lockfile.Open(ctx, c.path()+".lock", true)
	if err != nil {
		return fmt.Errorf("spool cursors: %w", err)
	}
	defer func() { _ = lock.Close() }()
	all, err := c.load()
	if err != nil {
		return err
	}
	t := &table{all: all}
	if err := fn(t); err != nil || !t.dirty {
		return err
	}
	b, err := json.Marshal(t.all)
	if err != nil {
		return fmt.Errorf("spool cursors: %w", err)
	}
	return replace(c.path(), b)
}

// table is the state file in memory, between reading and writing it.
type table struct {
	all   map[string]json.RawMessage
	dirty bool
}

func (t *table) get(path string) (cursor, bool) {
	_, c, ok := find(t.all, path)
	return c, ok
}

func (t *table) set(path string, c cursor) error {
	if c.IDs == nil {
		c.IDs = []string{}
	}
	b, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("spool cursors: %w", err)
	}
	name, _, _ := find(t.all, path)
	t.all[name], t.dirty = b, true
	return nil
}

func (t *table) drop(path string) {
	if name, _, _ := find(t.all, path); t.all[name] != nil {
		delete(t.all, name)
		t.dirty = true
	}
}

// replace writes a file whole or not at all. The temporary name is the one that agent-talk uses; the lock keeps it ours.
func replace(path string, b []byte) error {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC|lockfile.NoFollow, fileMode)
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), errors.Join(err, os.Remove(tmp)))
	}
	return nil
}

// file is one generation of a spool, open for reading.
type file struct {
	*os.File
	gen  int
	size int64
}

// files are the generations of a spool, the oldest first and the current one last.
type files []file

// openFile opens a file for reading. What is none is not there: a pipe of that name would be waited for.
func openFile(name string) (*os.File, error) {
	st, err := os.Stat(name)
	if err == nil && !st.Mode().IsRegular() {
		err = os.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	return os.Open(name)
}

// openAll opens what there is. It opens the current file first and then the older ones: a rotation meanwhile shows one of them twice
// instead of hiding one.
func openAll(path string) (list files) {
	for gen := 0; gen <= most; gen++ {
		f, err := openFile(generation(path, gen))
		if err != nil {
			continue
		}
		st, err := f.Stat()
		twice := err == nil && slices.ContainsFunc(list, func(o file) bool {
			other, err := o.Stat()
			return err == nil && os.SameFile(other, st)
		})
		if err != nil || !st.Mode().IsRegular() || twice {
			_ = f.Close()
			continue
		}
		list = append(list, file{f, gen, st.Size()})
	}
	slices.Reverse(list)
	return list
}

func (l files) close() {
	for _, f := range l {
		_ = f.Close()
	}
}

// head is the fingerprint of a file's first n bytes, empty when it has not as many.
func (f file) head(n int64) string {
	if n <= 0 || n > headLen || n > f.size {
		return ""
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, n), b); err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// place is where reading goes on.
type place struct {
	file   int // index in files
	offset int64
	ok     bool // the cursor's own file was found
}

// locate finds the place of a cursor: in the file whose beginning it knows, the newest first. A file that was truncated, also when it
// has grown to the same size since, and one that is gone for good are read from the beginning, with what is older and was not read yet.
func (l files) locate(c cursor) place {
	if len(l) == 0 {
		return place{}
	}
	if c.SHA != "" {
		for i := len(l) - 1; i >= 0; i-- {
			if c.Offset <= l[i].size && l[i].head(c.SHALen) == c.SHA {
				return place{i, c.Offset, true}
			}
		}
	} else if c.Offset > 0 && c.Offset <= l[len(l)-1].size {
		return place{len(l) - 1, c.Offset, true} // a cursor of an older program
	}
	for i, f := range l {
		if f.gen == 0 || !slices.Contains(c.Done, f.head(min(f.size, headLen))) {
			return place{file: i}
		}
	}
	return place{file: len(l) - 1}
}

// moved is c after reading letters to an offset of a file.
func (l files) moved(c cursor, to place, ids []string) cursor {
	f := l[to.file]
	c.Offset = to.offset
	c.SHALen = min(to.offset, headLen)
	c.SHA = f.head(c.SHALen)
	if len(ids) > 0 {
		c.IDs = slices.Concat(c.IDs, ids)
		c.IDs = slices.Clone(c.IDs[max(0, len(c.IDs)-keptIDs):])
	}
	// Heads of the older generations that are still there: those that are gone need not be remembered.
	c.Done = nil
	for _, older := range l[:to.file] {
		c.Done = append(c.Done, older.head(min(older.size, headLen)))
	}
	c.Done = c.Done[max(0, len(c.Done)-keptHeads):]
	return c
}
