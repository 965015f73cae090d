package spool

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"
)

// Line is one line of a spool that is an object. All of it but From was chosen by a peer.
type Line struct {
	JSON []byte // the object, without the end of line
	ID   string // of the letter; empty for a request
	From string // address of the sender
	Kind string // empty for a letter with text
	// Verified says whether the sender's keys were pinned when the letter came.
	Verified bool
	TS       string // when it came, as Stamp wrote it
}

// Limit bounds what is read at once. A zero field is the usual bound.
type Limit struct {
	Lines int // 500
	Bytes int // 1 MiB; one line is read even when it is longer
}

func (l Limit) usual() Limit {
	if l.Lines <= 0 {
		l.Lines = 500
	}
	if l.Bytes <= 0 {
		l.Bytes = 1 << 20
	}
	return l
}

// Reader reads one spool from its cursor, which is kept on disk and shared by all readers of that spool, whatever process they are in.
// It knows half lines, truncated and refilled files, and rotations.
type Reader struct {
	user User
	path string
}

// Reader reads a session's spool. Errors: [ErrSession].
func (u User) Reader(sid string, s Stream) (*Reader, error) {
	path, err := u.Spool(sid, s)
	return &Reader{u, path}, err
}

// Batch is what a reader found: lines, and the place behind them.
type Batch struct {
	Lines []Line
	More  bool // the limit ended it: there are more

	from, to cursor
	moved    bool
}

// Next gives the lines behind the cursor, which stays where it is until [Reader.Commit]. Lines that are no objects, and letters that
// were read before, are passed over.
func (r *Reader) Next(l Limit) (Batch, error) {
	c, _, err := r.user.cursors().get(r.path)
	if err != nil {
		return Batch{}, err
	}
	return r.read(c, l)
}

// Commit moves the cursor behind a batch. Its lines are read then, for all sessions: a session that attaches later is not given them.
// Do it before handing them over when a letter must not come twice, and afterwards when it must not be missed. When another reader
// has moved the cursor meanwhile, it stays at the further place.
func (r *Reader) Commit(ctx context.Context, b Batch) error {
	if !b.moved {
		return nil
	}
	return r.user.cursors().change(ctx, func(t *table) error {
		c, _ := t.get(r.path)
		if !same(c, b.from) {
			files := openAll(r.path)
			defer files.close()
			now, then := files.locate(c), files.locate(b.to)
			if now.ok && (!then.ok || now.file > then.file || now.file == then.file && now.offset >= then.offset) {
				return nil
			}
		}
		return t.set(r.path, b.to)
	})
}

// Take is Next and Commit in one step: of several readers each letter goes to one. A process that ends before it has shown what it took
// has lost it, as far as this session goes.
func (r *Reader) Take(ctx context.Context, l Limit) (b Batch, err error) {
	return b, r.user.cursors().change(ctx, func(t *table) error {
		c, _ := t.get(r.path)
		if b, err = r.read(c, l); err != nil || !b.moved {
			return err
		}
		return t.set(r.path, b.to)
	})
}

// lookEvery is how often Wait looks.
const lookEvery = 200 * time.Millisecond

// Wait blocks until there is a line behind the cursor, or ctx ends.
func (r *Reader) Wait(ctx context.Context) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var seen, state os.FileInfo
	for {
		// The files are read only when one of them has changed.
		now, _ := os.Stat(r.path)
		cur, _ := os.Stat(r.user.cursors().path())
		if changed(seen, now) || changed(state, cur) {
			b, err := r.Next(Limit{Lines: 1})
			if err != nil || len(b.Lines) > 0 {
				return err
			}
			seen, state = now, cur
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-look.C:
		}
	}
}

func changed(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a != b
	}
	return !os.SameFile(a, b) || a.Size() != b.Size() || !a.ModTime().Equal(b.ModTime())
}

func same(a, b cursor) bool {
	return a.Offset == b.Offset && a.SHA == b.SHA && a.SHALen == b.SHALen
}

// read reads from a cursor.
func (r *Reader) read(c cursor, l Limit) (Batch, error) {
	l = l.usual()
	b := Batch{from: c, to: c}
	files := openAll(r.path)
	defer files.close()
	if len(files) == 0 {
		return b, nil
	}
	at := files.locate(c)
	start := at
	seen := map[string]bool{}
	for _, id := range c.IDs {
		seen[id] = true
	}
	var ids []string
	bytes := 0
	for i := at.file; i < len(files) && !b.More; i++ {
		if i > at.file {
			at = place{file: i}
		}
		end, err := lines(files[i], at.offset, files[i].size, func(text []byte, _ int64) bool {
			m, rest, ok := look(text)
			if !ok {
				return true
			}
			id := m.ident(text)
			if seen[id] {
				return true
			}
			if len(b.Lines) == l.Lines || len(b.Lines) > 0 && bytes+len(text) > l.Bytes {
				b.More = true
				return false
			}
			bytes += len(text)
			b.Lines = append(b.Lines, asLine(text, m, rest))
			seen[id] = true
			ids = append(ids, id)
			return true
		})
		if err != nil {
			return Batch{}, fmt.Errorf("read spool: %w", err)
		}
		at.offset = end
	}
	if at != start || !start.ok && at.offset > 0 {
		b.to, b.moved = files.moved(c, at, ids), true
	}
	return b, nil
}

func asLine(text []byte, m members, rest map[string]json.RawMessage) Line {
	l := Line{JSON: slices.Clone(text), ID: m.ID, From: m.From, Kind: m.Kind}
	_ = json.Unmarshal(rest["verified"], &l.Verified) // another type is as if it were not there
	_ = json.Unmarshal(m.TS, &l.TS)
	return l
}
