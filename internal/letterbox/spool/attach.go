package spool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// MaxAge is how long a spool that nothing is written to is kept, and a registration that nobody renews (contract letters 4.3).
const MaxAge = 14 * 24 * time.Hour

// unreadAge is how long a letter that no session reads counts as unread. It stays in the inbox's file.
const unreadAge = 30 * 24 * time.Hour

// begin gives the inboxes a cursor. What an agent-talk of earlier times left in them counts as read.
func (u User) begin(ctx context.Context) error {
	missing := false
	for _, s := range Streams {
		_, ok, err := u.cursors().get(u.Inbox(s))
		if err != nil {
			return err
		}
		missing = missing || !ok
	}
	if !missing {
		return nil
	}
	return u.cursors().change(ctx, func(t *table) error {
		for _, s := range Streams {
			path := u.Inbox(s)
			if _, ok := t.get(path); ok {
				continue
			}
			files := openAll(path)
			c := cursor{}
			if n := len(files); n > 0 {
				last := files[n-1]
				end, err := lines(last, 0, last.size, func([]byte, int64) bool { return true })
				if err != nil {
					files.close()
					return fmt.Errorf("read spool: %w", err)
				}
				c = files.moved(c, place{file: n - 1, offset: end}, nil)
			}
			files.close()
			if err := t.set(path, c); err != nil {
				return err
			}
		}
		return nil
	})
}

// Attach registers a session and puts the letters that no session has read into its spools, oldest first. It says how many it put
// there. A session that attaches again, under the same id, goes on where it was; one of another user ends there. Errors: [ErrSession].
func (u User) Attach(ctx context.Context, r *Registry, sid string) (replayed int, err error) {
	if err := u.makeDirs(); err != nil {
		return 0, err
	}
	if other, ok := r.Lookup(sid); ok && other != u {
		if err := other.Detach(ctx, r, sid); err != nil {
			return 0, err
		}
	}
	// While the spools are held, a letter that comes waits behind the older ones.
	var spools []*held
	defer func() {
		for _, h := range spools {
			_ = h.Close()
		}
	}()
	for _, s := range Streams {
		path, err := u.Spool(sid, s)
		if err != nil {
			return 0, err
		}
		h, err := hold(ctx, path)
		if err != nil {
			return 0, err
		}
		spools = append(spools, h)
	}
	if err := u.begin(ctx); err != nil {
		return 0, err
	}
	err = u.cursors().change(ctx, func(t *table) error {
		for _, h := range spools {
			if _, ok := t.get(h.path); !ok {
				if err := t.set(h.path, cursor{}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if err := r.Register(sid, u); err != nil {
		return 0, err
	}
	w := NewWriter(u, r, WriterOptions{})
	for i, s := range Streams {
		unread, err := u.settle(ctx, s, time.Now())
		if err != nil {
			return replayed, err
		}
		n, err := w.addTo(ctx, spools[i], unread, false)
		replayed += n
		if err != nil {
			return replayed, err
		}
	}
	return replayed, nil
}

// Detach forgets a session that ended, unless it is another user's by now. What it has not read goes to the session that attaches
// next. Its spools stay, in case it is resumed, until [GC] takes them.
func (u User) Detach(ctx context.Context, r *Registry, sid string) error {
	if owner, ok := r.Lookup(sid); ok && owner == u {
		if _, err := r.Unregister(sid); err != nil {
			return err
		}
	}
	for _, s := range Streams {
		path, err := u.Spool(sid, s)
		if err != nil {
			return err
		}
		if err := u.keepUnread(ctx, path, s); err != nil {
			return err
		}
	}
	return nil
}

// keepUnread copies to the inbox what nobody has read in a session's spool and what is not there already.
func (u User) keepUnread(ctx context.Context, path string, s Stream) error {
	var unread [][]byte
	err := u.cursors().change(ctx, func(t *table) error {
		c, _ := t.get(path)
		read, err := u.readIDs(t, s)
		if err != nil {
			return err
		}
		return walk(path, c, func(line []byte, id string) {
			if !read[id] {
				unread = append(unread, slices.Clone(line))
			}
		})
	})
	if err != nil || len(unread) == 0 {
		return err
	}
	if err := u.begin(ctx); err != nil {
		return err
	}
	h, err := hold(ctx, u.Inbox(s))
	if err != nil {
		return err
	}
	defer func() { _ = h.Close() }()
	_, err = NewWriter(u, nil, WriterOptions{}).addTo(ctx, h, unread, true)
	return err
}

// walk gives the lines behind a cursor, with what readers know them by, unless the cursor remembers them.
func walk(path string, c cursor, fn func(line []byte, id string)) error {
	files := openAll(path)
	defer files.close()
	if len(files) == 0 {
		return nil
	}
	seen := map[string]bool{}
	for _, id := range c.IDs {
		seen[id] = true
	}
	at := files.locate(c)
	for i := at.file; i < len(files); i++ {
		_, err := lines(files[i], at.offset, files[i].size, func(line []byte, _ int64) bool {
			if m, _, ok := look(line); ok {
				if id := m.ident(line); !seen[id] {
					seen[id] = true
					fn(line, id)
				}
			}
			return true
		})
		if err != nil {
			return fmt.Errorf("read spool: %w", err)
		}
		at.offset = 0
	}
	return nil
}

// settle moves the inbox's cursor behind what sessions have read and gives the lines that none has.
func (u User) settle(ctx context.Context, s Stream, now time.Time) (unread [][]byte, err error) {
	path := u.Inbox(s)
	err = u.cursors().change(ctx, func(t *table) error {
		read, err := u.readIDs(t, s)
		if err != nil {
			return err
		}
		c, _ := t.get(path)
		files := openAll(path)
		defer files.close()
		if len(files) == 0 {
			return nil
		}
		for _, id := range c.IDs {
			read[id] = true
		}
		old := now.Add(-unreadAge).UTC().Format(time.RFC3339)
		at := files.locate(c)
		to := at
		var ids []string
		twice := map[key]bool{}
		for i := at.file; i < len(files); i++ {
			if i > at.file {
				at.offset = 0
				if len(unread) == 0 {
					to = place{file: i}
				}
			}
			_, err := lines(files[i], at.offset, files[i].size, func(line []byte, end int64) bool {
				m, rest, ok := look(line)
				if ok {
					id := m.ident(line)
					if l := asLine(nil, m, rest); !read[id] && (l.TS == "" || l.TS > old) {
						k, _ := keyOf(line)
						if !twice[k] { // one that came back from a session long after it was here
							unread = append(unread, slices.Clone(line))
						}
						twice[k] = true
					} else if len(unread) > 0 {
						ids = append(ids, id)
					}
				}
				if len(unread) == 0 {
					to = place{file: i, offset: end}
				}
				return true
			})
			if err != nil {
				return fmt.Errorf("read spool: %w", err)
			}
		}
		next := files.moved(cursor{}, to, nil)
		next.IDs = ids[max(0, len(ids)-inboxIDs):]
		if same(c, next) && slices.Equal(c.IDs, next.IDs) && slices.Equal(c.Done, next.Done) {
			return nil
		}
		return t.set(path, next)
	})
	return unread, err
}

// readIDs are the letters that some session has read.
func (u User) readIDs(t *table, s Stream) (map[string]bool, error) {
	read := map[string]bool{}
	names, err := os.ReadDir(u.Sessions())
	if err != nil {
		return nil, fmt.Errorf("spools: %w", err)
	}
	for _, n := range names {
		sid, stream, ok := spoolName(n.Name())
		if !ok || stream != s || sid == "" {
			continue
		}
		path := filepath.Join(u.Sessions(), n.Name())
		c, ok := t.get(path)
		if !ok {
			continue
		}
		for _, id := range c.IDs {
			read[id] = true
		}
		files := openAll(path)
		at := files.locate(c)
		for i := 0; at.ok && i <= at.file; i++ {
			size := files[i].size
			if i == at.file {
				size = at.offset
			}
			_, err = lines(files[i], 0, size, func(line []byte, _ int64) bool {
				if m, _, ok := look(line); ok {
					read[m.ident(line)] = true
				}
				return true
			})
			if err != nil {
				files.close()
				return nil, fmt.Errorf("read spool: %w", err)
			}
		}
		files.close()
	}
	return read, nil
}

// spoolName takes a file name of the sessions' folder apart.
func spoolName(name string) (sid string, s Stream, ok bool) {
	sid, ok = strings.CutSuffix(name, ending)
	if !ok || strings.HasPrefix(name, ".") {
		return "", "", false
	}
	if sid, ok := strings.CutSuffix(sid, requestsEnd); ok {
		return sid, Requests, true
	}
	return sid, Messages, true
}

// Unread gives the letters that a session has not read, at most as many as the limit says. For a session that is not registered, and
// for the empty id, they are those that no session has read.
func (u User) Unread(ctx context.Context, r *Registry, sid string, s Stream, l Limit) (Batch, error) {
	if sid != "" {
		if owner, ok := r.Lookup(sid); ok && owner == u {
			reader, err := u.Reader(sid, s)
			if err != nil {
				return Batch{}, err
			}
			return reader.Next(l)
		}
	}
	if _, err := os.Stat(u.Inbox(s)); errors.Is(err, os.ErrNotExist) {
		return Batch{}, nil
	}
	if err := u.makeDirs(); err != nil {
		return Batch{}, err
	}
	if err := u.begin(ctx); err != nil {
		return Batch{}, err
	}
	lines, err := u.settle(ctx, s, time.Now())
	if err != nil {
		return Batch{}, err
	}
	l = l.usual()
	b, bytes := Batch{}, 0
	for _, line := range lines {
		if len(b.Lines) == l.Lines || len(b.Lines) > 0 && bytes+len(line) > l.Bytes {
			b.More = true
			break
		}
		m, rest, _ := look(line)
		bytes += len(line)
		b.Lines = append(b.Lines, asLine(line, m, rest))
	}
	return b, nil
}

// MarkRead notes that letters of the inbox were read though no session did: no session is given them any more.
func (u User) MarkRead(ctx context.Context, s Stream, list []Line) error {
	if len(list) == 0 {
		return nil
	}
	if err := u.begin(ctx); err != nil {
		return err
	}
	return u.cursors().change(ctx, func(t *table) error {
		c, _ := t.get(u.Inbox(s))
		for _, l := range list {
			m, _, _ := look(l.JSON)
			c.IDs = append(c.IDs, m.ident(l.JSON))
		}
		c.IDs = c.IDs[max(0, len(c.IDs)-inboxIDs):]
		return t.set(u.Inbox(s), c)
	})
}

// GC removes the spools of sessions that are not registered, and those that nothing was written to for MaxAge, and forgets
// registrations that nobody renewed for as long. What nobody has read of them goes to the inbox first. It gives the names of the
// files it removed.
func GC(ctx context.Context, r *Registry, u User, now time.Time) (removed []string, err error) {
	names, err := os.ReadDir(u.Sessions())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("spools: %w", err)
	}
	sessions, err := r.List()
	if err != nil {
		return nil, err
	}
	live := map[string]bool{}
	for _, s := range sessions {
		if s.User != u {
			continue
		}
		live[s.ID] = true
		if now.Sub(s.At) > MaxAge && u.idle(s.ID, now) {
			if err := u.Detach(ctx, r, s.ID); err != nil {
				return nil, err
			}
			live[s.ID] = false
		}
	}
	var doomed []string
	for _, n := range names { // see remove for sessions that attach meanwhile
		sid, _, ok := spoolName(n.Name())
		if !ok {
			continue
		}
		st, err := n.Info()
		if err != nil || live[sid] && now.Sub(st.ModTime()) <= MaxAge {
			continue
		}
		doomed = append(doomed, n.Name())
	}
	if len(doomed) == 0 {
		return nil, nil
	}
	if err := u.begin(ctx); err != nil {
		return nil, err
	}
	for _, s := range Streams { // what these sessions have read must stay read
		if _, err := u.settle(ctx, s, now); err != nil {
			return nil, err
		}
	}
	for _, name := range doomed {
		sid, _, _ := spoolName(name)
		gone, err := u.remove(ctx, r, name, live[sid])
		removed = append(removed, gone...)
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// idle says whether nothing was written to a session's spools for MaxAge.
func (u User) idle(sid string, now time.Time) bool {
	for _, s := range Streams {
		path, err := u.Spool(sid, s)
		if err != nil {
			return true
		}
		if st, err := os.Stat(path); err == nil && now.Sub(st.ModTime()) <= MaxAge {
			return false
		}
	}
	return true
}

// remove removes a spool with its generations and its cursor. live says whether its session was registered when it was chosen: one
// that was not may be by now.
func (u User) remove(ctx context.Context, r *Registry, name string, live bool) (removed []string, err error) {
	path := filepath.Join(u.Sessions(), name)
	sid, s, _ := spoolName(name)
	h, err := hold(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = h.Close() }()
	st, err := h.Stat()
	if err != nil {
		return nil, err
	}
	if owner, ok := r.Lookup(sid); ok && owner == u && (!live || st.Size() > 0 && time.Since(st.ModTime()) < time.Minute) {
		return nil, nil // it has just attached, or a letter has just come
	}
	if err := u.keepUnread(ctx, path, s); err != nil {
		return nil, err
	}
	if beside {
		_ = h.File.Close()
	}
	for n := most; n >= 0; n-- {
		err := os.Remove(generation(path, n))
		if err == nil {
			removed = append(removed, filepath.Base(generation(path, n)))
		} else if !errors.Is(err, os.ErrNotExist) {
			return removed, fmt.Errorf("remove spool: %w", err)
		}
	}
	return removed, u.cursors().change(ctx, func(t *table) error { t.drop(path); return nil })
}
