package spool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// MaxBytes is the size at which a spool is rotated (contract letters 4.3).
const MaxBytes = 8 << 20

// WriterOptions say how a writer works. The zero value is the usual one.
type WriterOptions struct {
	MaxBytes int64 // size at which a spool is rotated; 0 for MaxBytes, negative for never
	NoInbox  bool  // messages that a session's spool takes are not in the inbox too
	Now      func() time.Time
}

// Writer appends letters to the spools of an identity. Several writers, also of other programs, may do so at once: the files are
// locked. It may be used from several goroutines.
type Writer struct {
	user     User
	registry *Registry
	options  WriterOptions

	mu    sync.Mutex
	known map[string]*known // by path
	begun bool
}

// known are the letters of a spool as far as it was read.
type known struct {
	file os.FileInfo
	end  int64 // offset behind the last whole line that was read
	keys map[key]struct{}
	old  map[key]struct{} // of the generation before
}

// NewWriter appends to the spools of u and of the sessions that are registered for it.
func NewWriter(u User, r *Registry, o WriterOptions) *Writer {
	if o.MaxBytes == 0 {
		o.MaxBytes = MaxBytes
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Writer{user: u, registry: r, options: o, known: map[string]*known{}}
}

// Written is what an append did.
type Written struct {
	Sessions int // how many sessions' spools have the line
	New      int // how many files it was added to; 0 when it was in all of them
}

// Append adds a line, without its end, to the inbox and to the spool of each registered session, and gives it the time `ts` unless
// it has one. When it returned nil the line is on disk in all of them. A spool that has the letter already is left as it is: after an
// error or a crash the same line is appended again. Errors: [ErrLine], those of the file system.
func (w *Writer) Append(ctx context.Context, s Stream, line []byte) (done Written, err error) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || len(line) > MaxLine || bytes.ContainsAny(line, "\r\n") {
		return done, ErrLine
	}
	if err := w.user.makeDirs(); err != nil {
		return done, err
	}
	line = Stamp(line, w.options.Now())
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.begun {
		if err := w.user.begin(ctx); err != nil {
			return done, err
		}
		w.begun = true
	}
	sessions, err := w.registry.Sessions(w.user)
	if err != nil {
		return done, err
	}
	// The inbox comes first: a session that attaches meanwhile registers itself and then reads the inbox, so that it meets the line
	// there or we meet the session below.
	if s == Messages && !w.options.NoInbox || len(sessions) == 0 {
		if err := w.add(ctx, w.user.Inbox(s), line, &done); err != nil {
			return done, err
		}
	}
	for wrote := map[string]bool{}; ; {
		var left []string
		for _, sid := range sessions {
			if !wrote[sid] {
				left = append(left, sid)
			}
		}
		if len(left) == 0 {
			return done, nil
		}
		for _, sid := range left {
			wrote[sid] = true
			path, err := w.user.Spool(sid, s)
			if err != nil {
				continue // a name in the registry that no spool can have
			}
			if err := w.add(ctx, path, line, &done); err != nil {
				return done, err
			}
			done.Sessions++
		}
		if sessions, err = w.registry.Sessions(w.user); err != nil {
			return done, err
		}
	}
}

// Stamp gives a line that is an object the member `ts`, the time in UTC, unless it has one that says something.
func Stamp(line []byte, now time.Time) []byte {
	m, _, ok := look(line)
	if !ok || !slices.Contains([]string{"", "null", `""`, "0", "false", "[]", "{}"}, string(m.TS)) {
		return line
	}
	ts := `"ts": "` + now.UTC().Format("2006-01-02T15:04:05Z") + `"`
	body := bytes.TrimSpace(line)
	if m.TS != nil { // one that says nothing: it is replaced where it stands
		if b, ok := replaceTS(body, ts); ok {
			return b
		}
		return line
	}
	body = bytes.TrimRight(body[:len(body)-1], " \t")
	if len(body) > 1 {
		ts = ", " + ts
	}
	return slices.Concat(body, []byte(ts+"}"))
}

// replaceTS writes another value for the top-level member ts.
func replaceTS(line []byte, ts string) ([]byte, bool) {
	dec := json.NewDecoder(bytes.NewReader(line))
	if _, err := dec.Token(); err != nil {
		return nil, false
	}
	for dec.More() {
		before := dec.InputOffset()
		name, err := dec.Token()
		if err != nil {
			return nil, false
		}
		var v json.RawMessage
		if dec.Decode(&v) != nil {
			return nil, false
		}
		if name == "ts" {
			start := before + int64(bytes.IndexByte(line[before:], '"'))
			return slices.Concat(line[:start], []byte(ts), line[dec.InputOffset():]), true
		}
	}
	return nil, false
}

// add appends a line to one spool.
func (w *Writer) add(ctx context.Context, path string, line []byte, done *Written) error {
	h, err := hold(ctx, path)
	if err != nil {
		return err
	}
	defer func() { _ = h.Close() }()
	n, err := w.addTo(ctx, h, [][]byte{line}, true)
	done.New += n
	return err
}

// addTo appends the lines that a held spool does not have, and rotates it first when that is due and wanted.
func (w *Writer) addTo(ctx context.Context, h *held, list [][]byte, rotate bool) (added int, err error) {
	seen, err := w.read(h)
	if err != nil {
		return 0, fmt.Errorf("read spool: %w", err)
	}
	size, err := h.size()
	if err != nil {
		return 0, err
	}
	half, err := h.tail(size)
	if err != nil {
		return 0, fmt.Errorf("read spool: %w", err)
	}
	var text []byte
	if len(half) > 0 { // gets its end: readers pass over what is no object
		text = append(text, '\n')
		if k, ok := keyOf(half); ok {
			seen.keys[k] = struct{}{}
		}
	}
	var keys []key
	for _, line := range list {
		if k, ok := keyOf(line); ok {
			if seen.has(k) || slices.Contains(keys, k) {
				continue
			}
			keys = append(keys, k)
		}
		added++
		text = append(append(text, line...), '\n')
	}
	switch {
	case len(text) == 0:
		// They are there, perhaps from a process that ended before it knew that they are on disk.
		return 0, h.Sync()
	case rotate && added > 0 && w.due(h, size):
		// Another process may have come between with the new file: it is looked at as this one was.
		if rotated, err := w.rotate(ctx, h); rotated || err != nil {
			if err != nil {
				return 0, err
			}
			return w.addTo(ctx, h, list, false)
		}
	}
	if err := h.write(text, size); err != nil {
		return 0, err
	}
	for _, k := range keys {
		seen.keys[k] = struct{}{}
	}
	seen.end = size + int64(len(text))
	return added, nil
}

func (k *known) has(x key) bool {
	_, now := k.keys[x]
	_, before := k.old[x]
	return now || before
}

// read brings what is known of a spool up to date.
func (w *Writer) read(h *held) (*known, error) {
	st, err := h.Stat()
	if err != nil {
		return nil, err
	}
	k := w.known[h.path]
	switch {
	case k == nil || k.file == nil:
		k = &known{}
	case os.SameFile(k.file, st) && st.Size() >= k.end:
		return k, k.absorb(h, st.Size())
	}
	// New to us, truncated, or rotated by somebody else.
	k.file, k.end, k.keys, k.old = st, 0, map[key]struct{}{}, map[key]struct{}{}
	w.known[h.path] = k
	if f, err := openFile(generation(h.path, 1)); err == nil {
		old := &known{keys: k.old}
		if st, err := f.Stat(); err == nil {
			err = old.absorb(f, st.Size())
			if err != nil {
				_ = f.Close()
				return nil, err
			}
		}
		_ = f.Close()
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return k, k.absorb(h, st.Size())
}

func (k *known) absorb(r interface {
	ReadAt([]byte, int64) (int, error)
}, size int64,
) error {
	end, err := lines(r, k.end, size, func(line []byte, _ int64) bool {
		if x, ok := keyOf(line); ok {
			k.keys[x] = struct{}{}
		}
		return true
	})
	k.end = end
	return err
}

// Forget lets go of what is known of spools that are gone.
func (w *Writer) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for path := range w.known {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			delete(w.known, path)
		}
	}
}
