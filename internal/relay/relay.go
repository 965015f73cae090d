// Package relay is the HTTP edge of the letter relay: seven calls of the retalk
// protocol, three of ours, the public policy, and the API keys (contract
// letters.md 1). It checks who calls, bounds what may be asked, and translates
// between the wire (internal/wire/letter) and the post office (internal/letter).
//
// A relay's callers are not participants of this server: they prove themselves by a
// signature on every call, so internal/access has no part here. The relay writes no
// address, no key and no pair of addresses to the log or into a metric.
package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/letter"
	"github.com/agntchat/agntchat/internal/limit"
	"github.com/agntchat/agntchat/internal/pg"
	wire "github.com/agntchat/agntchat/internal/wire/letter"
)

// Config says what a relay is. Office, Audiences, Address and Log are required;
// limits of 0 are off.
type Config struct {
	Office *letter.Office
	// Audiences are the addresses by which clients know this relay, each exactly as
	// they are configured with it: a call is good when it was signed for any of them.
	Audiences []string
	// Address tells a client's network address, for limits. It is never stored. This
	// machine itself is a proxy that names no address: only failures count for it.
	Address func(*http.Request) string
	Log     *slog.Logger
	Metrics prometheus.Registerer // nil: none
	Clock   func() time.Time      // nil: time.Now

	MaxBody         int64         // bytes of a request
	RatePerMinute   int           // calls of one verified sender
	RateBurst       int           // of these, at once
	AddressPerMin   int           // calls of one network address
	FailuresPerMin  int           // failed signatures and passwords of one network address
	NewBoxesPerHour int           // first publications from one network address
	Timeout         time.Duration // to read one request, and to write one answer
	MaxGroupSize    int           // advice to clients, served at info
	AdminPassword   string        // empty: no admin
	RequireAPIKey   bool

	Streams          int // open event streams, all together
	StreamsOfAddress int // of one network address
	StreamsOfSender  int // of one verified sender
}

// Relay is an http.Handler for every path below its address. Close ends the event
// streams, so that a server can shut down.
type Relay struct {
	cfg      Config
	office   *letter.Office
	calls    *limit.Buckets // by address of letters; nil: off
	byOrigin *limit.Buckets // by network address, as the next two
	failures *limit.Buckets
	newBoxes *limit.Buckets
	hints    *hints
	metrics  *metrics
}

// remembered bounds the keys of each set of buckets.
const remembered = 100_000

// New makes a relay. Call Run beside it.
func New(cfg Config) *Relay {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	r := &Relay{cfg: cfg, office: cfg.Office, hints: newHints(cfg.Streams, cfg.StreamsOfAddress, cfg.StreamsOfSender), metrics: newMetrics(cfg.Metrics)}
	if cfg.RatePerMinute > 0 {
		r.calls = limit.New(float64(cfg.RatePerMinute)/60, max(cfg.RateBurst, 1), remembered)
	}
	if cfg.AddressPerMin > 0 {
		r.byOrigin = limit.New(float64(cfg.AddressPerMin)/60, cfg.AddressPerMin, remembered)
	}
	if cfg.FailuresPerMin > 0 {
		r.failures = limit.New(float64(cfg.FailuresPerMin)/60, cfg.FailuresPerMin, remembered)
	}
	if cfg.NewBoxesPerHour > 0 {
		r.newBoxes = limit.New(float64(cfg.NewBoxesPerHour)/3600, cfg.NewBoxesPerHour, remembered)
	}
	return r
}

// sweepEvery is how often what is over is deleted from the disk.
const sweepEvery = time.Minute

// Run deletes what is over, at once and then every minute, until ctx ends. Several
// relays on one database may do it at the same time.
func (r *Relay) Run(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		n, err := r.office.Sweep(ctx, r.cfg.Clock())
		switch {
		case err != nil && ctx.Err() == nil && !pg.IsUnavailable(err):
			r.cfg.Log.ErrorContext(ctx, "relay: sweep failed", slog.Any("error", err))
		case err == nil:
			r.metrics.letters.WithLabelValues("expired").Add(float64(n))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Close ends all event streams and lets no new one in.
func (r *Relay) Close() { r.hints.close() }

// ServeHTTP looks at the last part of the path only, so that any prefix works
// (letters.md 1.1).
func (r *Relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	last := path.Base(strings.TrimRight(req.URL.Path, "/"))
	switch {
	case req.Method == http.MethodGet && last == "info":
		r.info(w)
	case req.Method == http.MethodGet && last == "admin":
		r.adminPage(w, req)
	case req.Method == http.MethodGet:
		fail(w, http.StatusNotFound, wire.TextNotFound)
	case req.Method == http.MethodPost && last == "admin":
		r.adminCall(w, req)
	case req.Method == http.MethodPost:
		r.call(w, req)
	default:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusNotImplemented)
		if req.Method != http.MethodHead {
			_, _ = w.Write([]byte("<!DOCTYPE html><html><head><title>501</title></head><body><h1>501</h1><p>Unsupported method.</p></body></html>\n"))
		}
	}
}

// info is the public policy. Clients of retalk read max_group_size only.
func (r *Relay) info(w http.ResponseWriter) {
	l := r.office.Limits
	_ = answer(w, http.StatusOK, wire.Info{
		MaxGroupSize: r.cfg.MaxGroupSize, Events: "/" + eventsPath, Tools: []string{wire.ToolEvents, wire.ToolLease, wire.ToolConfirm, wire.ToolSenders},
		Limits: &wire.Limits{
			MaxBody: r.cfg.MaxBody, RatePerMinute: r.cfg.RatePerMinute, RateBurst: r.cfg.RateBurst,
			MaxMailbox: l.Mailbox, MaxMailboxPerSender: l.PerSender, MaxMailboxBytes: l.MailboxBytes, MaxOneTimeKeys: l.OneTimeKeys,
			LetterTTL: int64(l.LetterTTL / time.Second), RefusedTTL: int64(l.RefusedTTL / time.Second),
		},
	})
}

// refusalError is an answer that is not 200.
type refusalError struct {
	status int
	text   string
	after  time.Duration // when it may succeed, if that is known
}

func (e *refusalError) Error() string { return e.text }

func refuse(status int, format string, args ...any) error {
	return &refusalError{status: status, text: fmt.Sprintf(format, args...)}
}

// bad is how every failure inside a tool is answered (letters.md 1.1).
func bad(format string, args ...any) error { return refuse(http.StatusBadRequest, format, args...) }

// answerError turns what a tool returned into an answer and tells its class, for
// the metric.
func (r *Relay) answerError(ctx context.Context, w http.ResponseWriter, tool string, err error) string {
	var no *refusalError
	var input *fault.Error
	switch {
	case errors.As(err, &no):
	case pg.IsUnavailable(err):
		no = &refusalError{http.StatusServiceUnavailable, "the relay cannot reach its database right now; retry", 2 * time.Second}
	case errors.As(err, &input) && input.Kind == fault.Invalid: // text that no database stores
		no = &refusalError{status: http.StatusBadRequest, text: input.Message}
	case ctx.Err() != nil:
		no = &refusalError{status: http.StatusServiceUnavailable, text: "the call was given up"}
	default:
		r.cfg.Log.ErrorContext(ctx, "relay: call failed", slog.String("tool", tool), slog.Any("error", err))
		no = &refusalError{status: http.StatusInternalServerError, text: "internal error"}
	}
	if no.after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(no.after.Seconds()))))
	}
	fail(w, no.status, no.text)
	switch {
	case no.status == http.StatusTooManyRequests:
		return "limited"
	case no.status >= http.StatusInternalServerError:
		return "error"
	}
	return "refused"
}

func fail(w http.ResponseWriter, status int, text string) {
	_ = answer(w, status, wire.Error{Error: text})
}

const (
	chunk    = 64 << 10         // bytes of an answer that are written at once
	perChunk = 30 * time.Second // for a reader to take one
	slowest  = 10 * time.Minute // for a whole answer
)

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// answer writes a whole answer and reports whether all of it went out.
func answer(w http.ResponseWriter, status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	control := http.NewResponseController(w)
	for end := time.Now().Add(slowest); len(b) > 0; {
		n := min(len(b), chunk)
		if n < len(b) { // a slow line gets time for each part
			_ = control.SetWriteDeadline(earlier(time.Now().Add(perChunk), end))
		}
		if _, err := w.Write(b[:n]); err != nil {
			return fmt.Errorf("write answer: %w", err)
		}
		b = b[n:]
	}
	if err := control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("write answer: %w", err)
	}
	return nil
}

// address is the client's network address, for limits.
func (r *Relay) address(req *http.Request) string { return limit.Origin(r.cfg.Address(req)) }

// local reports a client on this machine.
func (r *Relay) local(req *http.Request) bool {
	a, err := netip.ParseAddr(r.cfg.Address(req))
	return err == nil && a.Unmap().IsLoopback()
}

// takeOrigin counts a call, or whatever buckets count, against a network address.
func (r *Relay) takeOrigin(buckets *limit.Buckets, req *http.Request) error {
	if buckets == nil || r.local(req) {
		return nil
	}
	if wait, ok := buckets.Take(r.address(req)); !ok {
		return tooFast(wait)
	}
	return nil
}

// failed counts a wrong signature or password against a network address.
func (r *Relay) failed(req *http.Request) {
	if r.failures != nil {
		r.failures.Take(r.address(req))
	}
}

// mayTry tells whether a network address may still try: only failures count.
func (r *Relay) mayTry(req *http.Request) error {
	if r.failures == nil {
		return nil
	}
	if wait, ok := r.failures.Peek(r.address(req)); !ok {
		return tooFast(wait)
	}
	return nil
}

func tooFast(wait time.Duration) error {
	return &refusalError{http.StatusTooManyRequests, wire.TextRateLimit, wait}
}
