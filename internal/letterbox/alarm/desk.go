// Package alarm brings letters from the spools of sessions to the agents that work in them, and wakes an agent when its user wants that. It knows the rules that hold for every host
// (contract letters 5.7 and 8.3): a letter reaches a model as quoted data of a third party only; a wake is a fixed text; only letters of verified contacts wake; wakes are counted and
// bounded, so that agents who answer each other stop; what fails says nothing to the host. How letters come into the spools is package spool's and follow's.
package alarm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/letterbox/lockfile"
	"github.com/agntchat/agntchat/internal/letterbox/spool"
)

// stateFile holds the books, beside the spools.
const stateFile = ".alarm-state.json"

// Desk is one session's letters: its spool, its user's settings and its books.
type Desk struct {
	user     spool.User
	session  string
	reader   *spool.Reader
	settings Settings
	now      func() time.Time
}

// OpenDesk opens the letters of a session. Settings that cannot be read are the defaults; the log says so. Errors: [spool.ErrSession].
func OpenDesk(user spool.User, session string, now func() time.Time) (*Desk, error) {
	session, err := spool.Clean(session)
	if err != nil {
		return nil, err
	}
	r, err := user.Reader(session, spool.Messages)
	if err != nil {
		return nil, err
	}
	d := &Desk{user: user, session: session, reader: r, now: now}
	if d.settings, err = LoadSettings(user.Dir()); err != nil {
		note(user.Dir(), now(), "settings: %v", err)
	}
	return d, nil
}

// Settings are those of the session's user.
func (d *Desk) Settings() Settings { return d.settings }

// parse reads a line of a spool. ok is false for what says nothing to a reader (contract letters 5.2): shared contacts, what has no text, no object. A member of another
// type is as if it were not there.
func parse(line []byte) (m Mail, ok bool) {
	var o map[string]any
	if json.Unmarshal(line, &o) != nil {
		return m, false
	}
	text := func(name string) string { s, _ := o[name].(string); return s }
	if o["kind"] == "contact" {
		return m, false
	}
	m = Mail{ID: text("id"), From: text("from"), Name: text("name"), Text: text("text"), Group: text("group"), At: text("ts")}
	m.Verified, _ = o["verified"].(bool)
	if n, isNumber := o["auto"].(float64); isNumber && n > 0 {
		m.Auto = int(min(n, 1000))
	}
	return m, strings.TrimSpace(m.Text) != ""
}

func mail(lines []spool.Line) (list []Mail) {
	for _, l := range lines {
		if m, ok := parse(l.JSON); ok {
			list = append(list, m)
		}
	}
	return list
}

// Unread are the letters that nobody handed to the session yet, without marking them.
func (d *Desk) Unread() ([]Mail, error) {
	b, err := d.reader.Next(spool.Limit{})
	return mail(b.Lines), err
}

// Bounds of one delivery in characters of its quote. Hosts put at most 10,000 characters of a hook's context before a model, and a result of a tool is cut at 30,000.
const (
	ByHook = 9_500
	ByHand = 29_000
)

// Take gives the quote of unread letters, at most as many as the settings and size allow, and the letters. They are marked as read first. An empty
// quote is that there are none.
func (d *Desk) Take(ctx context.Context, size int) (quote string, taken []Mail, err error) {
	limit := min(d.settings.MaxCharacters, size-len(preamble)-maxHead)
	var b spool.Batch
	for more := true; len(taken) == 0; more = b.More { // lines that say nothing to a reader hide none behind them
		if !more {
			return "", nil, nil
		}
		next, err := d.reader.Next(spool.Limit{Lines: d.settings.MaxAtOnce})
		if err != nil || len(next.Lines) == 0 && !next.More {
			return "", nil, err
		}
		if b, err = d.reader.Take(ctx, spool.Limit{Lines: fit(next.Lines, limit, size)}); err != nil {
			return "", nil, err
		}
		taken = mail(b.Lines)
	}
	if err := d.change(ctx, func(a *account) { a.shown(taken) }); err != nil {
		note(d.user.Dir(), d.now(), "books: %v", err) // the letters are marked: they must be shown
	}
	quote = Quote(taken, limit)
	if b.More {
		quote += "\n\nMore letters wait."
	}
	return quote, taken, nil
}

// fit is how many lines have a quote of at most size characters; one always.
func fit(lines []spool.Line, limit, size int) int {
	used := len(preamble) + len("\n\nMore letters wait.")
	for i, l := range lines {
		if m, ok := parse(l.JSON); ok {
			used += utf8.RuneCountInString(quoteOne(m, "0000000000000000", i+1, limit))
		}
		if used > size {
			return max(i, 1)
		}
	}
	return max(len(lines), 1)
}

// againBytes is how far back Again looks, in bytes of each file.
const againBytes = 4 << 20

// Again gives the quote of the newest letters of the session's spool, whether they were handed over or not, with longer texts. It marks nothing.
func (d *Desk) Again(count int) (string, error) {
	path, err := d.user.Spool(d.session, spool.Messages)
	if err != nil {
		return "", err
	}
	var list []Mail
	for _, name := range []string{path + ".1", path} {
		raw, err := tail(name, againBytes)
		if err != nil {
			return "", err
		}
		for line := range bytes.Lines(raw) {
			if m, ok := parse(bytes.TrimSpace(line)); ok {
				list = append(list, m)
			}
		}
	}
	if len(list) == 0 {
		return "", nil
	}
	return Quote(list[max(0, len(list)-count):], maxAgain), nil
}

// maxAgain is how much of one letter Again shows, in characters.
const maxAgain = 25_000

// tail is the end of a file, from the beginning of a line. What is no file, or not there, is empty.
func tail(name string, most int64) ([]byte, error) {
	if st, err := os.Stat(name); err == nil && !st.Mode().IsRegular() {
		return nil, nil
	}
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read spool: %w", err)
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read spool: %w", err)
	}
	from := max(0, st.Size()-most)
	raw, err := io.ReadAll(io.NewSectionReader(f, from, st.Size()-from))
	if err != nil {
		return nil, fmt.Errorf("read spool: %w", err)
	}
	if from > 0 {
		_, raw, _ = bytes.Cut(raw, []byte("\n"))
	}
	if i := bytes.LastIndexByte(raw, '\n'); i >= 0 {
		return raw[:i+1], nil
	}
	return nil, nil
}

// ErrEnoughSent is that the session's model sent as many letters as it may in an hour.
var ErrEnoughSent = errors.New("this session sent as many letters as it may in an hour; ask your user")

// Sending books a letter that the session's model sends, and gives how many automatic letters led to it. Errors: [ErrEnoughSent].
func (d *Desk) Sending(ctx context.Context) (depth int, err error) {
	ok := false
	err = d.change(ctx, func(a *account) {
		depth = a.depth()
		ok = a.sends(d.settings, d.now())
	})
	if err == nil && !ok {
		err = ErrEnoughSent
	}
	return depth, err
}

// Depth is how many automatic letters led to one that the session sends now; 0 when a person asked for its turn.
func (d *Desk) Depth() (int, error) {
	b, err := d.load()
	if err != nil {
		return 0, err
	}
	return b.of(d.session, d.now()).depth(), nil
}

// Prompted notes that a person began a turn.
func (d *Desk) Prompted(ctx context.Context) error {
	return d.change(ctx, (*account).prompted)
}

// Wake says whether unread letters may wake the session now, and books it. For the same letters it says so once: as long as the first of them is unread there is no second wake.
// wake, which may be nil, is what wakes; when it fails nothing is booked. No lock is held while it runs: what it wakes runs hooks at once.
func (d *Desk) Wake(ctx context.Context, wake func(context.Context) error) (woken bool, err error) {
	unread, err := d.Unread()
	if err != nil || len(unread) == 0 {
		return false, err
	}
	book := func(a *account) {
		woken = false
		if a.Waits == unread[0].key() {
			return
		}
		ok, why := a.wakes(unread, d.settings, d.now())
		if ok {
			a.Waits, a.Why, woken = unread[0].key(), "", true
			return
		}
		if a.Why != why {
			note(d.user.Dir(), d.now(), "session %s is not woken: %s", d.session, why)
			a.Why = why
		}
	}
	if wake != nil {
		b, err := d.load()
		if err != nil {
			return false, err
		}
		if book(b.of(d.session, d.now())); !woken {
			return false, nil
		}
		if err := wake(ctx); err != nil {
			return false, err
		}
	}
	return woken, d.change(ctx, book)
}

func (m Mail) key() string { return m.From + " " + m.ID }

func (d *Desk) statePath() string { return filepath.Join(d.user.Sessions(), stateFile) }

func (d *Desk) load() (books, error) {
	var b books
	raw, err := os.ReadFile(d.statePath())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return b, fmt.Errorf("read books: %w", err)
	}
	if json.Unmarshal(raw, &b) != nil {
		return books{}, nil //nolint:nilerr // a damaged file is an empty one: limits begin anew
	}
	return b, nil
}

// change changes the session's account while no other process does.
func (d *Desk) change(ctx context.Context, fn func(*account)) error {
	if err := os.MkdirAll(d.user.Sessions(), 0o700); err != nil {
		return fmt.Errorf("books: %w", err)
	}
	lock, err := lockfile.Open(ctx, d.statePath()+".lock", true)
	if err != nil {
		return fmt.Errorf("books: %w", err)
	}
	defer func() { _ = lock.Close() }()
	b, err := d.load()
	if err != nil {
		return err
	}
	fn(b.of(d.session, d.now()))
	raw, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("books: %w", err)
	}
	if err := lockfile.Replace(d.statePath(), raw); err != nil {
		return fmt.Errorf("write books: %w", err)
	}
	return nil
}
