// Package spool keeps letters that were opened for the agent sessions of this machine: append-only files of JSON lines, one of each
// session and stream, with a cursor each (contract letters section 4). Hooks and extensions of agent-talk read the same files, so
// names, modes, locks and the form of lines are theirs.
//
// What is promised, whatever is killed and whenever:
//   - [Writer.Append] returned nil: the letter is on disk in every spool it belongs to. Appending it again changes nothing.
//   - A line that no reader has passed is not rotated away where [Reader] does not find it.
//   - A letter that no session has read is in the spool of the next session that attaches.
//
// The package knows no relay and opens no letter. Lines hold what peers wrote: they are third-party data.
package spool

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Stream is what a spool is for.
type Stream string

// The streams.
const (
	Messages Stream = "messages"
	Requests Stream = "requests" // strangers' contact requests that were answered
)

// Streams are all streams.
var Streams = []Stream{Messages, Requests}

// MaxLine bounds one line in bytes. The largest letter that is opened, three MiB of text, is below it even when six characters stand
// for each byte of it: one that is not would be tried again for ever, before all others.
const MaxLine = 19 << 20

const (
	fileMode = 0o600
	dirMode  = 0o700
)

// What can be wrong.
var (
	ErrSession = errors.New("not a session id")
	ErrLine    = errors.New("not one line")
)

// User is the folder where the spools of one identity are. The zero value is none.
type User struct{ dir string }

// At is the user folder dir.
func At(dir string) (User, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return User{}, fmt.Errorf("user folder: %w", err)
	}
	return User{real(abs)}, nil
}

// Of is the user folder of the identity in a folder: its parent when the folder is called identity, as agent-talk has it, and
// otherwise the folder itself.
func Of(identity string) (User, error) {
	abs, err := filepath.Abs(identity)
	if err != nil {
		return User{}, fmt.Errorf("user folder: %w", err)
	}
	if filepath.Base(abs) == "identity" {
		return At(filepath.Dir(abs))
	}
	return At(abs)
}

// real is an absolute path without symbolic links, as far as there is something.
func real(path string) string {
	path = filepath.Clean(path)
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(real(dir), filepath.Base(path))
	}
	return path
}

// Dir is the folder.
func (u User) Dir() string { return u.dir }

// Sessions is the folder of the sessions' spools.
func (u User) Sessions() string { return filepath.Join(u.dir, "sessions") }

// Spool is the file of a session and stream. sid is cleaned as [Clean] does.
func (u User) Spool(sid string, s Stream) (string, error) {
	sid, err := Clean(sid)
	if err != nil {
		return "", err
	}
	if s == Requests {
		sid += requestsEnd
	}
	return filepath.Join(u.Sessions(), sid+ending), nil
}

// Inbox is the file of all letters of a stream, whoever reads them: what arrives while no session is there waits in it.
func (u User) Inbox(s Stream) string {
	if s == Requests {
		return filepath.Join(u.dir, "requests"+ending)
	}
	return filepath.Join(u.dir, "inbox"+ending)
}

const (
	ending      = ".ndjson"
	requestsEnd = ".requests"
)

var unclean = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// Clean is a session id as file names have it: other characters than letters, digits, dot, underscore and dash become
// underscores. Errors: [ErrSession] for what names no session.
func Clean(sid string) (string, error) {
	sid = unclean.ReplaceAllString(strings.TrimSpace(sid), "_")
	// A leading dot would meet the state files, the ending another session's requests.
	if sid == "" || len(sid) > 200 || strings.HasPrefix(sid, ".") || strings.HasSuffix(sid, requestsEnd) {
		return "", ErrSession
	}
	return sid, nil
}

// key identifies a letter in a spool.
type key [16]byte

// ident is what readers know a line by: its letter's id, or for a request the one of its letter, or else all of it but its time.
func (m members) ident(line []byte) string {
	if m.ID != "" {
		return m.ID
	}
	if m.Letter != "" {
		return m.Letter
	}
	k, _ := keyOf(line)
	return hex.EncodeToString(k[:])
}

// members are those of a line that this package looks at.
type members struct {
	ID     string          `json:"id"`
	From   string          `json:"from"`
	Kind   string          `json:"kind"`
	Letter string          `json:"letter"`
	TS     json.RawMessage `json:"ts"`
}

// keyOf is a line's key: its sender with its id, or all of it but its time. ok is false for what is no object: such a line is never
// a duplicate.
func keyOf(line []byte) (k key, ok bool) {
	m, rest, ok := look(line)
	if !ok {
		return k, false
	}
	id := m.ID
	if id == "" {
		id = m.Letter
	}
	var sum [sha256.Size]byte
	if id != "" {
		sum = sha256.Sum256([]byte(m.From + "\x00" + id))
	} else {
		b, err := json.Marshal(rest) // sorted
		if err != nil {
			return k, false
		}
		sum = sha256.Sum256(b)
	}
	copy(k[:], sum[:])
	return k, true
}

// look reads a line. rest are its members without the time.
func look(line []byte) (m members, rest map[string]json.RawMessage, ok bool) {
	if json.Unmarshal(line, &rest) != nil || rest == nil {
		return m, nil, false
	}
	text := func(name string) (s string) {
		_ = json.Unmarshal(rest[name], &s) // another type is as if it were not there
		return s
	}
	m = members{ID: text("id"), From: text("from"), Kind: text("kind"), Letter: text("letter"), TS: rest["ts"]}
	delete(rest, "ts")
	return m, rest, true
}

// makeDirs makes the folders of a user.
func (u User) makeDirs() error {
	if u.dir == "" {
		return errors.New("no user folder")
	}
	if err := os.MkdirAll(u.Sessions(), dirMode); err != nil {
		return fmt.Errorf("spool folder: %w", err)
	}
	return nil
}
