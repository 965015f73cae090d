package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// draft is a finished turn that the server has not accepted yet.
type draft struct {
	Kind           string          `json:"kind,omitempty"` // task; else a message
	QueueID        string          `json:"queue_id"`
	ConversationID string          `json:"conversation_id"`
	MessageIDs     []string        `json:"message_ids"` // every message it answers
	StreamID       string          `json:"stream_id"`
	Body           completion      `json:"body"` // of a task only outcome and generation
	Task           *taskCompletion `json:"task,omitempty"`
	FinishedAt     time.Time       `json:"finished_at"`
	// LostAt is set when the claim went to nobody or somebody else. The draft is
	// kept for a while: if the same messages come back to this bridge, it is sent
	// instead of asking the model a second time.
	LostAt time.Time `json:"lost_at,omitzero"`
}

// covers says whether the draft answers all the messages of an item.
func (d draft) covers(ids []string) bool {
	have := map[string]bool{}
	for _, id := range d.MessageIDs {
		have[id] = true
	}
	for _, id := range ids {
		if !have[id] {
			return false
		}
	}
	return true
}

// outbox keeps drafts, one file a turn: written to a temporary name, fsynced,
// renamed, folder fsynced. A reader never sees half a draft, and what save has
// returned for survives a crash of the machine.
type outbox struct {
	dir string
	mu  sync.Mutex
}

func openOutbox(dir string) (*outbox, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open outbox: %w", err)
	}
	old, err := filepath.Glob(filepath.Join(dir, "*.tmp"))
	if err != nil {
		return nil, fmt.Errorf("open outbox: %w", err)
	}
	for _, name := range old {
		_ = os.Remove(name)
	}
	return &outbox{dir: dir}, nil
}

func (o *outbox) file(queueID string) (string, error) {
	if queueID == "" || strings.ContainsAny(queueID, `/\:`) || strings.HasPrefix(queueID, ".") {
		return "", fmt.Errorf("outbox: %q is no queue id", queueID)
	}
	return filepath.Join(o.dir, queueID+".json"), nil
}

// save writes or replaces the draft of a queue row.
func (o *outbox) save(d draft) error {
	name, err := o.file(d.QueueID)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("outbox: encode draft: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := writeDurably(name, raw); err != nil {
		return fmt.Errorf("outbox: save draft: %w", err)
	}
	return nil
}

// writeDurably writes a file of mode 0600 in one step that survives a crash of the
// machine. Half-written ones end in .tmp.
func writeDurably(name string, raw []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "new-*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	return syncDir(filepath.Dir(name))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !os.IsPermission(err) {
		return fmt.Errorf("sync folder: %w", err)
	}
	return nil
}

// remove forgets a draft. A draft that is not there is no error.
func (o *outbox) remove(queueID string) error {
	name, err := o.file(queueID)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("outbox: remove draft: %w", err)
	}
	return syncDir(o.dir)
}

// putAside takes a draft out of the outbox that nobody will ever accept, and
// keeps its text under another name.
func (o *outbox) putAside(queueID string) error {
	name, err := o.file(queueID)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := os.Rename(name, name+".refused"); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("outbox: put draft aside: %w", err)
	}
	return syncDir(o.dir)
}

// get finds the draft of a queue row.
func (o *outbox) get(queueID string) (draft, bool) {
	name, err := o.file(queueID)
	if err != nil {
		return draft{}, false
	}
	d, err := readDraft(name)
	return d, err == nil
}

// list returns all drafts and drops lost ones older than keep. A file that
// cannot be read is put aside under .bad, never deleted.
func (o *outbox) list(now time.Time, keep time.Duration) ([]draft, error) {
	names, err := filepath.Glob(filepath.Join(o.dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	var all []draft
	for _, name := range names {
		d, err := readDraft(name)
		switch {
		case os.IsNotExist(err):
		case err != nil:
			_ = os.Rename(name, name+".bad")
		case !d.LostAt.IsZero() && now.Sub(d.LostAt) > keep:
			_ = os.Remove(name)
		default:
			all = append(all, d)
		}
	}
	return all, nil
}

func readDraft(name string) (draft, error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return draft{}, err
	}
	var d draft
	if err := json.Unmarshal(raw, &d); err != nil {
		return draft{}, fmt.Errorf("outbox: decode draft: %w", err)
	}
	if d.QueueID == "" || d.Body.Outcome == "" {
		return draft{}, errors.New("outbox: draft is incomplete")
	}
	return d, nil
}
