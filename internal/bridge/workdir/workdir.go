// Package workdir owns an agent's private folders on this machine: the working
// folder its CLI runs in, files that carry secrets to it, and which CLI session
// belongs to which conversation.
package workdir

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Dir is the private folder of one agent.
type Dir struct{ root string }

// Open makes the folders (0700) and tightens the rights of existing ones.
func Open(root string) (*Dir, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("agent folder: %w", err)
	}
	d := &Dir{abs}
	for _, p := range []string{abs, d.Work(), d.sub("sessions"), d.sub("run")} {
		if err := os.MkdirAll(p, 0o700); err != nil {
			return nil, fmt.Errorf("agent folder: %w", err)
		}
		if err := os.Chmod(p, 0o700); err != nil {
			return nil, fmt.Errorf("agent folder: %w", err)
		}
	}
	return d, nil
}

func (d *Dir) sub(name string) string { return filepath.Join(d.root, name) }

// Work is the folder the CLI runs in. Secrets are never below it.
func (d *Dir) Work() string { return d.sub("work") }

// Private writes a file that only this user can read and returns its path. The
// name is made from the key, so that the same key replaces its file.
func (d *Dir) Private(key, suffix string, content []byte) (string, error) {
	name := filepath.Join(d.sub("run"), digest(key)+suffix)
	if err := replace(name, content); err != nil {
		return "", err
	}
	return name, nil
}

// Session remembers a CLI's session of one conversation.
type Session struct {
	ID          string `json:"id"`
	LastMessage string `json:"last_message_id"` // newest message the session has seen
	Started     bool   `json:"started"`         // the CLI has confirmed it
	// Several says that the call at which the session waits for an approval was not
	// alone in the model's message.
	Several bool `json:"several,omitempty"`
	// Behind says that another session of the conversation has spoken since.
	Behind    bool      `json:"behind,omitempty"`
	UpdatedAt time.Time `json:"updated_at"`
}

func (d *Dir) sessionFile(cli, conversation string) string {
	return filepath.Join(d.sub("sessions"), cli+"-"+digest(conversation)+".json")
}

// LoadSession returns the session of a conversation; ok is false when there is
// none or its file is damaged.
func (d *Dir) LoadSession(cli, conversation string) (s Session, ok bool) {
	raw, err := os.ReadFile(d.sessionFile(cli, conversation))
	if err != nil || json.Unmarshal(raw, &s) != nil || s.ID == "" {
		return Session{}, false
	}
	return s, true
}

// SaveSession stores the session of a conversation durably.
func (d *Dir) SaveSession(cli, conversation string, s Session) error {
	s.UpdatedAt = time.Now().UTC()
	raw, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("save session: %w", err)
	}
	return replace(d.sessionFile(cli, conversation), raw)
}

// DropSession forgets a session, so that the next turn starts a new one.
func (d *Dir) DropSession(cli, conversation string) {
	_ = os.Remove(d.sessionFile(cli, conversation))
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:12])
}

// replace writes a file in one step, mode 0600.
func replace(name string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(name), err)
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("write %s: %w", filepath.Base(name), err)
	}
	return nil
}
