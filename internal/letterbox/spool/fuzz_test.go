//go:build linux || darwin

package spool_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/spool"
)

// FuzzL4_Spool plays appends, reads, half lines, rotations and the coming and going of sessions in any order, against what was
// promised: a letter is in a spool once; a session reads each letter at most once and every one that came while it was there;
// what no session has read the next one reads.
func FuzzL4_Spool(f *testing.F) {
	f.Add([]byte{0, 10, 0, 0, 20, 1, 1, 30, 0, 40, 0, 50, 20})
	f.Add([]byte{10, 11, 0, 0, 0, 60, 0, 20, 30, 0, 21, 31, 12, 0, 22, 70, 0, 50, 0, 0, 22})
	f.Add([]byte{0, 0, 0, 10, 20, 20, 30, 80, 10, 0, 60, 60, 0, 20})
	f.Fuzz(func(t *testing.T, ops []byte) {
		if len(ops) > 60 {
			return // each takes the disk's time
		}
		m := newModel(t)
		for _, op := range ops {
			m.step(op)
		}
		m.verify()
	})
}

// The same for orders that a seed chooses.
func TestL4_AnyOrder(t *testing.T) {
	t.Parallel()
	rnd := seeded(t)
	for range 8 {
		m := newModel(t)
		for range 50 {
			m.step(byte(rnd.IntN(100)))
		}
		m.verify()
	}
}

// model is what is expected of a desk.
type model struct {
	t     *testing.T
	d     *desk
	w     *spool.Writer
	now   time.Time
	next  int
	all   []string                   // letters in order
	due   map[string]map[string]bool // by session that is there: letters it must be able to read
	had   map[string]map[string]bool // by session: letters it has read, ever
	known map[string]bool            // letters that some session has read
}

func newModel(t *testing.T) *model {
	m := &model{t: t, d: newDesk(t), now: time.Now(), due: map[string]map[string]bool{}, had: map[string]map[string]bool{}, known: map[string]bool{}}
	m.reopen()
	return m
}

// reopen is another process that writes.
func (m *model) reopen() {
	m.w = m.d.writer(spool.WriterOptions{MaxBytes: 600, Now: func() time.Time { return m.now }})
}

var sids = []string{"a", "b", "c"}

func (m *model) step(op byte) {
	sid := sids[int(op)%len(sids)]
	switch op / 10 {
	case 0: // a letter
		m.now = m.now.Add(time.Duration(op) * time.Second)
		id := fmt.Sprintf("m%d", m.next)
		m.next++
		m.all = append(m.all, id)
		m.d.append(m.w, spool.Messages, letter(id))
		for _, due := range m.due {
			due[id] = true
		}
	case 1: // a session comes
		m.d.attach(sid)
		if m.due[sid] == nil {
			m.due[sid] = map[string]bool{}
		}
		if m.had[sid] == nil {
			m.had[sid] = map[string]bool{}
		}
		for _, id := range m.all {
			if !m.known[id] {
				m.due[sid][id] = true
			}
		}
	case 2: // a session reads everything
		if m.due[sid] != nil {
			m.read(sid, 1000)
		}
	case 3: // a session goes
		m.d.must(m.d.user.Detach(context.Background(), m.d.reg, sid))
		delete(m.due, sid)
	case 4: // a letter comes again
		if len(m.all) > 0 {
			id := m.all[len(m.all)-1]
			if done := m.d.append(m.w, spool.Messages, letter(id)); done.New != 0 && len(m.due) == 0 {
				m.t.Fatalf("%s was written again", id)
			}
		}
	case 5: // another process writes from now on
		m.reopen()
	case 6: // a session reads a little
		if m.due[sid] != nil {
			m.read(sid, 1)
		}
	case 7: // a writer was killed in the middle of a line
		if m.due[sid] == nil {
			return
		}
		f, err := os.OpenFile(m.d.path(sid, spool.Messages), os.O_APPEND|os.O_WRONLY, 0)
		m.d.must(err)
		_, err = f.WriteString(letter("half")[:1+int(op)%20])
		m.d.must(err)
		m.d.must(f.Close())
	case 8: // what is over is collected
		_, err := spool.GC(context.Background(), m.d.reg, m.d.user, m.now)
		m.d.must(err)
		m.w.Forget()
		for _, s := range sids {
			if m.due[s] == nil {
				delete(m.had, s) // its file is gone; what comes again is not read for the first time
			}
		}
	default:
		m.now = m.now.Add(time.Minute)
	}
}

func (m *model) read(sid string, most int) {
	m.t.Helper()
	b, err := m.d.reader(sid).Take(context.Background(), spool.Limit{Lines: most})
	m.d.must(err)
	for _, id := range idsOf(b) {
		if m.had[sid][id] {
			m.t.Fatalf("session %s read %s twice", sid, id)
		}
		if !slices.Contains(m.all, id) {
			m.t.Fatalf("session %s read %q, which nobody wrote", sid, id)
		}
		m.had[sid][id], m.known[id] = true, true
		delete(m.due[sid], id)
	}
	if !b.More {
		for id := range m.due[sid] {
			if !m.had[sid][id] {
				m.t.Fatalf("session %s cannot read %s", sid, id)
			}
		}
	}
}

func (m *model) verify() {
	for sid := range m.due {
		m.read(sid, 1000)
	}
	for _, sid := range sids {
		ids := idsInAll(m.t, m.d.path(sid, spool.Messages))
		slices.Sort(ids)
		if len(slices.Compact(slices.Clone(ids))) != len(ids) {
			m.t.Fatalf("the spool of %s has a letter twice: %v", sid, ids)
		}
	}
	// Whoever comes last reads what nobody has.
	m.d.attach("last")
	var want []string
	for _, id := range m.all {
		if !m.known[id] {
			want = append(want, id)
		}
	}
	got := m.d.take("last")
	slices.Sort(got)
	slices.Sort(want)
	equal(m.t, "the last session reads", got, want)
	names, err := filepath.Glob(filepath.Join(m.d.user.Dir(), "*", "*.tmp"))
	if err != nil || len(names) > 0 {
		m.t.Fatalf("left over: %v %v", names, err)
	}
}

// idsInAll are the ids of a file and its generations.
func idsInAll(t *testing.T, path string) (ids []string) {
	for n := 9; n >= 0; n-- {
		ids = append(ids, idsIn(t, spool.Generation(path, n))...)
	}
	return ids
}
