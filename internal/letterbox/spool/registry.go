package spool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Registry is the map of agent sessions: a file of each, named by its id, whose one line is the user folder that the session reads
// (contract letters 4.1). It may be used from several goroutines and processes.
type Registry struct {
	dir string

	mu    sync.Mutex
	cache map[string]entry
}

type entry struct {
	at   time.Time
	size int64
	dir  string // the user folder, empty when the file names none
}

// Session is one registered session.
type Session struct {
	ID   string
	User User
	At   time.Time // when it was last registered
}

// OpenRegistry is the registry of a person: ~/.agent-talk/by-session, where home is the person's home folder.
func OpenRegistry(home string) *Registry {
	return &Registry{dir: filepath.Join(home, ".agent-talk", "by-session"), cache: map[string]entry{}}
}

// Register makes letters of u go to a session's spool too. Registering it again says that it lives, or moves it to another user.
// [User.Attach] does this and gives the session what it has missed. Errors: [ErrSession].
func (r *Registry) Register(sid string, u User) error {
	sid, err := Clean(sid)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.dir, dirMode); err != nil {
		return fmt.Errorf("register session: %w", err)
	}
	tmp, err := os.CreateTemp(r.dir, ".new-*") // mode 0600
	if err != nil {
		return fmt.Errorf("register session: %w", err)
	}
	_, err = tmp.WriteString(u.dir + "\n")
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), filepath.Join(r.dir, sid))
	}
	if err != nil {
		return fmt.Errorf("register session: %w", errors.Join(err, os.Remove(tmp.Name())))
	}
	return nil
}

// Unregister forgets a session, and says whether it was known. [User.Detach] does this and keeps what the session has not read.
func (r *Registry) Unregister(sid string) (bool, error) {
	sid, err := Clean(sid)
	if err != nil {
		return false, err
	}
	err = os.Remove(filepath.Join(r.dir, sid))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("unregister session: %w", err)
	}
	return true, nil
}

// Lookup gives the user of a session; ok is false for one that is not registered.
func (r *Registry) Lookup(sid string) (u User, ok bool) {
	sid, err := Clean(sid)
	if err != nil {
		return u, false
	}
	st, err := os.Stat(filepath.Join(r.dir, sid))
	if err != nil {
		return u, false
	}
	e := r.entry(sid, st)
	return User{e.dir}, e.dir != ""
}

// List are all sessions, by id.
func (r *Registry) List() ([]Session, error) {
	names, err := os.ReadDir(r.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	var list []Session
	there := map[string]bool{}
	for _, n := range names {
		id, err := Clean(n.Name())
		st, err2 := n.Info()
		if err != nil || err2 != nil || id != n.Name() || !st.Mode().IsRegular() {
			continue
		}
		there[id] = true
		if e := r.entry(id, st); e.dir != "" {
			list = append(list, Session{id, User{e.dir}, e.at})
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.cache {
		if !there[id] {
			delete(r.cache, id)
		}
	}
	return list, nil
}

// Sessions are the ids of a user's sessions.
func (r *Registry) Sessions(u User) ([]string, error) {
	list, err := r.List()
	var ids []string
	for _, s := range list {
		if s.User == u {
			ids = append(ids, s.ID)
		}
	}
	return ids, err
}

// maxEntry bounds a registry file in bytes.
const maxEntry = 8 << 10

func (r *Registry) entry(id string, st os.FileInfo) entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.cache[id]
	if ok && e.at.Equal(st.ModTime()) && e.size == st.Size() {
		e.dir = again(e.dir)
		return e
	}
	e = entry{at: st.ModTime(), size: st.Size()}
	f, err := os.Open(filepath.Join(r.dir, id))
	if err != nil {
		return e
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxEntry))
	if dir := string(bytes.TrimSpace(b)); err == nil && filepath.IsAbs(dir) && !strings.ContainsAny(dir, "\r\n") {
		e.dir = dir
	}
	r.cache[id] = e
	e.dir = again(e.dir)
	return e
}

// again resolves symbolic links each time: they may change while the file does not.
func again(dir string) string {
	if dir == "" {
		return ""
	}
	return real(dir)
}

// Hook is what a host program tells its hooks on standard input, as far as it matters here (contract letters 5.2).
type Hook struct {
	SessionID      string `json:"session_id"`
	Event          string `json:"hook_event_name"`
	Cwd            string `json:"cwd"`
	Source         string `json:"source"`           // of SessionStart: startup, resume, clear, compact, fork
	StopHookActive bool   `json:"stop_hook_active"` // of Stop: this stop follows one that a hook has blocked
}

// maxHook bounds the input of a hook in bytes: prompts and last answers are in it.
const maxHook = 16 << 20

// ReadHook reads a hook's input. Errors: [ErrSession] when it names no session.
func ReadHook(in io.Reader) (h Hook, err error) {
	if err := json.NewDecoder(io.LimitReader(in, maxHook)).Decode(&h); err != nil {
		return h, fmt.Errorf("hook input: %w", err)
	}
	h.SessionID, err = Clean(h.SessionID)
	return h, err
}
