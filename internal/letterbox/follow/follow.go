// Package follow fetches an identity's letters in the background and spools them for the agent sessions of this machine: the daemon
// `agnt letter follow` (mission row L3). It waits on the relay's push stream where there is one and polls otherwise.
//
// A letter is in the spools, on disk, before its sender is told that it arrived and before the store forgets it; the spools know
// what they have. So a kill at any moment loses no letter and shows none twice (contract letters sections 4 and 5.7).
//
// Of one identity there is one follower. Whether it runs is a file lock, which the system takes back from a process that ends,
// however it ends: zombies and process ids that were used again fool nobody (contract letters 8.1 #16).
package follow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/post"
	"github.com/agntchat/agntchat/internal/letterbox/spool"
	"github.com/agntchat/agntchat/internal/letterbox/store"
)

// Config is what a Follower needs.
type Config struct {
	Box      *post.Box
	Spool    *spool.Writer
	Options  post.ReceiveOptions // Peers and All are not used
	Words    []string            // whose letters: names, addresses, or AllContacts; none with Invites is fine
	Invites  bool                // also answer contact requests
	Interval time.Duration       // between two looks without push; Clamp bounds it
	Log      *slog.Logger
	Collect  func(ctx context.Context) error // removes spools of sessions that are gone, once an hour; may be nil
}

// AllContacts stands for every contact among Config.Words, also those that are added later (contract letters 4.1). Strangers are
// none.
const AllContacts = "*contacts*"

// The times between two looks without push.
const (
	DefaultInterval = time.Minute
	MinInterval     = 5 * time.Second
	maxInterval     = 24 * time.Hour
)

const (
	upkeepEvery   = time.Minute      // keys, and letters of our own that nobody acknowledged
	requestsEvery = 10 * time.Second // contact requests without push (contract letters 4.2)
	collectEvery  = time.Hour
	noPushFor     = 10 * time.Minute // until a relay without push is asked again
)

// Clamp bounds an interval. 0 is the usual one.
func Clamp(d time.Duration) time.Duration {
	if d == 0 {
		d = DefaultInterval
	}
	return min(max(d, MinInterval), maxInterval)
}

// State is what a follower is doing.
type State string

// The states.
const (
	Starting  State = "starting"
	Following State = "following"
	Failing   State = "failing" // it goes on trying
	Stopped   State = "stopped" // for good, or because it was told to
)

// Report is what a follower says of itself. Words of the relay in Reason are cut and printable; there is no letter in it.
type Report struct {
	State    State     `json:"state"`
	Reason   string    `json:"reason,omitempty"` // why it fails or stopped
	Since    time.Time `json:"since,omitzero"`   // of State
	Push     bool      `json:"push"`             // the relay's push stream is open
	Interval float64   `json:"interval"`         // seconds
	Peers    []string  `json:"peers,omitempty"`  // as they were chosen
	Missing  []string  `json:"missing,omitempty"`
	Invites  bool      `json:"invites"`
	Letters  int       `json:"letters"`       // spooled since it began
	Requests int       `json:"requests"`      // contact requests answered since it began
	Last     time.Time `json:"last,omitzero"` // the last look that went well
	Failures int       `json:"failures"`      // looks that failed since then
	Notice   string    `json:"notice,omitempty"`
}

// Follower is the engine. Run it once.
type Follower struct {
	c     Config
	wake  chan struct{}
	whole atomic.Bool // the next look looks at everything
	asked int         // of how many senders the last look asked for letters; only Run reads and writes it

	telling sync.Mutex // orders calls of changed
	mu      sync.Mutex
	report  Report
	changed func(Report)
}

// New makes a follower. changed is called when its state changes, from one goroutine at a time; it may be nil.
func New(c Config, changed func(Report)) *Follower {
	c.Interval = Clamp(c.Interval)
	f := &Follower{c: c, wake: make(chan struct{}, 1), changed: changed}
	f.report = Report{State: Starting, Since: time.Now(), Interval: c.Interval.Seconds(), Peers: c.Words, Invites: c.Invites}
	return f
}

// Report is what it is doing now.
func (f *Follower) Report() Report {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.report
}

// update changes the report, and tells of it when the state or its reason is another one.
func (f *Follower) update(fn func(*Report)) {
	f.telling.Lock()
	defer f.telling.Unlock()
	f.mu.Lock()
	before := f.report
	fn(&f.report)
	after := f.report
	if after.State != before.State {
		f.report.Since = time.Now()
		after = f.report
	}
	f.mu.Unlock()
	if f.changed != nil && (after.State != before.State || after.Reason != before.Reason || after.Push != before.Push) {
		f.changed(after)
	}
}

// Look makes it look now, at letters, keys and everything else.
func (f *Follower) Look() {
	f.whole.Store(true)
	f.hint()
}

// hint says that letters may have come.
func (f *Follower) hint() {
	select {
	case f.wake <- struct{}{}:
	default: // it is about to
	}
}

// Run follows until ctx ends, and then gives nil. Errors: those that no second try mends, above all [post.ErrPinMismatch].
func (f *Follower) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var push sync.WaitGroup
	push.Go(func() { f.push(ctx) })
	defer push.Wait()
	defer stop()
	var due schedule
	hinted := false
	for failures := 0; ; {
		if f.whole.Swap(false) {
			due = schedule{letter: due.letter, again: due.again}
		}
		t := due.take(time.Now(), hinted)
		before := f.Report().Letters
		err := f.look(ctx, t)
		switch {
		case ctx.Err() != nil:
			f.update(func(r *Report) { r.State, r.Reason = Stopped, "it was told to stop" })
			return nil
		case err != nil && final(err):
			f.c.Log.Error("stopped for good", "error", err.Error())
			f.alarm(ctx, err)
			f.update(func(r *Report) { r.State, r.Reason = Stopped, err.Error() })
			return err
		case err != nil:
			failures++
			pause := backoff(failures, tooMany(err))
			f.c.Log.Warn("will try again", "error", err.Error(), "failures", failures, "pause", pause.Round(time.Millisecond).String())
			f.update(func(r *Report) { r.State, r.Reason, r.Failures = Failing, err.Error(), failures })
			f.wait(ctx, pause, false)
			hinted = true // what came meanwhile
			continue
		case failures > 0:
			f.c.Log.Info("works again", "failures", failures)
		}
		failures = 0
		f.update(func(r *Report) { r.State, r.Reason, r.Last, r.Failures = Following, "", time.Now(), 0 })
		now := f.Report()
		due.done(time.Now(), t, f.c, now.Push, now.Letters > before)
		looked, rest := time.Now(), gap(f.asked)
		if hinted = f.wait(ctx, max(due.next(looked, f.c), rest), true); hinted && !f.whole.Load() {
			f.wait(ctx, rest-time.Since(looked), false)
		}
	}
}

// wait ends after a while, with ctx, or, when it may, with a hint; it says whether that was it.
func (f *Follower) wait(ctx context.Context, d time.Duration, hints bool) (hinted bool) {
	t := time.NewTimer(d)
	defer t.Stop()
	wake := f.wake
	if !hints {
		wake = nil
	}
	select {
	case <-ctx.Done():
	case <-t.C:
	case <-wake:
		return true
	}
	return false
}

// final says whether another try cannot help.
func final(err error) bool {
	for _, e := range []error{post.ErrPinMismatch, post.ErrRelayAddress, store.ErrDamaged, store.ErrNewer, store.ErrNone, store.ErrPassphrase, store.ErrLocked, store.ErrRekeyed} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func tooMany(err error) bool {
	r, ok := errors.AsType[*post.RelayError](err)
	return ok && r.Status == http.StatusTooManyRequests
}

// look fetches what there is. A panic of it is a failure like others: the daemon lives.
func (f *Follower) look(ctx context.Context, t turn) (err error) {
	defer func() {
		if r := recover(); r != nil {
			// What was panicked with may be a letter; where is not.
			f.c.Log.Error("panic", "type", fmt.Sprintf("%T", r), "stack", string(debug.Stack()))
			err = errors.New("a defect of this program; the log says where")
		}
	}()
	if t.letters {
		if err := f.letters(ctx, t.upkeep); err != nil {
			return err
		}
	}
	if t.requests && f.c.Invites {
		if err := f.requests(ctx); err != nil {
			return err
		}
	}
	if t.collect && f.c.Collect != nil {
		if err := f.c.Collect(ctx); err != nil { // no reason to leave letters lying
			f.c.Log.Warn("spools could not be collected", "error", err.Error())
		}
		f.c.Spool.Forget()
	}
	return nil
}

func (f *Follower) letters(ctx context.Context, upkeep bool) error {
	peers, missing, err := Peers(ctx, f.c.Box, f.c.Words)
	if err != nil {
		return err
	}
	f.update(func(r *Report) { r.Missing = missing })
	// Letters first: what is in the store already needs no relay.
	if len(peers) > 0 {
		o := f.c.Options
		o.Peers, o.All = peers, false
		got, err := f.c.Box.Poll(ctx, o, func(l post.Letter) error { return f.spool(ctx, l) })
		f.tell(got)
		f.asked = got.Asked
		if err != nil {
			return err
		}
	}
	if !upkeep {
		return nil
	}
	s, err := f.c.Box.Sync(ctx, post.ResendDue)
	for _, p := range s.Problems {
		f.c.Log.Warn("a letter did not go out", "id", p.ID, "peer", p.Peer, "state", string(p.State), "error", p.Text)
	}
	return err
}

func (f *Follower) requests(ctx context.Context) error {
	got, err := f.c.Box.Requests(ctx, func(l post.Letter) error { return f.spool(ctx, l) })
	f.tell(got)
	if r, ok := errors.AsType[*post.RelayError](err); ok && strings.Contains(r.Text, "peek") {
		f.update(func(rep *Report) { rep.Notice = "contact requests are not answered: " + r.Text })
		return nil
	}
	return err
}

func (f *Follower) tell(got post.Received) {
	for _, u := range got.Unreadable {
		f.c.Log.Warn("a letter could not be opened; it was asked for again", "peer", u.Peer, "error", u.Text)
	}
	for _, s := range got.Skipped {
		f.c.Log.Info("left alone", "peer", s.Peer, "reason", s.Text)
	}
}

// spool puts a letter on disk for the sessions. When it returned nil the letter may be acknowledged.
func (f *Follower) spool(ctx context.Context, l post.Letter) error {
	stream := spool.Messages
	if l.Kind == post.ContactAccepted || l.Kind == post.ContactRejected {
		stream = spool.Requests
	}
	done, err := f.c.Spool.Append(ctx, stream, Record(l))
	if err != nil {
		return err
	}
	f.update(func(r *Report) {
		switch {
		case done.New == 0: // it came again after a crash
		case stream == spool.Requests:
			r.Requests++
		default:
			r.Letters++
		}
	})
	f.c.Log.Info("spooled", "stream", string(stream), "peer", l.From, "sessions", done.Sessions, "files", done.New)
	return nil
}

// alarm tells the sessions that no more letters come, by a letter from the identity itself in their spools: nobody looks at the state
// of what runs in the background, and every host shows a letter. The text is ours. It wakes nobody, as it is not verified. A follower
// that is started again and again says it once a day.
func (f *Follower) alarm(ctx context.Context, why error) {
	text := "agnt letter follow has stopped and no letters arrive until it is started again. `agnt letter follow status` says why."
	if errors.Is(why, post.ErrPinMismatch) {
		text = "agnt letter follow has stopped: " + why.Error() + ". No letters arrive until this is cleared up: compare the address with your peer over another channel."
	}
	day := time.Now().UTC().Format(time.DateOnly)
	line := post.Object{}.Add("id", f.c.Box.NoticeID(day+why.Error())).Add("from", f.c.Box.Me().Address).Add("name", "agnt letter").Add("text", text).Add("verified", false).Bytes()
	if _, err := f.c.Spool.Append(ctx, spool.Messages, line); err != nil {
		f.c.Log.Warn("the sessions could not be told", "error", err.Error())
	}
}

// Record is a letter as it stands in a spool: its line, whether the sender's keys are pinned, and for a contact request, whose line
// has no id, the one of its letter.
func Record(l post.Letter) []byte {
	more := post.Object{}
	if l.Kind == post.ContactAccepted || l.Kind == post.ContactRejected {
		more = more.Add("letter", l.ID)
	}
	line, rest := l.Line(), more.Add("verified", l.Verified).Bytes()
	return slices.Concat(line[:len(line)-1], []byte(", "), rest[1:])
}

// Peers gives the addresses of chosen words: contacts' names, addresses, or AllContacts. missing are those that are neither.
func Peers(ctx context.Context, b *post.Box, words []string) (addresses, missing []string, err error) {
	contacts, err := b.Contacts(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, w := range words {
		if w == AllContacts {
			for _, c := range contacts {
				addresses = append(addresses, c.Address)
			}
			continue
		}
		a, err := contacts.Resolve(w)
		if err != nil {
			missing = append(missing, post.Printable(w, 80))
			continue
		}
		addresses = append(addresses, a)
	}
	slices.Sort(addresses)
	return slices.Compact(addresses), missing, nil
}

// push holds the relay's stream open and passes its hints on.
func (f *Follower) push(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; {
		begun := time.Now()
		hints, err := f.c.Box.Hints(ctx)
		if errors.Is(err, post.ErrNoPush) {
			f.wait(ctx, noPushFor, false)
			continue
		}
		if err == nil {
			f.update(func(r *Report) { r.Push = true })
			for range hints {
				failures = 0
				f.hint()
			}
			f.update(func(r *Report) { r.Push = false })
			f.hint() // what came while the stream was down
		}
		if time.Since(begun) < time.Minute { // it ends after an hour, which is no failure
			failures++
		}
		f.wait(ctx, backoff(failures, tooMany(err)), false)
	}
}
