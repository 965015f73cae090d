package judgetest

import (
	"fmt"
	"sync"
	"testing"
)

// Violation is one observed breach of a contract: where it is written, who saw
// it, and what was seen. Detail quotes at most a few hundred characters of what was seen.
type Violation struct {
	Who     string // "bridge", "sdk", "desktop", or the name given to that client
	Section string // "bridge 2.7", "desktop 3.4", "row P1" …
	Detail  string
}

// String renders the violation as one line.
func (v Violation) String() string {
	return fmt.Sprintf("[%s] %s: %s", v.Section, v.Who, v.Detail)
}

// Ledger collects violations from concurrent clients. The zero value is ready.
// Equal violations are kept once, with a cap, so that a server that is wrong in
// every frame stays readable.
type Ledger struct {
	mu    sync.Mutex
	list  []Violation
	seen  map[Violation]bool
	clock timeFormat
}

const ledgerCap = 200

// Break records one breach of the named section.
func (l *Ledger) Break(who, section, format string, args ...any) {
	v := Violation{Who: who, Section: section, Detail: clip(fmt.Sprintf(format, args...), 600)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen[v] || len(l.list) >= ledgerCap {
		return
	}
	if l.seen == nil {
		l.seen = map[Violation]bool{}
	}
	l.seen[v] = true
	l.list = append(l.list, v)
}

// Violations returns a copy of what was recorded so far, oldest first.
func (l *Ledger) Violations() []Violation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Violation(nil), l.list...)
}

// Report fails t once per violation.
func (l *Ledger) Report(t testing.TB) {
	t.Helper()
	for _, v := range l.Violations() {
		t.Errorf("contract violation %s", v)
	}
}

// check matches value against the named shape and records each mismatch.
func (l *Ledger) check(who, section, what, shape string, value any) bool {
	m := matcher{clock: &l.clock}
	bad := m.match(what, "$ref:"+shape, value)
	for _, b := range bad {
		l.Break(who, section, "%s", b)
	}
	return len(bad) == 0
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}
