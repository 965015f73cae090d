package follow

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/cli"
	"github.com/agntchat/agntchat/internal/letterbox/post"
	"github.com/agntchat/agntchat/internal/letterbox/spool"
)

// recent is how many letters status shows, and shownLine how many characters of each at a terminal.
const (
	recent    = 20
	shownLine = 400
)

func (f command) status(ctx context.Context, c *call) error {
	p, err := place(c)
	if err != nil {
		return err
	}
	s, err := p.Status(ctx)
	if err != nil {
		return err
	}
	if c.Has("--json") {
		err = printJSON(c, s)
	} else {
		err = f.describe(c, p, s)
	}
	if err != nil {
		return err
	}
	if !s.Running || s.Silent || s.Report.State == Failing {
		return cli.ErrFailed
	}
	return nil
}

// describe prints the status for people, with the lines that scripts look for (contract letters 4.2).
func (f command) describe(c *call, p Place, s Status) error {
	var b strings.Builder
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(&b, format+"\n", args...) }
	r := s.Report
	if s.Running {
		line("following: %s (pid %d)", orNobody(r.Peers), s.PID)
	} else {
		line("not following")
	}
	switch {
	case s.Silent:
		line("it does not answer; `agnt letter follow stop` ends it")
	case r.State == Failing:
		line("failing since %s (failures: %d): %s", clock(r.Since), r.Failures, r.Reason)
	case r.State == Stopped && r.Reason == killed:
		line("stopped after %s: %s", clock(r.Since), r.Reason)
	case r.State == Stopped && r.Reason != "":
		line("stopped at %s: %s", clock(r.Since), r.Reason)
	case r.Push:
		line("waiting for the relay's push; last look at %s; since it began: letters %d, contact requests %d", clock(r.Last), r.Letters, r.Requests)
	case s.Running:
		line("looking every %.0f s; last look at %s; since it began: letters %d, contact requests %d", r.Interval, clock(r.Last), r.Letters, r.Requests)
	}
	if len(r.Missing) > 0 {
		line("unknown now: %s", strings.Join(r.Missing, ", "))
	}
	if r.Notice != "" {
		line("%s", r.Notice)
	}
	line("--- recent messages ---")
	for _, l := range latest(p.User(), c.Get("--session")) {
		if c.Terminal { // a line is as long as its letter
			l = post.Printable(l, shownLine)
		}
		line("%s", l)
	}
	_, err := io.WriteString(c.Out, b.String())
	return err
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.Format("2006-01-02 15:04:05")
}

// latest are the last lines of a session's spool, of the one that was written last, or of the inbox.
func latest(u spool.User, session string) []string {
	path := u.Inbox(spool.Messages)
	if session != "" {
		if p, err := u.Spool(session, spool.Messages); err == nil {
			path = p
		}
	} else if p := newest(u.Sessions()); p != "" {
		path = p
	}
	lines := tail(path)
	if len(lines) == 0 {
		return []string{"(none yet)"}
	}
	return lines
}

// newest is the spool of messages that was written last.
func newest(dir string) (path string) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	var at time.Time
	for _, n := range names {
		if strings.HasPrefix(n.Name(), ".") || !strings.HasSuffix(n.Name(), ".ndjson") || strings.HasSuffix(n.Name(), ".requests.ndjson") {
			continue
		}
		if st, err := n.Info(); err == nil && st.Size() > 0 && st.ModTime().After(at) {
			path, at = filepath.Join(dir, n.Name()), st.ModTime()
		}
	}
	return path
}

const tailBytes = 256 << 10

// tail are the last whole lines of a file.
func tail(path string) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	if err != nil {
		return nil
	}
	from := max(0, st.Size()-tailBytes)
	b, err := io.ReadAll(io.NewSectionReader(f, from, tailBytes))
	if err != nil {
		return nil
	}
	lines := strings.Split(string(b), "\n")
	lines = lines[:len(lines)-1] // nothing, or half a line
	if from > 0 && len(lines) > 0 {
		lines = lines[1:]
	}
	for i, l := range lines {
		lines[i] = post.Printable(l, 4000)
	}
	return lines[max(0, len(lines)-recent):]
}
